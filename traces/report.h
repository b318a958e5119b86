// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run as people and scripts read it: one plain struct, printed as text and as JSON from the same numbers. `measure` fills what follows from
// chip, program and simulation; whoever ran the kernel adds what it was and whether its values are right; `combine` makes one report of several
// kernels that ran behind each other.
#include <string>
#include <utility>
#include <vector>

#include "isa/chip.h"
#include "isa/program.h"
#include "sim/report.h"

namespace sfumato::traces {

using NamedNumbers = std::vector<std::pair<std::string, std::int64_t>>;

/// Shares of the core window, mean over the cores of a kind; they sum to 1.
struct PipeShare {
    isa::Pipe pipe = isa::Pipe::s;
    double busy = 0, stalled = 0, idle = 0;
    double conflict = 0;  ///< part of busy lost to bank conflicts
    std::int64_t instructions = 0, bytes = 0;  ///< over all cores
};
struct CoreGroup {
    isa::CoreKind kind = isa::CoreKind::aic;
    std::int64_t cores = 0;  ///< that worked
    std::vector<PipeShare> pipes;
};
struct BufferUse {
    std::string name, dtype, where, why;
    std::vector<std::int64_t> shape;
    std::int64_t slots = 1, bytes = 0;
};
struct SpaceUse {
    isa::Space space = isa::Space::none;
    std::int64_t used = 0, total = 0;
    std::vector<BufferUse> buffers;  ///< in order of address
};
struct HotLine {
    std::string where, what;  ///< "matmul.cpp:17", mnemonics
    std::int64_t count = 0, bytes = 0;
    double busy_us = 0, stalled_us = 0;  ///< summed over cores
};
struct ValueCheck {
    bool checked = false, equal = false;
    double max_abs_error = 0, max_rel_error = 0, tolerance = 0;
    std::string tolerance_rule;   ///< how the tolerance follows from type and reduction length
    std::string first_mismatch;   ///< tensor, coordinates, values, tile, source line; empty: none
};
struct Bottleneck {
    std::string pipe, reason, source_line;
    double share = 0;
};
struct SyncCounts {
    std::int64_t flags = 0, event_ids = 0, barriers = 0, cross_core = 0;
};
struct Assumptions {
    std::string chip_hash, model_version, l2, mode;
    std::uint64_t seed = 0;
    std::vector<std::string> notes;
};

struct RunReport {
    std::string kernel, chip, arch, dtype;
    NamedNumbers shape, tile;
    std::int64_t blocks = 0, repeat = 1;
    std::vector<double> rounds_us;  ///< repeated runs: core time of each round, the last one is reported
    std::vector<std::pair<std::string, std::string>> reads;  ///< tensors that an earlier kernel of the run wrote: ("X", "1.C")
    std::string l2_before;  ///< what L2 held when the kernel began: "cold", "warm", "as launch 1 left it"
    std::vector<RunReport> launches;  ///< several kernels behind each other: one report each; the other members are of all of them
    bool timed = true;  ///< false: values only, the time members mean nothing
    std::string status = "ok";

    std::int64_t cycles = 0;
    double begin_us = 0;  ///< since the start of the run
    double core_time_us = 0, core_time_mean_us = 0, task_time_us = 0;
    double flops = 0, peak_tflops = 0;
    std::string peak_of;  ///< "cube f16" or "vector f16"

    std::vector<CoreGroup> groups;
    sim::MemoryStats memory;
    double hbm_peak_gbs = 0;
    std::vector<SpaceUse> capacity;
    SyncCounts sync;
    ValueCheck values;
    std::vector<isa::Diagnostic> diagnostics;  ///< faults, deadlock, hazards
    Bottleneck bottleneck;
    std::vector<HotLine> hot;  ///< most busy first

    std::int64_t instructions = 0, events = 0;
    double wall_s = 0, compile_s = 0;
    Assumptions assumptions;

    double tflops() const { return core_time_us > 0 ? flops / core_time_us / 1e6 : 0; }
    double peak_fraction() const { return peak_tflops > 0 ? tflops() / peak_tflops : 0; }
    double l2_hit_rate() const;
    /// Bytes per core time, in GB/s (10^9).
    double gbs(std::int64_t bytes) const { return core_time_us > 0 ? static_cast<double>(bytes) / core_time_us / 1e3 : 0; }
    std::vector<isa::Diagnostic> hazards() const;
};

/// Fills time, pipes, memory, capacity, sync, bottleneck, hot lines, diagnostics and host figures, of one launch of the run.
RunReport measure(const isa::Chip&, const isa::Program&, const sim::RunResult&, std::size_t launch = 0);
/// Kernels that ran behind each other as one: times, bytes and counts are sums, shares are weighted with core time, `launches` keeps each.
RunReport combine(std::vector<RunReport>);

/// Multiply-adds of all cores per second, doubled, for an input type, in TFLOP/s; 0: the chip cannot.
double cube_peak_tflops(const isa::Chip&, isa::DType);
/// Lanes of all vector units per second for a two-source instruction, in TFLOP/s.
double vector_peak_tflops(const isa::Chip&, isa::DType);

/// Of several kernels: each launch, then all of them.
std::string to_text(const RunReport&);
/// Its table of memory spaces alone.
std::string capacity_text(const RunReport&);
/// One JSON object, members in the order of the command line's manual.
std::string to_json(const RunReport&);
/// Tables for spreadsheets: a row per launch and pipe (shares of the core window, mean over cores), and a row per launch and source line (times
/// summed over cores, most busy first).
std::string pipes_csv(const RunReport&);
std::string lines_csv(const RunReport&);
/// A JSON array of {code, message, file, line, column, notes}.
std::string to_json(const std::vector<isa::Diagnostic>&);
/// One or more runs side by side, a column each.
std::string compare_text(const std::vector<RunReport>&, const std::vector<std::string>& names);

/// Three or four significant digits without an exponent.
std::string short_number(double);

}  // namespace sfumato::traces
