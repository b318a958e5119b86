// SPDX-License-Identifier: Apache-2.0
#include "sim/hw/scalar_unit.h"

#include <algorithm>

namespace sfumato::sim::hw {

namespace {
using I = std::int64_t;
// A program may loop this often without any simulated time passing before it counts as hung (a minute of real hardware would be less).
constexpr std::int64_t kSilentSteps = 50'000'000;
}  // namespace

ScalarUnit::ScalarUnit(sc_core::sc_module_name name, CoreState& core, std::vector<Unit*> units, const DeviceMemory& device)
    : sc_module(name), core_(core), units_(std::move(units)), device_(device) {}

void ScalarUnit::begin_launch(Tick start, Tick first_instruction, std::unique_ptr<InstrSource> source) {
    if (counted_) stats_.idle += start - accounted_end_;
    counted_ = true;
    stats_.idle += first_instruction - start;
    source_ = std::move(source);
    time_ = first_instruction;
    have_ = charged_ = finished_ = false;
    loaded_.reset();
    blocked_ = Blocked::no;
    accumulators_.clear();
    flagged_mmads_ = core_.flagged[static_cast<std::size_t>(isa::Pipe::m)];
    flagged_drains_ = core_.flagged[static_cast<std::size_t>(isa::Pipe::fix)];
    wake_at(first_instruction);
}

void ScalarUnit::end_launch(Tick end) {
    stats_.idle += end - time_;
    accounted_end_ = end;
}

void ScalarUnit::advance(Tick t) {
    if (finished_) return;
    if (blocked_ == Blocked::room && core_.wants_room != isa::Pipe::all) return;  // woken for another reason
    if (t != silent_since_) {
        silent_since_ = t;
        silent_ = 0;
    }
    if (blocked_ != Blocked::no) {
        if (t > time_) {
            stats_.stalled += t - time_;
            time_ = t;
        }
        blocked_ = Blocked::no;
    }
    while (!core_.stopped() && do_work(t)) {
        if (++silent_ <= kSilentSteps) continue;
        core_.fault(about(isa::Code::deadlock, core_, current(),
                                   "the scalar unit ran " + std::to_string(kSilentSteps) + " steps without any pipe making progress; bound the loop", t));
    }
}

// One step of the program; false when it has to wait.
bool ScalarUnit::do_work(Tick t) {
    if (!have_) {
        work_ = source_->next(loaded_);
        loaded_.reset();
        have_ = true;
        charged_ = false;
    }
    bool done = true;
    switch (work_.kind) {
        case Work::Kind::wait: spend(to_ticks(core_.chip.issue.loop)); break;
        case Work::Kind::issue: done = issue(*work_.instr, t); break;
        case Work::Kind::load: done = load(t); break;
        case Work::Kind::end:
            if (!reach(t)) return false;
            finished_ = true;
            core_.unit_idle();
            return false;
    }
    if (done) have_ = false;
    return done;
}

// Simulated time must come up to the scalar unit's own time before it looks at anything shared.
bool ScalarUnit::reach(Tick t) {
    if (time_ <= t) return true;
    wake_at(time_);
    return false;
}

bool ScalarUnit::block(Blocked why) {
    blocked_ = why;
    return false;
}

bool ScalarUnit::issue(const isa::BoundInstr& b, Tick t) {
    const isa::InstrDesc& d = isa::desc(b.instr->op);
    if (!charged_) {
        const Tick begin = time_;
        spend(timing::issue_cost(core_.chip, b));
        charged_ = true;
        ++core_.recorder.instructions;
        if (d.family == isa::Family::Scalar) {
            ++stats_.instructions;
            LineStats& l = core_.recorder.lines[static_cast<std::size_t>(b.instr->id)];
            ++l.count;
            l.busy += time_ - begin;
            say(EventKind::instr, b, begin, time_);
        }
    }
    if (d.family == isa::Family::Scalar) return true;
    if (d.family == isa::Family::Sync) return issue_sync(b, std::get<isa::SyncT<I>>(b.operands), t);
    Unit& u = *units_[static_cast<std::size_t>(d.pipe)];
    if (u.full()) {
        core_.wants_room = d.pipe;
        return block(Blocked::room);
    }
    Entry& e = u.push();
    e.instr = b.instr;
    e.issued = time_;
    if (timing::is_transfer(d.timing)) fill_transfer(u, e, b);
    else {
        e.kind = Entry::Kind::work;
        e.local = d.family == isa::Family::Vector ? core_.costs->vector(b) : timing::local_cost(core_.chip, b);
        if (d.family == isa::Family::Copy && d.pipe != isa::Pipe::v) 
            e.outstanding = static_cast<std::int32_t>(std::max<I>(1, core_.chip.path(isa::path_of(b.instr->op)).outstanding));
    }
    if (d.family == isa::Family::Cube || d.family == isa::Family::Drain) fill_unit_flag(e, b);
    u.pushed(e, &b);
    return true;
}

void ScalarUnit::fill_transfer(Unit& u, Entry& e, const isa::BoundInstr& b) {
    const isa::BoundOperand* gm = nullptr;
    if (const auto* c = std::get_if<isa::CopyT<I>>(&b.operands)) gm = c->src.space == isa::Space::gm ? &c->src : &c->dst;
    else gm = &std::get<isa::DrainT<I>>(b.operands).dst;
    const I base = memory->base_of(core_.task.launch, gm->object);
    const timing::TransferCost cost = timing::transfer_cost(core_.chip, b, base);
    const I size = device_.tensors[static_cast<std::size_t>(core_.task.tensors[static_cast<std::size_t>(gm->object)])].size;
    if (cost.bytes > 0 && (cost.gm.start < 0 || cost.gm.end() > size)) {
        core_.fault(about(isa::Code::out_of_bounds, core_, b.instr,
                                   std::string(isa::desc(b.instr->op).name) + " touches bytes " + std::to_string(cost.gm.start) + " to " +
                                       std::to_string(cost.gm.end()) + " of tensor '" + core_.task.program->tensors[static_cast<std::size_t>(gm->object)].name +
                                       "', which has " + std::to_string(size) + "; bound the tile by the tensor's extents",
                                   time_));
    }
    e.outstanding = static_cast<std::int32_t>(cost.outstanding);
    if (cost.bytes <= 0) {  // nothing to move: only the pipe's interval passes
        e.kind = Entry::Kind::work;
        e.local.occupy = cost.interval;
        return;
    }
    e.kind = Entry::Kind::transfer;
    e.local.bytes = cost.bytes;
    Order& o = u.push_order();
    o.start = cost.start;
    o.interval = cost.interval;
    o.transfer = {base + cost.gm.start, cost.gm.rows, cost.gm.row_bytes, cost.gm.pitch, cost.gm.write, cost.bypass, cost.bytes, cost.port, 0};
}

// The unit flag orders a drain behind the matrix instructions issued before it on the same accumulator, and those behind earlier drains.
void ScalarUnit::fill_unit_flag(Entry& e, const isa::BoundInstr& b) {
    const auto* c = std::get_if<isa::CubeT<I>>(&b.operands);
    const auto* d = std::get_if<isa::DrainT<I>>(&b.operands);
    if (!(c ? c->unit_flag : d->unit_flag)) return;
    e.unit_flag = true;
    for (const isa::Access& a : isa::accesses(b)) {
        if (a.space != isa::Space::l0c) continue;
        const auto overlaps = [&](const Accumulator& x) { return x.begin < a.end() && a.start < x.end; };
        for (const Accumulator& x : accumulators_)
            if (overlaps(x)) e.after = std::max(e.after, static_cast<std::int32_t>(c ? x.drains : x.mmads));
        Accumulator merged{a.start, a.end(), 0, 0};
        for (const Accumulator& x : accumulators_) {
            if (!overlaps(x)) continue;
            merged = {std::min(merged.begin, x.begin), std::max(merged.end, x.end), std::max(merged.mmads, x.mmads), std::max(merged.drains, x.drains)};
        }
        std::erase_if(accumulators_, overlaps);
        if (c) merged.mmads = flagged_mmads_ + 1;
        else merged.drains = flagged_drains_ + 1;
        accumulators_.push_back(merged);
        if (c && a.write) break;
    }
    ++(c ? flagged_mmads_ : flagged_drains_);
}

bool ScalarUnit::check_id(const isa::BoundInstr& b, const isa::SyncT<I>& s) {
    const bool cross_core = b.instr->op == isa::Op::cross_set || b.instr->op == isa::Op::cross_wait;
    if (b.instr->op == isa::Op::barrier) return true;
    const I limit = cross_core ? core_.chip.cross.ids : core_.flags.ids();
    if (s.id >= 0 && s.id < limit) return true;
    core_.fault(about(isa::Code::event_id, core_, b.instr,
                               std::string(isa::desc(b.instr->op).name) + " uses id " + std::to_string(s.id) + "; the chip has ids 0 to " +
                                   std::to_string(limit - 1) + (cross_core ? " for cross-core flags" : " for each pair of pipes"),
                               time_));
    return false;
}

bool ScalarUnit::issue_sync(const isa::BoundInstr& b, const isa::SyncT<I>& s, Tick t) {
    if (!check_id(b, s)) return false;
    const isa::Op op = b.instr->op;
    if (op == isa::Op::barrier && s.src == isa::Pipe::all) return barrier_all(b, t);
    const isa::Pipe pipe = isa::pipe_of(*b.instr);
    if (pipe == isa::Pipe::s) return own_sync(b, s, t);
    Unit& u = *units_[static_cast<std::size_t>(pipe)];
    if (u.full()) {
        core_.wants_room = pipe;
        return block(Blocked::room);
    }
    Entry& e = u.push();
    e.instr = b.instr;
    e.issued = time_;
    e.src = s.src;
    e.dst = s.dst;
    e.id = static_cast<std::int32_t>(s.id);
    e.mode = static_cast<std::uint8_t>(s.mode);
    switch (op) {
        case isa::Op::set_flag: e.kind = Entry::Kind::set; break;
        case isa::Op::wait_flag: e.kind = Entry::Kind::wait; break;
        case isa::Op::cross_set: e.kind = Entry::Kind::cross_set; break;
        case isa::Op::cross_wait: e.kind = Entry::Kind::cross_wait; break;
        default: e.kind = Entry::Kind::barrier;
    }
    u.pushed(e, nullptr);
    return true;
}

// Flags of the scalar unit itself: it is in order and has no queue, so they act at its own time.
bool ScalarUnit::own_sync(const isa::BoundInstr& b, const isa::SyncT<I>& s, Tick t) {
    if (!reach(t)) return false;
    HazardTracker* order = core_.effects ? core_.effects->order() : nullptr;
    const int me = core_.ref.ordinal;
    switch (b.instr->op) {
        case isa::Op::set_flag:
            set_flag(core_, s.src, s.dst, s.id, b.instr, time_);
            say(EventKind::set_flag, b, time_, time_, core_.flags.flow(me, s.src, s.dst, s.id, core_.flags.at(s.src, s.dst, s.id).sets));
            return true;
        case isa::Op::wait_flag: {
            FlagBank::Flag& f = core_.flags.at(s.src, s.dst, s.id);
            if (!f.set) {
                f.waiting = true;
                return block(Blocked::flag);
            }
            if (f.seen > t) {
                wake_at(f.seen);
                return block(Blocked::flag);
            }
            f.set = false;
            if (order) order->on_wait_flag(me, s.src, s.dst, s.id);
            say(EventKind::wait_flag, b, time_, time_, core_.flags.flow(me, s.src, s.dst, s.id, f.sets));
            return true;
        }
        case isa::Op::cross_set:
            if (!core_.with_chip(isa::Pipe::s)) return false;
            cross->set(me, s.id, s.mode, b.instr);
            return true;
        case isa::Op::cross_wait:
            if (!core_.with_chip(isa::Pipe::s)) return false;
            if (!core_.take_cross(*cross[0], s.id, isa::Pipe::s, this)) return block(Blocked::cross);
            if (order) order->on_cross_wait(me, isa::Pipe::s, s.id);
            return true;
        default: return true;  // a barrier on the scalar unit: it is in order anyway
    }
}

bool ScalarUnit::idle_pipes() const {
    return std::all_of(units_.begin(), units_.end(), [](const Unit* u) { return !u || u->idle(); });
}

bool ScalarUnit::barrier_all(const isa::BoundInstr& b, Tick t) {
    if (!reach(t)) return false;
    if (!idle_pipes()) return block(Blocked::idle_pipes);
    spend(to_ticks(core_.chip.flags.barrier));
    if (core_.effects && core_.effects->order()) core_.effects->order()->on_barrier(core_.ref.ordinal, isa::Pipe::all);
    say(EventKind::barrier, b, t, time_);
    return true;
}

void ScalarUnit::pipes_idle() {
    if (blocked_ == Blocked::idle_pipes) wake_at(core_.time);
}

bool ScalarUnit::load(Tick t) {
    if (!reach(t)) return false;
    const isa::Load& l = *work_.load;
    const isa::Program& p = *core_.task.program;
    if (auto d = check_load(p, core_.ref, core_.task.tensors, device_, l, work_.index)) {
        core_.fault(std::move(*d));
        return false;
    }
    if (core_.effects) core_.effects->collect();
    const DeviceTensor& tensor = device_.tensors[static_cast<std::size_t>(core_.task.tensors[static_cast<std::size_t>(l.tensor)])];
    loaded_ = read_control(tensor, p.tensors[static_cast<std::size_t>(l.tensor)].dtype, work_.index);
    spend(to_ticks(core_.chip.issue.load));
    return true;
}

std::string ScalarUnit::blocked_on() const {
    switch (blocked_) {
        case Blocked::no: return "";
        case Blocked::room: return "a place in the queue of " + std::string(isa::name(core_.wants_room));
        case Blocked::flag: return "a flag";
        case Blocked::idle_pipes: return "all pipes to finish";
        case Blocked::cross: return "a cross-core flag";
    }
    return "";
}

void ScalarUnit::say(EventKind kind, const isa::BoundInstr& b, Tick begin, Tick end, std::int64_t flow) {
    if (!core_.recorder.listening()) return;
    Event v;
    v.kind = kind;
    v.core = core_.ref;
    v.launch = core_.task.launch;
    v.instr = b.instr->id;
    v.issued = v.begin = begin;
    v.end = end;
    v.flow = flow;
    if (const auto* s = std::get_if<isa::SyncT<I>>(&b.operands)) {
        v.flag_src = s->src;
        v.flag_dst = s->dst;
        v.flag_id = static_cast<std::uint8_t>(s->id);
    }
    core_.recorder.emit(v, now());
}

}  // namespace sfumato::sim::hw
