// SPDX-License-Identifier: Apache-2.0
// The judge of a memory plan. It shares no code with the planner: live ranges come from the schedule, sizes from the shapes at given symbol
// values as plain integers, and every two values that are live at once are compared. Bytes may be shared only by values that hold the same data
// there (views, parts of a concatenation), by a result written over an operand that is read for the last time, and by a grown cache.
#include <algorithm>
#include <map>
#include <set>

#include "fusion/memory_plan.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

namespace {

using Int = std::int64_t;

struct Where {
    ValueId space = kNone;  ///< root that is not planned; kNone: the arena
    Int from = 0, to = 0;   ///< bytes really used at these sizes
    bool placed = false;
};

struct Edge {  ///< `to` holds the bytes of `from` (or the reverse) that both cover when it lies `delta` behind it
    ValueId other;
    Int delta;
};

struct Judge {
    const Graph& g;
    const MemoryPlan& plan;
    const Bindings& bindings;
    std::vector<std::string> lines{};
    std::vector<int> made{}, last_read{};  ///< by value: steps
    std::vector<Where> where{};
    std::vector<std::vector<Edge>> same_data{};
    std::map<NodeId, int> step_of{};

    std::string name(ValueId v) const { return v == kNone ? std::string("working memory") : g.value(v).name; }
    void say(std::string line) { lines.push_back(std::move(line)); }

    std::vector<Int> dims(ValueId v) const {
        std::vector<Int> out;
        if (g.value(v).shape)
            for (const Extent& d : *g.value(v).shape) out.push_back(std::max<Int>(0, g.symbols().evaluate(d, bindings)));
        return out;
    }
    Int size(ValueId v) const {
        const Value& value = g.value(v);
        if (value.kind != ValueKind::tensor || value.type == ElemType::string) return 0;
        Int bits = info(value.type).bits;
        for (const Int d : dims(v)) bits *= d;
        return (bits + 7) / 8;
    }

    std::set<ValueId> read_by(NodeId id) const {
        std::set<ValueId> out;
        const Node& n = g.node(id);
        if (n.op != Op::Shape && n.op != Op::Size) out.insert(n.inputs.begin(), n.inputs.end());
        for (const auto& [key, v] : n.captures) out.insert(v);
        out.erase(kNone);
        return out;
    }

    std::set<ValueId> operands(NodeId id) const {
        std::set<ValueId> out = read_by(id);
        out.insert(g.node(id).inputs.begin(), g.node(id).inputs.end());
        out.erase(kNone);
        return out;
    }

    bool schedule() {
        for (const NodeId id : plan.schedule) {
            if (id >= g.node_limit() || g.node(id).dead) {
                say("the schedule holds node " + std::to_string(id) + ", which the graph no longer has: plan again after a rewrite");
                return false;
            }
            const int step = static_cast<int>(step_of.size());
            if (!step_of.emplace(id, step).second) say("node " + g.node(id).name + " stands twice in the schedule");
        }
        if (step_of.size() != g.node_count()) {
            say("the schedule has " + std::to_string(step_of.size()) + " nodes, the graph " + std::to_string(g.node_count()) +
                ": plan again after a rewrite");
            return false;
        }
        for (const auto& [id, step] : step_of)
            for (const ValueId v : operands(id))
                if (g.value(v).producer != kNone && step_of.at(g.value(v).producer) >= step) {
                    say("node " + g.node(id).name + " runs before its operand " + name(v) + " is made");
                    return false;
                }
        return true;
    }

    void live_ranges() {
        made.assign(g.value_limit(), -1);
        last_read.assign(g.value_limit(), -1);
        const int forever = static_cast<int>(plan.schedule.size());
        for (ValueId v = 0; v < g.value_limit(); ++v)
            if (g.value(v).producer == kNone || g.value(v).outputs > 0) last_read[v] = forever;
        for (const auto& [id, step] : step_of) {
            for (const ValueId v : g.node(id).outputs) {
                if (v == kNone) continue;
                made[v] = step;
                last_read[v] = std::max(last_read[v], step);
            }
            for (const ValueId v : read_by(id)) last_read[v] = std::max(last_read[v], step);
        }
    }

