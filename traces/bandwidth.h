// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes over time in a bounded number of bins: the bins double in width when a run grows longer than they reach, so a counter row costs the same
// for a run of a microsecond and of a second. Sums are exact: every byte lies in one bin.
#include <cstdint>
#include <vector>

#include "sim/event.h"

namespace sfumato::traces {

class BandwidthBins {
public:
    static constexpr int kBins = 1024;
    explicit BandwidthBins(sim::Tick width) : width_(width) {}
    /// Spreads `bytes` evenly over [begin, end).
    void add(sim::Tick begin, sim::Tick end, std::int64_t bytes);
    sim::Tick width() const { return width_; }
    const std::vector<std::int64_t>& bins() const { return bins_; }
    std::int64_t total() const;

private:
    sim::Tick width_;
    std::vector<std::int64_t> bins_;
};

}  // namespace sfumato::traces
