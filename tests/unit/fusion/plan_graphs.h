// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small graphs by hand for the tests of planner and fuser, and random ones from a seed.
#include <random>

#include "fusion/graph.h"

namespace sfumato::fusion::test {

struct Maker {
    Graph g;
    int count = 0;

    Extent symbol(const std::string& name, std::int64_t low, std::int64_t high) {
        const Extent e = g.symbols().named(name);
        g.symbols().set_range(name, {low, high});
        return e;
    }
    ValueId value(const std::string& name, Shape shape, ElemType type = ElemType::f32) {
        Value v;
        v.name = name;
        v.type = type;
        v.shape = std::move(shape);
        return g.add_value(std::move(v));
    }
    ValueId input(const std::string& name, Shape shape, ElemType type = ElemType::f32) {
        const ValueId v = value(name, std::move(shape), type);
        g.inputs.push_back(v);
        return v;
    }
    ValueId weight(const std::string& name, Shape shape, ElemType type = ElemType::f32) {
        const ValueId v = value(name, std::move(shape), type);
        g.value(v).weight = true;
        return v;
    }
    ValueId ints(std::vector<std::int64_t> values) {
        const auto n = static_cast<std::int64_t>(values.size());
        return g.add_constant(int_tensor(std::move(values), {n}));
    }
    NodeId node(Op op, std::vector<ValueId> inputs, std::vector<ValueId> outputs, std::map<std::string, Attribute> attributes = {},
                std::string name = "") {
        Node n;
        n.op = op;
        n.name = name.empty() ? std::string(fusion::name(op)) + "_" + std::to_string(count++) : name;
        n.inputs = std::move(inputs);
        n.outputs = std::move(outputs);
        n.attributes = std::move(attributes);
        n.version = 13;
        return g.add_node(std::move(n));
    }
    /// A node with one result of the given shape, named like the result.
    ValueId make(Op op, const std::string& name, std::vector<ValueId> inputs, Shape shape, std::map<std::string, Attribute> attributes = {},
                 ElemType type = ElemType::f32) {
        const ValueId out = value(name, std::move(shape), type);
        node(op, std::move(inputs), {out}, std::move(attributes), name);
        return out;
    }
    NodeId producer(ValueId v) const { return g.value(v).producer; }
};

/// A random graph of element-wise operators, views, parts, concatenations, contractions and multi-output nodes over [1, seq + c, 8 * k] values.
struct RandomGraph : Maker {
    std::mt19937 random;
    std::vector<ValueId> pool;
    Extent seq;

    explicit RandomGraph(unsigned seed, int nodes) : random(seed), seq(symbol("seq", 1, 9)) {
        for (int i = 0; i < 2; ++i) pool.push_back(input("in" + std::to_string(i), {1, seq, 8}));
        pool.push_back(weight("w", {1, seq, 8}));
        for (int i = 0; i < nodes; ++i) grow();
        std::vector<ValueId> outputs;
        for (const ValueId v : pool)
            if (g.value(v).producer != kNone && (outputs.empty() ? g.value(v).users.empty() : below(100) < 12)) outputs.push_back(v);
        if (below(8) == 0) outputs.push_back(pool[0]);  // an input handed through
        g.set_outputs(outputs);
    }
    int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
    ValueId pick() {  // mostly recent values: chains
        const int n = static_cast<int>(pool.size());
        return pool[static_cast<std::size_t>(below(3) ? std::max(0, n - 1 - below(4)) : below(n))];
    }
    std::string next() { return "t" + std::to_string(count++); }
    const Shape& shape(ValueId v) const { return *g.value(v).shape; }

    void grow() {
        const ValueId a = pick();
        const Shape s = shape(a);
        const auto type = g.value(a).type;
        switch (below(11)) {
            case 0:
            case 1:
                pool.push_back(make(Op::Relu, next(), {a}, s, {}, type));
                break;
            case 2: {
                const ValueId b = pick();
                pool.push_back(make(Op::Add, next(), {a, shape(b) == s && g.value(b).type == type ? b : a}, s, {}, type));
                break;
            }
            case 3:
                pool.push_back(make(Op::Identity, next(), {a}, s, {}, type));
                break;
            case 4:
                pool.push_back(make(Op::Reshape, next(), {a, ints({-1})}, Shape{1, s[1] * s[2], 1}, {}, type));
                break;
            case 5:
                split(a);
                break;
            case 6:
                concat(a);
                break;
            case 7:
                slice(a);
                break;
            case 8:
                pool.push_back(make(Op::MatMul, next(), {a, weight(next(), {s[2], s[2]}, type)}, s, {}, type));
                break;
            case 9:
                pool.push_back(make(Op::Cast, next(), {a}, s, {{"to", std::int64_t{10}}}, below(2) ? ElemType::f16 : ElemType::i32));
                break;
            default: {  // two results, one of which nobody may ever use
                const ValueId x = value(next(), s, type), y = value(next(), s, ElemType::i64);
                node(Op::TopK, {a, ints({1})}, {x, y});
                pool.push_back(x);
                if (below(2)) pool.push_back(y);
            }
        }
    }
    void split(ValueId a) {
        const Shape s = shape(a);
        const std::int64_t first = 1;
        const ValueId x = value(next(), {1, first, s[2]}, g.value(a).type), y = value(next(), {1, s[1] - Extent(first), s[2]}, g.value(a).type);
        node(Op::Split, {a}, {x, y}, {{"axis", std::int64_t{1}}});
        pool.push_back(x);
        if (g.symbols().range(s[1]).low > 1) pool.push_back(y);
    }
    void concat(ValueId a) {
        ValueId b = pick();
        if (shape(b)[2] != shape(a)[2] || g.value(b).type != g.value(a).type) b = a;
        if (g.symbols().range(shape(a)[1] + shape(b)[1]).high > 200) return;
        const Shape s{1, shape(a)[1] + shape(b)[1], shape(a)[2]};
        pool.push_back(make(Op::Concat, next(), {a, b}, s, {{"axis", std::int64_t{1}}}, g.value(a).type));
    }
    void slice(ValueId a) {
        const Shape s = shape(a);
        const bool from_end = below(2) == 1;
        const ValueId starts = ints({from_end ? -1 : 0}), ends = ints({from_end ? INT64_MAX : 1}), axes = ints({1});
        pool.push_back(make(Op::Slice, next(), {a, starts, ends, axes}, {1, 1, s[2]}, {}, g.value(a).type));
    }
};

}  // namespace sfumato::fusion::test