    void places() {
        where.assign(g.value_limit(), {});
        std::map<ValueId, const PlannedValue*> row;
        for (const PlannedValue& p : plan.values)
            if (p.value != kNone && !row.emplace(p.value, &p).second) say("value " + name(p.value) + " is placed twice");
        for (const PlannedValue& p : plan.values) {
            if (p.value == kNone) continue;
            const PlannedValue* root = &p;
            if (p.placement == Placement::alias) {
                const auto it = row.find(p.root);
                if (it == row.end() || it->second->placement == Placement::alias) {
                    say("value " + name(p.value) + " shares memory of " + name(p.root) + ", which has none");
                    continue;
                }
                root = it->second;
            }
            Where& w = where[p.value];
            w.placed = true;
            w.space = root->placement == Placement::planned ? kNone : root->value;
            w.from = root->offset + (p.placement == Placement::alias ? g.symbols().evaluate(p.inner, bindings) : 0);
            w.to = w.from + size(p.value);
            if (w.space == kNone && (w.to > plan.arena_bytes || w.from < 0))
                say("value " + name(p.value) + " leaves the arena of " + std::to_string(plan.arena_bytes) + " bytes");
            if (p.placement == Placement::planned && p.offset % plan.alignment != 0)
                say("value " + name(p.value) + " starts at " + std::to_string(p.offset) + ", no multiple of " + std::to_string(plan.alignment));
            if (w.to > root->offset + root->upper_bytes && w.to > w.from)
                say("value " + name(p.value) + " leaves the memory of " + name(root->value));
        }
        for (const auto& [id, step] : step_of)
            for (const ValueId v : g.node(id).outputs)
                if (v != kNone && !where[v].placed) say("value " + name(v) + " of node " + g.node(id).name + " has no place");
    }

    // ---- which values hold the same data

    std::optional<std::vector<Int>> integers(ValueId v) const {
        if (v == kNone) return std::nullopt;
        const Value& value = g.value(v);
        std::vector<Int> out;
        if (value.content) {
            for (const Extent& e : *value.content) out.push_back(g.symbols().evaluate(e, bindings));
        } else if (value.constant && std::holds_alternative<std::vector<Int>>(value.constant->data)) {
            out = value.constant->ints();
        } else {
            return std::nullopt;
        }
        return out;
    }
    std::vector<Int> operand_or_attribute(const Node& n, std::size_t i, const char* key) const {
        if (n.has_input(i)) return integers(n.inputs[i]).value_or(std::vector<Int>{});
        return n.integers(key).value_or(std::vector<Int>{});
    }

    void relate(ValueId a, ValueId b, Int delta) {  // b starts delta bytes behind a
        if (where[a].space != where[b].space || where[b].from - where[a].from != delta) return;
        same_data[a].push_back({b, delta});
        same_data[b].push_back({a, -delta});
    }

    // bytes before position `start` of `axis`, when that part is one stretch
    std::optional<Int> stretch(ValueId v, Int axis, Int start) const {
        const std::vector<Int> d = dims(v);
        Int inner = info(g.value(v).type).bits / 8;
        for (std::size_t i = 0; i < d.size(); ++i) {
            if (static_cast<Int>(i) < axis && d[i] > 1) return std::nullopt;
            if (static_cast<Int>(i) > axis) inner *= d[i];
        }
        return start * inner;
    }

