// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "fusion/graph.h"
#include "isa/diagnostic.h"

using namespace sfumato;
using namespace sfumato::fusion;

namespace {

Value tensor(const std::string& name, Shape shape = {}) {
    Value v;
    v.name = name;
    v.type = ElemType::f32;
    v.shape = std::move(shape);
    return v;
}

ValueId apply(Graph& g, Op op, const std::string& name, std::vector<ValueId> inputs) {
    const ValueId out = g.add_value(tensor(name));
    Node n;
    n.op = op;
    n.name = name;
    n.inputs = std::move(inputs);
    n.outputs = {out};
    n.version = 13;
    g.add_node(std::move(n));
    return out;
}

// x -> Exp a -> Neg b -> Add(a, b) c; c is the output
struct Diamond {
    Graph g;
    ValueId x = g.add_value(tensor("x")), a, b, c;
    Diamond() {
        g.inputs = {x};
        a = apply(g, Op::Exp, "a", {x});
        b = apply(g, Op::Neg, "b", {a});
        c = apply(g, Op::Add, "c", {a, b});
        g.set_outputs({c});
    }
};

}  // namespace

TEST_CASE("equal extents are identical whatever way they were computed") {
    Symbols s;
    const Extent batch = s.named("batch"), seq = s.named("seq");
    CHECK(batch * seq == seq * batch);
    CHECK((seq + 1) * (seq - Extent(1)) == seq * seq - Extent(1));
    CHECK(s.floor_div(Extent(6) * batch * seq, Extent(2) * batch) == Extent(3) * seq);
    CHECK(s.floor_div(seq, 2) == s.floor_div(seq, 2));
    CHECK_FALSE(s.floor_div(seq, 2) == s.floor_div(seq + 1, 2));
    CHECK(s.modulo(Extent(4) * seq, 2) == Extent(0));
    CHECK((seq - seq).constant() == 0);
    CHECK(s.to_text(Extent(4) * batch * seq - Extent(1)) == "4*batch*seq - 1");
    CHECK(s.to_text(s.floor_div(seq, 2)) == "floor(seq / 2)");
}

TEST_CASE("an extent is evaluated and bounded over the ranges of its symbols") {
    Symbols s;
    const Extent past = s.named("past"), seq = s.named("seq");
    CHECK(s.evaluate(s.floor_div(past + seq, 3), {{"past", 5}, {"seq", 3}}) == 2);
    CHECK(s.evaluate(s.maximum(past, seq), {{"past", 5}, {"seq", 3}}) == 5);
    CHECK_THROWS_WITH(s.evaluate(past, {}), Catch::Contains("past"));
    CHECK(s.range(past + seq).high == Range::kUnbounded);
    s.set_range("past", {0, 2047});
    s.set_range("seq", {1, 128});
    CHECK(s.range(past + seq) == Range{1, 2175});
    CHECK(s.range(Extent(4) * seq * past) == Range{0, 4 * 128 * 2047});
    CHECK(s.range(past - seq) == Range{-128, 2046});
    CHECK(s.range(s.floor_div(seq, 2)) == Range{0, 64});
    CHECK(s.minimum(seq, 200) == seq);
    CHECK_THROWS_WITH(s.set_range("seq", {200, 300}), Catch::Contains("200~300") && Catch::Contains("1~128"));
}

TEST_CASE("a shape that overflows 64 bits is an input error") {
    const Extent big = std::int64_t{1} << 62;
    CHECK_THROWS_AS(big + big, isa::InputError);
    CHECK_THROWS_AS(big * 4, isa::InputError);
}

TEST_CASE("fusing moves nodes into a body and unfusing brings them back") {
    Diamond d;
    REQUIRE(verify(d.g).empty());
    const NodeId group = fuse(d.g, {d.g.value(d.b).producer, d.g.value(d.c).producer}, "Pair");
    CHECK(verify(d.g).empty());
    CHECK(d.g.node_count() == 2);
    CHECK(d.g.node(group).inputs == std::vector<ValueId>{d.a});
    CHECK(d.g.node(group).outputs == std::vector<ValueId>{d.c});
    CHECK(d.g.node(group).body->node_count() == 2);
    CHECK(d.g.node(group).origins == std::vector<std::string>{"b", "c"});
    unfuse(d.g, group);
    CHECK(verify(d.g).empty());
    CHECK(d.g.node_count() == 3);
}

TEST_CASE("an inner value with a user outside becomes an output of the fused node") {
    Diamond d;
    const NodeId group = fuse(d.g, {d.g.value(d.a).producer, d.g.value(d.b).producer}, "Pair");
    CHECK(d.g.node(group).outputs == std::vector<ValueId>{d.a, d.b});
    CHECK(verify(d.g).empty());
}

TEST_CASE("a set that a path leaves and enters again is not fused") {
    Diamond d;
    CHECK_THROWS_AS(fuse(d.g, {d.g.value(d.a).producer, d.g.value(d.c).producer}, "Pair"), isa::InternalError);
}

TEST_CASE("replacing an output keeps the name that the caller knows") {
    Diamond d;
    d.g.replace_uses(d.c, d.b);
    CHECK(d.g.value(d.b).name == "c");
    CHECK(d.g.remove_unused() == 1);
    CHECK(verify(d.g).empty());
    CHECK(d.g.outputs() == std::vector<ValueId>{d.b});
}

TEST_CASE("a cycle is named, a duplicate name and a second producer are refused") {
    Diamond d;
    d.g.set_input(d.g.value(d.a).producer, 0, d.c);
    CHECK_THROWS_WITH(d.g.order(), Catch::Contains("cycle") && Catch::Contains("a"));
    CHECK_THROWS_WITH(d.g.add_value(tensor("a")), Catch::Contains("twice"));
    Node n;
    n.op = Op::Exp;
    n.inputs = {d.x};
    n.outputs = {d.b};
    CHECK_THROWS_WITH(d.g.add_node(n), Catch::Contains("two producers"));
}

TEST_CASE("a chain of fifty thousand nodes is ordered and cleaned without deep recursion") {
    Graph g;
    ValueId v = g.add_value(tensor("x"));
    g.inputs = {v};
    for (int i = 0; i < 50000; ++i) v = apply(g, Op::Neg, "n" + std::to_string(i), {v});
    CHECK(g.order().size() == 50000);
    CHECK(g.remove_unused() == 50000);
}
