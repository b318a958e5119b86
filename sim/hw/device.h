// SPDX-License-Identifier: Apache-2.0
#pragma once
// The chip of one run: cores, memory, cross-core flags, and the task queue that starts one launch after the other.
#include <deque>

#include "sim/cross_flags.h"
#include "sim/hw/core.h"
#include "sim/hw/memory.h"

namespace sfumato::sim::hw {

/// Cross-core flags with their latency.
class Cross : public sc_core::sc_module, public CrossIf {
public:
    Cross(sc_core::sc_module_name, const isa::Chip&, Recorder&);
    void use(Effects* e) { effects_ = e; }
    sc_core::sc_export<CrossIf> access;
    void begin_launch(const isa::Program&, std::span<const PlacedCore>);
    const CrossFlags* flags() const { return flags_ ? &*flags_ : nullptr; }

    void set(int core, std::int64_t id, int mode, const isa::Instr*) override;
    bool take(int core, std::int64_t id, Sleeper*) override;
    Tick soonest() const override { return raises_.empty() ? now() + latency_ : std::min(raises_.front().at, now() + latency_); }

private:
    struct Raise {
        Tick at;
        int core;
        std::int64_t id;
        const isa::Instr* setter;
    };
    void on_raise();
    void raise(const Raise&);

    const isa::Chip& chip_;
    Recorder& recorder_;
    Effects* effects_ = nullptr;
    const isa::Program* program_ = nullptr;
    std::optional<CrossFlags> flags_;
    std::deque<Raise> raises_;  ///< in time order: every one waits the same latency
    std::map<std::pair<int, std::int64_t>, std::vector<Sleeper*>> sleepers_;
    Tick latency_;
    sc_core::sc_event due_;
};

class Device : public sc_core::sc_module {
public:
    Device(sc_core::sc_module_name, const isa::Chip&, std::span<const Launch>, DeviceMemory&, const RunOptions&, Recorder&);
    Memory memory;
    Cross cross;
    std::vector<std::unique_ptr<Core>> cores;  ///< by ordinal; null: no work in this run

    /// After SystemC has nothing left to do.
    void finish(RunResult&);

private:
    struct Plan {
        const Launch* launch;
        std::vector<PlacedCore> placed;
    };
    void on_launch();
    void core_done(Core&);
    void end_launch(Tick);
    void close_books();
    void warm_l2(const DeviceMemory&);

    const isa::Chip& chip_;
    Recorder& recorder_;
    std::vector<CoreRef> hardware_;
    std::vector<Plan> plans_;
    std::unique_ptr<Effects> effects_;
    CostCache costs_;
    std::size_t next_ = 0, running_ = 0;
    std::int64_t core_ticks_ = 0;
    MemoryStats memory_before_;             ///< as the launch began
    std::int64_t instructions_before_ = 0;
    std::vector<Tick> core_begin_;
    std::vector<LaunchStats> launches_;
    std::vector<isa::Diagnostic> left_over_;
    sc_core::sc_event launch_;
};

}  // namespace sfumato::sim::hw