    void relate_slice(const Node& n) {
        const ValueId in = n.inputs[0];
        const std::vector<Int> d = dims(in), starts = operand_or_attribute(n, 1, "starts"),
                               steps = n.has_input(4) ? operand_or_attribute(n, 4, "") : std::vector<Int>{1};
        std::vector<Int> axes = operand_or_attribute(n, 3, "axes");
        if (axes.empty()) axes = {0};
        if (starts.size() != 1 || axes.size() != 1 || steps != std::vector<Int>{1}) return;
        const Int axis = axes[0] < 0 ? axes[0] + static_cast<Int>(d.size()) : axes[0];
        const Int dim = d.at(static_cast<std::size_t>(axis));
        const Int start = std::clamp<Int>(starts[0] < 0 ? starts[0] + dim : starts[0], 0, dim);
        if (const auto delta = stretch(in, axis, start)) relate(in, n.outputs[0], *delta);
    }

    void relate_pieces(const Node& n, ValueId whole, const std::vector<ValueId>& pieces, Int fallback_axis) {
        Int axis = n.integer("axis", fallback_axis), before = 0;
        if (axis < 0) axis += static_cast<Int>(dims(whole).size());
        for (const ValueId p : pieces) {
            if (p == kNone) return;
            if (const auto delta = stretch(whole, axis, before)) relate(whole, p, *delta);
            before += dims(p).at(static_cast<std::size_t>(axis));
        }
    }

    void relate_node(const Node& n) {
        if (n.outputs.empty() || n.outputs[0] == kNone || !n.has_input(0)) return;
        const ValueId in = n.inputs[0], out = n.outputs[0];
        switch (n.op) {
            case Op::Identity:
            case Op::Reshape:
            case Op::Flatten:
            case Op::Squeeze:
            case Op::Unsqueeze:
                relate(in, out, 0);
                break;
            case Op::Dropout:
                if (n.inputs.size() < 3 && n.outputs.size() == 1) relate(in, out, 0);
                break;
            case Op::Slice:
                relate_slice(n);
                break;
            case Op::Split:
                relate_pieces(n, in, n.outputs, 0);
                break;
            case Op::Concat:
                relate_pieces(n, out, n.inputs, 1);
                break;
            case Op::Gather: {
                const auto index = integers(n.inputs[1]);
                if (!index || index->size() != 1) break;
                Int axis = n.integer("axis", 0);
                if (axis < 0) axis += static_cast<Int>(dims(in).size());
                const Int dim = dims(in).at(static_cast<std::size_t>(axis));
                if (const auto delta = stretch(in, axis, (*index)[0] < 0 ? (*index)[0] + dim : (*index)[0])) relate(in, out, *delta);
                break;
            }
            default:
                break;
        }
    }

    // A chain of values from a to b, each of which holds the shared bytes.
    bool same(ValueId a, ValueId b) const {
        const Int from = std::max(where[a].from, where[b].from), to = std::min(where[a].to, where[b].to);
        std::set<ValueId> seen{a};
        std::vector<ValueId> open{a};
        while (!open.empty()) {
            const ValueId v = open.back();
            open.pop_back();
            if (v == b) return true;
            for (const Edge& e : same_data[v])
                if (where[e.other].from <= from && where[e.other].to >= to && seen.insert(e.other).second) open.push_back(e.other);
        }
        return false;
    }

    static bool element_by_element(const Node& n) {
        const LoopKind kind = row(n.op).kind;
        if (kind == LoopKind::elementwise || kind == LoopKind::broadcast) return true;
        if (!n.body) return false;
        for (const NodeId id : n.body->order())
            if (!element_by_element(n.body->node(id))) return false;
        return true;
    }

    // `result` is written by its node over `operand`, which nothing reads later and which the node reads only at the same places.
    bool over(ValueId operand, ValueId result) const {
        const Node& n = g.node(g.value(result).producer);
        if (last_read[operand] != made[result] || !element_by_element(n) || n.outputs.size() != 1) return false;
        if (std::find(n.inputs.begin(), n.inputs.end(), operand) == n.inputs.end()) return false;
        return where[operand].from == where[result].from && dims(operand) == dims(result) && size(operand) == size(result);
    }

