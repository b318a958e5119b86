// SPDX-License-Identifier: Apache-2.0
#pragma once
// All memories of a run in values mode and the effect of every instruction on them. What an instruction computes is here, when it happens is
// not: the timed model calls apply() at completion, the interpreter in program order. No Eigen in this header.
#include <cstddef>
#include <span>
#include <vector>

#include "isa/access.h"
#include "isa/chip.h"
#include "sim/event.h"
#include "sim/simulator.h"

namespace sfumato::sim {

/// On-chip memories of one core, allocated when first touched; contents start as zero.
struct CoreMemory {
    std::array<std::vector<std::byte>, isa::kSpaceCount> spaces;
    /// Bits of the latest vcmp, by lane in repeat order: the compare mask that vsel reads.
    std::vector<std::uint8_t> compare_mask;
};

class Machine {
public:
    /// `cores`: how many cores the run has (ordinals 0 .. cores - 1). Tensors without bytes get `size` zero bytes.
    Machine(const isa::Chip&, std::size_t cores, DeviceMemory&);

    /// Executes one instruction: reads its sources and writes its destinations now. The accesses must have passed check_bound().
    /// `tensor_map`: DeviceMemory index of each tensor of the program.
    void apply(int core, std::span<const int> tensor_map, const isa::BoundInstr&);

    /// Overwrites the bytes of an on-chip or GM rectangle (GM: `object` is a DeviceMemory index) with 0xFF, a NaN in every float type.
    void poison(int core, const isa::Access&);

    /// First byte of a space of a core, or of a device tensor.
    std::byte* space(int core, isa::Space);
    DeviceMemory& memory() { return memory_; }
    CoreMemory& core(int ordinal) { return cores_[static_cast<std::size_t>(ordinal)]; }

private:
    const isa::Chip& chip_;
    DeviceMemory& memory_;
    std::vector<CoreMemory> cores_;
};

/// Element `index` of an integer tensor as a control load sees it; floats are truncated. The caller has checked the bounds.
std::int64_t read_control(const DeviceTensor&, isa::DType, std::int64_t index);

}  // namespace sfumato::sim
