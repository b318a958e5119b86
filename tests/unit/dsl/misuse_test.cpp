// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "traced.h"

using namespace sfumato;
using namespace sfumato::dsl;
using testing::NoTile;

namespace {

/// Each kernel is wrong in one way, on the line behind `// here`.
void gm_to_gm(In<f32> X, Out<f32> Y, NoTile) {
    auto x = tiles(X, 8, 16), y = tiles(Y, 8, 16);
    copy(y(0, 0), x(0, 0));
}
constexpr int kGmLine = __LINE__ - 2;

void wrong_type(In<f32> X, Out<f32>, NoTile) {
    auto x = tiles(X, 8, 16);
    auto ub = buffer<f16>(UB, {8, 16});
    copy(ub, x(0, 0));
}
void too_large(In<f32> X, Out<f32>, NoTile) {
    auto x = tiles(X, 8, 16);
    auto ub = buffer<f32>(UB, {8, 8});
    copy(ub, x(0, 0));
}
void store_more_than_there_is(In<f32> X, Out<f32> Y, NoTile) {
    auto x = tiles(X, 32, 32), y = tiles(Y, 64, 64);
    auto ub = buffer<f32>(UB, {32, 32});
    copy(ub, x(0, 0));
    copy(y(0, 0), ub);
}
void store_to_input(In<f32> X, Out<f32>, NoTile) {
    auto x = tiles(X, 8, 16);
    auto ub = buffer<f32>(UB, {8, 16});
    copy(ub, x(0, 0));
    copy(x(0, 0), ub);
}
void no_path(In<f16> X, Out<f16>, NoTile) {
    auto x = tiles(X, 16, 16);
    auto ub = buffer<f16>(UB, {16, 16});
    auto l0 = buffer<f16>(L0A, {16, 16});
    copy(ub, x(0, 0));
    copy(l0, ub);
}
void misaligned(In<f32> X, Out<f32>, NoTile) {
    auto x = tiles(X, 1, 8);
    auto ub = buffer<f32>(UB, {1, 32}).named("line");
    copy(ub.at(1), x(0, 0));
}
void aligned(In<f32> X, Out<f32>, NoTile) {
    auto x = tiles(X, 1, 8);
    auto ub = buffer<f32>(UB, {1, 32}).named("line");
    copy(ub.at(8), x(0, 0));
}
void event_without_hand(In<f32>, Out<f32>, NoTile) {
    auto e = event(MTE2 >> V);
    e.set();
}
void event_on_one_pipe(In<f32>, Out<f32>, NoTile) { event(V >> V); }
void five_events(In<f32>, Out<f32>, NoTile) { event(MTE2 >> V, 5); }
void nine_events(In<f32>, Out<f32>, NoTile) {
    event(MTE2 >> V, 4);
    event(MTE2 >> V, 5);
}
void vector_of_numbers(In<f32>, Out<f32>, NoTile) {
    auto ub = buffer<f32>(UB, {8, 16});
    vadd(ub, ub, 1.0);
}
void vector_outside_ub(In<f32>, Out<f32>, NoTile) {
    auto l1 = buffer<f32>(L1, {16, 16});
    vexp(l1, l1);
}
void wide_row(In<f32>, Out<f32>, NoTile) {
    auto x = buffer<f32>(UB, {8, 128}), s = buffer<f32>(UB, {1, 8});
    vcadd(s, x);
}
void short_sums(In<f32>, Out<f32>, NoTile) {
    auto x = buffer<f32>(UB, {8, 64}), s = buffer<f32>(UB, {8, 1});
    vcmax(s, x);
}
void block_sums(In<f32>, Out<f32>, NoTile) {
    auto x = buffer<f32>(UB, {8, 64});
    vcgadd(x, x);
}
void columns_inside_a_fractal(In<f16> X, Out<f16>, NoTile) {
    auto x = tiles(X, 16, 64);
    auto l1 = buffer<f16>(L1, {16, 64});
    auto l0 = buffer<f16>(L0A, {16, 64});
    copy(l1, x(0, 0));
    copy(l0, columns(l1, 0, 24));
}
void mmad_depths(In<f16>, Out<f16>, NoTile) {
    auto a = buffer<f16>(L0A, {16, 32});
    auto b = buffer<f16>(L0B, {16, 16});
    auto c = buffer<f32>(L0C, {16, 16});
    mmad(c, a, b);
}
void mixed_cores(In<f16> X, Out<f16>, NoTile) {
    auto x = tiles(X, 16, 16);
    auto ub = buffer<f16>(UB, {16, 16});
    auto l1 = buffer<f16>(L1, {16, 16});
    copy(ub, x(0, 0));
    copy(l1, x(0, 0));
}
void zero_stages(In<f16> X, Out<f16>, NoTile) {
    for ([[maybe_unused]] auto i : pipelined(X.rows(), 0)) {
    }
}
void bias_table(In<f32>, Out<f32>, NoTile) { buffer<f32>(BT, {1, 64}); }

template <class T>
isa::Diagnostic only(void (*kernel)(In<T>, Out<T>, NoTile), const isa::Chip& chip = testing::split_chip()) {
    const auto found = testing::refusal(kernel, NoTile{}, chip);
    REQUIRE(found.size() == 1);
    CHECK(found[0].file == __FILE__);
    CHECK(found[0].line > 0);
    CHECK(found[0].column > 0);
    return found[0];
}

}  // namespace