    // The first operand of a Concat that nothing else reads, grown where it lies: its rows keep their places in a cache of full capacity.
    bool grown(ValueId past, ValueId present) const {
        if (g.value(present).producer == kNone || where[past].space != past || where[present].from != where[past].from) return false;
        const NodeId id = g.value(present).producer;
        const Node& n = g.node(id);
        if (n.op != Op::Concat || n.inputs.size() != 2 || n.inputs[0] != past) return false;
        for (const auto& [other, step] : step_of)
            if (other != id && read_by(other).count(past)) return false;
        return true;
    }

    void compare(ValueId a, ValueId b) {
        const Where &x = where[a], &y = where[b];
        if (x.space != y.space || x.from >= y.to || y.from >= x.to) return;
        if (same(a, b)) return;
        if (made[b] >= 0 && over(a, b)) return;
        if (made[a] >= 0 && over(b, a)) return;
        if (grown(a, b) || grown(b, a)) return;
        const auto text = [&](ValueId v) {
            return name(v) + " [" + std::to_string(where[v].from) + ", " + std::to_string(where[v].to) + ") of steps " + std::to_string(made[v]) +
                   " to " + std::to_string(last_read[v]);
        };
        say("overlap: " + text(a) + " and " + text(b));
    }

    void sweep() {
        std::vector<ValueId> order;
        for (ValueId v = 0; v < g.value_limit(); ++v)
            if (where[v].placed && where[v].to > where[v].from) order.push_back(v);
        std::stable_sort(order.begin(), order.end(), [&](ValueId a, ValueId b) { return made[a] < made[b]; });
        std::map<ValueId, std::vector<ValueId>> live;  // by space
        for (const ValueId v : order) {
            auto& others = live[where[v].space];
            if (!plan.any_order)
                others.erase(std::remove_if(others.begin(), others.end(), [&](ValueId o) { return last_read[o] < made[v]; }), others.end());
            for (const ValueId o : others)
                if (!plan.any_order || !ordered(o, v)) compare(o, v);
            others.push_back(v);
        }
    }

    // With streams: every reader of `a` is an ancestor of the producer of `b`. A search backwards from that producer.
    bool ordered(ValueId a, ValueId b) const {
        if (where[a].from >= where[b].to || where[b].from >= where[a].to || last_read[a] >= static_cast<int>(plan.schedule.size())) return false;
        std::set<NodeId> before;
        std::vector<NodeId> open{g.value(b).producer};
        while (!open.empty()) {
            const NodeId id = open.back();
            open.pop_back();
            for (const ValueId v : operands(id))
                if (g.value(v).producer != kNone && before.insert(g.value(v).producer).second) open.push_back(g.value(v).producer);
        }
        if (g.value(a).producer != kNone && !before.count(g.value(a).producer)) return false;
        return std::all_of(g.value(a).users.begin(), g.value(a).users.end(), [&](NodeId u) { return before.count(u) != 0; });
    }

    void working_memory() {
        for (const PlannedValue& p : plan.values) {
            if (p.value != kNone) continue;
            for (ValueId v = 0; v < g.value_limit(); ++v)
                if (where[v].placed && where[v].space == kNone && made[v] <= p.first && last_read[v] >= p.first &&
                    where[v].from < p.offset + p.upper_bytes && p.offset < where[v].to)
                    say("overlap: " + p.why + " and " + name(v) + " at step " + std::to_string(p.first));
        }
    }
};

}  // namespace

std::vector<std::string> check_plan(const Graph& g, const MemoryPlan& plan, const Bindings& bindings) {
    Judge j{g, plan, bindings};
    if (!j.schedule()) return j.lines;
    j.live_ranges();
    j.places();
    j.same_data.resize(g.value_limit());
    for (const NodeId id : plan.schedule) j.relate_node(g.node(id));
    j.sweep();
    j.working_memory();
    return j.lines;
}

}  // namespace sfumato::fusion
