// SPDX-License-Identifier: Apache-2.0
#include "traces/bandwidth.h"

#include <catch2/catch.hpp>
#include <random>

using sfumato::traces::BandwidthBins;

TEST_CASE("bytes are spread evenly over their time and none is lost") {
    BandwidthBins b(10);
    b.add(5, 25, 200);
    CHECK(b.bins() == std::vector<std::int64_t>{50, 100, 50});
    b.add(5, 6, 7);
    CHECK(b.bins()[0] == 57);
    CHECK(b.total() == 207);
}

TEST_CASE("bins double in width when a run outgrows them, and sums stay exact") {
    std::mt19937 random(1);
    BandwidthBins b(64);
    std::int64_t sum = 0;
    for (int i = 0; i < 5000; ++i) {
        const auto begin = static_cast<std::int64_t>(random() % 100'000'000);
        const auto bytes = static_cast<std::int64_t>(random() % 1'000'000);
        b.add(begin, begin + static_cast<std::int64_t>(random() % 100'000), bytes);
        sum += bytes;
    }
    CHECK(b.total() == sum);
    CHECK(b.bins().size() <= BandwidthBins::kBins);
    CHECK(b.width() >= 100'000'000 / BandwidthBins::kBins);
}
