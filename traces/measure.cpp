// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "isa/limits.h"
#include "traces/report.h"

namespace sfumato::traces {

using isa::Pipe;

namespace {

constexpr double kBusyEnough = 0.6;      // a pipe busier than this bounds the run
constexpr double kBandwidthShare = 0.7;  // of the peak: the memory, not the pipe, is the bound

void add_groups(RunReport& r, const sim::LaunchStats& launch) {
    for (const isa::CoreKind kind : {isa::CoreKind::aic, isa::CoreKind::aiv, isa::CoreKind::merged}) {
        CoreGroup g{kind, 0, {}};
        std::array<PipeShare, isa::kPipeCount> sums{};
        for (const sim::CoreStats& c : launch.core_stats) {
            const sim::Tick window = c.end - c.begin;
            if (c.core.kind != kind || window <= 0) continue;
            ++g.cores;
            for (std::size_t p = 0; p < sums.size(); ++p) {
                const sim::PipeStats& s = c.pipes[p];
                const auto share = [&](sim::Tick t) { return static_cast<double>(t) / static_cast<double>(window); };
                sums[p].busy += share(s.busy);
                sums[p].stalled += share(s.stalled);
                sums[p].conflict += share(s.conflict);
                sums[p].instructions += s.instructions;
                sums[p].bytes += s.bytes;
            }
        }
        if (g.cores == 0) continue;
        for (std::size_t p = 0; p < sums.size(); ++p) {
            PipeShare& s = sums[p];
            s.pipe = static_cast<Pipe>(p);
            if (!isa::has_pipe(kind, s.pipe)) continue;
            const double n = static_cast<double>(g.cores);
            s.busy /= n, s.stalled /= n, s.conflict /= n;
            s.idle = std::max(0.0, 1 - s.busy - s.stalled);
            g.pipes.push_back(s);
        }
        r.groups.push_back(std::move(g));
    }
}

void add_time(RunReport& r, const sim::LaunchStats& launch, double ticks_per_us) {
    double sum = 0;
    std::int64_t worked = 0;
    for (const sim::CoreStats& c : launch.core_stats) {
        r.cycles = std::max(r.cycles, c.end - c.begin);
        sum += static_cast<double>(c.end - c.begin);
        worked += c.end > c.begin;
    }
    r.begin_us = static_cast<double>(launch.begin) / ticks_per_us;
    r.core_time_us = static_cast<double>(r.cycles) / ticks_per_us;
    r.core_time_mean_us = worked > 0 ? sum / static_cast<double>(worked) / ticks_per_us : 0;
    r.task_time_us = launch.task_us;
}

void add_capacity(RunReport& r, const isa::Chip& chip, const isa::Program& p) {
    for (int s = static_cast<int>(isa::Space::l1); s < isa::kSpaceCount; ++s) {
        const auto space = static_cast<isa::Space>(s);
        SpaceUse use{space, 0, chip.bytes(space), {}};
        std::vector<const isa::Buffer*> here;
        for (const isa::Buffer& b : p.buffers)
            if (b.space == space) here.push_back(&b);
        if (here.empty()) continue;
        std::stable_sort(here.begin(), here.end(), [](auto* a, auto* b) { return a->base.value_or(0) < b->base.value_or(0); });
        for (const isa::Buffer* b : here) {
            const std::int64_t bytes = b->slot_bytes * b->slots;
            use.used = std::max(use.used, b->base.value_or(use.used) + bytes);
            use.buffers.push_back({b->name, std::string(isa::name(b->dtype)), isa::where(p, b->source), b->why, b->shape, b->slots, bytes});
        }
        r.capacity.push_back(std::move(use));
    }
}

SyncCounts count_sync(const isa::Program& p) {
    SyncCounts n;
    std::vector<isa::Interval> any(p.symbols.size(), {0, std::int64_t{1} << 40});
    for (const isa::Section& s : p.sections) {
        std::map<std::pair<Pipe, Pipe>, std::int64_t> ids;
        isa::for_each_instr(s.body, [&](const isa::Instr& i) {
            const auto* sync = std::get_if<isa::Sync>(&i.operands);
            if (!sync) return;
            if (i.op == isa::Op::barrier) ++n.barriers;
            if (i.op == isa::Op::cross_set) ++n.cross_core;
            if (i.op != isa::Op::set_flag) return;
            ++n.flags;
            std::int64_t& most = ids[{sync->src, sync->dst}];
            most = std::max(most, (sync->id ? isa::range(p.exprs, sync->id, any).hi : 0) + 1);
        });
        for (const auto& [pair, count] : ids) n.event_ids += count;
    }
    return n;
}

std::map<std::int32_t, const isa::Instr*> instructions(const isa::Program& p) {
    std::map<std::int32_t, const isa::Instr*> out;
    for (const isa::Section& s : p.sections) isa::for_each_instr(s.body, [&](const isa::Instr& i) { out[i.id] = &i; });
    return out;
}

void add_hot_lines(RunReport& r, const isa::Program& p, const sim::LaunchStats& launch, double ticks_per_us) {
    const auto by_id = instructions(p);
    std::map<std::string, HotLine> lines;
    std::map<std::string, std::set<std::string>> mnemonics;
    for (const auto& [id, stats] : launch.lines) {
        const auto at = by_id.find(id);
        if (at == by_id.end()) continue;
        std::string where = isa::where(p, at->second->source);
        if (where.empty()) where = "instruction " + std::to_string(id);
        HotLine& line = lines[where];
        line.where = where;
        line.count += stats.count;
        line.bytes += stats.bytes;
        line.busy_us += static_cast<double>(stats.busy) / ticks_per_us;
        line.stalled_us += static_cast<double>(stats.stalled) / ticks_per_us;
        if (stats.busy > 0) mnemonics[where].insert(std::string(isa::desc(at->second->op).name));
    }
    for (auto& [where, line] : lines) {
        for (const std::string& m : mnemonics[where]) line.what += (line.what.empty() ? "" : " ") + m;
        r.hot.push_back(std::move(line));
    }
    std::stable_sort(r.hot.begin(), r.hot.end(), [](const HotLine& a, const HotLine& b) { return a.busy_us > b.busy_us; });
}

/// Line of the instructions of `pipe` that were busy longest.
std::string hottest_line(const isa::Program& p, const sim::LaunchStats& launch, Pipe pipe) {
    const auto by_id = instructions(p);
    std::map<std::string, sim::Tick> busy;
    for (const auto& [id, stats] : launch.lines) {
        const auto at = by_id.find(id);
        if (at != by_id.end() && isa::pipe_of(*at->second) == pipe) busy[isa::where(p, at->second->source)] += stats.busy;
    }
    const auto most = std::max_element(busy.begin(), busy.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == busy.end() ? "" : most->first;
}

void add_bottleneck(RunReport& r, const isa::Program& p, const sim::LaunchStats& launch) {
    const PipeShare* most = nullptr;
    for (const CoreGroup& g : r.groups)
        for (const PipeShare& s : g.pipes)
            if (!most || s.busy > most->busy) most = &s;
    if (!most) return;
    r.bottleneck.pipe = isa::kPipeNames[static_cast<std::size_t>(most->pipe)].profiler;
    r.bottleneck.share = most->busy;
    r.bottleneck.source_line = hottest_line(p, launch, most->pipe);
    const bool moves = most->pipe == Pipe::mte2 || most->pipe == Pipe::mte3 || most->pipe == Pipe::fix;
    const double hbm = r.hbm_peak_gbs > 0 ? r.gbs(r.memory.hbm_read_bytes + r.memory.hbm_write_bytes) / r.hbm_peak_gbs : 0;
    if (most->busy < kBusyEnough)
        r.bottleneck.reason = "no pipe is busy most of the time: start-up, waits between pipes or few tiles per core";
    else if (moves && hbm > kBandwidthShare)
        r.bottleneck.reason = "HBM bandwidth: " + short_number(hbm * 100) + " % of the device's peak";
    else if (moves)
        r.bottleneck.reason = "transfers between GM and the cores";
    else if (most->pipe == Pipe::s)
        r.bottleneck.reason = "issue: the scalar unit cannot feed the pipes";
    else
        r.bottleneck.reason = most->pipe == Pipe::m ? "matrix arithmetic" : most->pipe == Pipe::v ? "vector arithmetic" : "transfers inside the core";
}

}  // namespace

double cube_peak_tflops(const isa::Chip& chip, isa::DType t) {
    const auto i = static_cast<std::size_t>(t);
    const double per = chip.cube.per_fractal[i];
    if (per <= 0) return 0;
    const double macs = static_cast<double>(isa::kFractalRows * isa::kFractalRows * chip.cube.k_step[i]) / per;
    return 2 * macs * static_cast<double>(chip.cores.aic + chip.cores.merged) * chip.cores.clock_mhz / 1e6;
}

double vector_peak_tflops(const isa::Chip& chip, isa::DType t) {
    const double per = chip.vector_timing(isa::TimingClass::v_binary, t).per_repeat;
    if (per <= 0) return 0;
    const double lanes = static_cast<double>(isa::kRepeatBytes / isa::bytes_of(t)) / per;
    return lanes * static_cast<double>(chip.cores.aiv + chip.cores.merged + chip.cores.vector_only) * chip.cores.clock_mhz / 1e6;
}

double RunReport::l2_hit_rate() const {
    const std::int64_t all = memory.l2_hits + memory.l2_misses;
    return all > 0 ? static_cast<double>(memory.l2_hits) / static_cast<double>(all) : 0;
}

std::vector<isa::Diagnostic> RunReport::hazards() const {
    std::vector<isa::Diagnostic> out;
    std::copy_if(diagnostics.begin(), diagnostics.end(), std::back_inserter(out), [](const auto& d) { return d.code == isa::Code::race; });
    return out;
}

RunReport measure(const isa::Chip& chip, const isa::Program& program, const sim::RunResult& run, std::size_t launch) {
    RunReport r;
    r.kernel = program.name;
    r.chip = chip.name;
    r.arch = chip.arch;
    r.assumptions.chip_hash = chip.hash;
    r.status = run.status == sim::Status::ok ? "ok" : run.status == sim::Status::deadlock ? "deadlock" : "fault";
    r.diagnostics = run.diagnostics;
    r.events = run.events;
    r.wall_s = run.wall_s;
    r.hbm_peak_gbs = chip.hbm.total_rate * chip.cores.clock_mhz / 1e3;
    add_capacity(r, chip, program);
    r.sync = count_sync(program);
    if (launch >= run.launches.size()) return r;  // nothing ran
    const sim::LaunchStats& l = run.launches[launch];
    r.blocks = l.cores;
    r.memory = l.memory;
    r.instructions = l.instructions;
    if (run.ticks_per_us <= 0) return r;  // values only
    add_time(r, l, run.ticks_per_us);
    add_groups(r, l);
    add_hot_lines(r, program, l, run.ticks_per_us);
    add_bottleneck(r, program, l);
    return r;
}

}  // namespace sfumato::traces
