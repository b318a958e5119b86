// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which core runs which block of a launch. The timed model and the program-order interpreter place launches through this one function.
#include <vector>

#include "isa/walker.h"
#include "sim/event.h"
#include "sim/simulator.h"

namespace sfumato::sim {

/// All cores of a chip in hardware order: AIC 0, AIV 0, AIV 1, AIC 1, ... on split chips; `ordinal` is the position in this list.
std::vector<CoreRef> hardware_cores(const isa::Chip&);

/// A core with work: the section it runs and the launch values it sees. `group` is shared by a cube core and its vector cores.
struct PlacedCore {
    CoreRef core;
    int group = 0;
    const isa::Section* section = nullptr;
    isa::WalkContext context;
};

/// Places a launch: block b of a mixed program runs on AIC b and its vector cores (sub_block 0, 1, ...), of any other on the b-th core of its
/// kind. Throws InputError for a missing parameter, a wrong number of tensors, a kind of core the chip lacks or more blocks than cores.
std::vector<PlacedCore> place(const isa::Chip&, const Launch&, const DeviceMemory&);

}  // namespace sfumato::sim
