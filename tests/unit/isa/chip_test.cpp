// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <cmath>
#include <set>

#include "isa/chip_fields.h"
#include "isa/diagnostic.h"

using namespace sfumato::isa;

namespace {
constexpr const char* kFolder = "isa/chips";
}

TEST_CASE("every chip of the folder loads and is listed by name") {
    const std::vector<std::string> want{"Ascend310",   "Ascend310P3", "Ascend910A",  "Ascend910B1",
                                        "Ascend910B2", "Ascend910B3", "Ascend910B4", "Ascend910C"};
    REQUIRE(chip_names(kFolder) == want);
    for (const std::string& name : want) {
        const Chip c = load_chip(name, {}, kFolder);
        CHECK(c.name == name);
        CHECK(c.hash.size() == 16);
    }
}

TEST_CASE("chips are found from the place of the executable, without a folder") { CHECK(load_chip("Ascend910B2").cores.aic == 24); }

TEST_CASE("structure of 910B1 is that of the platform file") {
    const Chip c = load_chip("Ascend910B1", {}, kFolder);
    CHECK(c.count(CoreKind::aic) == 24);
    CHECK(c.count(CoreKind::aiv) == 48);
    CHECK_FALSE(c.merged());
    CHECK(c.bytes(Space::l1) == 512 * 1024);
    CHECK(c.bytes(Space::ub) == 192 * 1024);
    CHECK(c.bytes(Space::l0c) == 128 * 1024);
    CHECK(c.flags.ids == 8);
    CHECK(c.l2.capacity == 192ll * 1024 * 1024);
    CHECK(c.ub_banks.groups * c.ub_banks.banks_per_group == 48);
}

TEST_CASE("product peaks follow from cores, cube and clock") {
    // TFLOPS = cores x 2 x 16 x 16 x k_step / cycles x clock; printed: 376 (with vector), 313, 280 class; cube alone 353.9, 294.9, 270.3
    const auto peak = [](const char* name) {
        const Chip c = load_chip(name, {}, kFolder);
        const auto f16 = static_cast<std::size_t>(DType::f16);
        return static_cast<double>(c.cores.aic + c.cores.merged) * 2 * 256 * static_cast<double>(c.cube.k_step[f16]) / c.cube.per_fractal[f16] *
               c.cores.clock_mhz * 1e-6;
    };
    CHECK(peak("Ascend910B1") == Approx(363.7).epsilon(0.001));
    CHECK(peak("Ascend910B2") == Approx(353.9).epsilon(0.001));
    CHECK(peak("Ascend910B3") == Approx(294.9).epsilon(0.001));
    CHECK(peak("Ascend910B4") == Approx(270.3).epsilon(0.001));
    CHECK(peak("Ascend910A") == Approx(262.1).epsilon(0.001));
}

TEST_CASE("merged chips have no fix pipe, tables or cross-core flags, and 910A has four flags a pair") {
    for (const char* name : {"Ascend910A", "Ascend310P3", "Ascend310"}) {
        const Chip c = load_chip(name, {}, kFolder);
        CHECK(c.merged());
        CHECK(c.bytes(Space::bt) == 0);
        CHECK(c.bytes(Space::fb) == 0);
        CHECK(c.path(Path::l0c_gm).rate == 0);
        CHECK(c.path(Path::l0c_ub).rate > 0);
        CHECK(c.cross.ids == 0);
        CHECK(c.cube.per_fractal[static_cast<std::size_t>(DType::bf16)] == 0);
    }
    CHECK(load_chip("Ascend910A", {}, kFolder).flags.ids == 4);
    CHECK(load_chip("Ascend310P3", {}, kFolder).cores.vector_only == 7);
}

TEST_CASE("rates in seconds become bytes per cycle by the chip's own clock") {
    const Chip b1 = load_chip("Ascend910B1", {}, kFolder);
    CHECK(b1.l2.read_rate * b1.cores.clock_mhz * 1e6 == Approx(5.0e12));
    const Chip slow = load_chip("Ascend910B1", {"clock.core=925MHz"}, kFolder);
    CHECK(slow.l2.read_rate == Approx(2 * b1.l2.read_rate));
    CHECK(slow.path(Path::gm_ub).rate == b1.path(Path::gm_ub).rate);  // written per cycle
    CHECK(load_chip("Ascend910B2", {"memory.hbm.latency=1us"}, kFolder).hbm.latency == Approx(1800));
    CHECK(load_chip("Ascend910B2", {"paths.gm_ub.rate=180GiB/s"}, kFolder).path(Path::gm_ub).rate == Approx(180.0 * 1073741824 / 1.8e9));
}

TEST_CASE("a what-if value takes its own unit or that of the file, and changes the hash") {
    const Chip base = load_chip("Ascend910B2", {}, kFolder);
    const Chip fast = load_chip("Ascend910B2", {"memory.hbm.bandwidth=3.2TB/s"}, kFolder);
    CHECK(fast.hbm.total_rate == Approx(3.2e12 / 1.8e9));
    CHECK(fast.hbm.read_rate() == Approx(fast.hbm.total_rate * base.hbm.read_efficiency));
    CHECK(fast.hash != base.hash);
    CHECK(load_chip("Ascend910B2", {"memory.hbm.bandwidth=3.2"}, kFolder).hash == fast.hash);
    CHECK(load_chip("Ascend910B2", {}, kFolder).hash == base.hash);
    CHECK(fast.provenance.at("memory.hbm.bandwidth").origin == "--set");
    CHECK(load_chip("Ascend910B2", {"spaces.ub.capacity=128KiB"}, kFolder).bytes(Space::ub) == 131072);
    CHECK_FALSE(load_chip("Ascend910B2", {"memory.l2.hashed=false"}, kFolder).l2.hashed);
}

TEST_CASE("every number has a source, a confidence of the four, and a reason when assumed") {
    const std::set<std::string> levels{"published", "measured", "derived", "assumed"};
    for (const std::string& name : chip_names(kFolder)) {
        const Chip c = load_chip(name, {}, kFolder);
        const std::vector<FieldValue> all = describe(c);
        CHECK(all.size() > 200);
        for (const FieldValue& v : all) {
            INFO(name << " " << v.path);
            CHECK(c.sources.count(v.from.source) == 1);
            CHECK(levels.count(v.from.confidence) == 1);
            CHECK((v.from.confidence != "assumed" || !v.from.note.empty()));
            CHECK_FALSE(v.doc.empty());
        }
    }
}

TEST_CASE("every timing class of the instruction table has numbers in every chip") {
    for (const std::string& name : chip_names(kFolder)) {
        const Chip c = load_chip(name, {}, kFolder);
        for (const InstrDesc& d : kInstructions) {
            if (static_cast<int>(d.timing) < kFirstVectorClass) continue;
            CHECK(c.vector_timing(d.timing, DType::f16).per_repeat > 0);
            CHECK(c.vector_timing(d.timing, DType::f32).per_repeat > 0);
        }
    }
}

TEST_CASE("every copy and drain of the instruction table has a path, the others have none") {
    for (const InstrDesc& d : kInstructions) {
        if (d.family == Family::Copy || d.family == Family::Drain) {
            CHECK_NOTHROW(path_of(d.op));
        } else if (d.family == Family::Cube || d.family == Family::Sync) {
            CHECK_THROWS_AS(path_of(d.op), InternalError);
        }
    }
    CHECK(path_of(Op::mov_gm_l1_nz) == Path::gm_l1_nz);
    CHECK(path_of(Op::fix_l0c_gm) == Path::l0c_gm);
    CHECK(path_of(Op::mov_gm_ub) == Path::gm_ub);
}
