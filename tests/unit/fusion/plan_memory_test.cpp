// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

#include "fusion/memory_plan.h"
#include "isa/diagnostic.h"
#include "tests/unit/fusion/plan_graphs.h"

using namespace sfumato;
using namespace sfumato::fusion;
using namespace sfumato::fusion::test;

namespace {

const PlannedValue& row(const MemoryPlan& p, ValueId v) {
    for (const PlannedValue& r : p.values)
        if (r.value == v) return r;
    throw std::runtime_error("no such value in the plan");
}

std::string first(const std::vector<std::string>& lines) { return lines.empty() ? "" : lines[0]; }

// x -> MatMul a -> MatMul b -> ... -> MatMul out: no two neighbours can share, every other one can
MemoryPlan chain_plan(int length, std::int64_t bytes, const MemoryOptions& options = {}) {
    Maker m;
    ValueId v = m.input("x", {bytes / 4});
    for (int i = 0; i < length; ++i)
        v = m.make(Op::MatMul, "m" + std::to_string(i), {v, m.weight("w" + std::to_string(i), {bytes / 4, bytes / 4})}, {bytes / 4});
    m.g.set_outputs({v});
    const MemoryPlan p = plan_memory(m.g, options);
    CHECK(first(check_plan(m.g, p, {})) == "");
    return p;
}

}  // namespace

TEST_CASE("a chain of products needs two buffers, and one without reuse needs them all") {
    const MemoryPlan p = chain_plan(9, 4096);
    CHECK(p.arena_bytes == 2 * 4096);
    CHECK(p.lower_bound_bytes == 2 * 4096);
    CHECK(p.without_reuse_bytes == 8 * 4096);  // the ninth is the output
    CHECK(p.output_bytes == 4096);
    CHECK(p.input_bytes == 4096);
    MemoryOptions none;
    none.reuse = false;
    CHECK(chain_plan(9, 4096, none).arena_bytes == 8 * 4096);
}

TEST_CASE("planned buffers start at multiples of 512 bytes, the caller's are padded to 32") {
    const MemoryPlan p = chain_plan(5, 516);
    CHECK(p.arena_bytes == 2 * 1024);
    CHECK(p.input_bytes == 544);
}

TEST_CASE("an element-wise result lies in place of an operand that nothing else reads") {
    Maker m;
    const ValueId x = m.input("x", {256});
    const ValueId a = m.make(Op::MatMul, "a", {x, m.weight("w", {256, 256})}, {256});
    const ValueId b = m.make(Op::Relu, "b", {a}, {256});
    const ValueId c = m.make(Op::Add, "c", {b, x}, {256});
    const ValueId d = m.make(Op::MatMul, "d", {c, m.weight("u", {256, 256})}, {256});
    m.g.set_outputs({d});
    const MemoryPlan p = plan_memory(m.g, {});
    CHECK(row(p, b).why == "in place of a");
    CHECK(row(p, c).root == a);
    CHECK(p.arena_bytes == 1024);
    CHECK(p.in_place_bytes == 2048);
    CHECK(check_plan(m.g, p, {}).empty());
}

TEST_CASE("nothing is written over a caller's input, a weight, or an operand that is read again") {
    Maker m;
    const ValueId x = m.input("x", {256}), w = m.weight("w", {256});
    const ValueId a = m.make(Op::Relu, "a", {x}, {256});
    const ValueId b = m.make(Op::Relu, "b", {w}, {256});
    const ValueId c = m.make(Op::Exp, "c", {a}, {256});
    const ValueId d = m.make(Op::Add, "d", {a, c}, {256});
    const ValueId e = m.make(Op::Add, "e", {d, b}, {256});
    m.g.set_outputs({e, a});
    const MemoryPlan p = plan_memory(m.g, {});
    CHECK(row(p, x).placement == Placement::input);
    CHECK(row(p, a).placement == Placement::output);
    CHECK(row(p, b).root != w);
    CHECK(row(p, c).root != a);
    CHECK(check_plan(m.g, p, {}).empty());
}

