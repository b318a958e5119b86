// SPDX-License-Identifier: Apache-2.0
#include "sim/hw/l2.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <random>

#include "tests/support/test_chip.h"

using namespace sfumato;
using sim::hw::L2;

namespace {
isa::Chip chip_with(std::int64_t lines, std::int64_t ways) {
    isa::Chip c = testing::plain_chip();
    c.l2.capacity = lines * 512;
    c.l2.ways = ways;
    return c;
}
/// As a transfer reads: what is held needs no fetch.
L2::Found read(L2& l2, std::int64_t line, std::int64_t first, std::int64_t last, bool bypass) {
    L2::Line* l = l2.find(line);
    if (l && l2.holds(*l, first, last)) return {l, true};
    return l2.fetch(line, first, last, bypass);
}
}  // namespace

TEST_CASE("a set replaces its lines in the order in which they came") {
    // a plain queue over one set
    struct Reference {
        std::size_t ways;
        std::deque<std::int64_t> lines;
        bool access(std::int64_t line) {
            if (std::find(lines.begin(), lines.end(), line) != lines.end()) return true;
            if (lines.size() == ways) lines.pop_front();
            lines.push_back(line);
            return false;
        }
    };
    L2 l2(chip_with(8, 8));
    Reference reference{8, {}};
    std::mt19937 dice(3);
    int hits = 0;
    for (int i = 0; i < 5000; ++i) {
        const std::int64_t line = static_cast<std::int64_t>(dice() % (i % 3 ? 10 : 30));
        const bool hit = read(l2, line, 0, 512, false).present;
        REQUIRE(hit == reference.access(line));
        hits += hit;
    }
    CHECK(hits > 500);
}

TEST_CASE("lines of different sets do not push each other out") {
    L2 l2(chip_with(64, 4));  // 16 sets
    for (int i = 0; i < 4; ++i) read(l2, 16 * i, 0, 512, false);
    read(l2, 1, 0, 512, false);
    for (int i = 0; i < 4; ++i) CHECK(read(l2, 16 * i, 0, 512, false).present);
    CHECK_FALSE(read(l2, 16 * 4, 0, 512, false).present);
    int left = 0;
    for (int i = 0; i < 4; ++i) left += read(l2, 16 * i, 0, 512, true).present;
    CHECK(left == 3);
}

TEST_CASE("a miss fetches the whole line, around L2 only what was asked for") {
    L2 l2(chip_with(64, 4));
    CHECK(read(l2, 5, 0, 128, true).missing == 128);
    CHECK(read(l2, 5, 0, 128, false).missing == 512);
    CHECK(read(l2, 5, 128, 512, false).present);
}

TEST_CASE("sectors that were only written are present, the others of the line are not") {
    L2 l2(chip_with(64, 4));
    l2.write(9, 0, 128, false);
    CHECK(read(l2, 9, 0, 128, false).present);
    const L2::Found found = read(l2, 9, 128, 256, false);
    CHECK_FALSE(found.present);
    CHECK(found.missing == 384);
}

TEST_CASE("a replaced line gives back its dirty bytes, a clean one none") {
    L2 l2(chip_with(1, 1));
    l2.write(1, 0, 256, false);
    CHECK(read(l2, 2, 0, 512, false).evicted == 256);
    CHECK(read(l2, 3, 0, 512, false).evicted == 0);
    l2.write(3, 0, 512, false);
    l2.write(3, 0, 512, true);  // written through: clean again
    CHECK(read(l2, 4, 0, 512, false).evicted == 0);
}
