// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results of a run as plain tables: no SystemC, no text formatting.
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isa/diagnostic.h"
#include "sim/event.h"

namespace sfumato::sim {

/// Where the ticks of one pipe of one core went; the three parts sum to the core's window.
struct PipeStats {
    Tick busy = 0;     ///< executing an instruction
    Tick stalled = 0;  ///< an instruction was queued but had to wait (flag, barrier, earlier transfer)
    Tick idle = 0;     ///< nothing was queued
    std::int64_t instructions = 0;
    std::int64_t bytes = 0;
    Tick conflict = 0;  ///< busy ticks lost to bank conflicts
};
struct CoreStats {
    CoreRef core;
    Tick begin = 0, end = 0;  ///< window of the core over all launches it worked on
    std::array<PipeStats, isa::kPipeCount> pipes{};
};
struct MemoryStats {
    std::int64_t gm_read_bytes = 0, gm_write_bytes = 0;    ///< asked for by cores
    std::int64_t hbm_read_bytes = 0, hbm_write_bytes = 0;  ///< moved between L2 and HBM (bypass included)
    std::int64_t l2_hits = 0, l2_misses = 0;               ///< lines, reads
    std::int64_t l2_write_hits = 0, l2_write_misses = 0, l2_evictions = 0;
};
/// Ticks of stall and work per source line, for hot-spot tables.
struct LineStats {
    std::int64_t count = 0;
    Tick busy = 0, stalled = 0;
    std::int64_t bytes = 0;
};
struct LaunchStats {
    std::string name;
    Tick begin = 0, end = 0;  ///< first core start to last core end
    std::int64_t cores = 0;
    double task_us = 0;       ///< core time plus launch overhead
    double mean_core_ticks = 0;  ///< mean over the cores that worked
    // Its part of the run's totals; bytes that L2 writes back later count for the launch that makes room.
    std::vector<CoreStats> core_stats;
    MemoryStats memory;
    std::map<std::int32_t, LineStats> lines;  ///< by instruction id of its program
    std::int64_t instructions = 0;
};

enum class Status { ok, deadlock, fault };

struct RunResult {
    Status status = Status::ok;
    std::vector<isa::Diagnostic> diagnostics;  ///< faults, deadlocks, hazards (code race), each with its source line
    Tick makespan = 0;                         ///< end of the last core
    double ticks_per_us = 0;
    std::vector<CoreStats> cores;
    std::vector<LaunchStats> launches;
    MemoryStats memory;                        ///< of all launches
    std::int64_t instructions = 0;             ///< instances executed
    std::int64_t events = 0;                   ///< activations of the model
    double wall_s = 0;                         ///< host seconds of the run
};

}  // namespace sfumato::sim
