// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small chip with round numbers, so that tests can state their expectation as arithmetic: no issue cost, no latency, memory never the limit.
// A test then changes the one number it is about.
#include <span>

#include "isa/chip.h"
#include "sim/simulator.h"

namespace sfumato::testing {

inline isa::Chip plain_chip() {
    isa::Chip c;
    c.name = "plain";
    c.arch = "dav-c220";
    c.cores.aic = 4;
    c.cores.aiv = 8;
    c.cores.clock_mhz = 1000;
    c.capacity.fill(1 << 20);
    c.capacity[static_cast<std::size_t>(isa::Space::gm)] = std::int64_t{1} << 32;
    c.alignment.fill(1);
    c.ub_banks = c.l1_banks = c.l0c_banks = {16, 64, 1 << 16, 32};
    c.flags.ids = 8;
    c.cross.ids = 16;
    c.cross.max_count = 15;
    c.issue.depth.fill(32);
    c.paths.fill({64, 0, 0, 0, 1});
    c.cube.per_fractal.fill(1);
    c.cube.k_step.fill(16);
    for (auto& widths : c.vector) widths.fill({1, 0, 0});
    c.l2.line = 512;
    c.l2.ways = 4;
    c.l2.read_rate = c.l2.write_rate = c.l2.total_rate = c.hbm.total_rate = 1e6;
    c.hbm.read_efficiency = c.hbm.write_efficiency = 1;
    c.gm.request = 128;
    c.gm.full_burst = 512;
    c.gm.in_flight = 32;
    return c;
}

/// Device memory with one tensor of zeros for each tensor of the program.
inline sim::DeviceMemory memory_for(const isa::Program& p) {
    sim::DeviceMemory m;
    for (const isa::Tensor& t : p.tensors) {
        std::int64_t size = isa::bytes_of(t.dtype);
        for (isa::Expr d : t.dims) size *= p.exprs.node(d).value;
        m.tensors.push_back({t.name, size, {}, -1});
    }
    return m;
}

inline sim::Launch launch_of(const isa::Program& p) {
    sim::Launch l;
    l.program = &p;
    for (std::size_t i = 0; i < p.tensors.size(); ++i) l.tensors.push_back(static_cast<int>(i));
    return l;
}

/// Time only, without the hazard tracker unless asked for.
inline sim::RunResult time_of(const isa::Chip& chip, const isa::Program& p, sim::RunOptions o = {.mode = sim::Mode::time, .hazards = false}) {
    sim::DeviceMemory m = memory_for(p);
    const sim::Launch l = launch_of(p);
    return sim::run(chip, std::span(&l, 1), m, o);
}

}  // namespace sfumato::testing
