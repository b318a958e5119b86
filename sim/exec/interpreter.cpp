// SPDX-License-Identifier: Apache-2.0
#include "sim/exec/interpreter.h"

#include <chrono>
#include <deque>
#include <memory>
#include <set>

#include "isa/verify.h"
#include "sim/cross_flags.h"
#include "sim/exec/checks.h"
#include "sim/exec/hazard.h"
#include "sim/exec/machine.h"
#include "sim/placement.h"

namespace sfumato::sim {

namespace {

using I = std::int64_t;
using isa::Op;
using isa::Pipe;

constexpr std::size_t kQueue = 64;  ///< instructions a waiting pipe holds when the chip gives no depth

isa::Diagnostic located(const isa::Program& p, isa::SourceId source, isa::Code code, std::string message) {
    isa::Diagnostic d{code, std::move(message), {}, 0, 0, {}};
    if (source < 0) return d;
    const isa::Source& s = p.sources[static_cast<std::size_t>(source)];
    d.file = s.file;
    d.line = s.line;
    d.column = s.column;
    return d;
}

std::string name_of(CoreRef c) { return std::string(name(c.kind)) + " " + std::to_string(c.index); }

struct Stop {};  ///< a fault was recorded; the run ends

/// What all cores of a launch share.
struct LaunchRun {
    const isa::Chip& chip;
    const Launch& launch;
    const isa::Program& program;
    Machine& machine;
    Shadow& shadow;
    HazardTracker* hazards;
    CrossFlags cross;
    SeenInstances seen;
    std::set<int> reported_uninitialised;
    RunResult& result;

    void fail(isa::Diagnostic d) {
        result.status = Status::fault;
        result.diagnostics.push_back(std::move(d));
    }
    [[noreturn]] void stop(isa::Diagnostic d) {
        fail(std::move(d));
        throw Stop{};
    }
    void settle_hazards() {
        if (!hazards || !hazards->anything()) return;
        for (auto& d : hazards->take_diagnostics()) fail(std::move(d));
        for (const Poison& p : hazards->take_poison()) machine.poison(p.core, p.access);
    }
};

class CoreRun {
public:
    CoreRun(LaunchRun& run, const PlacedCore& placed) : run_(run), core_(placed.core), walker_(run.program, *placed.section, placed.context) {}

    /// Runs until the core must wait for another one; true when anything happened.
    bool advance() {
        bool any = false;
        for (;;) {
            bool moved = drain();
            if (held_ && try_execute(*held_)) {
                held_.reset();
                moved = true;
            }
            while (!held_ && !full() && !ended_) {
                fetch();
                moved = true;
            }
            any = any || moved;
            if (!moved) return any;
        }
    }
    bool done() const {
        for (const auto& q : queues_)
            if (!q.empty()) return false;
        return ended_ && !held_;
    }
    /// One note for each pipe that waits.
    void explain(isa::Diagnostic& d) const {
        const auto note = [&](const isa::BoundInstr& b) {
            const auto& s = std::get<isa::SyncT<I>>(b.operands);
            std::string text = name_of(core_) + ": ";
            if (b.instr->op == Op::wait_flag)
                text += "pipe " + std::string(name(s.dst)) + " waits for flag " + std::to_string(s.id) + " of " + std::string(name(s.src)) + " to " + std::string(name(s.dst));
            else if (b.instr->op == Op::cross_wait)
                text += "pipe " + std::string(name(s.dst)) + " waits for cross-core flag " + std::to_string(s.id);
            else
                text += "barrier(" + std::string(name(s.src)) + ") waits";
            const std::string line = isa::where(run_.program, b.instr->source);
            if (d.line == 0 && b.instr->op != Op::barrier) {
                const auto at = located(run_.program, b.instr->source, d.code, {});
                d.file = at.file;
                d.line = at.line;
                d.column = at.column;
            }
            d.notes.push_back(line.empty() ? text : text + " at " + line);
        };
        for (const auto& q : queues_)
            if (!q.empty()) note(q.front());
        if (held_) note(*held_);
    }
    void check_flags_at_end() {
        for (const auto& [key, setter] : set_)
            run_.fail(located(run_.program, setter->source, isa::Code::flag_balance,
                              "flag " + std::to_string(std::get<2>(key)) + " of " + std::string(name(std::get<0>(key))) + " to " +
                                  std::string(name(std::get<1>(key))) + " is still set when " + name_of(core_) + " ends; wait for it before the end"));
    }

private:
    using FlagKey = std::tuple<Pipe, Pipe, I>;

