// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the pipes of a core share: flags, the launch they work on, and whom to tell when something ends.
#include <span>

#include "sim/hw/cost_cache.h"
#include "sim/hw/effects.h"
#include "sim/hw/flags.h"
#include "sim/hw/recorder.h"
#include "sim/simulator.h"

namespace sfumato::sim::hw {

class CrossIf : public virtual sc_core::sc_interface {
public:
    /// A pipe of `core` raises flag `id`, after everything before it has completed.
    virtual void set(int core, std::int64_t id, int mode, const isa::Instr*) = 0;
    /// True when the flag counted at least one and was lowered; otherwise `sleeper` is woken when it rises.
    virtual bool take(int core, std::int64_t id, Sleeper* sleeper) = 0;
};

/// The launch a core works on.
struct CoreTask {
    int launch = 0;
    const isa::Program* program = nullptr;
    std::span<const int> tensors;
};

struct CoreState {
    CoreState(const isa::Chip& c, Recorder& r, Effects* e, CoreRef who, bool shuffle_, std::uint64_t seed)
        : chip(c), recorder(r), effects(e), ref(who), flags(c), shuffle(shuffle_), dice(seed + static_cast<std::uint64_t>(who.ordinal)) {}
    virtual ~CoreState() = default;

    const isa::Chip& chip;
    Recorder& recorder;
    Effects* effects;  ///< null: time only and no hazards
    CoreRef ref;
    FlagBank flags;
    CoreTask task;
    bool shuffle;
    std::uint64_t dice;  ///< state of the shuffle

    /// Test aid: true when a process should step aside for one delta cycle, so that processes of one tick run in another order.
    bool step_aside() {
        if (!shuffle) return false;
        dice = dice * 6364136223846793005ull + 1442695040888963407ull;
        return (dice >> 62) == 0;
    }

    /// A pipe has nothing left to do.
    virtual void unit_idle() = 0;
    /// A pipe has completed another instruction with the unit flag; the other pipe may be waiting for it.
    virtual void unit_flag_done(isa::Pipe) = 0;
    std::array<std::int64_t, isa::kPipeCount> flagged{};  ///< unit-flag instructions completed, by pipe
    isa::Pipe wants_room = isa::Pipe::all;                ///< pipe whose full queue holds up the scalar unit; `all`: none
    CostCache* costs = nullptr;

    /// The scalar unit goes on if it waits for a place in this queue; true when it did.
    bool scalar_has_room(isa::Pipe p, Tick t) {
        if (wants_room != p) return false;
        return resume_scalar(p, t);
    }
    virtual bool resume_scalar(isa::Pipe, Tick) = 0;
};

/// Flag `id` of (src, dst) is set: everything before it has completed. Setting it twice before a wait is a fault.
void set_flag(CoreState&, isa::Pipe src, isa::Pipe dst, std::int64_t id, const isa::Instr*, Tick);

/// A message about an instruction of a core, with its source line.
isa::Diagnostic about(isa::Code, const CoreState&, const isa::Instr*, std::string message, Tick);

}  // namespace sfumato::sim::hw
