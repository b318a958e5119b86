// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a set of nodes costs as one launch, by the limits of the chip file: the slowest of cube, vectors, transfers in, transfers out and device
// memory, plus launch and the filling of the pipeline. A bound, not a measurement; a simulator can take its place through PriceFn.
#include <functional>
#include <string_view>
#include <vector>

#include "fusion/graph.h"
#include "isa/chip.h"

namespace sfumato::fusion::plan {

/// What a set of nodes does when its inner values stay on chip.
struct Work {
    double macs = 0;           ///< multiply-adds of the cube, operands padded to fractals
    double cube_cycles = 0;    ///< of one core
    double vector_cycles = 0;  ///< of one core
    double read_bytes = 0, write_bytes = 0;
    bool cube() const { return macs > 0; }
};
/// At the given sizes; symbols without a value get `assumed_sizes`.
Work work_of(const Graph&, const std::vector<NodeId>&, const isa::Chip&, const Bindings&);

/// Figures that replace the chip's, for comparison with a roofline that somebody published. 0: the chip's.
struct Assumptions {
    double cube_flops = 0;        ///< per second, two per multiply-add
    double memory_rate = 0;       ///< bytes per second
    double launch_us = 0;
    bool only_roofline = false;   ///< sum of no vectors, ports and fill: max(cube, memory) + launch
};

struct Price {
    double us = 0;
    double cube_us = 0, vector_us = 0, in_us = 0, out_us = 0, memory_us = 0, launch_us = 0, fill_us = 0;
    std::string_view limiter;  ///< "cube", "vector", "transfer in", "transfer out", "memory", "launch"
};
Price price_of(const Work&, const isa::Chip&, const Assumptions& = {});

/// Microseconds of a set of nodes as one launch.
using PriceFn = std::function<double(const Graph&, const std::vector<NodeId>&)>;
PriceFn analytic_price(const isa::Chip&, Bindings, Assumptions = {});

/// A value for every named symbol: given ones, else the upper end of the range when it has one, else 128. Reports print it.
Bindings assumed_sizes(const Symbols&, const Bindings& given = {});

/// True for nodes that the host runs while it launches: constants and arithmetic on shapes. They cost no launch and join no group.
bool on_host(const Graph&, NodeId);

}  // namespace sfumato::fusion::plan
