// SPDX-License-Identifier: Apache-2.0
#include "sim/hw/device.h"

namespace sfumato::sim::hw {

Cross::Cross(sc_core::sc_module_name name, const isa::Chip& chip, Recorder& recorder)
    : sc_module(name), chip_(chip), recorder_(recorder), latency_(to_ticks(chip.cross.latency)) {
    access.bind(*this);
    SC_HAS_PROCESS(Cross);
    SC_METHOD(on_raise);
    sensitive << due_;
    dont_initialize();
}

void Cross::begin_launch(const isa::Program& program, std::span<const PlacedCore> placed) {
    program_ = &program;
    flags_.emplace(chip_, placed);
    sleepers_.clear();
}

void Cross::set(int core, std::int64_t id, int mode, const isa::Instr* setter) {
    const std::vector<int> raised = flags_->set(core, id, mode);
    if (effects_ && effects_->order()) effects_->order()->on_cross_set(core, isa::pipe_of(*setter), id, mode, raised);
    const Tick t = now();
    for (int c : raised) {
        if (latency_ == 0) raise({t, c, id, setter});
        else raises_.push_back({t + latency_, c, id, setter});
    }
    if (!raises_.empty() && raises_.front().at == t + latency_) due_.notify(until(t + latency_));
}

void Cross::on_raise() {
    guarded(recorder_, [this] {
        const Tick t = now();
        while (!raises_.empty() && raises_.front().at <= t) {
            raise(raises_.front());
            raises_.pop_front();
        }
        if (!raises_.empty()) due_.notify(until(raises_.front().at));
    });
}

void Cross::raise(const Raise& r) {
    if (auto d = flags_->raise(r.core, r.id)) {
        if (r.setter->source >= 0) {
            const isa::Source& s = program_->sources[static_cast<std::size_t>(r.setter->source)];
            d->file = s.file;
            d->line = s.line;
            d->column = s.column;
        }
        return recorder_.fault(std::move(*d));
    }
    const auto it = sleepers_.find({r.core, r.id});
    if (it == sleepers_.end()) return;
    const std::vector<Sleeper*> woken = std::move(it->second);
    sleepers_.erase(it);
    for (Sleeper* s : woken) s->wake_at(r.at);
}

bool Cross::take(int core, std::int64_t id, Sleeper* sleeper) {
    if (flags_->ready(core, id)) {
        flags_->take(core, id);
        return true;
    }
    sleepers_[{core, id}].push_back(sleeper);
    return false;
}

}  // namespace sfumato::sim::hw
