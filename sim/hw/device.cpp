// SPDX-License-Identifier: Apache-2.0
#include "sim/hw/device.h"

#include <algorithm>

namespace sfumato::sim::hw {

namespace {
// GM address of every tensor of every launch.
std::vector<std::vector<std::int64_t>> bases_of(std::span<const Launch> launches, const DeviceMemory& memory) {
    std::vector<std::vector<std::int64_t>> out;
    for (const Launch& l : launches) {
        out.emplace_back();
        for (int t : l.tensors) out.back().push_back(memory.tensors[static_cast<std::size_t>(t)].address);
    }
    return out;
}

std::size_t instructions_of(const isa::Program& p) {
    int count = 0;
    for (const isa::Section& s : p.sections) isa::for_each_instr(s.body, [&](const isa::Instr& i) { count = std::max(count, i.id + 1); });
    return static_cast<std::size_t>(count);
}

MemoryStats operator-(MemoryStats a, const MemoryStats& b) {
    a.gm_read_bytes -= b.gm_read_bytes, a.gm_write_bytes -= b.gm_write_bytes;
    a.hbm_read_bytes -= b.hbm_read_bytes, a.hbm_write_bytes -= b.hbm_write_bytes;
    a.l2_hits -= b.l2_hits, a.l2_misses -= b.l2_misses;
    a.l2_write_hits -= b.l2_write_hits, a.l2_write_misses -= b.l2_write_misses, a.l2_evictions -= b.l2_evictions;
    return a;
}

bool mixed(std::span<const PlacedCore> placed) {
    return std::any_of(placed.begin(), placed.end(), [](const PlacedCore& p) { return p.core.kind == isa::CoreKind::aic; }) &&
           std::any_of(placed.begin(), placed.end(), [](const PlacedCore& p) { return p.core.kind == isa::CoreKind::aiv; });
}
}  // namespace

Device::Device(sc_core::sc_module_name name, const isa::Chip& chip, std::span<const Launch> launches, DeviceMemory& device, const RunOptions& options,
               Recorder& recorder)
    : sc_module(name), memory("memory", chip, recorder, bases_of(launches, device)), cross("cross", chip, recorder), chip_(chip), recorder_(recorder),
      hardware_(hardware_cores(chip)), costs_(chip) {
    for (const Launch& l : launches) plans_.push_back({&l, place(chip, l, device)});
    if (options.mode != Mode::time || options.hazards) effects_ = std::make_unique<Effects>(chip, hardware_, device, options, recorder);
    cross.use(effects_.get());
    cores.resize(hardware_.size());
    for (const Plan& plan : plans_)
        for (const PlacedCore& p : plan.placed) {
            auto& core = cores[static_cast<std::size_t>(p.core.ordinal)];
            if (core) continue;
            const std::string label = std::string(isa::name(p.core.kind)) + std::to_string(p.core.index);
            core = std::make_unique<Core>(label.c_str(), chip, recorder, effects_.get(), p.core, options, device);
            core->costs = &costs_;
            core->memory(memory.access);
            core->cross(cross.access);
            core->on_done = [this](Core& c) { core_done(c); };
            for (auto& u : core->units) memory.connect(p.core.ordinal * isa::kPipeCount + static_cast<int>(u->pipe()), p.core, u.get());
        }
    if (options.warm_l2) warm_l2(device);
    core_begin_.resize(cores.size());
    SC_HAS_PROCESS(Device);
    SC_METHOD(on_launch);
    sensitive << launch_;
    dont_initialize();
    if (!plans_.empty()) launch_.notify(sc_core::SC_ZERO_TIME);
}

void Device::warm_l2(const DeviceMemory& device) {
    std::int64_t room = chip_.l2.capacity;
    for (const DeviceTensor& t : device.tensors) {
        memory.warm(t.address, std::min(t.size, room));
        room -= std::min(t.size, room);
    }
}

void Device::on_launch() {
    guarded(recorder_, [this] {
        const Tick t = now();
        const Plan& plan = plans_[next_];
        const isa::Program& program = *plan.launch->program;
        if (effects_) effects_->begin_launch(program, plan.launch->tensors, plan.placed);
        cross.begin_launch(program, plan.placed);
        LaunchStats stats;
        stats.name = program.name;
        stats.begin = stats.end = t;
        stats.cores = static_cast<std::int64_t>(plan.placed.size());
        launches_.push_back(stats);
        running_ = plan.placed.size();
        core_ticks_ = 0;
        memory_before_ = memory.stats();
        instructions_before_ = recorder_.instructions;
        recorder_.lines.assign(instructions_of(program), {});
        const double mix = mixed(plan.placed) ? chip_.launch.mix_us * chip_.cores.clock_mhz : 0;
        const CoreTask task{static_cast<int>(next_), &program, plan.launch->tensors};
        for (const PlacedCore& p : plan.placed) {
            Tick start = t + to_ticks(static_cast<double>(p.context.block_id) * chip_.launch.per_block);
            if (p.core.kind == isa::CoreKind::aiv) start += to_ticks(mix);
            core_begin_[static_cast<std::size_t>(p.core.ordinal)] = start;
            cores[static_cast<std::size_t>(p.core.ordinal)]->begin_launch(task, start, start + to_ticks(chip_.launch.head),
                                                                         std::make_unique<ProgramSource>(program, *p.section, p.context));
        }
        if (plan.placed.empty()) end_launch(t);  // nothing to do is done at once
    });
}

void Device::core_done(Core& core) {
    const Tick t = now();
    core_ticks_ += t - core_begin_[static_cast<std::size_t>(core.ref.ordinal)];
    for (isa::Diagnostic& d : core.left_over_flags(t)) left_over_.push_back(std::move(d));
    LaunchStats& l = launches_.back();
    l.end = std::max(l.end, t);
    l.core_stats.push_back(core.launch_stats());
    if (--running_ == 0) end_launch(t);
}

void Device::end_launch(Tick t) {
    LaunchStats& l = launches_.back();
    const double overhead = chip_.launch.task_us + chip_.launch.task_per_core_us * static_cast<double>(l.cores);
    l.task_us = static_cast<double>(l.end - l.begin) / chip_.cores.clock_mhz + overhead;
    l.mean_core_ticks = static_cast<double>(core_ticks_) / static_cast<double>(std::max<std::int64_t>(1, l.cores));
    if (const CrossFlags* f = cross.flags()) {
        for (const auto& [ordinal, id, count] : f->left_over())
            left_over_.push_back(about(isa::Code::flag_balance, *cores[static_cast<std::size_t>(ordinal)], nullptr,
                                       "cross-core flag " + std::to_string(id) + " still counts " + std::to_string(count) +
                                           " when the kernel ends; add the waits that take it",
                                       t));
    }
    close_books();
    if (++next_ < plans_.size()) launch_.notify(until(t + to_ticks(overhead * chip_.cores.clock_mhz)));
}

// What of the run's totals belongs to the launch that ends here.
void Device::close_books() {
    LaunchStats& l = launches_.back();
    l.memory = memory.stats() - memory_before_;
    l.instructions = recorder_.instructions - instructions_before_;
    for (std::size_t i = 0; i < recorder_.lines.size(); ++i)
        if (recorder_.lines[i].count > 0) l.lines[static_cast<std::int32_t>(i)] = recorder_.lines[i];
}

void Device::finish(RunResult& result) {
    if (effects_) effects_->collect();
    Tick t = now();
    for (const auto& c : cores)
        if (c) t = std::max(t, c->time);  // a core that waits for ever may have come there ahead of the chip
    result.diagnostics = recorder_.diagnostics();
    if (recorder_.faulted()) result.status = Status::fault;
    if (next_ < plans_.size() && !recorder_.stopped()) {
        result.status = Status::deadlock;
        for (const auto& c : cores)
            if (c)
                for (isa::Diagnostic& d : c->waiting(t)) result.diagnostics.push_back(std::move(d));
    }
    if (!left_over_.empty()) {
        result.status = result.status == Status::ok ? Status::fault : result.status;
        result.diagnostics.insert(result.diagnostics.end(), left_over_.begin(), left_over_.end());
    }
    for (const auto& c : cores) {
        if (!c) continue;
        if (c->working()) {
            c->abandon(t);
            launches_.back().core_stats.push_back(c->launch_stats());
        }
        result.cores.push_back(c->stats());
        result.makespan = std::max(result.makespan, result.cores.back().end);
    }
    if (!launches_.empty() && next_ < plans_.size()) close_books();  // it did not finish
    for (LaunchStats& l : launches_)
        std::sort(l.core_stats.begin(), l.core_stats.end(), [](const CoreStats& a, const CoreStats& b) { return a.core.ordinal < b.core.ordinal; });
    result.launches = std::move(launches_);
    result.memory = memory.stats();
}

}  // namespace sfumato::sim::hw
