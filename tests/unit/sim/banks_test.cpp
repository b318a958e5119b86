// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <cctype>
#include <filesystem>
#include <fstream>

#include "sim/timing/cost.h"
#include "tests/support/test_chip.h"

using namespace sfumato;
using namespace sfumato::isa;

namespace {

// dst, src0 and src1 at byte addresses of UB, `repeats` full f32 repeats.
VectorT<std::int64_t> add(std::int64_t dst, std::int64_t src0, std::int64_t src1, std::int64_t repeats) {
    VectorT<std::int64_t> v;
    v.dst = {Space::ub, 0, 0, dst};
    v.src0 = {Space::ub, 0, 0, src0};
    v.src1 = {Space::ub, 0, 0, src1};
    v.count = repeats * 64;
    v.dst_block = v.src0_block = v.src1_block = 1;
    v.dst_repeat = v.src0_repeat = v.src1_repeat = 8;
    return v;
}

// The banks of dav-c220: 16 groups of 3 banks, bank = address / 64 KiB.
const Banks kBanks{16, 3, 65536, 32};

}  // namespace

TEST_CASE("two sources in one bank group take turns, a result written to a source's bank costs one more") {
    // 64 repeats of Add; published: 88 cycles free of conflict, 154 read-read, 139 read-write (24 of each are the head)
    const std::int64_t repeats = 64;
    CHECK(sim::timing::bank_cycles(kBanks, Op::vadd, add(131072, 0, 65536 + 256, repeats), repeats) == repeats);
    CHECK(sim::timing::bank_cycles(kBanks, Op::vadd, add(131072, 0, 65536, repeats), repeats) == 2 * repeats);
    CHECK(sim::timing::bank_cycles(kBanks, Op::vadd, add(16384 + 256, 0, 65536 + 256, repeats), repeats) == 1 + 2 * (repeats - 1));
}

TEST_CASE("a result lands one repeat later, so an instruction in place has no conflict") {
    auto v = add(0, 0, 0, 10);
    v.src1 = {};
    CHECK(sim::timing::bank_cycles(kBanks, Op::vabs, v, 10) == 10);
}

TEST_CASE("eight blocks of a strided source in one group cost eight turns") {
    auto v = add(131072, 0, 0, 4);
    v.src1 = {};
    v.src0_block = 16;  // 512 bytes apart: the same group each time
    CHECK(sim::timing::bank_cycles(kBanks, Op::vabs, v, 4) == 4 * 8);
    v.src0_block = 17;
    CHECK(sim::timing::bank_cycles(kBanks, Op::vabs, v, 4) == 4);
}

TEST_CASE("a block that is read twice in a repeat is read once") {
    auto v = add(131072, 0, 0, 6);  // both sources are the same blocks
    CHECK(sim::timing::bank_cycles(kBanks, Op::vadd, v, 6) == 6);
    v.src1.offset = 512;  // a broadcast block in a group of the other source's, then in a free one
    v.src1_block = v.src1_repeat = v.src0_repeat = 0;
    CHECK(sim::timing::bank_cycles(kBanks, Op::vadd, v, 1) == 2);
    v.src1.offset = 512 + 256;
    CHECK(sim::timing::bank_cycles(kBanks, Op::vadd, v, 1) == 1);
}

TEST_CASE("conflicts are counted the same way by listing every block of every repeat") {
    const auto brute = [](const VectorT<std::int64_t>& v, std::int64_t repeats) {
        std::int64_t total = 0;
        for (std::int64_t r = 0; r < repeats; ++r) {
            std::map<std::int64_t, int> reads, writes;
            std::map<std::pair<std::int64_t, std::int64_t>, int> read_banks, write_banks;
            const auto visit = [&](const BoundOperand& o, std::int64_t block, std::int64_t step, std::int64_t at, bool write) {
                for (int b = 0; b < 8; ++b) {
                    const std::int64_t a = o.offset + (at * step + b * block) * 32;
                    ++(write ? writes : reads)[a / 32 % 16];
                    ++(write ? write_banks : read_banks)[{a / 32 % 16, a / 65536 % 3}];
                }
            };
            visit(v.src0, v.src0_block, v.src0_repeat, r, false);
            visit(v.src1, v.src1_block, v.src1_repeat, r, false);
            if (r > 0) visit(v.dst, v.dst_block, v.dst_repeat, r - 1, true);
            std::int64_t worst = 1;
            for (std::int64_t g = 0; g < 16; ++g) {
                bool shared = false;
                for (std::int64_t k = 0; k < 3; ++k) shared = shared || (read_banks.count({g, k}) && write_banks.count({g, k}));
                worst = std::max<std::int64_t>(worst, std::max(reads[g], writes[g]) + shared);
            }
            total += worst;
        }
        return total;
    };
    int different = 0;
    for (std::int64_t dst : {0, 32, 65536, 131072, 70000 / 32 * 32})
        for (std::int64_t src1 : {0, 256, 65536, 65792, 96})
            for (std::int64_t block : {1, 2, 4, 16})
                for (std::int64_t step : {8, 9, 16, 3}) {
                    if (src1 == 0 && block == 1) continue;  // the same blocks as src0
                    auto v = add(dst, 0, src1, 12);
                    v.src1_block = block;
                    v.dst_repeat = step;
                    const std::int64_t expected = brute(v, 12);
                    REQUIRE(sim::timing::bank_cycles(kBanks, Op::vadd, v, 12) == expected);
                    different += expected > 12;
                }
    CHECK(different > 100);
}

TEST_CASE("an instruction slower than its banks hides their conflicts") {
    Chip chip = testing::plain_chip();
    chip.ub_banks = kBanks;
    for (auto& w : chip.vector) w.fill({4, 3, 20});
    auto v = add(131072, 0, 65536, 10);
    const auto cost = sim::timing::vector_cost(chip, Op::vdiv, v);
    CHECK(cost.occupy == 40);
    CHECK(cost.conflict == 0);
    CHECK(cost.latency == 20);
    for (auto& w : chip.vector) w.fill({1, 3, 20});
    CHECK(sim::timing::vector_cost(chip, Op::vadd, v).conflict == 10);
}

TEST_CASE("formulas live in sim/timing and numbers in chip files: no numbers but 0, 1 and 2") {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator("sim/timing")) {
        std::ifstream in(entry.path());
        ++files;
        bool first = true;
        for (std::string line; std::getline(in, line); first = false) {
            if (first) continue;  // the licence has a version
            line = line.substr(0, line.find("//"));
            for (std::size_t i = 0; i < line.size(); ++i) {
                if (!std::isdigit(static_cast<unsigned char>(line[i]))) continue;
                const bool inside_word = i > 0 && (std::isalnum(static_cast<unsigned char>(line[i - 1])) || line[i - 1] == '_');
                std::size_t end = i;
                while (end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) || line[end] == '.')) ++end;
                const std::string number = line.substr(i, end - i);
                INFO(entry.path().string() << ": " << line);
                if (!inside_word) CHECK((number == "0" || number == "1" || number == "2"));
                i = end;
            }
        }
    }
    CHECK(files >= 3);
}
