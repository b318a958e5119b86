// SPDX-License-Identifier: Apache-2.0
#include "sim/hw/memory.h"

#include <algorithm>
#include <bit>

namespace sfumato::sim::hw {

Memory::Memory(sc_core::sc_module_name name, const isa::Chip& chip, Recorder& recorder, std::vector<std::vector<std::int64_t>> bases)
    : sc_module(name), chip_(chip), recorder_(recorder), bases_(std::move(bases)), l2_(chip), live_(1) {
    access.bind(*this);
    read_rate_ = to_fixed(chip.l2.read_rate);
    write_rate_ = to_fixed(chip.l2.write_rate);
    total_rate_ = to_fixed(chip.l2.total_rate);
    hbm_rate_ = to_fixed(chip.hbm.total_rate);
    mixed_rate_ = to_fixed(chip.hbm.total_rate * (1 - chip.hbm.turnaround));
    read_weight_ = to_fixed(1 / chip.hbm.read_efficiency);
    write_weight_ = to_fixed(1 / chip.hbm.write_efficiency);
    same_line_ = to_fixed(chip.l2.same_line);
    read_latency_ = to_ticks(chip.l2.read_latency);
    write_latency_ = to_ticks(chip.l2.write_latency);
    hbm_latency_ = to_ticks(chip.hbm.latency);
    in_flight_ = std::max<std::int64_t>(1, chip.gm.in_flight);
    SC_HAS_PROCESS(Memory);
    SC_METHOD(on_timer);
    sensitive << timer_;
    dont_initialize();
    SC_METHOD(on_end_of_tick);
    sensitive << tail_;
    dont_initialize();
}

void Memory::connect(int port, CoreRef core, TransferClient* client) {
    if (ports_.size() <= static_cast<std::size_t>(port)) ports_.resize(static_cast<std::size_t>(port) + 1);
    Port& p = ports_[static_cast<std::size_t>(port)];
    p.client = client;
    p.core = core;
    p.number = port;
    // serials of transfers in flight never meet in this table: there are fewer of them than entries
    std::int64_t most = 1;
    for (const isa::PathTiming& t : chip_.paths) most = std::max(most, t.outstanding);
    live_.assign(std::bit_ceil(ports_.size() * static_cast<std::size_t>(2 * most + 2)), {0, 0});
    live_mask_ = live_.size() - 1;
}

void Memory::warm(std::int64_t address, std::int64_t bytes) {
    for (std::int64_t line = address >> l2_.line_shift(); line << l2_.line_shift() < address + bytes; ++line) l2_.warm(line);
}

Memory::Flow& Memory::Port::push() {
    if (count == ring.size()) {  // grows to the number in flight once, then is reused
        std::rotate(ring.begin(), ring.begin() + static_cast<std::ptrdiff_t>(head), ring.end());
        head = 0;
        ring.emplace_back();
    }
    Flow& f = ring[(head + count++) % ring.size()];
    f.state = State::waiting;
    f.segment = f.segments = 0;
    f.fills.clear();
    return f;
}

void Memory::Port::pop() {
    head = head + 1 == ring.size() ? 0 : head + 1;
    --count;
}

void Memory::submit(int port, const Transfer& t) {
    submitted_.emplace_back(port, t);
    arm_tail();
}

void Memory::arm_tail() {
    if (tail_armed_) return;
    tail_armed_ = true;
    tail_.notify(end_of_tick());
}

// Transfers whose present stage ends at this tick move on; their pipes hear of it while the tick still runs.
void Memory::on_timer() {
    guarded(recorder_, [this] {
        armed_ = kNever;
        const Tick t = now();
        for (std::size_t i = 0; i < engaged_.size(); ++i)
            if (engaged_[i]->due <= t) advance(*engaged_[i], t);
        std::erase_if(engaged_, [](Port* p) { return !(p->engaged = p->count > 0); });
        arm_tail();
    });
}

// All starts and ends of the tick are known: look lines up in the order of cores and pipes, then compute rates once.
void Memory::on_end_of_tick() {
    guarded(recorder_, [this] {
        tail_armed_ = false;
        const Tick t = now();
        if (submitted_.size() > 1)
            std::stable_sort(submitted_.begin(), submitted_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [number, what] : submitted_) {
            Port& p = ports_[static_cast<std::size_t>(number)];
            Flow& f = p.push();
            f.what = what;
            look_up(f, p);
            if (!p.engaged) {
                p.engaged = true;
                engaged_.push_back(&p);
            }
            if (p.count == 1) advance(p, t);
        }
        submitted_.clear();
        settle_all(t);
        arm();
    });
}

void Memory::arm() {
    Tick next = kNever;
    for (const Port* p : engaged_) next = std::min(next, p->due);
    if (next == armed_) return;
    if (armed_ != kNever) timer_.cancel();
    armed_ = next;
    if (next != kNever) timer_.notify(until(next));
}

// The front transfer of a port does everything that is due at tick t.
void Memory::advance(Port& p, Tick t) {
    p.due = kNever;
    while (p.count > 0) {
        Flow& f = p.front();
        if (f.state == State::filling) return;  // retry_fills() takes it from there
        if (f.state == State::moving) {
            finish_segment(p, t);
            continue;
        }
        if (f.segment == f.segments) {
            if (std::any_of(f.fills.begin(), f.fills.end(), [this](Serial s) { return live(s); })) {
                f.state = State::filling;
                filling_.push_back(&p);
                return;
            }
            complete(p, t);
            continue;
        }
        const Segment& s = f.current();
        if (s.ready > t) {
            p.due = s.ready;
            return;
        }
        f.state = State::moving;
        f.remaining = s.bytes << kFractionBits;
        f.rate = 0;
        f.updated = f.begun = t;
        moving_[s.server].push_back(&p);
        changed_[s.server] = true;
        return;
    }
}

void Memory::finish_segment(Port& p, Tick t) {
    Flow& f = p.front();
    const Segment& s = f.current();
    auto& list = moving_[s.server];
    list.erase(std::find(list.begin(), list.end(), &p));
    changed_[s.server] = true;
    if (recorder_.listening()) {
        Event e;
        e.kind = EventKind::counter;
        e.track = s.track;
        e.pipe = static_cast<isa::Pipe>(p.number % isa::kPipeCount);
        e.core = p.core;
        e.begin = e.issued = f.begun;
        e.end = t;
        e.bytes = s.bytes;
        recorder_.emit(e, t);
    }
    ++f.segment;
    f.state = State::waiting;
}

void Memory::complete(Port& p, Tick t) {
    Flow& f = p.front();
    live_[f.serial & live_mask_] = {0, 0};
    if (recorder_.listening()) {
        Event e;
        e.kind = EventKind::counter;
        e.track = f.what.write ? Track::gm_write : Track::gm_read;
        e.pipe = static_cast<isa::Pipe>(p.number % isa::kPipeCount);
        e.core = p.core;
        e.begin = e.issued = std::min(f.what.first, t);
        e.end = t;
        e.bytes = f.what.bytes;
        recorder_.emit(e, t);
    }
    p.pop();
    p.client->transfer_done();
    retry_fills(t);
}

void Memory::retry_fills(Tick t) {
    for (std::size_t i = 0; i < filling_.size();) {
        Port& p = *filling_[i];
        Flow& f = p.front();
        if (std::any_of(f.fills.begin(), f.fills.end(), [this](Serial s) { return live(s); })) {
            ++i;
            continue;
        }
        filling_.erase(filling_.begin() + static_cast<std::ptrdiff_t>(i));
        f.state = State::waiting;
        p.due = t;  // the loop of on_timer or on_end_of_tick may already have passed it
        advance(p, t);
        i = 0;
    }
}

// Bytes moved since the last change of rates.
void Memory::move_until(Server s, Tick t) {
    for (Port* p : moving_[s]) {
        Flow& f = p->front();
        f.remaining = std::max<Fixed>(0, f.remaining - f.rate * (t - f.updated));
        f.updated = t;
    }
}

// However the rates change, no segment moves faster than its cap.
Tick Memory::soonest(int port) const {
    const Port& p = ports_[static_cast<std::size_t>(port)];
    Tick t = now();
    if (p.count == 0) return t;  // not looked up yet
    const Flow& f = p.ring[p.head];
    std::size_t s = f.segment;
    if (f.state == State::moving) {
        t = std::max(t, f.updated + div_up(f.remaining, f.current().cap));
        ++s;
    }
    for (; s < f.segments; ++s) t = std::max(t, f.part[s].ready) + div_up(f.part[s].bytes << kFractionBits, f.part[s].cap);
    return t;
}

void Memory::settle(Server server, Fixed capacity) {
    auto& list = moving_[server];
    demands_.clear();
    for (Port* p : list) demands_.push_back({p->front().current().cap, p->front().current().weight, 0});
    share(demands_, capacity);
    for (std::size_t i = 0; i < list.size(); ++i) {
        Flow& f = list[i]->front();
        f.rate = demands_[i].rate;
        list[i]->due = f.updated + div_up(f.remaining, f.rate);
    }
}

void Memory::settle_all(Tick t) {
    if (changed_[hbm]) {
        changed_[hbm] = false;
        move_until(hbm, t);
        bool reads = false, writes = false;
        for (Port* p : moving_[hbm]) {
            const Segment& s = p->front().current();
            (s.track == Track::hbm_write ? writes : reads) = true;
            if (s.track == Track::hbm_read && s.weight > read_weight_) writes = true;  // evictions ride along
        }
        settle(hbm, reads && writes ? mixed_rate_ : hbm_rate_);
    }
    if (!changed_[l2_read] && !changed_[l2_write]) return;
    changed_[l2_read] = changed_[l2_write] = false;
    move_until(l2_read, t);
    move_until(l2_write, t);
    // Reads and writes have limits of their own and one together: fair shares under the separate limits first, then both sides give way alike.
    settle(l2_read, read_rate_);
    settle(l2_write, write_rate_);
    Fixed reads = 0, writes = 0;
    for (Port* p : moving_[l2_read]) reads += p->front().rate;
    for (Port* p : moving_[l2_write]) writes += p->front().rate;
    if (reads + writes <= total_rate_) return;
    const Fixed read_part = mul_div_up(total_rate_, reads, reads + writes);
    settle(l2_read, read_part);
    settle(l2_write, total_rate_ - read_part);
}

}  // namespace sfumato::sim::hw
