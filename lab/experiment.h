// SPDX-License-Identifier: Apache-2.0
#pragma once
// From a measured row to a run: which kernel with which parameters on which chip, and what of the run's result answers the row's metric.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "isa/chip.h"
#include "isa/program.h"
#include "lab/validate.h"
#include "sim/report.h"

namespace sfumato::lab {

/// A run that answers one or more rows.
struct Experiment {
    std::string key;  ///< what runs, in words; equal keys are equal runs
    std::string chip;
    isa::CoreKind kind = isa::CoreKind::aiv;  ///< cores whose mean the profiler printed
    std::function<isa::Program(const isa::Chip&)> build;
    double warm_share = 0;          ///< L2 holds the operands before the first instruction when they take at most this share of it
    double flops = 0;               ///< useful arithmetic, for throughput rows
    double bytes = 0;               ///< operand bytes, for bandwidth rows
    bool unit_flag = false;         ///< FixPipe waits inside the pipe for its accumulator, which profilers count as busy
    std::int64_t entry_cycles = 0;  ///< of a core before its first instruction, beyond those of the chip
    double setup_cycles = 0;        ///< of the one pipe before its first instruction
    double ticks_per_unit = 1;      ///< core cycles of one unit of the row, when the row counts another clock
    bool calibration = false;
};

/// What profilers print, from one run.
struct Outcome {
    /// work_cycles: from the first instruction to the end of the last, for programs of one pipe
    double core_mean_us = 0, core_max_us = 0, task_us = 0, total_cycles = 0, work_cycles = 0, clock_mhz = 0;
    double pipe_us[isa::kPipeCount] = {};
    double read_bytes = 0, write_bytes = 0, hit_ratio = 0;
    std::string fault;  ///< not empty: the run did not finish
};
Outcome run_experiment(const Experiment&, const isa::Chip&);

/// Finds the experiment of a row, or the reason why there is none.
struct Expressed {
    bool ok = false;
    Experiment experiment;
    std::string why;
};
Expressed express(const MeasuredRow&);
/// Rows of single tile operations (PTO); part of `express`.
Expressed express_tile_op(const MeasuredRow&);
/// Name and instruction sequence of every tile operation that can be expressed.
std::vector<std::pair<std::string, std::string>> tile_op_sequences();
/// Why a row is known to be off, from its own words; empty when nothing is known.
std::string explain(const MeasuredRow&, MetricKind, double error);

/// The row's metric from an outcome; false when the metric is not one the model speaks of.
bool read_metric(const MeasuredRow&, const Experiment&, const Outcome&, double& predicted, MetricKind&);

/// Whole numbers in a text, in order ("half_16x256" -> 16, 256).
std::vector<std::int64_t> numbers_in(const std::string&);

}  // namespace sfumato::lab