TEST_CASE("F2: two results of a node and two outputs of a graph never share memory") {
    Maker m;
    const ValueId x = m.input("x", {256});
    const ValueId a = m.make(Op::MatMul, "a", {x, m.weight("w", {256, 256})}, {256});
    const ValueId b = m.make(Op::Relu, "b", {a}, {256});
    const ValueId c = m.make(Op::Identity, "c", {b}, {256});
    const ValueId d = m.make(Op::Reshape, "d", {b, m.ints({16, 16})}, {16, 16});
    m.g.set_outputs({b, c, d});
    const MemoryPlan p = plan_memory(m.g, {});
    CHECK(first(check_plan(m.g, p, {})) == "");
    for (const ValueId v : {b, c, d}) CHECK(row(p, v).placement == Placement::output);
    CHECK(p.output_bytes == 3 * 1024);
}

TEST_CASE("F3: a write in place through a view is refused while what it views is read later") {
    Maker m;
    const ValueId x = m.input("x", {1, 256});
    const ValueId a = m.make(Op::MatMul, "a", {x, m.weight("w", {256, 256})}, {1, 256});
    const ValueId v = m.make(Op::Reshape, "v", {a, m.ints({256})}, {256});
    const ValueId r = m.make(Op::Relu, "r", {v}, {256});
    const ValueId s = m.make(Op::MatMul, "s", {a, r}, {1, 256});
    m.g.set_outputs({s});
    const MemoryPlan p = plan_memory(m.g, {});
    CHECK(first(check_plan(m.g, p, {})) == "");
    CHECK(row(p, v).root == a);
    CHECK(row(p, r).root == r);
}

TEST_CASE("F5: with several streams memory is shared only where the graph orders the last reader before the writer") {
    Maker m;
    const ValueId x = m.input("x", {256});
    const auto product = [&](const std::string& name, ValueId in) {
        return m.make(Op::MatMul, name, {in, m.weight("w_" + name, {256, 256})}, {256});
    };
    ValueId a = x, b = x;
    for (int i = 0; i < 3; ++i) a = product("a" + std::to_string(i), a);
    for (int i = 0; i < 3; ++i) b = product("b" + std::to_string(i), b);
    m.g.set_outputs({product("out", m.make(Op::Add, "sum", {a, b}, {256}))});
    MemoryOptions streams;
    streams.any_order = true;
    const MemoryPlan one = plan_memory(m.g, {}), many = plan_memory(m.g, streams);
    CHECK(one.arena_bytes == 3 * 1024);
    CHECK(many.arena_bytes == 4 * 1024);
    CHECK(check_plan(m.g, many, {}).empty());
    MemoryPlan pretended = one;
    pretended.any_order = true;
    CHECK_THAT(first(check_plan(m.g, pretended, {})), Catch::Contains("overlap"));
}

TEST_CASE("F6: a result without a user lives during its node") {
    Maker m;
    const ValueId x = m.input("x", {256});
    const ValueId a = m.make(Op::MatMul, "a", {x, m.weight("w", {256, 256})}, {256});
    const ValueId values = m.value("values", {256}), indices = m.value("indices", {256}, ElemType::i64);
    m.node(Op::TopK, {a, m.ints({256})}, {values, indices});
    const ValueId b = m.make(Op::MatMul, "b", {values, m.weight("u", {256, 256})}, {256});
    m.g.set_outputs({b});
    const MemoryPlan p = plan_memory(m.g, {});
    CHECK(first(check_plan(m.g, p, {})) == "");
    CHECK(p.arena_bytes == 1024 + 1024 + 2048);  // a, values, indices at once
    CHECK(row(p, indices).first == row(p, indices).last);
}

TEST_CASE("a node or an operator that opts out keeps memory of its own") {
    MemoryOptions options;
    options.no_reuse = {"m3"};
    CHECK(chain_plan(9, 4096, options).arena_bytes == 3 * 4096);
    options.no_reuse = {"MatMul"};
    CHECK(chain_plan(9, 4096, options).arena_bytes == 8 * 4096);
}

