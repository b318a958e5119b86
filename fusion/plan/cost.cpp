// SPDX-License-Identifier: Apache-2.0
#include "fusion/plan/cost.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace sfumato::fusion::plan {

namespace {

using isa::TimingClass;

// Vector instructions that an operator takes per element of its largest operand or result: the shape of the usual kernels.
struct Passes {
    TimingClass kind;
    int count;
};
std::vector<Passes> passes(Op op) {
    using T = TimingClass;
    switch (op) {
        case Op::Div:
        case Op::Reciprocal:
        case Op::Mod: return {{T::v_div, 1}};
        case Op::Exp: return {{T::v_exp, 1}};
        case Op::Log: return {{T::v_ln, 1}};
        case Op::Sqrt: return {{T::v_sqrt, 1}};
        case Op::Pow: return {{T::v_ln, 1}, {T::v_binary, 1}, {T::v_exp, 1}};
        case Op::Sigmoid: return {{T::v_unary, 2}, {T::v_exp, 1}, {T::v_div, 1}};
        case Op::Tanh:
        case Op::Softplus:
        case Op::Gelu: return {{T::v_unary, 3}, {T::v_exp, 1}, {T::v_binary, 2}, {T::v_div, 1}};
        case Op::Erf: return {{T::v_binary, 8}, {T::v_unary, 6}, {T::v_div, 1}};
        case Op::Sin:
        case Op::Cos: return {{T::v_binary, 6}, {T::v_unary, 6}};
        case Op::Where: return {{T::v_cmp, 1}, {T::v_sel, 1}};
        case Op::Cast: return {{T::v_conv, 1}};
        case Op::Softmax:
        case Op::LogSoftmax: return {{T::v_cg, 2}, {T::v_binary, 1}, {T::v_exp, 1}, {T::v_div, 1}};
        case Op::LayerNormalization: return {{T::v_cg, 2}, {T::v_binary, 4}};
        default: break;
    }
    switch (row(op).kind) {
        case LoopKind::reduce: return {{T::v_cg, 1}};
        case LoopKind::elementwise: return {{T::v_unary, 1}};
        case LoopKind::injective: return {};
        default: return {{T::v_binary, 1}};
    }
}

struct Counter {
    const Graph& g;
    const isa::Chip& chip;
    const Bindings& sizes;
    Work work{};

    std::vector<double> dims(ValueId v) const {
        std::vector<double> out;
        if (v != kNone && g.value(v).shape)
            for (const Extent& d : *g.value(v).shape) out.push_back(static_cast<double>(std::max<std::int64_t>(0, g.symbols().evaluate(d, sizes))));
        return out;
    }
    double count(ValueId v) const {
        double n = 1;
        for (const double d : dims(v)) n *= d;
        return n;
    }
    double bytes(ValueId v) const { return v == kNone ? 0 : count(v) * info(g.value(v).type).bits / 8; }

    void product(double batch, double m, double n, double k, ElemType type) {
        const auto machine = machine_type(type);
        const auto t = static_cast<std::size_t>(machine.value_or(isa::DType::f32));
        const double step = chip.cube.k_step[t] > 0 ? static_cast<double>(chip.cube.k_step[t]) : 4, cycles = chip.cube.per_fractal[t] > 0 ? chip.cube.per_fractal[t] : 1;
        const double tiles = batch * std::ceil(m / 16) * std::ceil(n / 16) * std::ceil(k / step);
        work.macs += batch * m * n * k;
        work.cube_cycles += tiles * cycles;
    }

    void contraction(const Node& n) {
        const std::vector<double> a = dims(n.inputs[0]), out = dims(n.outputs[0]);
        if (a.empty() || out.empty()) return;
        const ElemType type = g.value(n.inputs[0]).type;
        double k = a.back();
        if (n.op == Op::Gemm && n.integer("transA", 0) && a.size() == 2) k = a[0];
        if (n.op == Op::Conv && n.has_input(1)) {
            const std::vector<double> w = dims(n.inputs[1]);
            k = 1;
            for (std::size_t i = 1; i < w.size(); ++i) k *= w[i];
            const double channels = out.size() > 1 ? out[1] : 1;
            product(1, count(n.outputs[0]) / std::max(channels, 1.0), channels, k, type);
            return;
        }
        const double columns = out.back(), rows = out.size() > 1 ? out[out.size() - 2] : 1;
        product(count(n.outputs[0]) / std::max(columns * rows, 1.0), rows, columns, k, type);
    }

    void vector(const Node& n) {
        double elements = 0;
        ElemType type = ElemType::f32;
        for (const auto& list : {n.inputs, n.outputs})
            for (const ValueId v : list)
                if (v != kNone && count(v) >= elements) {
                    elements = count(v);
                    if (machine_type(g.value(v).type)) type = g.value(v).type;
                }
        const isa::DType machine = machine_type(type).value_or(isa::DType::f32);
        const double repeats = std::ceil(elements * isa::bytes_of(machine) / isa::kRepeatBytes);
        for (const Passes& p : passes(n.op)) work.vector_cycles += repeats * p.count * chip.vector_timing(p.kind, machine).per_repeat;
    }

    void node(const Node& n) {
        if (n.body) {
            Counter inner{*n.body, chip, sizes};
            for (const NodeId id : n.body->order()) inner.node(n.body->node(id));
            work.macs += inner.work.macs;
            work.cube_cycles += inner.work.cube_cycles;
            work.vector_cycles += inner.work.vector_cycles;
        } else if (row(n.op).kind == LoopKind::contraction) {
            contraction(n);
        } else {
            vector(n);
        }
    }
};

}  // namespace

