// SPDX-License-Identifier: Apache-2.0
#include "sim/hw/core.h"

#include <algorithm>

namespace sfumato::sim::hw {

namespace {
constexpr Tick kMostAhead = 1 << 14;  // of a core: bounds what a listener's events have to wait for, and how late a stop is noticed

std::string lower(std::string_view s) {
    std::string out(s);
    std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return out;
}

// The instruction as a reader recognises it: mnemonic, pipes, id.
std::string text_of(const Entry& e) {
    std::string out(isa::desc(e.instr->op).name);
    switch (e.kind) {
        case Entry::Kind::set:
        case Entry::Kind::wait:
            return out + " " + std::string(isa::name(e.src)) + " -> " + std::string(isa::name(e.dst)) + ", id " + std::to_string(e.id);
        case Entry::Kind::cross_set:
        case Entry::Kind::cross_wait: return out + " id " + std::to_string(e.id) + ", mode " + std::to_string(e.mode);
        default: return out;
    }
}
}  // namespace

std::string name_of(CoreRef c) { return std::string(isa::name(c.kind)) + " " + std::to_string(c.index); }

isa::Diagnostic about(isa::Code code, const CoreState& core, const isa::Instr* i, std::string message, Tick t) {
    isa::Diagnostic d;
    d.code = code;
    d.message = "cycle " + std::to_string(t) + ", " + name_of(core.ref) + ": " + std::move(message);
    if (i && i->source >= 0) {
        const isa::Source& s = core.task.program->sources[static_cast<std::size_t>(i->source)];
        d.file = s.file;
        d.line = s.line;
        d.column = s.column;
    }
    return d;
}

void set_flag(CoreState& core, isa::Pipe src, isa::Pipe dst, std::int64_t id, const isa::Instr* i, Tick t) {
    FlagBank::Flag& f = core.flags.at(src, dst, id);
    if (f.set) {
        isa::Diagnostic d = about(isa::Code::event_id, core, i,
                                  "flag " + std::string(isa::name(src)) + " -> " + std::string(isa::name(dst)) + ", id " + std::to_string(id) +
                                      " is set twice before a wait; the first set is at " + where(*core.task.program, f.setter->source) +
                                      "; wait for it first or use another id",
                                  t);
        return core.fault(std::move(d));
    }
    f.set = true;
    f.seen = t + core.flags.latency();
    f.setter = i;
    ++f.sets;
    if (core.effects && core.effects->order()) core.effects->order()->on_set_flag(core.ref.ordinal, src, dst, id);
    if (f.waiting) {
        f.waiting = false;
        core.wake(dst, f.seen);
    }
}

Core::Core(sc_core::sc_module_name name, const isa::Chip& c, Recorder& r, Effects* e, CoreRef who, const RunOptions& options, const DeviceMemory& device)
    : sc_module(name), CoreState(c, r, e, who, options.shuffle, options.seed) {
    SC_HAS_PROCESS(Core);
    SC_METHOD(run);
    sensitive << wake_;
    dont_initialize();
    std::vector<Unit*> by_pipe(isa::kPipeCount, nullptr);
    for (int p = 1; p < isa::kPipeCount; ++p) {
        const auto pipe = static_cast<isa::Pipe>(p);
        units.push_back(std::make_unique<Unit>(lower(isa::name(pipe)).c_str(), pipe, *this));
        units.back()->memory(memory);
        units.back()->cross(cross);
        by_pipe[static_cast<std::size_t>(p)] = units.back().get();
    }
    scalar = std::make_unique<ScalarUnit>("s", *this, by_pipe, device);
    scalar->memory(memory);
    scalar->cross(cross);
}

void Core::run() {
    guarded(recorder, [this] {
        armed_ = kNever;
        if (shuffle && roll() < 4) return arm(now());
        running = true;
        if (!fault_ahead && !drained_) run_agenda();
        running = false;
        const bool ahead = time > now();
        if (fault_ahead && !ahead) recorder.fault(std::move(*fault_ahead));
        else if (drained_ && !ahead) finish();
        else arm(waits_for_chip || drained_ ? time : agenda.first().at);
    });
}

// The steps of the core in order of time, up to the moment at which others come into play.
void Core::run_agenda() {
    const Tick present = now();
    waits_for_chip = false;
    horizon = present;
    if (!values && !(shuffle && roll() < 8)) {
        horizon = present + kMostAhead;
        if (cross_waiters) horizon = std::min(horizon, cross->soonest());
        for (const auto& u : units) horizon = std::min(horizon, u->soonest());
    }
    while (!recorder.stopped()) {
        const Agenda::Item next = agenda.first(shuffle ? roll() % isa::kPipeCount : 0);
        if (next.at > horizon || next.at == kNever) return;
        agenda.done(next.pipe);
        time = std::max({time, present, next.at});
        recorder.activated();
        if (next.pipe == isa::Pipe::s) scalar->advance(time);
        else units[static_cast<std::size_t>(next.pipe) - 1]->step(time);
        if (waits_for_chip || drained_) return;
    }
}

void Core::arm(Tick t) {
    if (t >= armed_) return;
    armed_ = t;
    if (t <= now()) wake_.notify(sc_core::SC_ZERO_TIME);
    else wake_.notify(until(t));
}

void Core::begin_launch(const CoreTask& t, Tick start, Tick first_instruction, std::unique_ptr<InstrSource> source) {
    task = t;
    working_ = true;
    if (!counted_) begin_ = start;
    counted_ = true;
    launch_begin_ = start;
    flags.clear();
    before_ = stats();
    for (auto& u : units) u->begin_launch(start);
    scalar->begin_launch(start, first_instruction, std::move(source));
}

void Core::unit_idle() {
    if (!working_) return;
    if (!scalar->finished()) return scalar->pipes_idle();
    drained_ = std::all_of(units.begin(), units.end(), [](const auto& u) { return u->idle(); });
}

void Core::finish() {
    drained_ = working_ = false;
    const Tick t = now();
    end_ = t;
    for (auto& u : units) u->end_launch(t);
    scalar->end_launch(t);
    if (recorder.listening()) {
        Event e;
        e.kind = EventKind::launch;
        e.core = ref;
        e.launch = task.launch;
        e.begin = e.issued = launch_begin_;
        e.end = t;
        recorder.emit(e, t);
    }
    on_done(*this);
}

void Core::unit_flag_done(isa::Pipe p) {
    const isa::Pipe other = p == isa::Pipe::m ? isa::Pipe::fix : isa::Pipe::m;
    wake(other, time);
}

bool Core::resume_scalar(isa::Pipe p, Tick t) {
    if (units[static_cast<std::size_t>(p) - 1]->full()) return false;
    wants_room = isa::Pipe::all;
    scalar->advance(t);
    return true;
}

void Core::abandon(Tick t) {
    if (!working_) return;
    working_ = false;
    end_ = std::max(t, scalar->time());
    for (auto& u : units) u->end_launch(end_);
    scalar->end_launch(end_);
}

CoreStats Core::stats() const {
    CoreStats out;
    out.core = ref;
    out.begin = begin_;
    out.end = end_;
    out.pipes[0] = scalar->stats();
    for (const auto& u : units) out.pipes[static_cast<std::size_t>(u->pipe())] = u->stats();
    return out;
}

CoreStats Core::launch_stats() const {
    CoreStats out = stats();
    out.begin = launch_begin_;
    for (std::size_t p = 0; p < out.pipes.size(); ++p) {
        PipeStats& s = out.pipes[p];
        const PipeStats& b = before_.pipes[p];
        s.busy -= b.busy, s.stalled -= b.stalled, s.conflict -= b.conflict;
        s.instructions -= b.instructions, s.bytes -= b.bytes;
        s.idle = out.end - out.begin - s.busy - s.stalled;  // without the gap between the launches
    }
    return out;
}

std::vector<isa::Diagnostic> Core::waiting(Tick t) const {
    std::vector<isa::Diagnostic> out;
    if (!working_) return out;
    if (!scalar->finished()) {
        const isa::Instr* i = scalar->current();
        out.push_back(about(isa::Code::deadlock, *this, i,
                            "pipe S never gets past " + (i ? std::string(isa::desc(i->op).name) : std::string("a control load")) + ": it waits for " +
                                scalar->blocked_on(),
                            t));
    }
    for (const auto& u : units) {
        const Entry* e = u->next();
        if (!e) continue;
        out.push_back(about(isa::Code::deadlock, *this, e->instr, "pipe " + std::string(isa::name(u->pipe())) + " never gets past " + text_of(*e), t));
    }
    return out;
}

std::vector<isa::Diagnostic> Core::left_over_flags(Tick t) const {
    std::vector<isa::Diagnostic> out;
    for (int src = 0; src < isa::kPipeCount; ++src)
        for (int dst = 0; dst < isa::kPipeCount; ++dst)
            for (std::int64_t id = 0; id < flags.ids(); ++id) {
                const FlagBank::Flag& f = flags.at(static_cast<isa::Pipe>(src), static_cast<isa::Pipe>(dst), id);
                if (!f.set) continue;
                out.push_back(about(isa::Code::flag_balance, *this, f.setter,
                                    "flag " + std::string(isa::name(static_cast<isa::Pipe>(src))) + " -> " + std::string(isa::name(static_cast<isa::Pipe>(dst))) +
                                        ", id " + std::to_string(id) + " is still set when the kernel ends; add the wait that takes it",
                                    t));
            }
    return out;
}

}  // namespace sfumato::sim::hw