TEST_CASE("views and parts along the leading axis move nothing, at offsets that are known up to symbols") {
    Maker m;
    const Extent seq = m.symbol("seq", 2, 64);
    const ValueId x = m.input("x", {seq, 128});
    const ValueId a = m.make(Op::MatMul, "a", {x, m.weight("w", {128, 128})}, {seq, 128});
    const ValueId first_part = m.value("head", {1, 128}), rest = m.value("rest", {seq - Extent(1), 128});
    m.node(Op::Split, {a}, {first_part, rest}, {{"axis", std::int64_t{0}}});
    const ValueId last = m.make(Op::Slice, "last", {a, m.ints({-1}), m.ints({INT64_MAX}), m.ints({0})}, {1, 128});
    const ValueId sum = m.make(Op::Add, "sum", {first_part, last}, {1, 128});
    const ValueId y = m.make(Op::MatMul, "y", {rest, m.weight("u", {128, 128})}, {seq - Extent(1), 128});
    m.g.set_outputs({sum, y});
    const MemoryPlan p = plan_memory(m.g, {});
    CHECK(row(p, rest).root == a);
    CHECK(row(p, rest).inner == Extent(512));
    CHECK(row(p, last).root == a);
    CHECK(m.g.symbols().evaluate(row(p, last).inner, {{"seq", 10}}) == 9 * 512);
    CHECK(p.arena_bytes == 64 * 512);
    for (const std::int64_t s : {2, 3, 10, 63, 64}) CHECK(first(check_plan(m.g, p, {{"seq", s}})) == "");
}

TEST_CASE("operands of a concatenation along the leading axis are computed in its result") {
    Maker m;
    const ValueId x = m.input("x", {4, 128});
    const auto product = [&](const std::string& name) { return m.make(Op::MatMul, name, {x, m.weight("w_" + name, {128, 128})}, {4, 128}); };
    const ValueId a = product("a"), b = product("b");
    const ValueId c = m.make(Op::Concat, "c", {a, x, b}, {12, 128}, {{"axis", std::int64_t{0}}});
    const ValueId d = m.make(Op::MatMul, "d", {c, m.weight("u", {128, 128})}, {12, 128});
    m.g.set_outputs({d});
    const MemoryPlan p = plan_memory(m.g, {});
    CHECK(row(p, b).root == c);
    CHECK(row(p, b).inner == Extent(8 * 512));
    CHECK(p.arena_bytes == 12 * 512);
    CHECK(check_plan(m.g, p, {}).empty());
}

TEST_CASE("a cache that a decoder returns grows where it lies, and the saved bytes are said") {
    Maker m;
    const Extent past = m.symbol("past", 0, 2047);
    const ValueId k = m.input("past.0.key", {1, 32, past, 128}, ElemType::f16), fresh = m.input("k", {1, 32, 1, 128}, ElemType::f16);
    const ValueId rows = m.make(Op::Shape, "rows", {k}, {4}, {}, ElemType::i64);
    const ValueId present = m.make(Op::Concat, "present", {k, fresh}, {1, 32, past + Extent(1), 128}, {{"axis", std::int64_t{-2}}}, ElemType::f16);
    const ValueId t = m.make(Op::Transpose, "t", {present}, {1, 32, 128, past + Extent(1)}, {}, ElemType::f16);
    m.g.set_outputs({present, t, rows});
    const std::int64_t full = std::int64_t{32} * 2048 * 128 * 2;
    const MemoryPlan p = plan_memory(m.g, {});
    CHECK(row(p, present).why == "KV append into past.0.key");
    CHECK(p.kv_saved_bytes == full);
    CHECK(row(p, k).upper_bytes == full);
    for (const std::int64_t n : {0, 1, 2047}) CHECK(first(check_plan(m.g, p, {{"past", n}})) == "");
    MemoryOptions never;
    never.kv_append = false;
    const MemoryPlan q = plan_memory(m.g, never);
    CHECK(q.kv_saved_bytes == 0);
    CHECK(q.output_bytes - p.output_bytes == full);
}