    bool full() const {
        for (std::size_t p = 0; p < queues_.size(); ++p) {
            const I depth = run_.chip.issue.depth[p];
            if (queues_[p].size() >= (depth > 0 ? static_cast<std::size_t>(depth) : kQueue)) return true;
        }
        return false;
    }
    bool drain() {
        bool any = false, moved = true;
        while (moved) {
            moved = false;
            for (auto& q : queues_)
                while (!q.empty() && try_execute(q.front())) {
                    q.pop_front();
                    moved = any = true;
                }
        }
        return any;
    }
    void fetch() {
        const isa::Step step = walker_.next();
        if (step.kind == isa::StepKind::end) {
            ended_ = true;
        } else if (step.kind == isa::StepKind::load) {
            if (auto d = check_load(run_.program, core_, run_.launch.tensors, run_.machine.memory(), *step.load, step.index)) run_.stop(std::move(*d));
            const auto t = static_cast<std::size_t>(step.load->tensor);
            walker_.give(read_control(run_.machine.memory().tensors[static_cast<std::size_t>(run_.launch.tensors[t])], run_.program.tensors[t].dtype, step.index));
        } else if (step.kind == isa::StepKind::instr) {
            issue(*step.instr);
        }
    }
    void issue(const isa::BoundInstr& b) {
        const Pipe pipe = isa::pipe_of(*b.instr);
        if (pipe == Pipe::s || pipe == Pipe::all) {
            if (!try_execute(b)) held_ = b;
            return;
        }
        if (run_.hazards && desc(b.instr->op).family != isa::Family::Sync) run_.hazards->on_issue(core_.ordinal, pipe);
        auto& queue = queues_[static_cast<std::size_t>(pipe)];
        if (!queue.empty() || !try_execute(b)) queue.push_back(b);
        else if (b.instr->op == Op::set_flag || b.instr->op == Op::barrier) drain();
    }

    // Executes the instruction unless it has to wait.
    bool try_execute(const isa::BoundInstr& b) {
        if (desc(b.instr->op).family == isa::Family::Sync) return try_sync(b);
        ++run_.result.instructions;
        if (desc(b.instr->op).family != isa::Family::Scalar) work(b);
        return true;
    }
    bool try_sync(const isa::BoundInstr& b) {
        const auto& s = std::get<isa::SyncT<I>>(b.operands);
        const int core = core_.ordinal;
        if (run_.seen.first(b))
            for (auto& d : isa::verify_bound(run_.program, run_.chip, b)) run_.stop(std::move(d));
        HazardTracker* h = run_.hazards;
        switch (b.instr->op) {
            case Op::set_flag: {
                const auto [it, fresh] = set_.try_emplace({s.src, s.dst, s.id}, b.instr);
                if (!fresh) set_twice(b, s, *it->second);
                if (h) h->on_set_flag(core, s.src, s.dst, s.id);
                break;
            }
            case Op::wait_flag:
                if (set_.erase({s.src, s.dst, s.id}) == 0) return false;
                if (h) h->on_wait_flag(core, s.src, s.dst, s.id);
                break;
            case Op::barrier:
                if (s.src == Pipe::all)
                    for (const auto& q : queues_)
                        if (!q.empty()) return false;
                if (h) h->on_barrier(core, s.src);
                break;
            case Op::cross_set: {
                const auto raised = run_.cross.set(core, s.id, s.mode);
                if (h) h->on_cross_set(core, s.src, s.id, s.mode, raised);
                for (const int to : raised)
                    if (auto d = run_.cross.raise(to, s.id)) {
                        const auto at = located(run_.program, b.instr->source, d->code, d->message);
                        run_.stop(at);
                    }
                break;
            }
            default:
                if (!run_.cross.ready(core, s.id)) return false;
                run_.cross.take(core, s.id);
                if (h) h->on_cross_wait(core, s.dst, s.id);
        }
        ++run_.result.instructions;
        return true;
    }
    [[noreturn]] void set_twice(const isa::BoundInstr& b, const isa::SyncT<I>& s, const isa::Instr& earlier) {
        auto d = located(run_.program, b.instr->source, isa::Code::flag_balance,
                         "flag " + std::to_string(s.id) + " of " + std::string(name(s.src)) + " to " + std::string(name(s.dst)) +
                             " is set twice before a wait on " + name_of(core_) + "; wait for the first set or use another id");
        d.notes.push_back("first set at " + isa::where(run_.program, earlier.source));
        run_.stop(std::move(d));
    }
    void work(const isa::BoundInstr& b) {
        LaunchRun& r = run_;
        if (r.seen.first(b))
            for (auto& d : isa::verify_bound(r.program, r.chip, b)) r.stop(std::move(d));
        const isa::AccessList accesses = isa::accesses(b);
        if (auto d = check_bound(r.program, r.chip, core_, r.launch.tensors, r.machine.memory(), b, accesses)) r.stop(std::move(*d));
        const Pipe pipe = isa::pipe_of(*b.instr);
        if (r.hazards) {
            r.hazards->on_start(core_.ordinal, pipe, b, accesses);
            r.settle_hazards();
        }
        auto d = r.shadow.step(r.program, core_, r.launch.tensors, b, accesses);
        if (d && r.reported_uninitialised.insert(b.instr->id).second) r.fail(std::move(*d));
        r.machine.apply(core_.ordinal, r.launch.tensors, b);
        if (r.hazards) {
            r.hazards->on_complete(core_.ordinal, pipe);
            r.settle_hazards();
        }
    }

