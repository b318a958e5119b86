// SPDX-License-Identifier: Apache-2.0
#include "fusion/plan/buffers.h"

#include <algorithm>

#include "isa/types.h"

namespace sfumato::fusion::plan {

namespace {

// Every result element depends on the operand's element at the same place, so the result may lie where the operand lay.
bool pointwise(const Node& n) {
    const LoopKind k = row(n.op).kind;
    if (k == LoopKind::elementwise || k == LoopKind::broadcast) return n.op != Op::Dropout;
    if (!n.body) return false;
    for (NodeId id = 0; id < n.body->node_limit(); ++id)
        if (!n.body->node(id).dead && !pointwise(n.body->node(id))) return false;
    return true;
}

struct Builder {
    const Graph& g;
    const std::vector<NodeId>& schedule;
    const Lifetimes& life;
    const Sizes& sizes;
    const MemoryOptions& options;
    AliasChoice choice;
    BufferSet set{};
    const std::vector<std::vector<std::uint64_t>>& ancestors;  ///< of `any_order`

    int of(ValueId v) const { return v == kNone ? -1 : set.of_value[v]; }
    Buffer& buffer(ValueId v) { return set.buffers[static_cast<std::size_t>(of(v))]; }

    bool own(ValueId v) const {
        const NodeId p = g.value(v).producer;
        if (p == kNone) return false;
        return !options.reuse || options.no_reuse.count(g.node(p).name) || options.no_reuse.count(std::string(name(g.node(p).op)));
    }

    void open(ValueId v, Placement kind) {
        Buffer b;
        b.root = v;
        b.kind = kind;
        b.bytes = sizes.bytes(v);
        b.upper = sizes.upper(v);
        b.members = {v};
        set.of_value[v] = static_cast<int>(set.buffers.size());
        set.buffers.push_back(std::move(b));
    }

    // `out` moves from its own new buffer into the buffer of `in`
    void join(ValueId out, ValueId in, const Extent& inner, std::string why) {
        Buffer& b = buffer(in);
        b.members.push_back(out);
        set.buffers[static_cast<std::size_t>(of(out))].gone = true;
        set.of_value[out] = of(in);
        set.inner[out] = set.inner[in] + inner;
        set.why[out] = std::move(why);
        if (g.value(out).outputs > 0 && b.kind == Placement::planned) {
            b.kind = Placement::output;
            b.root = out;
        }
    }

    // A graph output may take over a buffer only whole, and only one that no one else sees.
    bool output_may_join(ValueId out, ValueId in) {
        if (g.value(out).outputs == 0) return true;
        const Buffer& b = buffer(in);
        return b.kind == Placement::planned && set.inner[in] == Extent() && b.bytes == sizes.bytes(out);
    }

    bool all_read_before(const Buffer& b, NodeId id) const {
        const int t = life.step[id];
        for (const ValueId m : b.members) {
            if (life.last[m] > t) return false;
            if (!options.any_order) continue;
            for (const NodeId user : g.value(m).users)
                if (user != id && !precedes(ancestors, user, id)) return false;
        }
        return true;
    }

    bool try_view(NodeId id, std::size_t index) {
        const Node& n = g.node(id);
        const ValueId out = n.outputs[index], in = n.inputs.empty() ? kNone : n.inputs[0];
        if (of(in) < 0 || own(out) || own(in) || buffer(in).cache) return false;
        const auto view = view_of(g, id, index);
        if (!view || (!view->whole && !choice.partial_views) || !output_may_join(out, in)) return false;
        if (g.value(out).outputs > 0 && !view->whole && sizes.bytes(out) != buffer(in).bytes) return false;
        if (g.symbols().modulo(set.inner[in] + view->inner, options.zero_copy_alignment) != Extent()) return false;
        if (view->whole && sizes.bytes(out) != sizes.bytes(in) && sizes.low(sizes.bytes(in) - sizes.bytes(out)) < 0) {
            // a Reshape whose sizes are the same number but not provably: the larger bound of the two holds both
            if (g.value(out).outputs > 0 || set.inner[in] != Extent() || buffer(in).bytes != sizes.bytes(in)) return false;
            buffer(in).upper = std::max(buffer(in).upper, sizes.upper(out));
        }
        join(out, in, view->inner, (view->whole ? "view of " : "part of ") + g.value(in).name);
        set.views += sizes.upper(out);
        return true;
    }

