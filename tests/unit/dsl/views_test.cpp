// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "isa/walker.h"
#include "traced.h"

using namespace sfumato;
using namespace sfumato::dsl;

namespace {

struct Cut {
    Knob rows, cols;
};
using BoundCopy = isa::CopyT<std::int64_t>;

std::vector<BoundCopy> copies(const isa::Program& p, const std::map<std::string, std::int64_t>& params, isa::Op op) {
    std::vector<BoundCopy> out;
    isa::Walker walk(p, p.sections[0], {.params = params});
    for (isa::Step s = walk.next(); s.kind != isa::StepKind::end; s = walk.next())
        if (s.kind == isa::StepKind::instr && s.instr->instr->op == op) out.push_back(std::get<BoundCopy>(s.instr->operands));
    return out;
}

void right_half(In<f16> X, Cut t) {
    auto half = X.cols() / 2;
    auto x = tiles(X.columns(half, half), t.rows, t.cols);
    auto ub = buffer<f16>(UB, {t.rows, t.cols});
    for (auto i : loop(x.rows()))
        for (auto j : loop(x.cols())) copy(ub, x(i, j));
}
void vector(In<f32> X, Cut t) {
    auto x = tiles(X, t.cols);
    auto ub = buffer<f32>(UB, {1, t.cols});
    for (auto j : loop(x.cols())) copy(ub, x(j));
}
void two_ranks(In<f32> X, Cut t) {
    tiles(X, t.cols);
    tiles(X, t.rows, t.cols);
}
void no_extent(In<f32> X, Cut t) { tiles(X, t.rows, 0); }

void depth_steps(In<f16> X, In<f16> Y, Cut t) {
    auto a = tiles(X, t.rows, 64);
    auto a1 = buffer<f16>(L1, {t.rows, 64});
    auto a0 = buffer<f16>(L0A, {t.rows, t.cols}, slots(2));
    for (auto k : loop(a.cols())) {
        copy(a1, a(0, k));
        for (auto kk : loop(ceil_div(depth(a1), t.cols))) copy(a0[kk], columns(a1, kk, t.cols));
    }
    auto b = tiles(Y, 64, 16);
    auto b1 = buffer<f16>(L1, {64, 16});
    auto b0 = buffer<f16>(L0B, {16, 64});
    copy(b1, b(0, 0));
    copy(b0, transpose(b1));
}

}  // namespace

TEST_CASE("A column window starts at its first column and keeps the pitch of the whole matrix") {
    const isa::Program p = testing::program(&right_half, Cut{4, 32}, testing::split_chip(), "plan_buffers");
    const auto c = copies(p, {{"X.0", 5}, {"X.1", 100}}, isa::Op::mov_gm_ub);
    REQUIRE(c.size() == 4);  // 2 x 2 tiles of 4 x 32 over 5 x 50
    CHECK(c[0].src.offset == 50 * 2);
    CHECK(c[1].src.offset == (50 + 32) * 2);
    CHECK(c[1].cols == 18);
    CHECK(c[3].src.offset == (4 * 100 + 50 + 32) * 2);
    CHECK(c[3].rows == 1);
    for (const BoundCopy& x : c) CHECK(x.src_pitch == 100);
}

TEST_CASE("D03: rows in UB are packed at the valid width rounded up to 32 bytes, and loads fill the rest with zeros") {
    const isa::Program p = testing::program(&right_half, Cut{4, 32}, testing::split_chip(), "plan_buffers");
    for (const BoundCopy& x : copies(p, {{"X.0", 5}, {"X.1", 100}}, isa::Op::mov_gm_ub)) {
        CHECK(x.pad);
        CHECK(x.dst_pitch == isa::round_up(x.cols, 16));
    }
}

TEST_CASE("A vector is cut into tiles of one row") {
    const isa::Program p = testing::program(&vector, Cut{1, 64}, testing::split_chip(), "plan_buffers");
    const auto c = copies(p, {{"X.0", 100}}, isa::Op::mov_gm_ub);
    REQUIRE(c.size() == 2);
    CHECK(c[1].rows == 1);
    CHECK(c[1].cols == 36);
    CHECK(c[1].src.offset == 64 * 4);
}

TEST_CASE("A tensor has one rank, and tiles have at least one element") {
    const auto ranks = testing::refusal(&two_ranks, Cut{4, 8});
    REQUIRE(ranks.size() == 1);
    CHECK_THAT(ranks[0].message, Catch::Contains("tensor X is used with 2 axes here and with 1 before"));
    const auto empty = testing::refusal(&no_extent, Cut{4, 8});
    REQUIRE(empty.size() == 1);
    CHECK_THAT(empty[0].message, Catch::Contains("4 x 0"));
}

TEST_CASE("D23: a block of an L1 matrix has its own extents: offset, depth and valid columns follow the step") {
    const isa::Program p = testing::program(&depth_steps, Cut{32, 32}, testing::split_chip(), "plan_buffers");
    const auto c = copies(p, {{"X.0", 20}, {"X.1", 100}, {"Y.0", 64}, {"Y.1", 16}}, isa::Op::mov_l1_l0a);
    REQUIRE(c.size() == 4);  // 100 = 64 + 36, in steps of 32: 32 32 32 4
    CHECK(c[0].rows == 20);
    CHECK(c[0].cols == 32);
    CHECK(c[1].src.offset - c[0].src.offset == 32 * 32 * 2);  // 32 columns of 32 physical rows
    CHECK(c[1].src_pitch == 32);
    CHECK(c[3].cols == 4);
}

TEST_CASE("A transposed view exchanges the extents and says so to the load") {
    const isa::Program p = testing::program(&depth_steps, Cut{32, 32}, testing::split_chip(), "plan_buffers");
    const auto c = copies(p, {{"X.0", 20}, {"X.1", 64}, {"Y.0", 50}, {"Y.1", 16}}, isa::Op::mov_l1_l0b);
    REQUIRE(c.size() == 1);
    CHECK(c[0].transpose);
    CHECK(c[0].rows == 16);
    CHECK(c[0].cols == 50);
}
