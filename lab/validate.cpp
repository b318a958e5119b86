// SPDX-License-Identifier: Apache-2.0
#include "lab/validate.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "isa/diagnostic.h"
#include "lab/experiment.h"
#include "sim/simulator.h"

namespace sfumato::lab {

const char* name(MetricKind k) {
    constexpr const char* kNames[] = {"core time", "task time", "pipe time", "pipe ratio", "bandwidth", "hit ratio", "instruction", "other"};
    return kNames[static_cast<int>(k)];
}

Outcome run_experiment(const Experiment& e, const isa::Chip& of_row) {
    isa::Chip chip = of_row;
    chip.launch.head += static_cast<double>(e.entry_cycles);
    const isa::Program program = e.build(chip);
    sim::DeviceMemory memory;
    sim::Launch launch;
    launch.program = &program;
    for (const isa::Tensor& t : program.tensors) {
        std::int64_t bytes = isa::bytes_of(t.dtype);
        for (const isa::Expr& d : t.dims) bytes *= program.exprs.eval(d, {});
        launch.tensors.push_back(static_cast<int>(memory.tensors.size()));
        memory.tensors.push_back({t.name, bytes, {}, -1});
    }
    sim::RunOptions options;
    options.mode = sim::Mode::time;
    double operands = 0;
    for (const sim::DeviceTensor& t : memory.tensors) operands += static_cast<double>(t.size);
    options.warm_l2 = operands <= e.warm_share * static_cast<double>(chip.l2.capacity);
    options.hazards = false;  // the vendor's kernels reuse buffers without order where nobody reads them
    const sim::RunResult run = sim::run(chip, std::span<const sim::Launch>(&launch, 1), memory, options);
    Outcome o;
    if (run.status != sim::Status::ok) {
        o.fault = run.diagnostics.empty() ? "did not finish" : run.diagnostics[0].message;
        return o;
    }
    double cores = 0;
    for (const sim::CoreStats& c : run.cores) {
        if (c.core.kind != e.kind || c.end <= c.begin) continue;
        const double us = static_cast<double>(c.end - c.begin) / run.ticks_per_us;
        cores += 1;
        o.core_mean_us += us;
        o.core_max_us = std::max(o.core_max_us, us);
        o.total_cycles += static_cast<double>(c.end - c.begin);
        for (std::size_t p = 1; p < isa::kPipeCount; ++p) o.work_cycles += static_cast<double>(c.pipes[p].busy + c.pipes[p].stalled);
        for (std::size_t p = 0; p < isa::kPipeCount; ++p) o.pipe_us[p] += static_cast<double>(c.pipes[p].busy) / run.ticks_per_us;
        const auto fix = static_cast<std::size_t>(isa::Pipe::fix);
        if (e.unit_flag) o.pipe_us[fix] += static_cast<double>(c.pipes[fix].stalled) / run.ticks_per_us;
    }
    if (cores > 0) {
        o.core_mean_us /= cores;
        for (double& us : o.pipe_us) us /= cores;
    }
    if (!run.launches.empty()) o.task_us = run.launches[0].task_us;
    o.clock_mhz = chip.cores.clock_mhz;
    o.read_bytes = static_cast<double>(run.memory.gm_read_bytes);
    o.write_bytes = static_cast<double>(run.memory.gm_write_bytes);
    const double lines = static_cast<double>(run.memory.l2_hits + run.memory.l2_misses);
    o.hit_ratio = lines > 0 ? static_cast<double>(run.memory.l2_hits) / lines : 0;
    return o;
}

namespace {

struct PipeWord {
    const char* word;
    isa::Pipe pipe;
};
constexpr PipeWord kPipeWords[] = {{"mac", isa::Pipe::m},         {"cube", isa::Pipe::m},    {"scalar", isa::Pipe::s},     {"mte1", isa::Pipe::mte1},
                                   {"l1_to_l0", isa::Pipe::mte1}, {"mte2", isa::Pipe::mte2}, {"gm_load", isa::Pipe::mte2}, {"mte3", isa::Pipe::mte3},
                                   {"fixpipe", isa::Pipe::fix},   {"store", isa::Pipe::fix}, {"vec", isa::Pipe::v}};

bool ends(const std::string& s, const std::string& tail) {
    return s.size() >= tail.size() && s.compare(s.size() - tail.size(), tail.size(), tail) == 0;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool read_pipe(const MeasuredRow& r, const Outcome& o, double& out, MetricKind& kind) {
    if (!ends(r.metric, "_time") && !ends(r.metric, "_ratio")) return false;
    for (const PipeWord& w : kPipeWords) {
        if (!has(r.metric, w.word)) continue;
        const double us = o.pipe_us[static_cast<std::size_t>(w.pipe)];
        const bool ratio = ends(r.metric, "_ratio");
        kind = ratio ? MetricKind::pipe_ratio : MetricKind::pipe_time;
        out = ratio ? us / o.core_mean_us : us;
        return true;
    }
    return false;
}

/// Bytes per microsecond in the row's unit.
double in_unit(double bytes, double us, const std::string& unit) { return bytes / us / (unit == "TB/s" ? 1e6 : 1e3); }

}  // namespace

bool read_metric(const MeasuredRow& r, const Experiment& e, const Outcome& o, double& out, MetricKind& kind) {
    const std::string& m = r.metric;
    if (m == "core_time" || m == "aic_time" || m == "aiv_time") return kind = MetricKind::core_time, out = o.core_mean_us, true;
    if (m == "aic_time_max" || m == "aiv_time_max") return kind = MetricKind::core_time, out = o.core_max_us, true;
    if (ends(m, "total_cycles")) return kind = MetricKind::core_time, out = o.total_cycles, true;
    if (has(m, "task_duration") || m == "time") return kind = MetricKind::task_time, out = o.task_us, true;
    if (m == "l2_hit_ratio") return kind = MetricKind::hit_ratio, out = o.hit_ratio, true;
    if (m == "expected_cycles") return kind = MetricKind::instruction, out = o.work_cycles + e.setup_cycles, true;
    if (m == "cycles_per_1000_Add") return kind = MetricKind::core_time, out = o.work_cycles / e.ticks_per_unit, true;
    if (has(m, "throughput")) return kind = MetricKind::task_time, out = e.flops / o.task_us / 1e6, true;
    if (has(m, "fraction_of_peak")) {
        const double cores = o.total_cycles / (o.core_mean_us * o.clock_mhz);
        return kind = MetricKind::task_time, out = e.flops / o.task_us / (cores * 8192.0 * o.clock_mhz), true;
    }
    if (m == "mte2_bandwidth")
        return kind = MetricKind::bandwidth, out = in_unit(o.read_bytes, o.pipe_us[static_cast<std::size_t>(isa::Pipe::mte2)], r.unit), true;
    if (has(m, "bandwidth")) {
        const bool of_task = has(r.notes, "task duration"), of_core = has(r.notes, "core time");
        const double us = of_task                           ? o.task_us
                          : of_core || has(m, "read_write") ? o.core_mean_us
                                                            : o.pipe_us[static_cast<std::size_t>(isa::Pipe::mte2)];
        return kind = MetricKind::bandwidth, out = in_unit(e.bytes, us, r.unit), true;
    }
    return read_pipe(r, o, out, kind);
}

namespace {

void summarise(FamilyResult& f, std::vector<double>& errors) {
    if (errors.empty()) return;
    std::sort(errors.begin(), errors.end());
    for (const double e : errors) {
        f.mean_abs_error += e / static_cast<double>(errors.size());
        f.beyond_30 += e > 0.3 ? 1 : 0;
    }
    f.median_abs_error = errors[errors.size() / 2];
    f.max_abs_error = errors.back();
}

void count(Validation& v) {
    std::map<std::string, std::vector<double>> errors;
    std::vector<double> all, known;
    double score = 0, scored = 0;
    const auto is_known = [](const RowResult& r) {
        return std::any_of(std::begin(kKnownKernels), std::end(kKnownKernels), [&](const char* f) { return r.row.family == f; });
    };
    for (const RowResult& r : v.rows) {
        for (FamilyResult* f : {&v.families[r.row.family], &v.total, is_known(r) ? &v.known_kernels : nullptr}) {
            if (f == nullptr) continue;
            ++f->rows;
            if (!r.expressed) {
                ++f->skipped[r.note];
                continue;
            }
            ++f->expressed;
            if (r.kind == MetricKind::core_time) f->core_mean_abs_error += std::abs(r.error), ++f->core_rows;
        }
        if (!r.expressed) continue;
        errors[r.row.family].push_back(std::abs(r.error));
        all.push_back(std::abs(r.error));
        if (is_known(r)) known.push_back(std::abs(r.error));
        if (r.kind == MetricKind::instruction) score += std::max(0.0, 1 - std::abs(r.error)), scored += 1;
    }
    for (auto& [family, list] : errors) summarise(v.families[family], list);
    summarise(v.total, all);
    summarise(v.known_kernels, known);
    const auto mean = [](FamilyResult& f) {
        if (f.core_rows > 0) f.core_mean_abs_error /= static_cast<double>(f.core_rows);
    };
    for (auto& [family, f] : v.families) mean(f);
    mean(v.total);
    mean(v.known_kernels);
    if (scored > 0) v.instruction_score = score / scored;
}

}  // namespace

namespace {
/// Ratios are compared by difference (a hit rate of 0.00006 has no meaningful relative error), everything else relatively.
double error_of(MetricKind kind, double predicted, double measured) {
    if (kind == MetricKind::pipe_ratio || kind == MetricKind::hit_ratio) return predicted - measured;
    return measured != 0 ? (predicted - measured) / measured : 0;
}
}  // namespace

Validation validate(const std::vector<MeasuredRow>& rows, const ValidateOptions& options) {
    const auto begin = std::chrono::steady_clock::now();
    Validation v;
    std::map<std::string, isa::Chip> chips;
    std::map<std::string, Outcome> outcomes;
    std::size_t done = 0;
    for (const MeasuredRow& row : rows) {
        if (options.progress) options.progress(done++, rows.size(), row.kernel);
        if (!options.families.empty() && std::find(options.families.begin(), options.families.end(), row.family) == options.families.end()) continue;
        RowResult r;
        r.row = row;
        const Expressed x = express(row);
        r.note = x.why;
        if (x.ok) {
            const Experiment& e = x.experiment;
            r.chip = e.chip;
            r.experiment = e.key;
            r.calibration = e.calibration;
            if (chips.count(e.chip) == 0) {
                const isa::Chip chip = isa::load_chip(e.chip, options.sets, options.chip_dir);
                v.assumptions[e.chip] = "chip hash " + chip.hash + ", model version " + sim::kModelVersion;
                chips.emplace(e.chip, chip);
            }
            double probe = 0;
            Outcome none;
            none.core_mean_us = none.task_us = 1;
            if (!read_metric(row, e, none, probe, r.kind)) {
                r.note = "metric '" + row.metric + "' is not one the model speaks of";
            } else {
                const std::string key = e.chip + " | " + e.key;
                if (outcomes.count(key) == 0) outcomes[key] = run_experiment(e, chips.at(e.chip));
                const Outcome& o = outcomes.at(key);
                if (!o.fault.empty()) {
                    r.note = "run failed: " + o.fault;
                } else {
                    read_metric(row, e, o, r.predicted, r.kind);
                    r.expressed = true;
                    r.error = error_of(r.kind, r.predicted, row.value);
                    r.note = e.key;
                    r.explanation = explain(row, r.kind, r.error);
                }
            }
        }
        v.rows.push_back(r);
    }
    count(v);
    v.rows_hash = hash_of(rows);
    v.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return v;
}

}  // namespace sfumato::lab
