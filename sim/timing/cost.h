// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long does an instruction take? Pure functions over chip data: the same operands give the same answer at any time on any core. What
// depends on who else is running (bandwidth, L2, flags) is answered by sim/hw.
#include "isa/access.h"
#include "isa/chip.h"
#include "sim/hw/fixed.h"

namespace sfumato::sim::timing {

/// Work that stays inside a core. The pipe may start its next instruction after `occupy`; results are there `latency` later.
struct LocalCost {
    Tick occupy = 0, latency = 0;
    Tick conflict = 0;  ///< part of `occupy` lost to bank conflicts
    std::int64_t bytes = 0;
};

/// What a transfer between GM and a core asks of its port.
struct TransferCost {
    isa::Access gm;           ///< the GM side; `write` tells the direction
    bool bypass = false;      ///< does not allocate in L2
    std::int64_t bytes = 0;   ///< asked for by the core
    Fixed port = 0;           ///< ticks the port is busy when memory is never the limit
    Tick start = 0;           ///< until the first byte, memory latency not counted
    Tick interval = 0;        ///< until the pipe may start its next instruction
    std::int64_t outstanding = 1;
};

constexpr bool is_transfer(isa::TimingClass t) { return t == isa::TimingClass::dma || t == isa::TimingClass::dma_nz; }

LocalCost vector_cost(const isa::Chip&, isa::Op, const isa::VectorT<std::int64_t>&);
LocalCost cube_cost(const isa::Chip&, const isa::CubeT<std::int64_t>&);
/// Copies and drains between on-chip spaces.
LocalCost copy_cost(const isa::Chip&, const isa::BoundInstr&);
/// Any instruction that is not a transfer, a flag or a barrier.
LocalCost local_cost(const isa::Chip&, const isa::BoundInstr&);
/// `base`: GM address of the tensor, for alignment.
TransferCost transfer_cost(const isa::Chip&, const isa::BoundInstr&, std::int64_t base);

/// Cycles one repeat of a vector instruction takes relative to a conflict-free one, summed over all repeats: two accesses of one kind in a bank
/// group take turns, and so do a read and the preceding repeat's write in one bank.
std::int64_t bank_cycles(const isa::Banks&, isa::Op, const isa::VectorT<std::int64_t>&, std::int64_t repeats);

/// Cycles of the scalar unit to issue an instruction.
Tick issue_cost(const isa::Chip&, const isa::BoundInstr&);

}  // namespace sfumato::sim::timing
