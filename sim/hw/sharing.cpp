// SPDX-License-Identifier: Apache-2.0
#include "sim/hw/sharing.h"

#include <algorithm>

namespace sfumato::sim::hw {

namespace {
Fixed weighted(Fixed rate, Fixed weight) {
    if (weight == kOne) return rate;
    return static_cast<Fixed>((static_cast<__int128>(rate) * weight) >> kFractionBits);
}
}  // namespace

Fixed share(std::span<Demand> demands, Fixed capacity) {
    // Whoever asks for less than the level keeps its cap and leaves the rest to the others; every round settles at least one of them.
    Fixed left = capacity, weights = 0, used = 0;
    for (Demand& d : demands) {
        d.rate = -1;
        weights += d.weight;
    }
    for (bool settled = true; settled && weights > 0;) {
        settled = false;
        const Fixed level = static_cast<Fixed>((static_cast<__int128>(std::max<Fixed>(left, 0)) << kFractionBits) / weights);
        for (Demand& d : demands) {
            if (d.rate >= 0 || d.cap > level) continue;
            d.rate = d.cap;
            const Fixed cost = weighted(d.cap, d.weight);
            left -= cost;
            used += cost;
            weights -= d.weight;
            settled = true;
        }
    }
    if (weights <= 0) return used;
    const Fixed level = std::max<Fixed>(1, static_cast<Fixed>((static_cast<__int128>(std::max<Fixed>(left, 0)) << kFractionBits) / weights));
    for (Demand& d : demands) {
        if (d.rate >= 0) continue;
        d.rate = level;
        used += weighted(level, d.weight);
    }
    return used;
}

}  // namespace sfumato::sim::hw
