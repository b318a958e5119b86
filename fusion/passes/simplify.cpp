// SPDX-License-Identifier: Apache-2.0
// Removal of nodes that change nothing: Identity, Casts, neutral arithmetic, movement that moves nothing, duplicates, dead nodes.
#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "fusion/passes/canonical.h"
#include "fusion/passes/rewrite.h"

namespace sfumato::fusion::canonical {

namespace {
void count(PassContext& c, bool done) {
    ++c.record.matched;
    if (done) ++c.record.effective;
}

// Whether every value of `a` is a value of `b`: such a Cast loses nothing, and the way back restores it.
bool holds(ElemType b, ElemType a) {
    const auto significand = [](ElemType t) { return t == ElemType::f16 ? 11 : t == ElemType::bf16 ? 8 : t == ElemType::f32 ? 24 : 53; };
    const auto exponent = [](ElemType t) { return t == ElemType::f16 ? 5 : t == ElemType::bf16 || t == ElemType::f32 ? 8 : 11; };
    const ElemInfo &x = info(a), &y = info(b);
    if (a == b) return true;
    if (x.kind == ElemClass::boolean) return is_float(b) || is_integer(b);
    if (is_float(a)) return is_float(b) && significand(b) >= significand(a) && exponent(b) >= exponent(a);
    if (!is_integer(a)) return false;
    const int bits = x.bits - (x.kind == ElemClass::signed_integer ? 1 : 0);  // of the magnitude
    if (is_float(b)) return significand(b) >= bits && (exponent(b) > 5 || bits < 16);
    if (!is_integer(b)) return false;
    if (x.kind == ElemClass::signed_integer && y.kind == ElemClass::unsigned_integer) return false;
    return y.bits - (y.kind == ElemClass::signed_integer ? 1 : 0) >= bits;
}
}  // namespace

void remove_identities(PassContext& c) {
    Graph& g = c.graph;
    for (const NodeId id : g.order()) {
        if (g.node(id).op != Op::Identity) continue;
        const bool done = bypass(g, id, g.node(id).inputs[0]);
        count(c, done);
        if (!done) c.refuse(id, Reason::graph_output_inside, "the output keeps its name through it");
    }
}

void remove_casts(PassContext& c) {
    Graph& g = c.graph;
    for (const NodeId id : g.order()) {
        const Node& n = g.node(id);
        if (n.op != Op::Cast) continue;
        const ElemType from = g.value(n.inputs[0]).type, to = static_cast<ElemType>(n.integer("to", 0));
        if (from == ElemType::undefined) continue;
        if (from == to) {
            count(c, bypass(g, id, n.inputs[0]));
            continue;
        }
        const Node* before = producer_of(g, n.inputs[0], Op::Cast);
        if (!before || g.value(before->inputs[0]).type != to) continue;
        if (holds(from, to)) {
            const NodeId inner = g.value(n.inputs[0]).producer;
            const bool done = bypass(g, id, before->inputs[0]);
            count(c, done);
            if (done && g.value(g.node(inner).outputs[0]).users.empty() && g.value(g.node(inner).outputs[0]).outputs == 0) g.remove_node(inner);
        } else {
            c.refuse(id, Reason::precision_mix, "the pair " + std::string(name(to)) + " -> " + std::string(name(from)) + " -> " + std::string(name(to)) + " loses values, so it stays", 1);
        }
    }
}

namespace {

bool same_shape(const Graph& g, ValueId a, ValueId b) {
    const auto &x = g.value(a).shape, &y = g.value(b).shape;
    return x && y && *x == *y && g.value(a).type == g.value(b).type;
}

bool every_element(const Graph& g, ValueId v, double wanted, bool negative_zero = false) {
    const TensorPtr& t = g.value(v).constant;
    if (!t || t->size() == 0 || std::holds_alternative<std::vector<std::string>>(t->data)) return false;
    for (std::int64_t i = 0; i < t->size(); ++i) {
        const double x = t->number(i);
        if (x != wanted || (wanted == 0 && is_float(t->type) && std::signbit(x) != negative_zero)) return false;
    }
    return true;
}

// The operand that a node passes on unchanged for every value, kNone when there is none.
ValueId neutral(const Graph& g, const Node& n) {
    const auto in = [&](std::size_t i) { return n.inputs[i]; };
    const auto either = [&](double unit, bool negative_zero) {
        for (std::size_t i = 0; i < 2; ++i)
            if (every_element(g, in(i), unit, negative_zero)) return in(1 - i);
        return kNone;
    };
    switch (n.op) {
        case Op::Add: return either(0, true);  // of floats only -0.0 is neutral: -0.0 + 0.0 is 0.0
        case Op::Sub: return every_element(g, in(1), 0) ? in(0) : kNone;
        case Op::Mul: return either(1, false);
        case Op::Div: case Op::Pow: return every_element(g, in(1), 1) && !(n.op == Op::Pow && g.value(in(0)).type != g.value(in(1)).type) ? in(0) : kNone;
        case Op::Sum: case Op::Max: case Op::Min: case Op::Mean: case Op::Concat: return n.inputs.size() == 1 ? in(0) : kNone;
        case Op::Split: return n.outputs.size() == 1 ? in(0) : kNone;
        case Op::Expand: return in(0);
        case Op::Dropout: {
            const auto training = n.has_input(2) ? scalar(g, in(2)) : std::optional<double>(0);
            return training && *training == 0 ? in(0) : kNone;
        }
        case Op::Slice: {
            if (n.version < 10) return in(0);  // no steps there
            const auto steps = n.has_input(4) ? integers(g, in(4)) : std::optional(std::vector<std::int64_t>{});
            return steps && std::all_of(steps->begin(), steps->end(), [](std::int64_t s) { return s == 1; }) ? in(0) : kNone;
        }
        case Op::Pad: {
            const auto pads = n.version < 11 ? n.integers("pads") : n.has_input(1) ? integers(g, in(1)) : std::nullopt;
            return pads && std::all_of(pads->begin(), pads->end(), [](std::int64_t p) { return p == 0; }) ? in(0) : kNone;
        }
        default: return kNone;
    }
}

std::string attribute_key(const Attribute& a) {
    std::ostringstream out;
    out.precision(17);
    const auto list = [&](const auto& values) {
        out << a.index() << "[";
        for (const auto& v : values) out << v << ",";
        out << "]";
    };
    if (const auto* i = std::get_if<std::int64_t>(&a)) out << "i" << *i;
    else if (const auto* d = std::get_if<double>(&a)) out << "d" << *d;
    else if (const auto* s = std::get_if<std::string>(&a)) out << "s" << s->size() << ":" << *s;
    else if (const auto* is = std::get_if<std::vector<std::int64_t>>(&a)) list(*is);
    else if (const auto* ds = std::get_if<std::vector<double>>(&a)) list(*ds);
    else if (const auto* ss = std::get_if<std::vector<std::string>>(&a)) list(*ss);
    else if (const auto* t = std::get_if<TensorPtr>(&a)) out << "t" << t->get();
    return out.str();
}

constexpr std::int64_t kComparedElements = 64;

std::string constant_key(const Tensor& t) {
    std::ostringstream out;
    out << static_cast<int>(t.type) << "(";
    for (const std::int64_t d : t.dims) out << d << ",";
    out << ")" << std::hexfloat;
    for (std::int64_t i = 0; i < t.size(); ++i) {
        if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&t.data)) out << (*ints)[static_cast<std::size_t>(i)] << ",";
        else out << t.number(i) << ",";
    }
    return out.str();
}

