// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run without time: Mode::values, and the reference that timed runs are compared with.
#include <span>

#include "sim/report.h"
#include "sim/simulator.h"

namespace sfumato::sim {

/// Executes every launch in program order: cores take turns, each runs until it must wait for another core; inside a core an instruction waits
/// only for a flag that is set later in the text. Bounds, uninitialised reads, races and deadlocks are reported in the result.
RunResult run_values(const isa::Chip&, std::span<const Launch>, DeviceMemory&, const RunOptions& = {});

}  // namespace sfumato::sim
