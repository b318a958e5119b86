// SPDX-License-Identifier: Apache-2.0
#include "sim/hw/effects.h"

#include "isa/verify.h"

namespace sfumato::sim::hw {

Effects::Effects(const isa::Chip& chip, std::span<const CoreRef> cores, DeviceMemory& memory, const RunOptions& options, Recorder& recorder)
    : chip_(chip), cores_(cores.begin(), cores.end()), memory_(memory), recorder_(recorder), values_(options.mode != Mode::time) {
    if (values_) {
        machine_ = std::make_unique<Machine>(chip, cores.size(), memory);
        shadow_ = std::make_unique<Shadow>(chip, cores, memory);
    }
    if (options.hazards) hazards_ = std::make_unique<HazardTracker>(chip, memory, values_);
}

void Effects::begin_launch(const isa::Program& program, std::span<const int> tensors, std::span<const PlacedCore> placed) {
    program_ = &program;
    seen_ = {};
    uninitialised_.clear();
    tensors_ = tensors;
    if (shadow_) shadow_->begin_launch(program, tensors);
    if (hazards_) hazards_->begin_launch(program, tensors, placed);
}

std::optional<isa::Diagnostic> Effects::started(int core, isa::Pipe pipe, const isa::BoundInstr& b) {
    if (seen_.first(b))
        for (isa::Diagnostic& d : isa::verify_bound(*program_, chip_, b)) return std::move(d);
    const isa::AccessList list = isa::accesses(b);
    if (auto d = check_bound(*program_, chip_, cores_[static_cast<std::size_t>(core)], tensors_, memory_, b, list)) return d;
    if (!hazards_) return std::nullopt;
    hazards_->on_start(core, pipe, b, list);
    if (hazards_->anything()) collect();
    return std::nullopt;
}

void Effects::completed(int core, isa::Pipe pipe, const isa::BoundInstr& b) {
    if (recorder_.stopped()) return;  // an instruction that failed its checks must not touch memory
    if (shadow_) {
        if (auto d = shadow_->step(*program_, cores_[static_cast<std::size_t>(core)], tensors_, b, isa::accesses(b)); d && uninitialised_.insert(b.instr->id).second)
            recorder_.report(std::move(*d));
    }
    if (machine_) machine_->apply(core, tensors_, b);
    if (!hazards_) return;
    hazards_->on_complete(core, pipe);
    if (hazards_->anything()) collect();
}

void Effects::collect() {
    if (!hazards_) return;
    for (isa::Diagnostic& d : hazards_->take_diagnostics()) recorder_.report(std::move(d));
    for (const Poison& p : hazards_->take_poison())
        if (machine_) machine_->poison(p.core, p.access);
}

}  // namespace sfumato::sim::hw
