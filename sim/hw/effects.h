// SPDX-License-Identifier: Apache-2.0
#pragma once
// What instructions do besides taking time: values, bounds, uninitialised reads and hazards. The pipes call this at starts, completions and
// order events; with neither values nor hazards wanted there is no object at all.
#include <memory>
#include <set>
#include <span>

#include "sim/exec/checks.h"
#include "sim/exec/hazard.h"
#include "sim/exec/machine.h"
#include "sim/hw/recorder.h"

namespace sfumato::sim::hw {

class Effects {
public:
    Effects(const isa::Chip&, std::span<const CoreRef> cores, DeviceMemory&, const RunOptions&, Recorder&);

    void begin_launch(const isa::Program&, std::span<const int> tensors, std::span<const PlacedCore>);
    /// An instruction with memory accesses starts or completes, in pipe order.
    /// A program whose instance must not run is a fault.
    std::optional<isa::Diagnostic> started(int core, isa::Pipe, const isa::BoundInstr&);
    /// Only needed when there are values.
    void completed(int core, isa::Pipe, const isa::BoundInstr&);
    bool values() const { return values_; }
    HazardTracker* order() { return hazards_.get(); }
    /// Reports what the hazard tracker found; poisons the bytes of races.
    void collect();

private:
    const isa::Chip& chip_;
    std::vector<CoreRef> cores_;
    DeviceMemory& memory_;
    Recorder& recorder_;
    bool values_;
    std::unique_ptr<Machine> machine_;
    std::unique_ptr<Shadow> shadow_;
    std::unique_ptr<HazardTracker> hazards_;
    const isa::Program* program_ = nullptr;
    std::span<const int> tensors_;
    SeenInstances seen_;
    std::set<int> uninitialised_;  ///< instructions reported already
};

}  // namespace sfumato::sim::hw
