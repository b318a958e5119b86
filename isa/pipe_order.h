// SPDX-License-Identifier: Apache-2.0
#pragma once
// When two overlapping accesses of one pipe need a barrier or a flag path between them. The flag solver, its checker and the hazard listener of
// the simulator read this one rule.
#include "isa/chip.h"

namespace sfumato::isa {

/// Two instructions of `pipe` touch the same bytes of `space`, one of them writes, and nothing but program order lies between them: true when
/// that is a race. S and M run one instruction at a time and interlock. Memory dependences between vector instructions need barrier(V) on
/// dav-c220 and older (Ascend C: PipeBarrier<PIPE_V>); DMA pipes have several transfers in flight, so on-chip overlaps need one too, while their
/// accesses to GM take effect in order.
inline bool same_pipe_needs_barrier(const Chip& chip, Pipe pipe, Space space) {
    switch (pipe) {
        case Pipe::s:
        case Pipe::m:
        case Pipe::all:
            return false;
        case Pipe::v:
            return chip.arch != "dav-c310";
        default:
            return space != Space::gm;
    }
}

}  // namespace sfumato::isa
