// SPDX-License-Identifier: Apache-2.0
#include "fusion/plan/flow.h"

#include <algorithm>
#include <set>

#include "isa/diagnostic.h"

namespace sfumato::fusion::plan {

using isa::InputError;

std::vector<GraphPtr> subgraphs(const Node& n) {
    std::vector<GraphPtr> out;
    for (const auto& [key, a] : n.attributes)
        if (const auto* g = std::get_if<GraphPtr>(&a); g && *g) out.push_back(*g);
    return out;
}

std::vector<ValueId> reads(const Graph& g, NodeId id) {
    const Node& n = g.node(id);
    std::vector<ValueId> out;
    const auto add = [&](ValueId v) {
        if (v != kNone && std::find(out.begin(), out.end(), v) == out.end()) out.push_back(v);
    };
    if (n.op != Op::Shape && n.op != Op::Size)
        for (const ValueId v : n.inputs) add(v);
    for (const auto& [key, v] : n.captures) add(v);
    return out;
}

Extent packed_bytes(Symbols& s, const Extent& count, int bits) {
    if (bits % 8 == 0) return count * Extent(bits / 8);
    return s.ceil_div(count * Extent(bits), 8);
}

namespace {

// NonZero and its kin make at most as many rows as their operand has elements: a fact that gives a data-dependent size an upper end.
void bound_data_dependent(const Graph& g, Symbols& s) {
    for (const NodeId id : g.order()) {
        const Node& n = g.node(id);
        if (n.op != Op::NonZero && n.op != Op::Unique && n.op != Op::Compress) continue;
        if (!n.has_input(0) || !g.value(n.inputs[0]).shape) continue;
        Extent elements = 1;
        for (const Extent& d : *g.value(n.inputs[0]).shape) elements = elements * d;
        const Range r = s.range(elements);
        if (r.high == Range::kUnbounded || r.high < 0) continue;
        for (const ValueId out : n.outputs) {
            if (out == kNone || !g.value(out).shape) continue;
            for (const Extent& d : *g.value(out).shape)
                if (d.terms().size() == 1 && d.terms()[0].coefficient == 1 && d.terms()[0].factors.size() == 1)
                    for (const std::string& name : s.names_in(d))
                        if (s.range(name).high == Range::kUnbounded && s.range(name).low <= r.high) s.set_range(name, {0, r.high});
        }
    }
}

}  // namespace

Sizes::Sizes(const Graph& g, const std::map<std::string, Range>& narrowed)
    : graph_(g), symbols_(g.symbols()), bytes_(g.value_limit()), upper_(g.value_limit()) {
    for (ValueId v = 0; v < g.value_limit(); ++v) {
        const Value& value = g.value(v);
        if (value.kind != ValueKind::tensor || value.type == ElemType::string || !value.shape) continue;
        Extent count = 1;
        for (const Extent& d : *value.shape) count = count * d;
        bytes_[v] = packed_bytes(g.symbols(), count, info(value.type).bits);
    }
    symbols_ = g.symbols();  // with the atoms that packing made
    for (const auto& [name, range] : narrowed) symbols_.set_range(name, range);
    bound_data_dependent(g, symbols_);
    for (ValueId v = 0; v < g.value_limit(); ++v) upper_[v] = std::max<std::int64_t>(0, symbols_.range(bytes_[v]).high);
}

std::int64_t Sizes::upper(ValueId v) const {
    const Value& value = graph_.value(v);
    const bool sized = value.kind == ValueKind::tensor && value.type != ElemType::string;
    if (sized && (!value.shape || value.type == ElemType::undefined || upper_[v] == Range::kUnbounded)) fail(v);
    return upper_[v];
}

void Sizes::fail(ValueId v) const {
    const Value& value = graph_.value(v);
    const std::string who =
        "value " + value.name + (value.producer == kNone ? std::string(" (an input)") : " of node " + graph_.node(value.producer).name);
    if (!value.shape || value.type == ElemType::undefined)
        throw InputError(
            "memory plan: " + who + " has no known " + (value.shape ? "element type" : "rank") +
            "; a plan needs the shape of every value: give the shapes of the inputs with --input-shape-range, or cut the model before this node");
    const auto named = symbols_.names_in(bytes_[v]);
    const auto open = std::find_if(named.begin(), named.end(), [&](const std::string& s) { return symbols_.range(s).high == Range::kUnbounded; });
    const std::string size = graph_.symbols().to_text(bytes_[v]) + " bytes";
    if (open == named.end())
        throw InputError("memory plan: " + who + " needs " + size +
                         ", more than 64 bits at the upper end of the ranges; narrow them with --input-shape-range");
    for (const ValueId in : graph_.inputs) {
        const Value& input = graph_.value(in);
        if (!input.shape) continue;
        std::string dims;
        bool holds = false;
        for (const Extent& d : *input.shape) {
            const auto names = symbols_.names_in(d);
            const bool this_one = std::find(names.begin(), names.end(), *open) != names.end();
            const Range r = symbols_.range(d);
            holds = holds || this_one;
            const std::string high = r.high == Range::kUnbounded ? (this_one ? "512" : "-1") : std::to_string(r.high);
            dims += (dims.empty() ? "" : ",") + (high == "-1" || d.constant() ? high : std::to_string(std::max<std::int64_t>(r.low, 0)) + "~" + high);
        }
        if (holds)
            throw InputError("memory plan: " + who + " needs " + size + ", and symbol " + *open +
                             " has no upper end; bound it, for example --input-shape-range='" + input.name + ":" + dims + "'");
    }
    throw InputError("memory plan: " + who + " needs " + size + ", and symbol " + *open +
                     " depends on data and has no upper end; no input's --input-shape-range bounds it: cut the model before this node");
}

Lifetimes lifetimes(const Graph& g, const std::vector<NodeId>& schedule) {
    Lifetimes t;
    t.end = static_cast<int>(schedule.size());
    t.step.assign(g.node_limit(), -1);
    t.first.assign(g.value_limit(), -1);
    t.last.assign(g.value_limit(), -1);
    for (int i = 0; i < t.end; ++i) t.step[schedule[static_cast<std::size_t>(i)]] = i;
    for (int i = 0; i < t.end; ++i) {
        const NodeId id = schedule[static_cast<std::size_t>(i)];
        for (const ValueId v : reads(g, id)) t.last[v] = std::max(t.last[v], i);
        for (const ValueId v : g.node(id).outputs)
            if (v != kNone) {
                t.first[v] = i;
                t.last[v] = std::max(t.last[v], i);
            }
    }
    for (ValueId v = 0; v < g.value_limit(); ++v)
        if (g.value(v).outputs > 0 || g.value(v).producer == kNone) t.last[v] = t.end;
    return t;
}

std::vector<std::vector<std::uint64_t>> find_ancestors(const Graph& g, const std::vector<NodeId>& schedule) {
    const std::size_t words = g.node_limit() / 64 + 1;
    std::vector<std::vector<std::uint64_t>> out(g.node_limit());
    for (const NodeId id : schedule) {
        out[id].assign(words, 0);
        std::vector<ValueId> needs = reads(g, id);
        needs.insert(needs.end(), g.node(id).inputs.begin(), g.node(id).inputs.end());
        for (const ValueId v : needs) {
            if (v == kNone || g.value(v).producer == kNone) continue;
            const NodeId p = g.value(v).producer;
            for (std::size_t w = 0; w < words; ++w) out[id][w] |= out[p][w];
            out[id][p / 64] |= std::uint64_t{1} << (p % 64);
        }
    }
    return out;
}

namespace {

// Runs the ready node that shrinks what is live the most; ties, and all but the oldest ready nodes, by the model's order.
std::vector<NodeId> frugal_order(const Graph& g, const Sizes& sizes, const std::vector<NodeId>& model_order) {
    constexpr std::size_t kLooked = 24;
    std::vector<int> place(g.node_limit(), 0), waiting(g.node_limit(), 0), readers(g.value_limit(), 0);
    std::vector<std::vector<ValueId>> read(g.node_limit());
    std::vector<std::vector<NodeId>> behind(g.node_limit());
    for (std::size_t i = 0; i < model_order.size(); ++i) place[model_order[i]] = static_cast<int>(i);
    const auto depends = [&](NodeId id, ValueId v) {
        if (v == kNone || g.value(v).producer == kNone) return;
        ++waiting[id];
        behind[g.value(v).producer].push_back(id);
    };
    for (const NodeId id : model_order) {
        read[id] = reads(g, id);
        for (const ValueId v : read[id]) {
            ++readers[v];
            depends(id, v);
        }
        for (const ValueId v : g.node(id).inputs)  // Shape waits for its operand although it reads no bytes
            if (std::find(read[id].begin(), read[id].end(), v) == read[id].end()) depends(id, v);
    }
    const auto growth = [&](NodeId id) {
        std::int64_t bytes = 0;
        for (const ValueId v : g.node(id).outputs)
            if (v != kNone && g.value(v).outputs == 0) bytes += sizes.upper_or_zero(v);
        for (const ValueId v : read[id])
            if (readers[v] == 1 && g.value(v).producer != kNone && g.value(v).outputs == 0) bytes -= sizes.upper_or_zero(v);
        return bytes;
    };
    std::set<std::pair<int, NodeId>> ready;
    for (const NodeId id : model_order)
        if (waiting[id] == 0) ready.insert({place[id], id});
    std::vector<NodeId> out;
    while (!ready.empty()) {
        auto best = ready.begin();
        std::int64_t least = growth(best->second);
        std::size_t looked = 1;
        for (auto it = std::next(ready.begin()); it != ready.end() && looked < kLooked; ++it, ++looked)
            if (const std::int64_t x = growth(it->second); x < least) {
                least = x;
                best = it;
            }
        const NodeId id = best->second;
        ready.erase(best);
        out.push_back(id);
        for (const ValueId v : read[id]) --readers[v];
        for (const NodeId next : behind[id])
            if (--waiting[next] == 0) ready.insert({place[next], next});
    }
    return out;
}

}  // namespace

std::vector<std::vector<NodeId>> schedules(const Graph& g, const Sizes& sizes) {
    std::vector<std::vector<NodeId>> out{g.order()};
    auto frugal = frugal_order(g, sizes, out[0]);
    if (frugal.size() == out[0].size() && frugal != out[0]) out.push_back(std::move(frugal));
    return out;
}

}  // namespace sfumato::fusion::plan
