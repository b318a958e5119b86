// SPDX-License-Identifier: Apache-2.0
#include "sim/hw/unit.h"

#include <algorithm>

namespace sfumato::sim::hw {

Unit::Unit(sc_core::sc_module_name name, isa::Pipe pipe, CoreState& core)
    : sc_module(name), pipe_(pipe), port_(core.ref.ordinal * isa::kPipeCount + static_cast<int>(pipe)), core_(core),
      depth_(static_cast<std::size_t>(std::max<std::int64_t>(1, core.chip.issue.depth[static_cast<std::size_t>(pipe)]))) {}

// The heart of the model: complete what has finished, then start what may start, until neither is possible at this tick.
void Unit::step(Tick t) {
    ready_ = kNever;
    stepping_ = true;
    const bool was_idle = idle();
    do {
        while (!core_.stopped() && (retire(t) || start_next(t))) {
        }
    } while (core_.scalar_has_room(pipe_, t));
    stepping_ = false;
    if (!flying_.empty() && flying_[0].kind == Entry::Kind::work && ends_matter()) ready_ = std::min(ready_, flying_[0].end);
    if (ready_ != kNever) core_.wake(pipe_, ready_);
    if (!was_idle && idle()) core_.unit_idle();
}

// Ends of local work are known in advance; the process wakes for them only when something depends on them.
bool Unit::ends_matter() const {
    if (markers_ > 0 || queue_.empty() || core_.values || core_.recorder.listening() || transfers_ > 0) return true;
    const Entry& head = queue_[0];
    return head.kind == Entry::Kind::barrier || head.unit_flag || flying_[0].unit_flag || working_ >= static_cast<std::size_t>(head.outstanding);
}

bool Unit::retire(Tick t) {
    if (flying_.empty()) return false;
    Entry& e = flying_.front();
    switch (e.kind) {
        case Entry::Kind::work:
            if (e.end > t) return false;
            complete(e, e.end);
            break;
        case Entry::Kind::transfer:
            if (done_ == 0) return false;
            --done_;
            --transfers_;
            complete(e, t);
            break;
        default:
            if (e.kind == Entry::Kind::cross_set && !core_.with_chip(pipe_)) return false;
            --markers_;
            fire(e, t);
    }
    flying_.pop();
    return true;
}

bool Unit::start_next(Tick t) {
    if (queue_.empty()) return false;
    Entry& e = queue_.front();
    if (e.issued > t) {
        ready_ = std::min(ready_, e.issued);
        return false;
    }
    switch (e.kind) {
        case Entry::Kind::work:
        case Entry::Kind::transfer:
            if (!start_work(e, t)) return false;
            break;
        case Entry::Kind::wait:
            if (!take_flag(e, t)) return false;
            break;
        case Entry::Kind::cross_wait:
            if (!take_cross(e, t)) return false;
            break;
        case Entry::Kind::barrier:
            if (!pass_barrier(e, t)) return false;
            break;
        case Entry::Kind::set:
        case Entry::Kind::cross_set:
            ++markers_;
            flying_.push() = e;
    }
    queue_.pop();
    return true;
}

bool Unit::start_work(const Entry& e, Tick t) {
    if (free_ > t) {
        ready_ = std::min(ready_, free_);
        return false;
    }
    if (e.unit_flag && core_.flagged[static_cast<std::size_t>(pipe_ == isa::Pipe::m ? isa::Pipe::fix : isa::Pipe::m)] < e.after) return false;
    if (working_ >= static_cast<std::size_t>(e.outstanding)) return false;
    if (e.kind == Entry::Kind::transfer && !core_.with_chip(pipe_)) return false;
    const Tick stalled = account(t, &e);
    line(e).stalled += stalled;
    begin_work(e, t);
    return true;
}

void Unit::begin_work(const Entry& queued, Tick t) {
    Entry& e = flying_.push();
    e = queued;
    e.begin = t;
    ++working_;
    if (core_.effects) {
        if (auto fault = core_.effects->started(core_.ref.ordinal, pipe_, bound_[core_.values ? working_ - 1 : 0])) core_.fault(std::move(*fault));
        if (!core_.values) bound_.pop();  // needed no more
    }
    if (e.kind == Entry::Kind::work) {
        free_ = t + e.local.occupy;
        e.end = last_end_ = std::max(last_end_, free_ + e.local.latency);  // in order
        return;
    }
    Order& o = orders_.front();
    free_ = t + o.interval;
    ++transfers_;
    o.transfer.first = t + o.start;
    core_.horizon = std::min(core_.horizon, o.transfer.first);
    memory->submit(port_, o.transfer);
    orders_.pop();
}

bool Unit::take_flag(const Entry& e, Tick t) {
    FlagBank::Flag& f = core_.flags.at(e.src, e.dst, e.id);
    if (!f.set) {
        f.waiting = true;
        return false;
    }
    if (f.seen > t) {
        ready_ = std::min(ready_, f.seen);
        return false;
    }
    f.set = false;
    const Tick stalled = account(t, &e);
    LineStats& l = line(e);
    ++l.count;
    l.stalled += stalled;
    if (core_.effects && core_.effects->order()) core_.effects->order()->on_wait_flag(core_.ref.ordinal, e.src, e.dst, e.id);
    say(EventKind::wait_flag, e, t - stalled, t, arrow(e));
    return true;
}

bool Unit::take_cross(const Entry& e, Tick t) {
    if (!core_.with_chip(pipe_) || !core_.take_cross(*cross[0], e.id, pipe_, this)) return false;
    const Tick stalled = account(t, &e);
    LineStats& l = line(e);
    ++l.count;
    l.stalled += stalled;
    if (core_.effects && core_.effects->order()) core_.effects->order()->on_cross_wait(core_.ref.ordinal, pipe_, e.id);
    say(EventKind::wait_flag, e, t - stalled, t);
    return true;
}

bool Unit::pass_barrier(const Entry& e, Tick t) {
    if (!flying_.empty()) return false;
    const Tick stalled = account(t, &e);
    LineStats& l = line(e);
    ++l.count;
    l.stalled += stalled;
    free_ = std::max(free_, t + to_ticks(core_.chip.flags.barrier));
    if (core_.effects && core_.effects->order()) core_.effects->order()->on_barrier(core_.ref.ordinal, pipe_);
    say(EventKind::barrier, e, t - stalled, t);
    return true;
}

// A flag on its way reaches the front: everything before it has completed.
void Unit::fire(const Entry& e, Tick t) {
    ++line(e).count;
    if (e.kind == Entry::Kind::cross_set) {
        say(EventKind::set_flag, e, t, t);
        return cross->set(core_.ref.ordinal, e.id, e.mode, e.instr);
    }
    set_flag(core_, e.src, e.dst, e.id, e.instr, t);
    say(EventKind::set_flag, e, t, t, arrow(e));
}

void Unit::complete(const Entry& e, Tick end) {
    account(std::max(end, accounted_), nullptr);
    --working_;
    if (core_.values) {
        core_.effects->completed(core_.ref.ordinal, pipe_, bound_[0]);
        bound_.pop();
    }
    const std::int64_t bytes = e.local.bytes;
    ++stats_.instructions;
    stats_.bytes += bytes;
    stats_.conflict += e.local.conflict;
    LineStats& l = line(e);
    ++l.count;
    l.busy += end - e.begin;
    l.bytes += bytes;
    say(EventKind::instr, e, e.begin, end, -1, bytes);
    if (e.unit_flag) {
        ++core_.flagged[static_cast<std::size_t>(pipe_)];
        core_.unit_flag_done(pipe_);
    }
}

// Books the ticks up to `until`: busy while work is in flight; otherwise idle until `waiting` was issued and stalled from then on.
Tick Unit::account(Tick until, const Entry* waiting) {
    const Tick span = until - accounted_;
    if (span <= 0) return 0;
    Tick stalled = 0;
    if (working_ > 0) {
        stats_.busy += span;
    } else {
        stalled = waiting ? std::clamp<Tick>(until - waiting->issued, 0, span) : 0;
        stats_.stalled += stalled;
        stats_.idle += span - stalled;
    }
    accounted_ = until;
    return stalled;
}

std::int64_t Unit::arrow(const Entry& e) const {
    if (!core_.recorder.listening()) return -1;
    return core_.flags.flow(core_.ref.ordinal, e.src, e.dst, e.id, core_.flags.at(e.src, e.dst, e.id).sets);
}

void Unit::pushed(const Entry& e, const isa::BoundInstr* bound) {
    if (core_.effects && (e.kind == Entry::Kind::work || e.kind == Entry::Kind::transfer)) bound_.push() = *bound;
    if (queue_.size() == 1 && !stepping_) core_.wake(pipe_, e.issued);
}

void Unit::begin_launch(Tick t) {
    if (counted_) account(t, nullptr);
    counted_ = true;
    accounted_ = t;
    free_ = std::max(free_, t);
}

void Unit::end_launch(Tick end) { account(end, nullptr); }

void Unit::transfer_done() {
    ++done_;
    core_.wake(pipe_, now());
}

LineStats& Unit::line(const Entry& e) {
    return core_.recorder.lines[static_cast<std::size_t>(e.instr->id)];
}

void Unit::say(EventKind kind, const Entry& e, Tick begin, Tick end, std::int64_t flow, std::int64_t bytes) {
    if (!core_.recorder.listening()) return;
    Event v;
    v.kind = kind;
    v.pipe = pipe_;
    v.flag_id = static_cast<std::uint8_t>(e.id);
    v.flag_src = e.src;
    v.flag_dst = e.dst;
    v.core = core_.ref;
    v.launch = core_.task.launch;
    v.instr = e.instr->id;
    v.issued = e.issued;
    v.begin = begin;
    v.end = end;
    v.bytes = bytes;
    v.flow = flow;
    core_.recorder.emit(v, now());
}

}  // namespace sfumato::sim::hw
