// SPDX-License-Identifier: Apache-2.0
// Attention blocks: the projections of one input into heads (QKV_Gen), the appended cache (KVAppend), and both around an AttentionCore.
#include <algorithm>
#include <map>
#include <set>

#include "fusion/passes/named.h"
#include "fusion/passes/rewrite.h"

namespace sfumato::fusion {

namespace {

struct Head {
    NodeId last = kNone;             ///< the Transpose
    std::vector<NodeId> nodes;       ///< of this chain alone, the shared ones aside
    std::vector<NodeId> shared;      ///< MatMul, bias and Split that serve all three
    ValueId source = kNone;
};

bool inner(const Graph& g, ValueId v) { return single_use(g.value(v)); }

// (MatMul, [Transpose of the weight], [Add bias]) that makes v; false when v is no linear layer.
bool linear_layer(const Graph& g, ValueId v, std::vector<NodeId>& nodes, ValueId& source) {
    const Node* n = producer(g, v);
    if (n && n->op == Op::Add) {
        const std::size_t slot = settled(g, n->inputs[0]) ? 1 : 0;
        if (!settled(g, n->inputs[1 - slot]) || !inner(g, n->inputs[slot])) return false;
        nodes.push_back(g.value(v).producer);
        v = n->inputs[slot];
        n = producer(g, v);
    }
    if (!n || n->op != Op::MatMul || !settled(g, n->inputs[1]) || settled(g, n->inputs[0])) return false;
    nodes.push_back(g.value(v).producer);
    source = n->inputs[0];
    if (!fixed(g.value(n->inputs[1])) && producer(g, n->inputs[1])->op == Op::Transpose && inner(g, n->inputs[1])) nodes.push_back(g.value(n->inputs[1]).producer);
    return true;
}

bool read_head(const Graph& g, NodeId id, Head& head) {
    const Node& transpose = g.node(id);
    if (transpose.op != Op::Transpose) return false;
    const auto perm = permutation(transpose, rank(g.value(transpose.inputs[0])));
    if (perm != std::vector<std::int64_t>{0, 2, 1, 3} && perm != std::vector<std::int64_t>{0, 2, 3, 1}) return false;
    const Node* reshape = producer_of(g, transpose.inputs[0], Op::Reshape);
    if (!reshape || !inner(g, transpose.inputs[0]) || rank(g.value(reshape->inputs[0])) != 3) return false;
    head.last = id;
    head.nodes = {id, g.value(transpose.inputs[0]).producer};
    ValueId v = reshape->inputs[0];
    if (!inner(g, v)) return false;
    if (const Node* split = producer_of(g, v, Op::Split)) {
        if (split->outputs.size() != 3 || !inner(g, split->inputs[0])) return false;
        head.shared.push_back(g.value(v).producer);
        return linear_layer(g, split->inputs[0], head.shared, head.source);
    }
    return linear_layer(g, v, head.nodes, head.source);
}

}  // namespace

void generate_qkv(PassContext& c) {
    Graph& g = c.graph;
    std::map<std::pair<ValueId, std::vector<NodeId>>, std::vector<Head>> by_source;  // heads of one input, or of one Split
    std::vector<std::pair<ValueId, std::vector<NodeId>>> sequence;
    for (const NodeId id : g.order()) {
        Head head;
        if (!read_head(g, id, head)) continue;
        const auto key = std::pair{head.source, head.shared};
        if (!by_source.count(key)) sequence.push_back(key);
        by_source[key].push_back(std::move(head));
    }
    for (const auto& key : sequence) {
        const std::vector<Head>& heads = by_source.at(key);
        if (heads.size() != 3) {
            c.refuse(heads[0].last, Reason::wrong_structure, "QKV_Gen: " + g.value(key.first).name + " has " + std::to_string(heads.size()) + " projections into heads, wanted 3", static_cast<int>(heads[0].nodes.size()));
            continue;
        }
        ++c.record.matched;
        // the whole of an attention block may be allowed where its parts are not: what is left over is taken apart at the end
        const bool part = c.switches.allowed_ops && c.switches.allowed_ops->count("AttentionFused");
        if (!part && !c.allows("QKV_Gen", heads[0].last)) continue;
        std::vector<NodeId> nodes = key.second;
        for (const Head& h : heads) nodes.insert(nodes.end(), h.nodes.begin(), h.nodes.end());
        if (!convex(g, nodes)) {
            c.refuse(heads[0].last, Reason::cycle, "QKV_Gen: one projection depends on another", 4);
            continue;
        }
        fuse(g, nodes, "QKV_Gen");
        ++c.record.effective;
    }
}

void append_cache(PassContext& c) {
    Graph& g = c.graph;
    const std::set<ValueId> inputs(g.inputs.begin(), g.inputs.end());
    for (const NodeId id : g.order()) {
        const Node& n = g.node(id);
        if (n.op != Op::Concat || n.inputs.size() != 2 || !inputs.count(n.inputs[0]) || fixed(g.value(n.inputs[0]))) continue;
        const int r = rank(g.value(n.outputs[0]));
        const Value& past = g.value(n.inputs[0]);
        if (r < 3 || !is_float(past.type) || g.value(n.outputs[0]).outputs == 0) continue;
        ++c.record.matched;
        if (past.users.size() != 1) {  // decided by structure, not by names; Shape nodes would have been folded to symbols
            const bool only_shapes = std::all_of(past.users.begin(), past.users.end(), [&](NodeId u) { return u == id || g.node(u).op == Op::Shape; });
            if (!only_shapes) {
                c.refuse(id, Reason::inner_value_used_outside, "KVAppend: " + past.name + " has another user, so the new rows cannot be written behind it", 1);
                continue;
            }
        }
        if (past.outputs > 0 || from_front(n.integer("axis", 0), r) != r - 2) {
            c.refuse(id, Reason::wrong_structure, "KVAppend: " + n.name + " does not append rows along the axis before the last", 1);
            continue;
        }
        const bool part = c.switches.allowed_ops && c.switches.allowed_ops->count("AttentionFused");
        if (!part && !c.allows("KVAppend", id)) continue;
        fuse(g, {id}, "KVAppend");
        ++c.record.effective;
    }
}

namespace {

struct Block {
    std::vector<NodeId> nodes;
    NodeId qkv = kNone;
    std::string why;  ///< of a failure
};

// From an operand of the core back to the projections, through rotary and cache.
bool trace(const Graph& g, ValueId v, Block& b) {
    for (int steps = 0; steps < 8; ++steps) {
        const Node* n = producer(g, v);
        if (!n) {
            b.why = g.value(v).name + " comes in from outside";
            return false;
        }
        const NodeId id = g.value(v).producer;
        const std::string pattern = pattern_of(*n);
        if (pattern == "QKV_Gen") {
            if (b.qkv != kNone && b.qkv != id) b.why = "query, key and value come from different projections";
            b.qkv = id;
            return b.why.empty();
        }
        if (pattern == "RotaryFused") v = n->inputs[0];
        else if (pattern == "KVAppend") v = n->inputs[1];
        else if (n->op == Op::Cast || ((n->op == Op::Mul || n->op == Op::Div) && settled(g, n->inputs[1]))) v = n->inputs[0];
        else {
            b.why = g.value(v).name + " comes from " + std::string(pattern.empty() ? name(n->op) : std::string_view(pattern)) + " " + n->name + ", wanted QKV_Gen behind rotary and cache";
            return false;
        }
        b.nodes.push_back(id);
    }
    return false;
}

// Inner values of a block may leave it only where they are the updated cache.
bool closed(const Graph& g, const std::vector<NodeId>& nodes, NodeId last, std::string& why) {
    for (const NodeId id : nodes) {
        if (id == last || pattern_of(g.node(id)) == "KVAppend") continue;
        for (const ValueId v : g.node(id).outputs) {
            if (v == kNone) continue;
            const bool used = std::any_of(g.value(v).users.begin(), g.value(v).users.end(), [&](NodeId u) { return std::find(nodes.begin(), nodes.end(), u) == nodes.end(); });
            if (!used && g.value(v).outputs == 0) continue;
            why = g.value(v).name + " is used outside the block";
            return false;
        }
    }
    return true;
}

// [Transpose(0, 2, 1, 3), Reshape to rank 3] behind the core.
NodeId absorb_output(const Graph& g, NodeId core, std::vector<NodeId>& nodes) {
    const ValueId y = g.node(core).outputs[0];
    if (!inner(g, y)) return core;
    const NodeId t = g.value(y).users[0];
    if (g.node(t).op != Op::Transpose || permutation(g.node(t), rank(g.value(y))) != std::vector<std::int64_t>{0, 2, 1, 3}) return core;
    nodes.push_back(t);
    const ValueId turned = g.node(t).outputs[0];
    if (!inner(g, turned)) return t;
    const NodeId r = g.value(turned).users[0];
    if (g.node(r).op != Op::Reshape || g.node(r).inputs[0] != turned || !settled(g, g.node(r).inputs[1])) return t;
    nodes.push_back(r);
    return r;
}

// Where the cache goes in and comes out, as pairs of (input, output) of the group: the memory plan lets them share memory.
std::vector<std::int64_t> cache_pairs(const Graph& g, NodeId group) {
    std::vector<std::int64_t> pairs;
    const Node& n = g.node(group);
    const Graph& body = *n.body;
    for (NodeId id = 0; id < body.node_limit(); ++id) {
        if (body.node(id).dead || pattern_of(body.node(id)) != "KVAppend") continue;
        const auto in = std::find(body.inputs.begin(), body.inputs.end(), body.node(id).inputs[0]);
        const auto out = std::find(body.outputs().begin(), body.outputs().end(), body.node(id).outputs[0]);
        if (in == body.inputs.end() || out == body.outputs().end()) continue;
        pairs.push_back(in - body.inputs.begin());
        pairs.push_back(out - body.outputs().begin());
    }
    return pairs;
}

// Operands of a core by what they are: its body's MatMuls tell (the first reads query and key, the root reads the values).
std::vector<ValueId> core_operands(const Graph& g, NodeId core) {
    const Graph& body = *g.node(core).body;
    const auto source = [&](ValueId v) {  // back through Transpose, repeat of heads, scale, to an input of the body
        for (;;) {
            const NodeId p = body.value(v).producer;
            if (p == kNone) return v;
            const Node& n = body.node(p);
            v = body.value(n.inputs[0]).constant ? n.inputs[1] : n.inputs[0];
        }
    };
    std::vector<ValueId> out;
    const auto outer = [&](ValueId v) {
        const auto it = std::find(body.inputs.begin(), body.inputs.end(), v);
        if (it != body.inputs.end()) out.push_back(g.node(core).inputs[static_cast<std::size_t>(it - body.inputs.begin())]);
    };
    std::vector<NodeId> products;
    for (const NodeId id : body.order())
        if (body.node(id).op == Op::MatMul) products.push_back(id);
    if (products.size() != 2) return {};
    outer(source(body.node(products[0]).inputs[0]));
    outer(source(body.node(products[0]).inputs[1]));
    outer(source(body.node(products[1]).inputs[1]));
    return out;
}

}  // namespace

void fuse_attention(PassContext& c) {
    Graph& g = c.graph;
    for (const NodeId core : g.order()) {
        if (g.node(core).dead || pattern_of(g.node(core)) != "AttentionCore") continue;
        Block b;
        b.nodes = {core};
        const auto operands = core_operands(g, core);
        bool found = operands.size() == 3;
        for (const ValueId v : operands) found = found && trace(g, v, b);
        if (!found) {
            c.refuse(core, Reason::wrong_structure, "AttentionFused: " + (b.why.empty() ? "query, key and value are not three values" : b.why), 1);
            continue;
        }
        ++c.record.matched;
        if (!c.allows("AttentionFused", core)) continue;
        b.nodes.push_back(b.qkv);
        const NodeId last = absorb_output(g, core, b.nodes);
        std::sort(b.nodes.begin(), b.nodes.end());
        b.nodes.erase(std::unique(b.nodes.begin(), b.nodes.end()), b.nodes.end());
        std::string why;
        if (!closed(g, b.nodes, last, why)) {
            c.refuse(core, Reason::inner_value_used_outside, "AttentionFused: " + why, static_cast<int>(b.nodes.size()));
            continue;
        }
        if (!convex(g, b.nodes)) {
            c.refuse(core, Reason::cycle, "AttentionFused: mask or tables depend on the block", static_cast<int>(b.nodes.size()));
            continue;
        }
        const NodeId group = fuse(g, b.nodes, "AttentionFused");
        if (auto pairs = cache_pairs(g, group); !pairs.empty()) g.node(group).attributes["kv_append"] = std::move(pairs);
        ++c.record.effective;
    }
    if (!c.switches.allowed_ops) return;
    for (const NodeId id : g.order()) {  // parts that were made only to be parts
        const std::string pattern = pattern_of(g.node(id));
        if (c.switches.allowed_ops->count(pattern)) continue;
        if (pattern == "QKV_Gen" || pattern == "AttentionCore" || pattern == "RotaryFused" || pattern == "KVAppend") {
            c.allows(pattern, id);
            unfuse(g, id);
        }
    }
}

}  // namespace sfumato::fusion