    LaunchRun& run_;
    CoreRef core_;
    isa::Walker walker_;
    std::array<std::deque<isa::BoundInstr>, isa::kPipeCount> queues_;  ///< instructions behind a wait
    std::optional<isa::BoundInstr> held_;                              ///< what the scalar unit waits for
    std::map<FlagKey, const isa::Instr*> set_;                         ///< flags that are set, with their setter
    bool ended_ = false;
};

void run_launch(LaunchRun& run, const std::vector<PlacedCore>& placed) {
    std::vector<std::unique_ptr<CoreRun>> cores;
    for (const PlacedCore& p : placed) cores.push_back(std::make_unique<CoreRun>(run, p));
    for (bool moved = true; moved;) {
        moved = false;
        for (auto& c : cores) moved = c->advance() || moved;
    }
    isa::Diagnostic deadlock{isa::Code::deadlock, "nothing can proceed: every core that is not finished waits for a flag that nobody will set", {}, 0, 0, {}};
    for (const auto& c : cores) c->explain(deadlock);
    if (!deadlock.notes.empty()) {
        run.fail(std::move(deadlock));
        run.result.status = Status::deadlock;
        return;
    }
    for (auto& c : cores) c->check_flags_at_end();
    for (const auto& [core, id, count] : run.cross.left_over())
        run.fail({isa::Code::flag_balance,
                  "cross-core flag " + std::to_string(id) + " of " + name_of(hardware_cores(run.chip)[static_cast<std::size_t>(core)]) + " still counts " +
                      std::to_string(count) + " at the end of " + run.program.name + "; wait for it before the end",
                  {}, 0, 0, {}});
}

}  // namespace

RunResult run_values(const isa::Chip& chip, std::span<const Launch> launches, DeviceMemory& memory, const RunOptions& options) {
    const auto begin = std::chrono::steady_clock::now();
    RunResult result;
    const auto cores = hardware_cores(chip);
    std::vector<std::vector<PlacedCore>> placed;
    for (const Launch& l : launches) placed.push_back(place(chip, l, memory));
    Machine machine(chip, cores.size(), memory);
    Shadow shadow(chip, cores, memory);
    std::unique_ptr<HazardTracker> hazards;
    if (options.hazards) hazards = std::make_unique<HazardTracker>(chip, memory, true);
    try {
        for (std::size_t i = 0; i < launches.size() && result.status != Status::deadlock; ++i) {
            const Launch& l = launches[i];
            shadow.begin_launch(*l.program, l.tensors);
            if (hazards) hazards->begin_launch(*l.program, l.tensors, placed[i]);
            LaunchStats stats;
            stats.name = l.program->name;
            stats.cores = static_cast<I>(placed[i].size());
            const I before = result.instructions;
            result.launches.push_back(stats);
            LaunchRun run{chip, l, *l.program, machine, shadow, hazards.get(), CrossFlags(chip, placed[i]), {}, {}, result};
            run_launch(run, placed[i]);
            result.launches.back().instructions = result.instructions - before;
        }
    } catch (const Stop&) {
    }
    result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
}

}  // namespace sfumato::sim
