// SPDX-License-Identifier: Apache-2.0
#include "sim/timing/cost.h"

#include <algorithm>
#include <numeric>

namespace sfumato::sim::timing {

namespace {
using I = std::int64_t;

// Time of `rows` runs at a rate: each costs its bytes and the path's row cost.
double rows_time(double rate, double row, I rows, I row_bytes) {
    const double bytes = rate > 0 ? static_cast<double>(row_bytes) / rate : 0;
    return static_cast<double>(rows) * (bytes + row);
}

// Rows whose GM address is no multiple of a block: they pass a byte shifter.
I shifted_rows(I start, I rows, I pitch) {
    if (rows == 1 || pitch % isa::kBlockBytes == 0) return start % isa::kBlockBytes == 0 ? 0 : rows;
    I shifted = 0;
    const I step = std::gcd(pitch, I{isa::kBlockBytes}), period = isa::kBlockBytes / step;
    if (start % step != 0) return rows;
    for (I r = 0; r < std::min(rows, period); ++r) shifted += (start + r * pitch) % isa::kBlockBytes != 0;
    return rows <= period ? shifted : rows - rows / period;
}

}  // namespace

LocalCost cube_cost(const isa::Chip& chip, const isa::CubeT<I>& c) {
    LocalCost out;
    if (c.m <= 0 || c.n <= 0 || c.k <= 0) return out;
    const auto t = static_cast<std::size_t>(c.dtype);
    const I k_step = std::max<I>(1, chip.cube.k_step[t]);
    const I steps = isa::ceil_div(c.m, isa::kFractalRows) * isa::ceil_div(c.n, isa::kFractalRows) * isa::ceil_div(c.k, k_step);
    out.occupy = to_ticks(chip.cube.interval + chip.cube.per_fractal[t] * static_cast<double>(steps));
    out.latency = to_ticks(chip.cube.head);
    return out;
}

LocalCost copy_cost(const isa::Chip& chip, const isa::BoundInstr& b) {
    LocalCost out;
    const isa::PathTiming& t = chip.path(isa::path_of(b.instr->op));
    for (const isa::Access& a : isa::accesses(b)) {
        if (!a.write) continue;
        out.bytes += a.rows * a.row_bytes;
        out.occupy += to_ticks(t.interval + rows_time(t.rate, t.row, a.rows, a.row_bytes));
    }
    out.latency = out.occupy > 0 ? to_ticks(t.start) : 0;
    return out;
}

LocalCost local_cost(const isa::Chip& chip, const isa::BoundInstr& b) {
    switch (isa::desc(b.instr->op).family) {
        case isa::Family::Vector: return vector_cost(chip, b.instr->op, std::get<isa::VectorT<I>>(b.operands));
        case isa::Family::Cube: return cube_cost(chip, std::get<isa::CubeT<I>>(b.operands));
        case isa::Family::Scalar: return {std::max<Tick>(0, std::get<isa::ScalarT<I>>(b.operands).cycles), 0, 0, 0};
        case isa::Family::Sync: return {};
        default: return copy_cost(chip, b);
    }
}

TransferCost transfer_cost(const isa::Chip& chip, const isa::BoundInstr& b, std::int64_t base) {
    TransferCost out;
    const isa::PathTiming& t = chip.path(isa::path_of(b.instr->op));
    out.start = to_ticks(t.start);
    out.interval = to_ticks(t.interval);
    out.outstanding = std::max<I>(1, t.outstanding);
    bool solid_core = true;  // the on-chip side is one run too
    for (const isa::Access& a : isa::accesses(b)) {
        if (a.space == isa::Space::gm) out.gm = a;
        else solid_core = solid_core && (a.rows == 1 || a.pitch == a.row_bytes);
    }
    if (const auto* c = std::get_if<isa::CopyT<I>>(&b.operands)) out.bypass = c->cache == isa::Cache::bypass;
    if (const auto* d = std::get_if<isa::DrainT<I>>(&b.operands)) out.bypass = d->cache == isa::Cache::bypass;
    out.bytes = out.gm.rows * out.gm.row_bytes;
    if (out.bytes <= 0) return out;
    isa::Access& g = out.gm;
    const bool by_rows = isa::desc(b.instr->op).timing == isa::TimingClass::dma_nz || isa::desc(b.instr->op).family == isa::Family::Drain;
    // Rows that follow each other in GM are asked for as one run; the path still handles the rows of the other side.
    const I path_rows = solid_core ? 1 : g.rows;
    const bool one_run = !by_rows && (g.rows == 1 || g.pitch == g.row_bytes);
    if (one_run) g = {g.space, g.object, g.write, g.start, 1, out.bytes, out.bytes};
    const I shifted = chip.gm.shift > 0 ? shifted_rows(base + g.start, g.rows, g.pitch) : 0;
    out.port = to_fixed(rows_time(t.rate, t.row, g.rows - shifted, g.row_bytes) + rows_time(std::min(t.rate, chip.gm.shift), t.row, shifted, g.row_bytes) +
                        (one_run ? t.row * static_cast<double>(path_rows - 1) : 0));
    return out;
}

Tick issue_cost(const isa::Chip& chip, const isa::BoundInstr& b) {
    switch (isa::desc(b.instr->op).family) {
        case isa::Family::Copy: return to_ticks(chip.issue.copy);
        case isa::Family::Drain: return to_ticks(chip.issue.drain);
        case isa::Family::Cube: return to_ticks(chip.issue.cube);
        case isa::Family::Vector: return to_ticks(chip.issue.vector);
        case isa::Family::Sync: return to_ticks(chip.issue.sync);
        case isa::Family::Scalar: return std::max<Tick>(0, std::get<isa::ScalarT<I>>(b.operands).cycles);
    }
    return 0;
}

}  // namespace sfumato::sim::timing
