// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "traces/report.h"

namespace sfumato::traces {

namespace {

void add_memory(sim::MemoryStats& sum, const sim::MemoryStats& m) {
    sum.gm_read_bytes += m.gm_read_bytes, sum.gm_write_bytes += m.gm_write_bytes;
    sum.hbm_read_bytes += m.hbm_read_bytes, sum.hbm_write_bytes += m.hbm_write_bytes;
    sum.l2_hits += m.l2_hits, sum.l2_misses += m.l2_misses;
    sum.l2_write_hits += m.l2_write_hits, sum.l2_write_misses += m.l2_write_misses, sum.l2_evictions += m.l2_evictions;
}

/// Shares of the sum of the core times: `weight` is the launch's part of it.
void add_groups(std::vector<CoreGroup>& sum, const std::vector<CoreGroup>& groups, double weight) {
    for (const CoreGroup& g : groups) {
        auto at = std::find_if(sum.begin(), sum.end(), [&](const CoreGroup& s) { return s.kind == g.kind; });
        if (at == sum.end()) {
            at = sum.insert(sum.end(), {g.kind, 0, {}});
            for (const PipeShare& p : g.pipes) at->pipes.push_back({p.pipe, 0, 0, 1, 0, 0, 0});
        }
        at->cores = std::max(at->cores, g.cores);
        for (std::size_t i = 0; i < g.pipes.size(); ++i) {
            const PipeShare& p = g.pipes[i];
            PipeShare& s = at->pipes[i];
            s.busy += weight * p.busy, s.stalled += weight * p.stalled, s.conflict += weight * p.conflict;
            s.idle = std::max(0.0, 1 - s.busy - s.stalled);  // a group idles while kernels run that do not use it
            s.instructions += p.instructions, s.bytes += p.bytes;
        }
    }
}

void add_capacity(std::vector<SpaceUse>& most, const std::vector<SpaceUse>& spaces) {
    for (const SpaceUse& s : spaces) {
        const auto at = std::find_if(most.begin(), most.end(), [&](const SpaceUse& m) { return m.space == s.space; });
        if (at == most.end()) most.push_back(s);
        else if (s.used > at->used) *at = s;
    }
    std::sort(most.begin(), most.end(), [](const SpaceUse& a, const SpaceUse& b) { return a.space < b.space; });
}

void add_values(ValueCheck& all, const ValueCheck& v, const std::string& launch) {
    all.checked = all.checked && v.checked;
    all.equal = all.equal && v.equal;
    all.max_abs_error = std::max(all.max_abs_error, v.max_abs_error);
    all.max_rel_error = std::max(all.max_rel_error, v.max_rel_error);
    all.tolerance = std::max(all.tolerance, v.tolerance);
    if (all.tolerance_rule.empty()) all.tolerance_rule = v.tolerance_rule;
    else if (all.tolerance_rule != v.tolerance_rule) all.tolerance_rule = "each launch has its own";
    if (all.first_mismatch.empty() && !v.first_mismatch.empty()) all.first_mismatch = launch + "." + v.first_mismatch;
}

void add_numbers(NamedNumbers& all, const NamedNumbers& numbers, const std::string& launch) {
    for (const auto& [name, value] : numbers) all.emplace_back(launch + "." + name, value);
}

void add_launch(RunReport& all, const RunReport& r, const std::string& launch) {
    all.kernel += (all.kernel.empty() ? "" : " + ") + r.kernel;
    if (all.dtype != r.dtype) all.dtype += (all.dtype.empty() || r.dtype.empty() ? "" : " + ") + r.dtype;
    add_numbers(all.shape, r.shape, launch);
    add_numbers(all.tile, r.tile, launch);
    all.blocks = std::max(all.blocks, r.blocks);
    all.cycles += r.cycles;
    all.core_time_us += r.core_time_us;
    all.core_time_mean_us += r.core_time_mean_us;
    all.task_time_us += r.task_time_us;
    all.flops += r.flops;
    all.sync.flags += r.sync.flags;
    all.sync.event_ids = std::max(all.sync.event_ids, r.sync.event_ids);
    all.sync.barriers += r.sync.barriers;
    all.sync.cross_core += r.sync.cross_core;
    all.instructions += r.instructions;
    all.compile_s += r.compile_s;
    add_memory(all.memory, r.memory);
    add_capacity(all.capacity, r.capacity);
    add_values(all.values, r.values, launch);
    all.hot.insert(all.hot.end(), r.hot.begin(), r.hot.end());
}

}  // namespace

RunReport combine(std::vector<RunReport> launches) {
    if (launches.size() == 1) return std::move(launches.front());
    RunReport all = launches.front();  // chip, status, diagnostics and host figures are the run's
    for (std::string* text : {&all.kernel, &all.dtype, &all.peak_of}) text->clear();
    all.shape.clear(), all.tile.clear(), all.groups.clear(), all.capacity.clear(), all.hot.clear();
    all.blocks = all.cycles = all.instructions = 0;
    all.core_time_us = all.core_time_mean_us = all.task_time_us = all.flops = all.compile_s = 0;
    all.memory = {}, all.sync = {}, all.bottleneck = {}, all.values = {};
    all.values.checked = all.values.equal = true;
    double ideal_us = 0;  // of the arithmetic alone, each kernel at the peak of its own unit
    for (std::size_t i = 0; i < launches.size(); ++i) {
        add_launch(all, launches[i], std::to_string(i + 1));
        if (launches[i].peak_tflops > 0) ideal_us += launches[i].flops / launches[i].peak_tflops / 1e6;
    }
    if (!all.values.checked) all.values.equal = false;
    all.peak_tflops = ideal_us > 0 ? all.flops / ideal_us / 1e6 : 0;
    all.peak_of = "kernels' own";
    const RunReport* longest = &launches.front();
    for (const RunReport& r : launches) {
        if (all.core_time_us > 0) add_groups(all.groups, r.groups, r.core_time_us / all.core_time_us);
        if (r.core_time_us > longest->core_time_us) longest = &r;
    }
    all.bottleneck = longest->bottleneck;
    all.bottleneck.reason = longest->kernel + ": " + longest->bottleneck.reason;
    if (all.core_time_us > 0) all.bottleneck.share *= longest->core_time_us / all.core_time_us;
    std::stable_sort(all.hot.begin(), all.hot.end(), [](const HotLine& a, const HotLine& b) { return a.busy_us > b.busy_us; });
    all.launches = std::move(launches);
    return all;
}

}  // namespace sfumato::traces