TEST_CASE("a cache with another reader is copied") {
    Maker m;
    const Extent past = m.symbol("past", 0, 15);
    const ValueId k = m.input("past", {1, 2, past, 8}), fresh = m.input("k", {1, 2, 1, 8});
    const ValueId other = m.make(Op::Relu, "other", {k}, {1, 2, past, 8});
    const ValueId present = m.make(Op::Concat, "present", {k, fresh}, {1, 2, past + Extent(1), 8}, {{"axis", std::int64_t{2}}});
    m.g.set_outputs({present, other});
    CHECK(plan_memory(m.g, {}).kv_saved_bytes == 0);
}

TEST_CASE("F9: a plan holds for every size of its range, and a shape class has a smaller one") {
    Maker m;
    const Extent seq = m.symbol("seq", 1, 512);
    ValueId v = m.input("x", {seq, 64});
    for (int i = 0; i < 4; ++i) v = m.make(Op::MatMul, "m" + std::to_string(i), {v, m.weight("w" + std::to_string(i), {64, 64})}, {seq, 64});
    m.g.set_outputs({v});
    const MemoryPlan wide = plan_memory(m.g, {});
    CHECK(wide.arena_bytes == 2 * 512 * 256);
    for (const std::int64_t s : {1, 32, 512}) CHECK(check_plan(m.g, wide, {{"seq", s}}).empty());
    CHECK_THAT(first(check_plan(m.g, wide, {{"seq", 513}})), Catch::Contains("leaves"));
    MemoryOptions narrow;
    narrow.ranges["seq"] = {1, 32};
    CHECK(plan_memory(m.g, narrow).arena_bytes == 2 * 32 * 256);
    CHECK(m.g.symbols().range("seq") == Range{1, 512});
}

TEST_CASE("F12: a plan made before a rewrite is refused") {
    Maker m;
    const ValueId x = m.input("x", {256});
    const ValueId a = m.make(Op::Relu, "a", {x}, {256}), b = m.make(Op::Exp, "b", {a}, {256});
    m.g.set_outputs({b});
    const MemoryPlan p = plan_memory(m.g, {});
    CHECK(check_plan(m.g, p, {}).empty());
    fuse(m.g, {m.producer(a), m.producer(b)}, "Pair");
    CHECK_THAT(first(check_plan(m.g, p, {})), Catch::Contains("plan again after a rewrite"));
}

TEST_CASE("a size without an upper end names the value, the symbol and the option") {
    Maker m;
    const Extent seq = m.g.symbols().named("seq");
    const ValueId x = m.input("ids", {4, seq});
    const ValueId a = m.make(Op::MatMul, "a", {x, m.weight("w", {8, 8})}, {4, seq}), b = m.make(Op::Relu, "b", {a}, {4, seq});
    m.g.set_outputs({b});
    CHECK_THROWS_WITH(plan_memory(m.g, {}), Catch::Contains("value a of node a") && Catch::Contains("16*seq bytes") &&
                                                Catch::Contains("symbol seq has no upper end") &&
                                                Catch::Contains("--input-shape-range='ids:4,0~512'"));
    m.g.value(a).shape.reset();
    CHECK_THROWS_WITH(plan_memory(m.g, {}), Catch::Contains("value a of node a has no known rank") && Catch::Contains("--input-shape-range"));
}

TEST_CASE("a data-dependent size is bounded by the elements it counts, or refused by name") {
    Maker m;
    const Extent n = m.g.symbols().named("found");
    const ValueId x = m.input("x", {10, 10});
    const ValueId where = m.make(Op::NonZero, "where", {x}, {2, n}, {}, ElemType::i64);
    const ValueId t = m.make(Op::Transpose, "t", {where}, {n, 2}, {}, ElemType::i64);
    m.g.set_outputs({t});
    const MemoryPlan p = plan_memory(m.g, {});
    CHECK(p.arena_bytes == 2048);  // 2 x 100 x 8 bytes, padded
    const Extent open = m.g.symbols().named("boxes");
    m.g.value(where).shape = Shape{2, open};
    m.g.node(m.producer(where)).op = Op::NonMaxSuppression;
    CHECK_THROWS_WITH(plan_memory(m.g, {}), Catch::Contains("symbol boxes depends on data"));
}

