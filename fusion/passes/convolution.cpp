// SPDX-License-Identifier: Apache-2.0
// A per-channel scale and shift behind a convolution becomes part of its weights, where these are true constants.
#include <cmath>
#include <optional>

#include "fusion/passes/canonical.h"
#include "fusion/passes/rewrite.h"

namespace sfumato::fusion::canonical {

namespace {

struct Affine {
    std::vector<double> scale, shift;  ///< per output channel
};

// One number per channel out of a constant that broadcasts along everything but axis 1 of a result of this rank.
std::optional<std::vector<double>> per_channel(const Graph& g, ValueId v, std::int64_t channels, int result_rank) {
    const TensorPtr& t = g.value(v).constant;
    if (!t || !is_float(t->type) || t->rank() > result_rank) return std::nullopt;
    const int channel_axis = t->rank() - (result_rank - 1);  // where axis 1 falls in it
    for (int i = 0; i < t->rank(); ++i)
        if (t->dims[static_cast<std::size_t>(i)] != 1 && i != channel_axis) return std::nullopt;
    if (t->size() != 1 && t->size() != channels) return std::nullopt;
    std::vector<double> out;
    for (std::int64_t i = 0; i < channels; ++i) out.push_back(t->number(t->size() == 1 ? 0 : i));
    return out;
}

std::optional<Affine> batch_norm(const Graph& g, const Node& n, std::int64_t channels) {
    if (n.integer("training_mode", 0) != 0) return std::nullopt;
    for (std::size_t i = 1; i < n.outputs.size(); ++i)
        if (n.outputs[i] != kNone) return std::nullopt;
    const double eps = n.real("epsilon", 1e-5);
    Affine a;
    for (std::size_t i = 1; i < 5; ++i)
        if (!g.value(n.inputs[i]).constant || g.value(n.inputs[i]).constant->size() != channels) return std::nullopt;
    const auto at = [&](std::size_t i, std::int64_t k) { return g.value(n.inputs[i]).constant->number(k); };
    for (std::int64_t k = 0; k < channels; ++k) {
        const double s = at(1, k) / std::sqrt(at(4, k) + eps);
        a.scale.push_back(s);
        a.shift.push_back(at(2, k) - at(3, k) * s);
    }
    return a;
}

std::optional<Affine> affine(const Graph& g, const Node& n, ValueId convolved, std::int64_t channels) {
    const int r = rank(g.value(n.outputs[0]));
    const auto ones = [&](double x) { return std::vector<double>(static_cast<std::size_t>(channels), x); };
    if (n.op == Op::BatchNormalization) return batch_norm(g, n, channels);
    if ((n.op != Op::Mul && n.op != Op::Add) || r < 3 || rank(g.value(convolved)) != r) return std::nullopt;
    const auto k = per_channel(g, n.inputs[n.inputs[0] == convolved ? 1 : 0], channels, r);
    if (!k) return std::nullopt;
    return n.op == Op::Mul ? Affine{*k, ones(0)} : Affine{ones(1), *k};
}

Tensor rounded(const Tensor& like, std::vector<std::int64_t> dims, const std::vector<double>& values) {
    Tensor t{like.type, std::move(dims), {}};
    if (std::holds_alternative<std::vector<double>>(like.data)) t.data = values;
    else t.data = std::vector<float>(values.begin(), values.end());
    return t;
}

bool fold(PassContext& c, NodeId id) {
    Graph& g = c.graph;
    const Node n = g.node(id);
    const ValueId data = n.op == Op::BatchNormalization || producer_of(g, n.inputs[0], Op::Conv) ? n.inputs[0] : n.inputs[1];
    const Node* found = producer_of(g, data, Op::Conv);
    if (!found) return false;
    const Node conv = *found;
    const NodeId conv_id = g.value(data).producer;
    const TensorPtr w = g.value(conv.inputs[1]).constant;
    if (n.op != Op::BatchNormalization && !g.value(n.inputs[n.inputs[0] == data ? 1 : 0]).constant) return false;
    ++c.record.matched;
    const TensorPtr b = conv.has_input(2) ? g.value(conv.inputs[2]).constant : nullptr;
    const auto refuse = [&](Reason r, const std::string& text) {
        c.refuse(id, r, text, 1);
        return false;
    };
    if (!w || (conv.has_input(2) && !b)) return refuse(Reason::wrong_constant, "the weights of " + conv.name + " are no true constants: a caller may override them");
    if (g.value(data).outputs > 0) return refuse(Reason::graph_output_inside, g.value(data).name + " is an output of the graph");
    if (g.value(data).users.size() != 1) return refuse(Reason::inner_value_used_outside, g.value(data).name + " has " + std::to_string(g.value(data).users.size()) + " users");
    if (w->type != ElemType::f32 && w->type != ElemType::f64) return refuse(Reason::type_unsupported, "weights of " + std::string(name(w->type)) + " would be rounded again");
    const std::int64_t channels = w->dims[0];
    const auto a = affine(g, n, data, channels);
    if (!a) return refuse(Reason::wrong_constant, "scale and shift are not one number per channel of true constants");
    std::vector<double> weights, bias;
    const std::int64_t each = channels ? w->size() / channels : 0;
    for (std::int64_t i = 0; i < w->size(); ++i) weights.push_back(w->number(i) * a->scale[static_cast<std::size_t>(i / each)]);
    for (std::int64_t k = 0; k < channels; ++k) bias.push_back((b ? b->number(k) : 0) * a->scale[static_cast<std::size_t>(k)] + a->shift[static_cast<std::size_t>(k)]);
    // new constants: the old ones may have other users
    const ValueId new_w = g.add_constant(rounded(*w, w->dims, weights), g.value(conv.inputs[1]).name + "/folded");
    const ValueId new_b = g.add_constant(rounded(*w, {channels}, bias), conv.name + "/bias");
    const NodeId now = replace_node(g, id, Op::Conv, {conv.inputs[0], new_w, new_b}, conv.attributes, conv.version);
    g.node(now).origins = conv.origins;
    g.node(now).origins.insert(g.node(now).origins.end(), n.origins.begin(), n.origins.end());
    g.node(now).name = conv.name;
    g.remove_node(conv_id);
    ++c.record.effective;
    return true;
}

}  // namespace

void fold_into_convolutions(PassContext& c) {
    for (const NodeId id : c.graph.order()) {
        const Node& n = c.graph.node(id);
        if (!n.dead && (n.op == Op::BatchNormalization || n.op == Op::Mul || n.op == Op::Add)) fold(c, id);
    }
}

}  // namespace sfumato::fusion::canonical
