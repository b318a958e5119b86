// SPDX-License-Identifier: Apache-2.0
// The frame of shape inference: what rules read and set, and how a new shape meets the one that a value already has.
#include <algorithm>
#include <cmath>

#include "fusion/shape.h"
#include "fusion/shape/rules.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

using isa::InputError;

std::string shape_text(const Symbols& symbols, const Shape& shape) {
    std::string out = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + symbols.to_text(shape[i]);
    return out + "]";
}

namespace {

bool ends_in_number(std::string_view name) {
    const std::size_t at = name.find_last_not_of("0123456789");
    return at != std::string_view::npos && at + 1 < name.size() && name[at] == '_';
}

}  // namespace

std::optional<std::vector<Extent>> tensor_content(const Tensor& t) {
    if (t.rank() > 1 || t.size() > kMostContent) return std::nullopt;
    if (std::holds_alternative<std::vector<std::string>>(t.data)) return std::nullopt;
    if (const auto* v = std::get_if<std::vector<std::int64_t>>(&t.data)) return std::vector<Extent>(v->begin(), v->end());
    std::vector<Extent> out;
    for (std::int64_t i = 0; i < t.size(); ++i) {
        const double x = t.number(i);
        if (!(x >= -0x1p52 && x <= 0x1p52) || x != std::floor(x)) return std::nullopt;
        out.emplace_back(static_cast<std::int64_t>(x));
    }
    return out;
}

bool is_data_dependent(const Symbols& symbols, const Extent& e) {
    const auto names = symbols.names_in(e);
    return std::any_of(names.begin(), names.end(), [](const std::string& n) { return n.starts_with("data_") && ends_in_number(n); });
}

bool is_made_up(const Symbols& symbols, const Extent& e) {
    if (e.terms().size() != 1 || e.terms()[0].coefficient != 1 || e.terms()[0].factors.size() != 1) return false;
    const auto names = symbols.names_in(e);
    return names.size() == 1 && (names[0].starts_with("data_") || names[0].starts_with("unk_")) && ends_in_number(names[0]) && symbols.to_text(e) == names[0];
}

const Value* ShapeContext::input(std::size_t i) const { return node().has_input(i) ? &graph.value(node().inputs[i]) : nullptr; }

const Shape* ShapeContext::shape(std::size_t i) const {
    const Value* v = input(i);
    return v && v->shape ? &*v->shape : nullptr;
}

std::optional<std::vector<Extent>> ShapeContext::content(std::size_t i) const {
    const Value* v = input(i);
    if (!v) return std::nullopt;
    if (v->content) return v->content;
    return v->constant ? tensor_content(*v->constant) : std::nullopt;
}

void ShapeContext::fail(const std::string& what) const {
    throw InputError("node " + node().name + " (" + std::string(name(node().op)) + "): " + what);
}

void ShapeContext::assume(const std::string& relation) const {
    std::string& all = graph.metadata["sfumato.constraints"];
    if (all.size() > 16'384 || ("\n" + all).find("\n" + relation + " (node ") != std::string::npos) return;
    all += (all.empty() ? "" : "\n") + relation + " (node " + node().name + ")";
}

namespace {
Value* output(const ShapeContext& c, std::size_t i) {
    const auto& outputs = c.node().outputs;
    return i < outputs.size() && outputs[i] != kNone ? &c.graph.value(outputs[i]) : nullptr;
}
}  // namespace

void ShapeContext::set_type(std::size_t i, ElemType t) {
    Value* v = output(*this, i);
    if (!v || t == ElemType::undefined) return;
    if (v->type != ElemType::undefined && v->type != t)
        fail("its output " + v->name + " is declared as " + std::string(name(v->type)) + ", and its inputs make it " + std::string(name(t)));
    v->type = t;
}

void ShapeContext::set_kind(std::size_t i, ValueKind kind) {
    if (Value* v = output(*this, i)) v->kind = kind;
}

// What inference finds is kept; a declaration is only checked, and used where inference knows nothing.
void ShapeContext::set_shape(std::size_t i, Shape found) {
    Value* v = output(*this, i);
    if (!v) return;
    if (found.size() > kMostDims) fail("its output " + v->name + " has " + std::to_string(found.size()) + " dimensions, at most " + std::to_string(kMostDims) + " are supported");
    for (Extent& e : found)
        if (const auto c = e.constant(); c && *c < 0) fail("its output " + v->name + " would have the shape " + shape_text(symbols(), found) + ": an extent is negative");
    if (v->shape) {
        const Shape& declared = *v->shape;
        const auto contradiction = [&] {
            fail("its output " + v->name + " is declared as " + shape_text(symbols(), declared) + ", and its inputs make it " + shape_text(symbols(), found));
        };
        if (declared.size() != found.size()) contradiction();
        for (std::size_t d = 0; d < found.size(); ++d) {
            const auto a = declared[d].constant(), b = found[d].constant();
            if (a && b && *a != *b) contradiction();
            if (is_made_up(symbols(), found[d])) found[d] = declared[d];
        }
    }
    v->shape = std::move(found);
}

void ShapeContext::set_content(std::size_t i, std::vector<Extent> content) {
    Value* v = output(*this, i);
    if (v && static_cast<std::int64_t>(content.size()) <= kMostContent) v->content = std::move(content);
}

Extent ShapeContext::fresh_data() const {
    std::string op(name(node().op));
    std::string prefix = "data_";
    for (const char c : op) prefix += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return symbols().fresh(prefix);
}

Extent broadcast_extent(Symbols& symbols, const Extent& a, const Extent& b) {
    if (a == b || b == Extent(1)) return a;
    if (a == Extent(1)) return b;
    const auto x = a.constant(), y = b.constant();
    if (x && y) throw InputError("extents " + std::to_string(*x) + " and " + std::to_string(*y) + " do not broadcast");
    if (x) return a;
    if (y) return b;
    if (symbols.range(a).high <= 1) return b;  // at most 1: it gives way
    return symbols.range(b).high <= 1 ? a : symbols.broadcast(a, b);
}

bool infer_node_at(Graph& g, NodeId id, int depth) {
    ShapeContext context{g, id, depth};
    try {
        row(g.node(id).op).shape(context);
    } catch (const InputError& e) {
        if (std::string_view(e.what()).starts_with("node ")) throw;
        context.fail(e.what());
    }
    return context.learned;
}

void infer_node(Graph& g, NodeId id) { infer_node_at(g, id, 0); }

Inferred infer_graph(Graph& g, int depth) {
    Inferred all;
    for (const NodeId id : g.order()) {
        all.learned = infer_node_at(g, id, depth) || all.learned;
        for (const ValueId v : g.node(id).outputs)
            if (v != kNone && !g.value(v).shape && g.value(v).kind == ValueKind::tensor) ++all.unknown;
    }
    return all;
}

int infer_shapes(Graph& g) {
    constexpr int kMostRounds = 3;
    for (int round = 1;; ++round) {
        g.metadata.erase("sfumato.constraints");
        const Inferred all = infer_graph(g, 0);
        if (!all.learned || round == kMostRounds) return all.unknown;
    }
}

}  // namespace sfumato::fusion
