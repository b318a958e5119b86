// SPDX-License-Identifier: Apache-2.0
#pragma once
// One model from its file to figures: import, ranges, passes, memory plan, and what each degree of fusion should cost by the chip's own limits.
// Times are bounds (plan/cost.h), no measurements.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fusion/import.h"
#include "fusion/memory_plan.h"
#include "fusion/pass.h"
#include "fusion/passes/audit.h"
#include "fusion/plan/cost.h"

namespace sfumato::fusion {

struct CompileRequest {
    std::filesystem::path model;
    std::vector<InputRange> ranges;               ///< of --input-shape and --input-shape-range
    Switches switches;
    std::vector<PassRow> passes = pass_table();   ///< with custom passes behind
    MemoryOptions memory;
    int audit_runs = 0;                           ///< sets of random inputs that the graph computes before and after; 0: none
    PassObserver observe;
};

/// What a graph costs when every node that computes is one launch. Sums over the launches; f64, microseconds and bytes of device memory.
struct Estimate {
    double time_us = 0, read_bytes = 0, write_bytes = 0;
    int launches = 0;
    std::map<std::string, double> limiter_us;     ///< time by what limits the launch: "memory", "cube", "launch", ...
};
Estimate estimate(const Graph&, const isa::Chip&, const Bindings& sizes);

/// A degree of fusion: `unfused` is the model as it stands, `rules` has the named patterns (level 2), `full` what was asked for.
struct Variant {
    std::string name;
    Graph graph;
    std::vector<PassRecord> records;
    Estimate cost;
    std::optional<MemoryPlan> plan;               ///< absent when a shape has no upper bound
};

struct CompiledModel {
    ImportedModel model;                          ///< shapes inferred
    std::vector<Variant> variants;                ///< unfused, rules, full
    Bindings sizes;                               ///< of the symbols, where times are estimated
    std::string no_plan;                          ///< why there is no memory plan
    Audit audit;
    double import_ms = 0, passes_ms = 0, plan_ms = 0;
    const Variant& full() const { return variants.back(); }
};
/// Throws isa::InputError for what the file, the ranges or the memory limit do not allow.
CompiledModel compile_model(const CompileRequest&, const isa::Chip&);

/// One output of a run on random inputs: what its finite elements look like.
struct OutputSummary {
    std::string name, type;
    std::vector<std::int64_t> dims;
    double least = 0, mean = 0, most = 0;
    std::int64_t not_finite = 0;
};
struct OutputValues {
    std::vector<OutputSummary> outputs;
    Bindings sizes;
    std::string none;  ///< why there are no values: weights that the file does not hold, ...
};
/// Runs the graph by the reference interpreter on random inputs of small sizes.
OutputValues output_values(const Graph&);

}  // namespace sfumato::fusion
