// SPDX-License-Identifier: Apache-2.0
// Byte budgets of kernels written by hand and of the library's, exact to the byte (910B sizes).
#include <catch2/catch.hpp>

#include "dsl/dsl.h"
#include "kernels/table.h"

using namespace sfumato;
using namespace sfumato::dsl;

namespace {

const isa::Chip& chip() {
    static const isa::Chip c = isa::load_chip("Ascend910B1", {}, "isa/chips");
    return c;
}
Compiled bias_relu(const char* level, std::int64_t n) {
    const kernels::Kernel& k = kernels::find("matmul_bias_relu");
    return k.compile(chip(), {isa::DType::f16, level, {{"m", 128}, {"n", n}, {"k1", 64}, {"k0", 64}}, {}});
}
std::int64_t used(const Compiled& c, isa::Space s) {
    for (const SpaceUse& u : c.capacity.spaces)
        if (u.space == s) return u.used;
    return 0;
}

struct Block {
    Knob cols;
};
void doubled(In<f32> X, Out<f32> Y, Block t) {
    auto x = tiles(X, t.cols), y = tiles(Y, t.cols);
    auto ub = buffer<f32>(UB, {1, t.cols}, slots(2)).named("block");
    for (auto i : loop(x.cols())) {
        copy(ub[i], x(i));
        copy(y(i), ub[i]);
    }
}
void large_right_operand(In<f16> B, Out<f16>, Block) {
    auto b = tiles(B, 256, 256);
    auto b1 = buffer<f16>(L1, {256, 256});
    auto b0 = buffer<f16>(L0B, {256, 256}).named("b0");
    copy(b1, b(0, 0));
    copy(b0, b1);
}
template <class F>
std::vector<isa::Diagnostic> refused(F&& f) {
    try {
        f();
    } catch (const isa::Rejected& r) {
        return r.diagnostics;
    }
    return {};
}
bool mentions(const std::vector<isa::Diagnostic>& all, const std::string& a, const std::string& b) {
    for (const isa::Diagnostic& d : all) {
        const std::string text = isa::to_text(d);
        if (text.find(a) != std::string::npos && text.find(b) != std::string::npos) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("H4: a matmul of 128 x 256 x 64 with bias fills L0B, L0C and the bias table exactly, in both levels") {
    for (const char* level : {"maths", "explicit"}) {
        INFO(level);
        const Compiled c = bias_relu(level, 256);
        CHECK(used(c, isa::Space::l0a) == 32768);
        CHECK(used(c, isa::Space::l0b) == 65536);
        CHECK(used(c, isa::Space::l0c) == 131072);
        CHECK(used(c, isa::Space::bt) == 1024);
        CHECK(used(c, isa::Space::l1) == 98304 + 2 * 1024);  // the operands, and the bias row on its way
    }
}

TEST_CASE("H4: with n = 272 three memories overflow, and one report says so in bytes") {
    for (const char* level : {"maths", "explicit"}) {
        INFO(level);
        const auto found = refused([&] { bias_relu(level, 272); });
        CHECK(found.size() == 3);
        CHECK(mentions(found, "1,088", "1,024"));
        CHECK(mentions(found, "139,264", "131,072"));
        CHECK(mentions(found, "69,632", "65,536"));
        for (const isa::Diagnostic& d : found) CHECK(d.code == isa::Code::capacity);
    }
}

TEST_CASE("A01: a block of 48,000 f32 in two slots is refused with both sizes, the buffer, its line and who asked for the slots") {
    const auto found = refused([] { compile(&doubled, chip(), Block{48000}, {.name = "doubled", .tensors = {"X", "Y"}}); });
    REQUIRE(found.size() == 1);
    const std::string text = isa::to_text(found[0]);
    CHECK_THAT(text, Catch::Contains("384,000") && Catch::Contains("196,608") && Catch::Contains("block") && Catch::Contains("slots(2)"));
    CHECK(refused([] { compile(&doubled, chip(), Block{24576}, {.name = "doubled", .tensors = {"X", "Y"}}); }).empty());
}

TEST_CASE("A12: one error for an L0B tile of 256 x 256 f16") {
    const auto found = refused([] { compile(&large_right_operand, chip(), Block{1}, {.name = "load", .tensors = {"B"}}); });
    REQUIRE(found.size() == 1);
    CHECK_THAT(isa::to_text(found[0]), Catch::Contains("131,072") && Catch::Contains("65,536") && Catch::Contains("b0"));
    CHECK(found[0].code == isa::Code::capacity);
}
