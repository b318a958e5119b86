// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <chrono>
#include <set>

#include "isa/diagnostic.h"
#include "kernels/table.h"

using namespace sfumato;
using namespace sfumato::kernels;

namespace {
const isa::Chip& chip(const char* name) {
    static std::map<std::string, isa::Chip> loaded;
    const auto it = loaded.find(name);
    return it != loaded.end() ? it->second : loaded.emplace(name, isa::load_chip(name, {}, "isa/chips")).first->second;
}
}  // namespace

TEST_CASE("Every kernel of the table is complete and its names are unique") {
    std::set<std::string> names;
    for (const Kernel& k : table()) {
        INFO(k.name);
        CHECK(names.insert(k.name).second);
        CHECK_FALSE(k.doc.empty());
        CHECK_FALSE(k.tensors.empty());
        CHECK_FALSE(k.levels.empty());
        REQUIRE_NOTHROW(check_shape(k, k.default_shape));
        for (const TensorSpec& t : k.tensors)
            for (const Extent& e : t.dims) CHECK(e.value(k.default_shape) >= 1);
        CHECK((k.reduced_size.empty() || k.default_shape.contains(k.reduced_size)));
    }
}

TEST_CASE("Every kernel compiles in every level and type on every chip that has the units, within 50 ms without the checker") {
    for (const char* name : {"Ascend910B1", "Ascend910A", "Ascend310P3"})
        for (const Kernel& k : table())
            for (isa::DType type : k.dtypes) {
                const bool able = type == isa::DType::f16 || chip(name).cube.per_fractal[static_cast<std::size_t>(type)] > 0;
                if (!able) continue;
                for (const std::string& level : k.levels) {
                    INFO(k.name << " " << level << " " << isa::name(type) << " on " << name);
                    Config c{type, level, complete_tile(k, chip(name), k.default_shape, type, {}), {}};
                    c.options.check = false;
                    auto best = std::chrono::steady_clock::duration::max();  // of three: other work on the host is not the compiler's
                    for (int i = 0; i < 3; ++i) {
                        const auto start = std::chrono::steady_clock::now();
                        const dsl::Compiled out = k.compile(chip(name), c);
                        best = std::min(best, std::chrono::steady_clock::now() - start);
                        for (const isa::Buffer& b : out.program.buffers) CHECK(b.base.has_value());
                    }
                    CHECK(best < std::chrono::milliseconds(50));
                }
            }
}

TEST_CASE("An unknown kernel, size or knob is refused with the nearest name") {
    CHECK_THROWS_WITH(find("matmull"), Catch::Contains("did you mean 'matmul'"));
    const Kernel& k = find("matmul");
    CHECK_THROWS_WITH(check_shape(k, {{"m", 1}, {"n", 1}, {"kk", 1}}), Catch::Contains("did you mean 'k'"));
    CHECK_THROWS_WITH(check_shape(k, {{"m", 1}, {"n", 1}}), Catch::Contains("lacks 'k'"));
    CHECK_THROWS_WITH(check_shape(k, {{"m", 0}, {"n", 1}, {"k", 1}}), Catch::Contains("m = 0, at least 1"));
    CHECK_THROWS_WITH(complete_tile(k, chip("Ascend910B1"), k.default_shape, isa::DType::f16, {{"k2", 64}}), Catch::Contains("has no 'k2'"));
    CHECK_THROWS_WITH(complete_tile(k, chip("Ascend910B1"), k.default_shape, isa::DType::f16, {{"m", 0}}), Catch::Contains("m = 0, at least 1"));
    Config c{isa::DType::f16, "maths", {{"m", 64}, {"n", 64}, {"k1", 100}, {"k0", 64}}, {}};
    CHECK_THROWS_WITH(k.compile(chip("Ascend910B1"), c), Catch::Contains("k1 = 100 is not a multiple of k0 = 64; use k1 = 128"));
}

TEST_CASE("A type the chip's units do not know is refused with those it has") {
    CHECK_THROWS_WITH(check_dtype(find("matmul"), chip("Ascend910A"), isa::DType::bf16), Catch::Contains("no bf16 form on Ascend910A; it has: f16"));
    CHECK_THROWS_WITH(check_dtype(find("add"), chip("Ascend310P3"), isa::DType::bf16), Catch::Contains("it has: f16, f32"));
    CHECK_NOTHROW(check_dtype(find("matmul"), chip("Ascend910B1"), isa::DType::bf16));
}

TEST_CASE("Launch parameters are the extents of every tensor") {
    const auto p = launch_params(find("swiglu"), {{"m", 7}, {"d", 5}});
    CHECK(p == std::map<std::string, std::int64_t>{{"X.0", 7}, {"X.1", 10}, {"Y.0", 7}, {"Y.1", 5}});
}

TEST_CASE("Knobs that are given stay, the others are chosen around them, and all fit the chip") {
    const Kernel& k = find("matmul_bias_relu");
    for (const char* name : {"Ascend910B1", "Ascend910A", "Ascend310P3"})
        for (std::int64_t m : {16, 64, 256}) {
            INFO(name << " m = " << m);
            const Choice c = k.choose(chip(name), {{"m", 4096}, {"n", 4096}, {"k", 4096}}, isa::DType::f16, {{"m", m}});
            CHECK(c.tile.at("m") == m);
            CHECK(c.cycles > 0);
            CHECK(c.runner_up_cycles >= c.cycles);
            CHECK(2 * m * c.tile.at("k0") * 2 <= chip(name).bytes(isa::Space::l0a));
            CHECK(2 * c.tile.at("n") * c.tile.at("k0") * 2 <= chip(name).bytes(isa::Space::l0b));
            CHECK(m * c.tile.at("n") * 4 <= chip(name).bytes(isa::Space::l0c));
        }
}

TEST_CASE("A large f16 matmul is cut so that loads are not smaller than a full burst and L0C is well used") {
    const Choice c = find("matmul").choose(chip("Ascend910B2"), {{"m", 8192}, {"n", 8192}, {"k", 8192}}, isa::DType::f16, {});
    CHECK(c.tile.at("k1") * 2 >= 512);
    CHECK(c.tile.at("m") * c.tile.at("n") * 4 * 2 >= chip("Ascend910B2").bytes(isa::Space::l0c));
}

TEST_CASE("The allowed error is one step of the result type plus roundings of the terms summed") {
    CHECK(tolerance(isa::DType::f16, 0, 1.0, 0.0) == Approx(std::ldexp(1, -10)).epsilon(1e-4));
    CHECK(tolerance(isa::DType::f32, 998, 0.0, 1.0) == Approx(1000 * std::ldexp(1, -24)).epsilon(1e-4));
    CHECK(tolerance(isa::DType::bf16, 0, 2.0, 0.0) == Approx(2 * std::ldexp(1, -7)).epsilon(1e-4));
}