    bool try_in_place(NodeId id) {
        const Node& n = g.node(id);
        if (n.outputs.size() != 1 || n.outputs[0] == kNone || !pointwise(n)) return false;
        const ValueId out = n.outputs[0];
        if (own(out)) return false;
        for (const ValueId in : n.inputs) {
            if (of(in) < 0 || own(in) || buffer(in).kind != Placement::planned) continue;
            const Value &from = g.value(in), &to = g.value(out);
            if (!from.shape || from.shape != to.shape || info(from.type).bits != info(to.type).bits) continue;
            if (std::any_of(from.users.begin(), from.users.end(), [&](NodeId u) { return u != id; })) continue;
            // another operand in the same memory would be read after it was overwritten
            const bool twisted = std::any_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) { return v != in && of(v) == of(in); });
            if (twisted || !all_read_before(buffer(in), id) || !output_may_join(out, in)) continue;
            join(out, in, 0, "in place of " + from.name);
            set.in_place += sizes.upper(out);
            return true;
        }
        return false;
    }

    // The cache of a decoder: an output that is a caller's tensor with new rows behind. The cache has room for the upper end, so only the new
    // rows are written.
    bool try_kv_append(NodeId id) {
        const Node& n = g.node(id);
        if (!options.kv_append || n.inputs.size() != 2 || n.inputs[0] == kNone || own(n.outputs[0])) return false;
        const ValueId past = n.inputs[0], out = n.outputs[0];
        const Value& v = g.value(past);
        if (std::find(g.inputs.begin(), g.inputs.end(), past) == g.inputs.end() || is_weight(v) || v.outputs > 0 || g.value(out).outputs == 0 ||
            of(past) < 0)
            return false;
        if (buffer(past).members.size() != 1) return false;
        for (const NodeId user : v.users)
            if (user != id && g.node(user).op != Op::Shape && g.node(user).op != Op::Size) return false;
        Buffer& cache = buffer(past);
        cache.cache = true;
        cache.upper = std::max(sizes.upper(out), cache.upper);
        cache.bytes = sizes.bytes(out);
        set.why[past] = "cache with room for " + g.value(out).name;
        join(out, past, 0, "KV append into " + v.name);
        set.kv_saved += sizes.upper(out);
        return true;
    }

    void try_gather(NodeId id) {
        const Node& n = g.node(id);
        const ValueId out = n.outputs[0];
        const Value& result = g.value(out);
        if (own(out) || !result.shape || info(result.type).bits % 8 != 0) return;
        const auto rank = static_cast<std::int64_t>(result.shape->size());
        std::int64_t axis = n.integer("axis", 1);
        if (axis < 0) axis += rank;
        for (std::int64_t i = 0; i < std::min(axis, rank); ++i)
            if ((*result.shape)[static_cast<std::size_t>(i)] != Extent(1)) return;
        Extent before;
        for (const ValueId in : n.inputs) {
            const Extent here = before;
            before = before + sizes.bytes(in);
            if (of(in) < 0 || of(in) == of(out) || own(in) || std::count(n.inputs.begin(), n.inputs.end(), in) > 1) continue;
            Buffer& part = buffer(in);
            if (part.kind != Placement::planned || set.inner[in] != Extent() || part.bytes != sizes.bytes(in)) continue;
            if (options.any_order || g.symbols().modulo(here, options.zero_copy_alignment) != Extent()) continue;
            if (g.value(in).producer == kNone || part.upper != sizes.upper(in)) continue;
            absorb(of(in), of(out), here);
            set.why[in] = "computed in its place in " + result.name;
            set.views += sizes.upper(in);
        }
    }

