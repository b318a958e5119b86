// SPDX-License-Identifier: Apache-2.0
#include "traces/bandwidth.h"

#include <algorithm>
#include <numeric>

namespace sfumato::traces {

void BandwidthBins::add(sim::Tick begin, sim::Tick end, std::int64_t bytes) {
    end = std::max(end, begin + 1);
    while ((end - 1) / width_ >= kBins) {
        for (std::size_t i = 0; i < bins_.size(); i += 2) bins_[i / 2] = bins_[i] + (i + 1 < bins_.size() ? bins_[i + 1] : 0);
        bins_.resize((bins_.size() + 1) / 2);
        width_ *= 2;
    }
    const auto last = static_cast<std::size_t>((end - 1) / width_);
    if (bins_.size() <= last) bins_.resize(last + 1, 0);
    // Cumulative shares rounded down differ by exactly the bytes of a bin, so the sum is exact.
    const auto up_to = [&](sim::Tick t) { return static_cast<std::int64_t>(static_cast<__int128>(bytes) * (t - begin) / (end - begin)); };
    for (sim::Tick t = begin; t < end;) {
        const sim::Tick next = std::min(end, (t / width_ + 1) * width_);
        bins_[static_cast<std::size_t>(t / width_)] += up_to(next) - up_to(t);
        t = next;
    }
}

std::int64_t BandwidthBins::total() const { return std::accumulate(bins_.begin(), bins_.end(), std::int64_t{0}); }

}  // namespace sfumato::traces
