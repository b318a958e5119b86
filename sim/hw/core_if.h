// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the pipes of a core share: flags, the launch they work on, and whom to tell when something ends.
#include <optional>
#include <span>

#include "sim/hw/agenda.h"
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
    /// No flag rises before this tick.
    virtual Tick soonest() const = 0;
};

/// The launch a core works on.
struct CoreTask {
    int launch = 0;
    const isa::Program* program = nullptr;
    std::span<const int> tensors;
};

struct CoreState {
    CoreState(const isa::Chip& c, Recorder& r, Effects* e, CoreRef who, bool shuffle_, std::uint64_t seed)
        : chip(c), recorder(r), effects(e), values(e && e->values()), ref(who), flags(c), shuffle(shuffle_), dice(seed + static_cast<std::uint64_t>(who.ordinal)) {}
    virtual ~CoreState() = default;

    const isa::Chip& chip;
    Recorder& recorder;
    Effects* effects;  ///< null: time only and no hazards
    bool values;       ///< instructions have effects on memory
    CoreRef ref;
    FlagBank flags;
    CoreTask task;
    bool shuffle;
    std::uint64_t dice;  ///< state of the shuffle

    /// Test aid: a number from 0 to 15, to step aside for one delta cycle, to rotate the order of a tick or to run less far ahead.
    std::size_t roll() {
        dice = dice * 6364136223846793005ull + 1442695040888963407ull;
        return dice >> 60;
    }

    // A core may be ahead of the chip: it goes on while nothing from outside can reach it, and waits for the chip before it acts on others.
    Tick time = 0;           ///< of the step under way, or of the last one
    Tick horizon = 0;        ///< nothing from outside reaches the core before this tick
    Agenda agenda;
    std::uint8_t cross_waiters = 0;  ///< one bit for each pipe that waits for a cross-core flag

    /// The scalar unit or a pipe steps at tick t, or in this tick when t has passed.
    void wake(isa::Pipe p, Tick t) {
        agenda.wake(p, t);
        if (!running) arm(t);
    }
    /// True when the chip has come up to the core's time; otherwise the core stops until it has, and the pipe steps again.
    bool with_chip(isa::Pipe p) {
        if (time <= now()) return true;
        agenda.wake(p, time);
        waits_for_chip = true;
        return false;
    }
    /// Takes a cross-core flag for a pipe, which sleeps until it rises when it is not there.
    bool take_cross(CrossIf& cross, std::int64_t id, isa::Pipe p, Sleeper* sleeper) {
        const auto bit = static_cast<std::uint8_t>(1u << static_cast<unsigned>(p));
        const bool taken = cross.take(ref.ordinal, id, sleeper);
        cross_waiters = static_cast<std::uint8_t>(taken ? cross_waiters & ~bit : cross_waiters | bit);
        return taken;
    }
    /// A fault of the program: the run stops when the chip reaches it.
    void fault(isa::Diagnostic d) {
        if (!fault_ahead) fault_ahead = std::move(d);
        waits_for_chip = true;
    }
    bool stopped() const { return recorder.stopped() || fault_ahead; }
    virtual void arm(Tick) = 0;
    bool running = false, waits_for_chip = false;
    std::optional<isa::Diagnostic> fault_ahead;

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
