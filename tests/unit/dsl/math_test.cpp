// SPDX-License-Identifier: Apache-2.0
// What an author can get wrong at the maths-like level, and the line each message names.
#include <catch2/catch.hpp>

#include "traced.h"

using namespace sfumato;
using namespace sfumato::dsl;
using testing::NoTile;

namespace {

void inner_extents(In<f16> X, In<f16> Y, Out<f32> Z, NoTile) {
    auto x = tiles(X, 32, 64), y = tiles(Y, 32, 16), z = tiles(Z, 32, 16);
    for (auto [i, j] : cores(z.rows(), z.cols())) z(i, j) = dot(x(i, 0), y(0, j));
}
constexpr int kInnerLine = __LINE__ - 2;

void mixed_types(In<f16> X, In<f32> Y, Out<f32> Z, NoTile) {
    auto x = tiles(X, 8, 16), y = tiles(Y, 8, 16), z = tiles(Z, 8, 16);
    for (auto [i, j] : cores(z.rows(), z.cols())) z(i, j) = x(i, j) + y(i, j);
}
void mixed_extents(In<f32> X, In<f32> Y, Out<f32> Z, NoTile) {
    auto x = tiles(X, 8, 16), y = tiles(Y, 8, 32), z = tiles(Z, 8, 32);
    for (auto [i, j] : cores(z.rows(), z.cols())) z(i, j) = x(i, j) * y(i, j);
}
void forgotten_cast(In<f32> X, In<f32>, Out<f16> Z, NoTile) {
    auto x = tiles(X, 8, 16), z = tiles(Z, 8, 16);
    for (auto [i, j] : cores(z.rows(), z.cols())) z(i, j) = exp(x(i, j));
}
void assigned_input(In<f32> X, In<f32>, Out<f32>, NoTile) {
    auto x = tiles(X, 8, 16);
    for (auto [i, j] : cores(x.rows(), x.cols())) x(i, j) = exp(x(i, j));
}
void variable_changes_type(In<f32> X, In<f32>, Out<f16> Z, NoTile) {
    auto x = tiles(X, 8, 16), z = tiles(Z, 8, 16);
    for (auto [i, j] : cores(z.rows(), z.cols())) {
        Tile v = x(i, j);
        v = cast<f16>(v);
        z(i, j) = v;
    }
}
void integer_function(In<i32> X, In<i32>, Out<i32> Z, NoTile) {
    auto x = tiles(X, 8, 16), z = tiles(Z, 8, 16);
    for (auto [i, j] : cores(z.rows(), z.cols())) z(i, j) = exp(x(i, j));
}
void dot_of_number(In<f16> X, In<f16>, Out<f32> Z, NoTile) {
    auto x = tiles(X, 16, 16), z = tiles(Z, 16, 16);
    for (auto [i, j] : cores(z.rows(), z.cols())) z(i, j) = dot(x(i, j), 2.0);
}
void integer_row_sum(In<i32> X, In<i32>, Out<i32> Z, NoTile) {
    auto x = tiles(X, 8, 16), z = tiles(Z, 8, 1);
    for (auto i : cores(z.rows())) z(i, 0) = row_sum(x(i, 0));
}
void row_max_of_number(In<f32> X, In<f32>, Out<f32> Z, NoTile) {
    auto x = tiles(X, 8, 16), z = tiles(Z, 8, 16);
    for (auto [i, j] : cores(z.rows(), z.cols())) z(i, j) = x(i, j) + row_max(2.0);
}
void row_sum_of_product(In<f16> X, In<f16> Y, Out<f32> Z, NoTile) {
    auto x = tiles(X, 16, 16), y = tiles(Y, 16, 16), z = tiles(Z, 16, 1);
    for (auto i : cores(z.rows())) z(i, 0) = row_sum(dot(x(i, 0), y(0, 0)));
}

template <class F>
isa::Diagnostic only(F kernel, const isa::Chip& chip = testing::split_chip()) {
    const auto found = testing::refusal(kernel, NoTile{}, chip);
    REQUIRE(found.size() == 1);
    return found[0];
}

}  // namespace

TEST_CASE("dot names both operands and the extents that must be equal") {
    const isa::Diagnostic d = only(inner_extents);
    CHECK(d.code == isa::Code::shape);
    CHECK(d.message == "dot of f16[32 x 64] and f16[32 x 16]: columns of the left (64) must equal rows of the right (32)");
    CHECK(d.line == kInnerLine);
    CHECK(d.file.ends_with("math_test.cpp"));
}

TEST_CASE("Operators on different element types or extents name both and a way out") {
    CHECK(only(mixed_types).message == "add of f16[8 x 16] and f32[8 x 16]: element types differ; cast one of them, for example cast<f32>(...)");
    CHECK(only(mixed_types).code == isa::Code::dtype);
    CHECK(only(mixed_extents).message == "mul of f32[8 x 16] and f32[8 x 32]: extents must be equal, or 1 to broadcast");
    CHECK(only(mixed_extents).code == isa::Code::shape);
}

TEST_CASE("A tile is stored only where its type and direction fit") {
    CHECK(only(forgotten_cast).message == "a tile of f32 is assigned to Z, which holds f16; write cast<f16>(...)");
    CHECK(only(assigned_input).message == "tensor X is an input and cannot be assigned; declare it Out or InOut");
}

TEST_CASE("A variable keeps its type, functions take floats, dot takes tiles") {
    CHECK(only(variable_changes_type).message == "a tile variable of f32[8 x 16] is assigned f16[8 x 16]; a variable keeps its type and extents");
    CHECK(only(integer_function).message == "exp of i32[8 x 16]; it takes f16, bf16 or f32, so cast first");
    CHECK(only(dot_of_number).message == "dot of a number; it takes a tile");
}

TEST_CASE("Row reductions take tiles of floats that do not come from dot, and say so") {
    CHECK(only(integer_row_sum).message == "row_sum of i32[8 x 16]; it takes f16, bf16 or f32, so cast first");
    CHECK(only(row_max_of_number).message == "row_max of a number; it takes a tile");
    CHECK_THAT(only(row_sum_of_product).message, Catch::Contains("row_sum of a dot result needs the vector unit"));
    CHECK(only(row_sum_of_product, testing::merged_chip()).message ==
          "row_sum of a result of dot is not supported yet; store it and reduce it in a second kernel");
}
