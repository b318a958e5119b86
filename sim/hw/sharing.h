// SPDX-License-Identifier: Apache-2.0
#pragma once
// Max-min fair sharing of a server among transfers that are each capped by their own port. No SystemC: a pure function of the demands.
#include <span>

#include "sim/hw/fixed.h"

namespace sfumato::sim::hw {

/// One transfer's wish: at most `cap` bytes a tick, each byte costing `weight` of the server's capacity (kOne: one byte).
struct Demand {
    Fixed cap = 0;
    Fixed weight = kOne;
    Fixed rate = 0;  ///< the answer
};

/// Gives every demand min(cap, level) with the largest level the capacity allows; returns what is used of the capacity.
Fixed share(std::span<Demand> demands, Fixed capacity);

}  // namespace sfumato::sim::hw