TEST_CASE("a memory limit says how much is needed, how much allowed, when and by whom") {
    MemoryOptions options;
    options.limit_bytes = 100000;
    CHECK_THROWS_WITH(chain_plan(3, 4096, options), Catch::Contains("bytes are needed, 100,000 are allowed") && Catch::Contains("node m") &&
                                                        Catch::Contains("m0 (4,096 bytes") && Catch::Contains("steps") &&
                                                        Catch::Contains("--memory-limit"));
    options.limit_bytes = std::int64_t{1} << 40;
    CHECK_NOTHROW(chain_plan(3, 4096, options));
}

TEST_CASE("the branches of an If need working memory while it runs, and what they capture stays live") {
    Maker m;
    const ValueId x = m.input("x", {256}), condition = m.input("c", {}, ElemType::boolean);
    const ValueId a = m.make(Op::MatMul, "a", {x, m.weight("w", {256, 256})}, {256});
    const auto branch = [&](int length) {
        Maker b;
        b.g = Graph(m.g.shared_symbols());
        ValueId v = b.value("a", {256});
        b.g.captured = {{"a", v}};
        for (int i = 0; i < length; ++i) v = b.make(Op::MatMul, "t" + std::to_string(i), {v, b.weight("w" + std::to_string(i), {256, 256})}, {256});
        b.g.set_outputs({v});
        return std::make_shared<Graph>(std::move(b.g));
    };
    const ValueId y = m.value("y", {256});
    Node choose;
    choose.op = Op::If;
    choose.name = "choose";
    choose.inputs = {condition};
    choose.outputs = {y};
    choose.captures = {{"a", a}};
    choose.attributes = {{"then_branch", branch(4)}, {"else_branch", branch(1)}};
    m.g.add_node(std::move(choose));
    const ValueId z = m.make(Op::MatMul, "z", {y, m.weight("u", {256, 256})}, {256});
    m.g.set_outputs({z});
    const MemoryPlan p = plan_memory(m.g, {});
    CHECK(first(check_plan(m.g, p, {})) == "");
    CHECK(p.peak_node == "choose");
    CHECK(p.arena_bytes == 1024 + 1024 + 3 * 1024);  // a, y, and two buffers and the result of the longer branch
    const auto working = std::find_if(p.values.begin(), p.values.end(), [](const PlannedValue& v) { return v.value == kNone; });
    REQUIRE(working != p.values.end());
    CHECK(working->why == "subgraphs of choose");
}

TEST_CASE("the checker finds an overlap that it is shown") {
    Maker m;
    const ValueId x = m.input("x", {256});
    const ValueId a = m.make(Op::MatMul, "a", {x, m.weight("w", {256, 256})}, {256}),
                  b = m.make(Op::MatMul, "b", {x, m.weight("u", {256, 256})}, {256});
    const ValueId c = m.make(Op::MatMul, "c", {a, b}, {256});
    m.g.set_outputs({c});
    const MemoryPlan good = plan_memory(m.g, {});
    REQUIRE(check_plan(m.g, good, {}).empty());
    MemoryPlan bad = good;
    for (PlannedValue& v : bad.values) v.offset = 0;
    CHECK_THAT(first(check_plan(m.g, bad, {})), Catch::Contains("overlap: a [0, 1024)") && Catch::Contains("b [0, 1024)"));
    bad = good;
    for (PlannedValue& v : bad.values)
        if (v.value == b) v.offset += 8;
    CHECK_THAT(first(check_plan(m.g, bad, {})), Catch::Contains("no multiple of 512") || Catch::Contains("leaves"));
    bad = good;
    bad.arena_bytes -= 512;
    CHECK_THAT(first(check_plan(m.g, bad, {})), Catch::Contains("leaves the arena"));
    bad = good;
    bad.values.pop_back();
    CHECK_THAT(first(check_plan(m.g, bad, {})), Catch::Contains("has no place"));
    bad = good;
    std::swap(bad.schedule[0], bad.schedule[2]);
    CHECK_THAT(first(check_plan(m.g, bad, {})), Catch::Contains("runs before its operand"));
}
