// SPDX-License-Identifier: Apache-2.0
#include "sim/hw/sharing.h"

#include <catch2/catch.hpp>

#include <random>

using namespace sfumato::sim;
using hw::Demand;

TEST_CASE("everyone gets the same level or what it asked for, and the server is used up when someone wants more") {
    std::mt19937 dice(7);
    for (int round = 0; round < 300; ++round) {
        std::vector<Demand> d(1 + dice() % 40);
        Fixed wanted = 0;
        for (Demand& x : d) {
            x.cap = static_cast<Fixed>(1 + dice() % 300) << kFractionBits;
            wanted += x.cap;
        }
        const Fixed capacity = static_cast<Fixed>(1 + dice() % 4000) << kFractionBits;
        const Fixed used = hw::share(d, capacity);
        Fixed sum = 0, level = 0;
        for (const Demand& x : d) {
            REQUIRE(x.rate <= x.cap);
            REQUIRE(x.rate > 0);
            sum += x.rate;
            if (x.rate < x.cap) level = std::max(level, x.rate);
        }
        REQUIRE(used == sum);
        REQUIRE(sum <= std::max(capacity, static_cast<Fixed>(d.size())));
        if (wanted <= capacity) {
            REQUIRE(sum == wanted);
        } else {
            REQUIRE(sum >= capacity - static_cast<Fixed>(d.size()));
            for (const Demand& x : d) REQUIRE((x.rate == x.cap ? x.cap <= level : x.rate == level));
        }
    }
}

TEST_CASE("weights count against the server and not against the level") {
    std::vector<Demand> d{{to_fixed(100), 2 * kOne, 0}, {to_fixed(100), kOne, 0}};
    hw::share(d, to_fixed(90));
    CHECK(d[0].rate == to_fixed(30));
    CHECK(d[1].rate == to_fixed(30));
    d = {{to_fixed(10), 2 * kOne, 0}, {to_fixed(100), kOne, 0}};
    hw::share(d, to_fixed(90));
    CHECK(d[0].rate == to_fixed(10));
    CHECK(d[1].rate == to_fixed(70));
}
