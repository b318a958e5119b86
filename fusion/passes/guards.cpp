// SPDX-License-Identifier: Apache-2.0
#include "fusion/passes/guards.h"

#include <algorithm>
#include <set>

#include "fusion/passes/named.h"
#include "fusion/passes/rewrite.h"

namespace sfumato::fusion {

bool kernel_type(ElemType t) { return t == ElemType::f16 || t == ElemType::bf16 || t == ElemType::f32 || t == ElemType::undefined; }

namespace guards {

namespace {

Miss because(Reason r, std::string text) { return {r, std::move(text), 0, {}}; }

Shape without_leading_ones(const Shape& s) {
    auto from = s.begin();
    while (from != s.end() && *from == Extent(1)) ++from;
    return Shape(from, s.end());
}

std::optional<std::vector<std::int64_t>> reduced_axes(const Graph& g, const Node& n, int r) {
    auto axes = n.integers("axes");
    if (!axes && n.has_input(1)) axes = integers(g, n.inputs[1]);
    if (!axes) return std::nullopt;
    for (auto& a : *axes) a = from_front(a, r);
    std::sort(axes->begin(), axes->end());
    return axes;
}

// The normalised axes must be the last ones and kept; returns the first of them.
std::optional<Miss> normalised_from(const Graph& g, const Match& m, int& first) {
    first = -1;
    for (const NodeId id : m.nodes) {
        const Node& n = g.node(id);
        if (n.op != Op::ReduceMean && n.op != Op::LayerNormalization) continue;
        const int r = rank(g.value(n.inputs[0]));
        if (r < 1) return because(Reason::unknown_rank, g.value(n.inputs[0]).name + " has no rank");
        int from = 0;
        if (n.op == Op::LayerNormalization) {
            from = static_cast<int>(from_front(n.integer("axis", -1), r));
        } else {
            const auto axes = reduced_axes(g, n, r);
            if (!axes || axes->empty()) return because(Reason::wrong_structure, n.name + " reduces all axes");
            if (n.integer("keepdims", 1) != 1) return because(Reason::wrong_structure, n.name + " does not keep the reduced axes");
            for (std::size_t i = 0; i < axes->size(); ++i)
                if ((*axes)[axes->size() - 1 - i] != r - 1 - static_cast<std::int64_t>(i)) return because(Reason::wrong_structure, n.name + " does not reduce the last axes");
            from = r - static_cast<int>(axes->size());
        }
        if (first >= 0 && first != from) return because(Reason::wrong_structure, "mean and variance are taken over different axes");
        first = from;
    }
    return std::nullopt;
}

bool provably_equal(const Shape& a, const Shape& b) { return a == b; }

bool symbolic_difference(const Shape& a, const Shape& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!(a[i] == b[i]) && !(a[i] - b[i]).constant()) return true;
    return false;
}

std::optional<Miss> equal_shapes(const Graph& g, ValueId a, ValueId b) {
    const Value &x = g.value(a), &y = g.value(b);
    if (!x.shape || !y.shape) return because(Reason::unknown_rank, (x.shape ? y : x).name + " has no rank");
    if (provably_equal(*x.shape, *y.shape)) return std::nullopt;
    const std::string both = x.name + " is " + shape_text(g, x) + " and " + y.name + " is " + shape_text(g, y);
    return because(symbolic_difference(*x.shape, *y.shape) ? Reason::symbol_relation_unproved : Reason::broadcast_not_allowed, both);
}

const Node* find_op(const Graph& g, const Match& m, Op op) {
    for (const NodeId id : m.nodes)
        if (g.node(id).op == op) return &g.node(id);
    return nullptr;
}

}  // namespace

std::optional<Miss> types(const Graph& g, const Match& m) {
    for (const NodeId id : m.nodes)
        for (const ValueId v : g.node(id).outputs)
            if (v != kNone && is_float(g.value(v).type) && !kernel_type(g.value(v).type))
                return because(Reason::type_unsupported, g.value(v).name + " is " + std::string(name(g.value(v).type)) + ", fused operators have f16, bf16 and f32");
    return std::nullopt;
}

std::optional<Miss> two_or_more(const Graph& g, const Match& m) {
    if (m.nodes.size() < 2) return because(Reason::wrong_structure, "nothing to fuse with");
    return types(g, m);
}

std::optional<Miss> norm(const Graph& g, const Match& m) {
    int first = -1;
    if (auto miss = normalised_from(g, m, first)) return miss;
    const Value& x = g.value(m.at("x"));
    if (!x.shape) return because(Reason::unknown_rank, x.name + " has no rank");
    const Shape tail(x.shape->begin() + first, x.shape->end());
    for (const char* which : {"gamma", "beta"}) {
        const ValueId v = m.at(which);
        if (v == kNone) continue;
        const auto& s = g.value(v).shape;
        if (!s) return because(Reason::unknown_rank, std::string(which) + " has no rank");
        if (without_leading_ones(*s) != without_leading_ones(tail) || s->size() > x.shape->size())
            return because(Reason::broadcast_not_allowed, std::string(which) + " is " + shape_text(g, g.value(v)) + ", the normalised axes are the last " + std::to_string(tail.size()) + " of " + shape_text(g, x));
    }
    if (m.at("gamma") == kNone) {  // a factor that was refused must not be cut off
        const Value& y = g.value(g.node(m.root).outputs[0]);
        if (y.users.size() == 1 && g.node(y.users[0]).op == Op::Mul) {
            const Node& mul = g.node(y.users[0]);
            if (settled(g, mul.inputs[0]) || settled(g, mul.inputs[1])) return because(Reason::broadcast_not_allowed, "the factor behind it is no gamma of the normalised axes");
        }
    }
    if (const auto eps = m.at("eps") == kNone ? std::nullopt : scalar(g, m.at("eps")); eps && !(*eps > 0 && *eps <= 1e-2))
        return because(Reason::wrong_constant, "epsilon is " + std::to_string(*eps) + ", wanted above 0 and at most 0.01");
    return types(g, m);
}

std::optional<Miss> add_norm(const Graph& g, const Match& m) {
    if (settled(g, m.at("a")) || settled(g, m.at("b"))) return because(Reason::wrong_structure, "the Add is a bias, not a residual");
    if (auto miss = equal_shapes(g, m.at("a"), m.at("b"))) return miss;
    return norm(g, m);
}

std::optional<Miss> gated(const Graph& g, const Match& m) {
    if (m.at("gate") == m.at("up")) return because(Reason::wrong_structure, "gate and value are the same");
    if (auto miss = equal_shapes(g, m.at("gate"), m.at("up"))) return miss;
    if (const Node* split = find_op(g, m, Op::Split); split && split->outputs.size() != 2) return because(Reason::wrong_structure, split->name + " has " + std::to_string(split->outputs.size()) + " parts, wanted 2");
    if (settled(g, m.at("up"))) return because(Reason::wrong_structure, "the gated value is a constant");
    return types(g, m);
}

std::optional<Miss> rotary(const Graph& g, const Match& m) {
    const auto& x = g.value(m.at("x")).shape;
    if (!x || x->empty()) return because(Reason::unknown_rank, g.value(m.at("x")).name + " has no rank");
    const auto last = x->back().constant();
    if (!last || *last % 2) return because(Reason::symbol_relation_unproved, "the rotated axis of " + shape_text(g, g.value(m.at("x"))) + " is no even number");
    const Node* concat = find_op(g, m, Op::Concat);
    const int r = static_cast<int>(x->size());
    if (from_front(concat->integer("axis", 0), r) != r - 1) return because(Reason::wrong_structure, concat->name + " joins another axis than the last");
    for (const ValueId half : concat->inputs) {
        const auto& s = g.value(half).shape;
        if (!s || !(s->back() == Extent(*last / 2))) return because(Reason::wrong_structure, g.value(half).name + " is no half of the rotated axis");
    }
    for (const NodeId id : m.nodes) {
        const Node& n = g.node(id);
        if (n.op != Op::Slice) continue;
        const auto starts = integers(g, n.inputs[1]);
        const bool upper = n.outputs[0] != concat->inputs[1];
        if (!starts || starts->size() != 1 || (*starts)[0] != (upper ? *last / 2 : 0)) return because(Reason::wrong_structure, n.name + " does not take its half");
    }
    for (const char* table : {"cos", "sin"}) {
        const auto& t = g.value(m.at(table)).shape;
        if (!t || t->empty()) return because(Reason::unknown_rank, std::string(table) + " has no rank");
        if (!(t->back() == x->back())) return because(Reason::broadcast_not_allowed, std::string(table) + " is " + shape_text(g, g.value(m.at(table))) + ", its last axis must be " + std::to_string(*last));
    }
    return types(g, m);
}

std::optional<Miss> embedding(const Graph& g, const Match& m) {
    for (const NodeId id : m.nodes) {
        const Node& n = g.node(id);
        if (n.op != Op::Gather) continue;
        if (n.integer("axis", 0) != 0 || rank(g.value(n.inputs[0])) != 2) return because(Reason::wrong_structure, n.name + " takes no rows of a table");
        if (!is_integer(g.value(n.inputs[1]).type)) return because(Reason::type_unsupported, "ids must be integers");
    }
    return types(g, m);
}

namespace {
bool swaps_last_two(const Node& n, int r) {
    const auto p = permutation(n, r);
    if (r < 2 || static_cast<int>(p.size()) != r) return false;
    for (int i = 0; i < r - 2; ++i)
        if (p[static_cast<std::size_t>(i)] != i) return false;
    return p[static_cast<std::size_t>(r - 1)] == r - 2 && p[static_cast<std::size_t>(r - 2)] == r - 1;
}
}  // namespace

std::optional<Miss> attention(const Graph& g, const Match& m) {
    const Node* softmax = find_op(g, m, Op::Softmax);
    const int r = rank(g.value(softmax->inputs[0]));
    if (r < 2) return because(Reason::unknown_rank, g.value(softmax->inputs[0]).name + " has no rank of 2 or more");
    if (from_front(softmax->integer("axis", softmax->version < 13 ? 1 : -1), r) != r - 1) return because(Reason::wrong_structure, softmax->name + " is not over the last axis");
    for (const NodeId id : m.nodes)
        if (g.node(id).op == Op::Transpose && !swaps_last_two(g.node(id), rank(g.value(g.node(id).inputs[0]))))
            return because(Reason::wrong_structure, g.node(id).name + " does not swap the last two axes");
    for (const char* operand : {"q", "k", "v"})
        if (settled(g, m.at(operand))) return because(Reason::wrong_structure, std::string(operand) + " is a constant");
    const auto &scores = g.value(softmax->inputs[0]).shape, &probabilities = g.value(softmax->outputs[0]).shape;
    if (scores && probabilities && !provably_equal(*scores, *probabilities)) return because(Reason::broadcast_not_allowed, "the mask widens the scores");
    // the mask comes in from outside: it must not depend on what is fused
    if (!convex(g, m.nodes)) return because(Reason::cycle, "the mask depends on the scores");
    return types(g, m);
}

std::optional<Miss> convolution(const Graph& g, const Match& m) {
    const ValueId residual = m.at("residual");
    if (residual != kNone)
        if (auto miss = equal_shapes(g, m.at("conv"), residual)) return miss;
    if (m.nodes.size() < 2) return because(Reason::wrong_structure, "nothing to fuse with");
    if (const Node* bn = find_op(g, m, Op::BatchNormalization)) {
        if (bn->integer("training_mode", 0) != 0) return because(Reason::state_or_side_effect, bn->name + " updates its statistics");
        for (std::size_t i = 1; i < 5; ++i)
            if (!settled(g, bn->inputs[i])) return because(Reason::wrong_constant, "the statistics of " + bn->name + " are no constants");
    }
    if (!convex(g, m.nodes)) return because(Reason::cycle, "the residual depends on the convolution");
    return types(g, m);
}

std::optional<Miss> matmul(const Graph& g, const Match& m) {
    for (const NodeId id : m.nodes) {
        const Node& n = g.node(id);
        if (n.op == Op::Transpose && !swaps_last_two(n, rank(g.value(n.inputs[0])))) return because(Reason::wrong_structure, n.name + " does not swap the last two axes");
    }
    const Value& product = g.value(m.at("mm"));
    if (const ValueId b = m.at("bias"); b != kNone) {
        const Value& y = g.value(g.node(m.root).outputs[0]);
        if (!product.shape || !y.shape || !g.value(b).shape) return because(Reason::unknown_rank, product.name + " has no rank");
        const std::string shapes = "bias " + shape_text(g, g.value(b)) + " on " + shape_text(g, product);
        if (!provably_equal(*product.shape, *y.shape)) return because(Reason::broadcast_not_allowed, shapes + " widens the product");
        if (product.shape->size() < 2 || product.shape->size() > 4) return because(Reason::broadcast_not_allowed, shapes + ": the fused operator takes ranks 2 to 4");
    }
    if (m.nodes.size() < 2) return because(Reason::wrong_structure, "nothing to fuse with");
    return types(g, m);
}

}  // namespace guards
}  // namespace sfumato::fusion