bool on_host(const Graph& g, NodeId id) {
    const Node& n = g.node(id);
    const LoopKind kind = row(n.op).kind;
    if (kind == LoopKind::constant || n.op == Op::Shape || n.op == Op::Size) return true;
    return !n.outputs.empty() && std::all_of(n.outputs.begin(), n.outputs.end(), [&](ValueId v) { return v == kNone || g.value(v).content || g.value(v).constant; });
}

Bindings assumed_sizes(const Symbols& symbols, const Bindings& given) {
    Bindings out = given;
    for (const std::string& name : symbols.names()) {
        const Range r = symbols.range(name);
        out.emplace(name, r.high != Range::kUnbounded ? r.high : std::max<std::int64_t>(r.low, 128));
    }
    return out;
}

Work work_of(const Graph& g, const std::vector<NodeId>& nodes, const isa::Chip& chip, const Bindings& sizes) {
    Counter c{g, chip, sizes};
    const std::set<NodeId> inside(nodes.begin(), nodes.end());
    std::set<ValueId> read;
    for (const NodeId id : nodes) {
        const Node& n = g.node(id);
        if (on_host(g, id)) continue;
        c.node(n);
        for (const ValueId v : n.inputs)
            if (v != kNone && !g.value(v).content && (g.value(v).producer == kNone || !inside.count(g.value(v).producer)) && read.insert(v).second) {
                // a lookup reads the rows it gives, not the table
                const bool lookup = row(n.op).kind == LoopKind::injective && !n.outputs.empty() && v == n.inputs[0];
                c.work.read_bytes += lookup ? std::min(c.bytes(v), c.bytes(n.outputs[0])) : c.bytes(v);
            }
        for (const ValueId v : n.outputs) {
            if (v == kNone) continue;
            const Value& value = g.value(v);
            if (value.outputs > 0 || value.users.empty() || std::any_of(value.users.begin(), value.users.end(), [&](NodeId u) { return !inside.count(u); }))
                c.work.write_bytes += c.bytes(v);
        }
    }
    return c.work;
}

Price price_of(const Work& w, const isa::Chip& chip, const Assumptions& a) {
    const double cycle_us = 1 / chip.cores.clock_mhz;
    const auto cube = static_cast<double>(std::max<std::int64_t>(1, chip.count(chip.merged() ? isa::CoreKind::merged : isa::CoreKind::aic)));
    const auto vectors = static_cast<double>(std::max<std::int64_t>(1, chip.count(chip.merged() ? isa::CoreKind::merged : isa::CoreKind::aiv)));
    const auto rate = [&](isa::Path p, double cores) { return std::max(1.0, chip.path(p).rate) * cores; };
    Price p;
    p.cube_us = a.cube_flops > 0 ? 2 * w.macs / a.cube_flops * 1e6 : w.cube_cycles / cube * cycle_us;
    p.vector_us = w.vector_cycles / vectors * cycle_us;
    p.in_us = w.read_bytes / (w.cube() ? rate(isa::Path::gm_l1, cube) : rate(isa::Path::gm_ub, vectors)) * cycle_us;
    p.out_us = w.write_bytes / (w.cube() ? rate(isa::Path::l0c_gm, cube) : rate(isa::Path::ub_gm, vectors)) * cycle_us;
    p.memory_us = a.memory_rate > 0 ? (w.read_bytes + w.write_bytes) / a.memory_rate * 1e6 : (w.read_bytes / chip.hbm.read_rate() + w.write_bytes / chip.hbm.write_rate()) * cycle_us;
    const double cores = w.cube() ? cube : vectors;
    p.launch_us = a.launch_us > 0 ? a.launch_us : chip.launch.task_us + chip.launch.task_per_core_us * cores + (w.cube() && w.vector_cycles > 0 ? chip.launch.mix_us : 0);
    if (a.only_roofline) {
        p.vector_us = p.in_us = p.out_us = 0;
    } else {  // one tile travels through before the stages overlap
        const isa::PathTiming &in = chip.path(w.cube() ? isa::Path::gm_l1 : isa::Path::gm_ub), &out = chip.path(w.cube() ? isa::Path::l0c_gm : isa::Path::ub_gm);
        p.fill_us = (chip.launch.head + in.start + chip.l2.read_latency + chip.hbm.latency + out.start + chip.l2.write_latency) * cycle_us;
    }
    const double most = std::max({p.cube_us, p.vector_us, p.in_us, p.out_us, p.memory_us});
    p.limiter = most < p.launch_us ? "launch" : most == p.memory_us ? "memory" : most == p.cube_us ? "cube" : most == p.vector_us ? "vector" : most == p.in_us ? "transfer in" : "transfer out";
    p.us = most + p.launch_us + p.fill_us;
    return p;
}

PriceFn analytic_price(const isa::Chip& chip, Bindings sizes, Assumptions assumptions) {
    return [chip, sizes = std::move(sizes), assumptions](const Graph& g, const std::vector<NodeId>& nodes) {
        if (std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) { return on_host(g, id); })) return 0.0;
        return price_of(work_of(g, nodes, chip, sizes), chip, assumptions).us;
    };
}

}  // namespace sfumato::fusion::plan
