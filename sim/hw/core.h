// SPDX-License-Identifier: Apache-2.0
#pragma once
// One core: its scalar unit and pipes, run by one process. The public members are its block diagram.
#include <functional>

#include "sim/hw/scalar_unit.h"

namespace sfumato::sim::hw {

class Core : public sc_core::sc_module, public CoreState {
public:
    Core(sc_core::sc_module_name, const isa::Chip&, Recorder&, Effects*, CoreRef, const RunOptions&, const DeviceMemory&);
    sc_core::sc_port<MemoryIf> memory;
    sc_core::sc_port<CrossIf> cross;
    std::vector<std::unique_ptr<Unit>> units;  ///< V, M, MTE1, MTE2, MTE3, FIX
    std::unique_ptr<ScalarUnit> scalar;

    void begin_launch(const CoreTask&, Tick start, Tick first_instruction, std::unique_ptr<InstrSource>);
    bool working() const { return working_; }
    /// Told when the core has done everything of its launch.
    std::function<void(Core&)> on_done;
    CoreStats stats() const;
    /// Of the launch it works on or has just finished.
    CoreStats launch_stats() const;
    /// Closes the books of a core that will not finish.
    void abandon(Tick);
    /// One line for every pipe that waits.
    std::vector<isa::Diagnostic> waiting(Tick) const;
    /// Flags left set, each with its setter.
    std::vector<isa::Diagnostic> left_over_flags(Tick) const;

    void arm(Tick) override;
    void unit_idle() override;
    void unit_flag_done(isa::Pipe) override;
    bool resume_scalar(isa::Pipe, Tick) override;

private:
    void run();
    void run_agenda();
    void finish();
    bool working_ = false, counted_ = false, drained_ = false;
    Tick armed_ = kNever;
    sc_core::sc_event wake_;
    Tick begin_ = 0, end_ = 0, launch_begin_ = 0;
    CoreStats before_;  ///< as the launch began
};

/// "AIC 3"
std::string name_of(CoreRef);

}  // namespace sfumato::sim::hw