    void absorb(int part, int whole, const Extent& inner) {
        Buffer &p = set.buffers[static_cast<std::size_t>(part)], &w = set.buffers[static_cast<std::size_t>(whole)];
        for (const ValueId m : p.members) {
            set.of_value[m] = whole;
            set.inner[m] = set.inner[m] + inner;
            w.members.push_back(m);
        }
        p.gone = true;
        p.members.clear();
    }

    void node(NodeId id) {
        const Node& n = g.node(id);
        for (std::size_t i = 0; i < n.outputs.size(); ++i)
            if (n.outputs[i] != kNone) {
                open(n.outputs[i], g.value(n.outputs[i]).outputs > 0 ? Placement::output : Placement::planned);
                if (g.value(n.outputs[i]).outputs > 0) set.why[n.outputs[i]] = "zero-copy output";
            }
        bool viewed = false;
        for (std::size_t i = 0; i < n.outputs.size(); ++i)
            if (n.outputs[i] != kNone) viewed = try_view(id, i) || viewed;
        if (viewed) return;
        if (n.op == Op::Concat) {
            if (!try_kv_append(id) && choice.gathered) try_gather(id);
        } else {
            try_in_place(id);
        }
    }

    void inputs_and_weights() {
        for (ValueId v = 0; v < g.value_limit(); ++v) {
            const Value& value = g.value(v);
            if (value.producer != kNone || (value.users.empty() && value.outputs == 0)) continue;
            if (is_weight(value)) {
                open(v, Placement::weight);
            } else if (std::find(g.inputs.begin(), g.inputs.end(), v) != g.inputs.end()) {
                open(v, Placement::input);
                set.why[v] = value.outputs > 0 ? "zero-copy input; copied to the output" : "zero-copy input";
            }
        }
    }
};

}  // namespace

BufferSet make_buffers(const Graph& g, const std::vector<NodeId>& schedule, const Lifetimes& life, const Sizes& sizes, const MemoryOptions& options,
                       AliasChoice choice, const std::vector<std::vector<std::uint64_t>>& ancestors) {
    Builder b{g, schedule, life, sizes, options, choice, {}, ancestors};
    b.set.of_value.assign(g.value_limit(), -1);
    b.set.inner.resize(g.value_limit());
    b.set.why.resize(g.value_limit());
    b.inputs_and_weights();
    for (const NodeId id : schedule) b.node(id);
    for (Buffer& buffer : b.set.buffers) {
        if (buffer.gone) continue;
        buffer.first = life.end;
        buffer.last = 0;
        for (const ValueId m : buffer.members) {
            buffer.first = std::min(buffer.first, std::max(life.first[m], 0));
            buffer.last = std::max(buffer.last, std::min(life.last[m], life.end - 1));
            if (buffer.kind == Placement::planned && b.own(m)) {
                buffer.first = 0;
                buffer.last = std::max(life.end - 1, 0);
            }
        }
    }
    return std::move(b.set);
}

Bound live_bound(const BufferSet& set, const std::vector<std::int64_t>& working, std::int64_t alignment, int steps) {
    std::vector<std::int64_t> change(static_cast<std::size_t>(steps) + 1, 0);
    for (const Buffer& b : set.buffers) {
        if (b.gone || b.kind != Placement::planned) continue;
        const std::int64_t bytes = isa::round_up(b.upper, alignment);
        change[static_cast<std::size_t>(b.first)] += bytes;
        change[static_cast<std::size_t>(b.last) + 1] -= bytes;
    }
    Bound best;
    std::int64_t live = 0;
    for (int t = 0; t < steps; ++t) {
        live += change[static_cast<std::size_t>(t)];
        const std::int64_t with = live + working[static_cast<std::size_t>(t)];
        if (with > best.bytes) best = {with, t};
    }
    return best;
}

}  // namespace sfumato::fusion::plan