TEST_CASE("F01: a copy with both ends in GM is one sentence at the author's place that names both operands") {
    const isa::Diagnostic d = only(&gm_to_gm);
    CHECK(d.line == kGmLine);
    CHECK_THAT(d.message, Catch::Contains("tensor X in GM") && Catch::Contains("tensor Y in GM") && Catch::Contains("UB"));
    CHECK(d.message.find('\n') == std::string::npos);
}

TEST_CASE("A copy does not convert and does not cut") {
    CHECK(only(&wrong_type).code == isa::Code::dtype);
    const isa::Diagnostic large = only(&too_large);
    CHECK(large.code == isa::Code::shape);
    CHECK_THAT(large.message, Catch::Contains("8 x 16") && Catch::Contains("8 x 8"));
}

TEST_CASE("D14: storing a tile larger than the source is refused") {
    CHECK_THAT(only(&store_more_than_there_is).message, Catch::Contains("64 x 64 is larger than the source of 32 x 32"));
}

TEST_CASE("An input tensor is not written") { CHECK_THAT(only(&store_to_input).message, Catch::Contains("takes X as In")); }

TEST_CASE("A move without a data path names the chip and both memories") {
    CHECK_THAT(only(&no_path).message, Catch::Contains("Ascend910B1 has no data path from UB to L0A"));
    CHECK_THAT(only(&bias_table, testing::merged_chip()).message, Catch::Contains("Ascend910A has no memory BT"));
}

TEST_CASE("D06: a constant misaligned offset names buffer, element and byte; an aligned one is accepted") {
    const isa::Diagnostic d = only(&misaligned);
    CHECK(d.code == isa::Code::alignment);
    CHECK_THAT(d.message, Catch::Contains("element 1 of buffer line lies at byte 4") && Catch::Contains("32 bytes (8 elements)"));
    CHECK(testing::refusal(&aligned, NoTile{}).empty());
}

TEST_CASE("B17, B20: events order two different pipes and live in hand_synchronised code only") {
    CHECK_THAT(only(&event_without_hand).message, Catch::Contains("outside hand_synchronised()"));
    CHECK_THAT(only(&event_on_one_pipe).message, Catch::Contains("V >> V") && Catch::Contains("barrier(V)"));
}

TEST_CASE("B21: event ids beyond the chip's are refused: 8 a pair on split cores, 4 on the first generation") {
    CHECK(testing::refusal(&five_events, NoTile{}).empty());
    CHECK_THAT(only(&five_events, testing::merged_chip()).message, Catch::Contains("need 5 ids, Ascend910A has 4"));
    CHECK_THAT(only(&nine_events).message, Catch::Contains("need 9 ids, Ascend910B1 has 8"));
}

TEST_CASE("Vector instructions take the sources of their table row, in UB") {
    CHECK_THAT(only(&vector_of_numbers).message, Catch::Contains("vadd takes 2 buffer(s) and no number, found 1 and 1"));
    CHECK_THAT(only(&vector_outside_ub).message, Catch::Contains("vector instructions work in UB"));
}

TEST_CASE("Row reductions of the explicit level fold one repeat a row into a destination of one row") {
    CHECK_THAT(only(&wide_row).message, Catch::Contains("vcadd: a row of 128 columns takes more than one repeat, which is 64 elements"));
    CHECK_THAT(only(&short_sums).message, Catch::Contains("vcmax gives one element for each of 8 rows") && Catch::Contains("found 8 x 1"));
    CHECK_THAT(only(&block_sums).message, Catch::Contains("vcgadd gives a tile of other extents than its source"));
}

TEST_CASE("L1 is cut between fractals") { CHECK_THAT(only(&columns_inside_a_fractal).message, Catch::Contains("multiples of 16")); }

TEST_CASE("The depths of both operands of mmad agree") { CHECK_THAT(only(&mmad_depths).message, Catch::Contains("32 columns meet 16 rows")); }

TEST_CASE("Cube and vector work of one explicit kernel is refused where cores are split") {
    CHECK_THAT(only(&mixed_cores).message, Catch::Contains("mixes cube and vector work"));
    CHECK(testing::refusal(&mixed_cores, NoTile{}, testing::merged_chip()).empty());
}

TEST_CASE("A pipelined loop has at least one stage") { CHECK_THAT(only(&zero_stages).message, Catch::Contains("0 stages, at least 1")); }
