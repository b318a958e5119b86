// SPDX-License-Identifier: Apache-2.0
// The plan: order of the nodes, shared buffers, offsets; the best of a few of each.
#include <algorithm>

#include "fusion/memory_plan.h"
#include "fusion/plan/buffers.h"
#include "fusion/plan/place.h"
#include "isa/diagnostic.h"
#include "isa/types.h"

namespace sfumato::fusion {

using isa::InputError;
using isa::with_separators;

namespace {

using namespace plan;

// What the subgraphs of control nodes need while their node runs: the branches of an If one at a time, so the largest.
std::map<NodeId, std::int64_t> working_memory(const Graph& g, const MemoryOptions& options) {
    MemoryOptions inner = options;
    inner.limit_bytes.reset();
    inner.kv_append = false;
    std::map<NodeId, std::int64_t> out;
    for (NodeId id = 0; id < g.node_limit(); ++id)
        for (const GraphPtr& sub : g.node(id).dead ? std::vector<GraphPtr>{} : subgraphs(g.node(id))) {
            const MemoryPlan p = plan_memory(*sub, inner);
            // inputs of a body are carried values and slices, its outputs the next ones
            const std::int64_t need =
                p.arena_bytes + isa::round_up(p.input_bytes, options.alignment) + isa::round_up(p.output_bytes, options.alignment);
            out[id] = std::max(out[id], isa::round_up(need, options.alignment));
        }
    return out;
}

struct Candidate {
    std::vector<NodeId> schedule;
    Lifetimes life;
    BufferSet set;
    std::vector<std::int64_t> working;
    Bound bound;
};

Candidate best_candidate(const Graph& g, const Sizes& sizes, const MemoryOptions& options, const std::vector<std::vector<std::uint64_t>>& ancestors) {
    std::optional<Candidate> best;
    const auto of_node = working_memory(g, options);
    for (const auto& schedule : schedules(g, sizes)) {
        const Lifetimes life = lifetimes(g, schedule);
        std::vector<std::int64_t> working(schedule.size(), 0);
        for (const auto& [id, bytes] : of_node) working[static_cast<std::size_t>(life.step[id])] = bytes;
        for (const AliasChoice choice : {AliasChoice{true, true}, AliasChoice{true, false}, AliasChoice{false, false}}) {
            Candidate c{schedule, life, make_buffers(g, schedule, life, sizes, options, choice, ancestors), working, {}};
            c.bound = live_bound(c.set, working, options.alignment, life.end);
            if (!best || c.bound.bytes < best->bound.bytes) best = std::move(c);
            if (!options.reuse) return *best;
        }
    }
    return *best;
}

struct Arena {
    std::vector<Block> blocks;
    std::vector<int> buffer;  ///< by block; -1: working memory of a step
};

Arena arena_blocks(const Candidate& c, std::int64_t alignment) {
    Arena a;
    for (std::size_t i = 0; i < c.set.buffers.size(); ++i) {
        const Buffer& b = c.set.buffers[i];
        if (b.gone || b.kind != Placement::planned) continue;
        a.blocks.push_back({isa::round_up(b.upper, alignment), b.first, b.last});
        a.buffer.push_back(static_cast<int>(i));
    }
    for (std::size_t t = 0; t < c.working.size(); ++t)
        if (c.working[t] > 0) {
            a.blocks.push_back({c.working[t], static_cast<int>(t), static_cast<int>(t)});
            a.buffer.push_back(-1);
        }
    return a;
}

// Streams: two buffers may share memory only when the graph puts every reader of one before every writer of the other.
Conflicts conflicts_in_any_order(const Graph& g, const Candidate& c, const Arena& a, const std::vector<std::vector<std::uint64_t>>& ancestors) {
    const auto users = [&](int block) {
        std::vector<NodeId> out;
        const int b = a.buffer[static_cast<std::size_t>(block)];
        if (b < 0) return std::vector<NodeId>{c.schedule[static_cast<std::size_t>(a.blocks[static_cast<std::size_t>(block)].first)]};
        for (const ValueId m : c.set.buffers[static_cast<std::size_t>(b)].members) {
            if (g.value(m).producer != kNone) out.push_back(g.value(m).producer);
            out.insert(out.end(), g.value(m).users.begin(), g.value(m).users.end());
        }
        return out;
    };
    std::vector<std::vector<NodeId>> touched;
    for (std::size_t i = 0; i < a.blocks.size(); ++i) touched.push_back(users(static_cast<int>(i)));
    const auto before = [&](const std::vector<NodeId>& x, const std::vector<NodeId>& y) {
        for (const NodeId p : x)
            for (const NodeId q : y)
                if (!precedes(ancestors, p, q)) return false;
        return true;
    };
    Conflicts out(a.blocks.size());
    for (std::size_t i = 0; i < a.blocks.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (!before(touched[i], touched[j]) && !before(touched[j], touched[i])) {
                out[i].push_back(static_cast<int>(j));
                out[j].push_back(static_cast<int>(i));
            }
    return out;
}

void fill_values(const Graph& g, const Candidate& c, const Sizes& sizes, const Arena& a, const Placed& placed, const MemoryOptions& options,
                 MemoryPlan& plan) {
    std::vector<std::int64_t> offset(c.set.buffers.size(), 0);
    for (std::size_t i = 0; i < a.blocks.size(); ++i)
        if (a.buffer[i] >= 0) offset[static_cast<std::size_t>(a.buffer[i])] = placed.offsets[i];
    for (ValueId v = 0; v < g.value_limit(); ++v) {
        const int b = c.set.of_value[v];
        if (b < 0) continue;
        const Buffer& buffer = c.set.buffers[static_cast<std::size_t>(b)];
        PlannedValue p;
        p.value = v;
        const bool planned = buffer.kind == Placement::planned;
        const Extent unit = planned ? options.alignment : options.zero_copy_alignment;
        p.root = buffer.root;
        p.placement = v == buffer.root ? buffer.kind : Placement::alias;
        p.inner = c.set.inner[v];
        p.bytes = p.placement == Placement::alias ? sizes.bytes(v) : g.symbols().ceil_div(buffer.bytes, unit) * unit;
        p.upper_bytes = v == buffer.root ? buffer.upper : sizes.upper(v);
        p.offset = planned && p.placement != Placement::alias ? offset[static_cast<std::size_t>(b)] : 0;
        p.first = std::max(c.life.first[v], 0);
        p.last = std::max(0, std::min(c.life.last[v], c.life.end - 1));
        if (p.placement == Placement::planned) {
            p.first = buffer.first;
            p.last = buffer.last;
        }
        p.why = c.set.why[v];
        plan.values.push_back(std::move(p));
    }
    for (std::size_t i = 0; i < a.blocks.size(); ++i) {
        if (a.buffer[i] >= 0) continue;
        PlannedValue p;
        p.bytes = a.blocks[i].bytes;
        p.upper_bytes = a.blocks[i].bytes;
        p.offset = placed.offsets[i];
        p.first = p.last = a.blocks[i].first;
        p.why = "subgraphs of " + g.node(c.schedule[static_cast<std::size_t>(p.first)]).name;
        plan.values.push_back(std::move(p));
    }
}

void fill_sums(const Graph& g, const Candidate& c, const Sizes& sizes, const MemoryOptions& options, MemoryPlan& plan) {
    for (const Buffer& b : c.set.buffers) {
        if (b.gone) continue;
        const std::int64_t bytes = isa::round_up(b.upper, options.zero_copy_alignment);
        if (b.kind == Placement::weight) plan.weight_bytes += bytes;
        if (b.kind == Placement::input) plan.input_bytes += bytes;
        if (b.kind == Placement::output) plan.output_bytes += bytes;
    }
    for (ValueId v = 0; v < g.value_limit(); ++v)
        if (g.value(v).producer != kNone && g.value(v).outputs == 0) plan.without_reuse_bytes += isa::round_up(sizes.upper(v), options.alignment);
    for (const std::int64_t w : c.working) plan.without_reuse_bytes += w;
}

void check_limit(const Graph& g, const Candidate& c, const MemoryPlan& plan, const MemoryOptions& options) {
    const std::int64_t needed = plan.arena_bytes + plan.weight_bytes + plan.input_bytes + plan.output_bytes;
    if (!options.limit_bytes || needed <= *options.limit_bytes) return;
    std::vector<const Buffer*> live;
    for (const Buffer& b : c.set.buffers)
        if (!b.gone && b.kind == Placement::planned && b.first <= c.bound.step && b.last >= c.bound.step) live.push_back(&b);
    std::stable_sort(live.begin(), live.end(), [](const Buffer* x, const Buffer* y) { return x->upper > y->upper; });
    std::string text = "memory plan: " + with_separators(needed) + " bytes are needed, " + with_separators(*options.limit_bytes) +
                       " are allowed; weights " + with_separators(plan.weight_bytes) + ", inputs " + with_separators(plan.input_bytes) +
                       ", outputs " + with_separators(plan.output_bytes) + ", intermediates " + with_separators(plan.arena_bytes) +
                       " with the peak at step " + std::to_string(c.bound.step) + ", node " + plan.peak_node + "; largest there: ";
    for (std::size_t i = 0; i < live.size() && i < 3; ++i) {
        const Buffer& b = *live[i];
        const NodeId p = g.value(b.root).producer;
        text += (i ? ", " : "") + g.value(b.root).name + " (" + with_separators(b.upper) + " bytes = " + g.symbols().to_text(b.bytes) +
                (p == kNone ? "" : ", made by " + g.node(p).name) + ", steps " + std::to_string(b.first) + " to " + std::to_string(b.last) + ")";
    }
    throw InputError(text + (live.empty() ? "none" : "") + "; narrow the ranges with --input-shape-range or raise --memory-limit");
}

}  // namespace

MemoryPlan plan_memory(const Graph& g, const MemoryOptions& options) {
    if (options.alignment < 1 || options.zero_copy_alignment < 1) throw InputError("memory plan: an alignment below 1 byte; 512 and 32 are usual");
    const Sizes sizes(g, options.ranges);
    for (const NodeId id : g.order())
        for (const ValueId v : g.node(id).outputs)
            if (v != kNone) sizes.upper(v);  // says what has no upper end before anything is tried
    const auto ancestors = options.any_order ? find_ancestors(g, g.order()) : std::vector<std::vector<std::uint64_t>>{};
    const Candidate c = best_candidate(g, sizes, options, ancestors);
    const Arena arena = arena_blocks(c, options.alignment);
    const Conflicts conflicts = options.any_order ? conflicts_in_any_order(g, c, arena, ancestors) : conflicts_in_time(arena.blocks);
    const Placed placed = place(arena.blocks, conflicts, c.bound.bytes);

    MemoryPlan plan;
    plan.schedule = c.schedule;
    plan.alignment = options.alignment;
    plan.any_order = options.any_order;
    plan.strategy = placed.strategy;
    plan.arena_bytes = placed.arena;
    plan.lower_bound_bytes = c.bound.bytes;
    plan.kv_saved_bytes = c.set.kv_saved;
    plan.in_place_bytes = c.set.in_place;
    plan.view_bytes = c.set.views;
    if (!c.schedule.empty()) plan.peak_node = g.node(c.schedule[static_cast<std::size_t>(c.bound.step)]).name;
    fill_values(g, c, sizes, arena, placed, options, plan);
    fill_sums(g, c, sizes, options, plan);
    check_limit(g, c, plan, options);
    return plan;
}

}  // namespace sfumato::fusion