bool mergeable(const Graph& g, const Node& n) {
    switch (n.op) {
        case Op::Bernoulli: case Op::Multinomial: case Op::RandomNormal: case Op::RandomNormalLike: case Op::RandomUniform: case Op::RandomUniformLike: return false;
        case Op::Dropout: return false;
        default: break;
    }
    if (n.body || n.outputs.empty()) return false;
    for (const auto& [key, a] : n.attributes)
        if (std::holds_alternative<GraphPtr>(a)) return false;
    return std::all_of(n.outputs.begin(), n.outputs.end(), [&](ValueId v) { return v != kNone && g.value(v).kind == ValueKind::tensor; });
}

std::string node_key(const Graph& g, const Node& n) {
    std::vector<std::string> operands;
    for (const ValueId v : n.inputs) {
        const TensorPtr t = v == kNone ? nullptr : g.value(v).constant;
        const bool small = t && t->size() <= kComparedElements && !std::holds_alternative<std::vector<std::string>>(t->data);
        operands.push_back(v == kNone ? "-" : small ? "c" + constant_key(*t) : "v" + std::to_string(v));
    }
    if (n.op == Op::Add || n.op == Op::Mul || n.op == Op::And || n.op == Op::Or || n.op == Op::Equal) std::sort(operands.begin(), operands.end());
    std::string key = std::to_string(static_cast<int>(n.op)) + "." + std::to_string(n.version) + "/" + std::to_string(n.outputs.size());
    for (const std::string& o : operands) key += "|" + o;
    for (const auto& [k, a] : n.attributes) key += ";" + k + "=" + attribute_key(a);
    return key;
}

}  // namespace

void remove_no_ops(PassContext& c) {
    Graph& g = c.graph;
    for (const NodeId id : g.order()) {
        const Node& n = g.node(id);
        if (n.outputs.empty() || n.outputs[0] == kNone) continue;
        const ValueId same = neutral(g, n);
        if (same == kNone) continue;
        const bool dropout = n.op == Op::Dropout;  // its shape rule is "same"
        if (!dropout && !same_shape(g, same, n.outputs[0])) continue;
        count(c, bypass(g, id, same));
    }
}

void merge_common_nodes(PassContext& c) {
    Graph& g = c.graph;
    std::map<std::string, NodeId> first;
    for (const NodeId id : g.order()) {
        const Node& n = g.node(id);
        if (!mergeable(g, n)) continue;
        const auto [it, is_new] = first.emplace(node_key(g, n), id);
        if (is_new) continue;
        const std::vector<ValueId> mine = n.outputs, theirs = g.node(it->second).outputs;
        bool keeps_names = true;
        for (std::size_t i = 0; i < mine.size(); ++i) keeps_names = keeps_names && !(g.value(mine[i]).outputs > 0 && g.value(theirs[i]).outputs > 0);
        ++c.record.matched;
        if (!keeps_names) continue;
        for (std::size_t i = 0; i < mine.size(); ++i) g.replace_uses(mine[i], theirs[i]);
        g.remove_node(id);
        ++c.record.effective;
    }
}

void remove_dead_nodes(PassContext& c) {
    c.record.matched = c.record.effective = c.graph.remove_unused();
}

}  // namespace sfumato::fusion::canonical
