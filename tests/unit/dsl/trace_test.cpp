// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "isa/walker.h"
#include "traced.h"

using namespace sfumato;
using namespace sfumato::dsl;
using testing::NoTile;

namespace {

struct Square {
    Knob rows, cols;
};

void copy_through(In<f32> X, Out<f32> Y, Square t) {
    auto x = tiles(X, t.rows, t.cols), y = tiles(Y, t.rows, t.cols);
    auto ub = buffer<f32>(UB, {t.rows, t.cols});
    for (auto [i, j] : cores(x.rows(), x.cols())) {
        copy(ub, x(i, j));
        copy(y(i, j), ub);
    }
}
constexpr int kCopyLine = __LINE__ - 4;

enum class Exit { by_break, by_return };
template <Exit how>
void leaves(In<f32> X, Square t) {
    auto x = tiles(X, t.rows, t.cols);
    auto ub = buffer<f32>(UB, {t.rows, t.cols});
    for (auto i : loop(x.rows())) {
        copy(ub, x(i, 0));
        if constexpr (how == Exit::by_break) break;
        return;
    }
}
constexpr int kLeftLoop = __LINE__ - 6;

void host_variable(In<f32> X, Square t) {
    auto x = tiles(X, t.rows, t.cols);
    auto ub = buffer<f32>(UB, {t.rows, t.cols});
    int column = 0;
    for (auto i : loop(x.rows())) {
        copy(ub, x(i, column));
        ++column;
    }
}
constexpr int kHostLine = __LINE__ - 4;

void continues(In<f32> X, Square t) {
    auto x = tiles(X, t.rows, t.cols);
    auto ub = buffer<f32>(UB, {t.rows, t.cols});
    bool skip = false;
    for (auto i : loop(x.rows())) {
        skip = !skip;
        if (skip) continue;
        copy(ub, x(i, 0));
    }
}
constexpr int kContinueLine = __LINE__ - 3;

void host_if(In<f32> X, Square t) {
    auto x = tiles(X, t.rows, t.cols);
    auto ub = buffer<f32>(UB, {t.rows, t.cols});
    for (auto i : loop(x.rows())) {
        if (t.rows == 8) continue;
        copy(ub, x(i, 0));
    }
}

void nested(In<f32> X, Square t) {
    auto x = tiles(X, t.rows, t.cols);
    Counter turn;
    for (auto i : loop(x.rows())) {
        auto ub = buffer<f32>(UB, {t.rows, t.cols}, slots(3));
        for (auto j : loop(x.cols())) copy(ub[turn.next()], x(i, j));
    }
}

}  // namespace

TEST_CASE("Every instruction knows the line of the author's file that asked for it") {
    const isa::Program p = testing::program(&copy_through, Square{8, 16});
    const auto all = testing::instructions(p);
    REQUIRE(all.size() == 2);
    CHECK(testing::source_of(p, *all[0]).file == __FILE__);
    CHECK(testing::source_of(p, *all[0]).line == kCopyLine);
    CHECK(testing::source_of(p, *all[1]).line == kCopyLine + 1);
}

TEST_CASE("Leaving a traced loop by break or return is refused with the line of the loop") {
    for (const auto kernel : {&leaves<Exit::by_break>, &leaves<Exit::by_return>}) {
        const auto left = testing::refusal(kernel, Square{8, 16});
        REQUIRE(left.size() == 1);
        CHECK(left[0].code == isa::Code::trace);
        CHECK(left[0].file == __FILE__);
        CHECK(left[0].line == kLeftLoop);
        CHECK_THAT(left[0].message, Catch::Contains("break or return after ") && Catch::Contains(":" + std::to_string(kLeftLoop + 1)));
    }
}

TEST_CASE("A host variable that changes in a traced body is refused with the line that uses it") {
    const auto found = testing::refusal(&host_variable, Square{8, 16});
    REQUIRE(found.size() == 1);
    CHECK(found[0].code == isa::Code::trace);
    CHECK(found[0].line == kHostLine);
    CHECK_THAT(found[0].message, Catch::Contains("host variable changed"));
}

TEST_CASE("A continue that is taken only sometimes is refused; one under a fixed host condition is a host if") {
    const auto found = testing::refusal(&continues, Square{8, 16});
    REQUIRE(found.size() == 1);
    CHECK(found[0].line == kContinueLine);
    CHECK(testing::instructions(testing::program(&host_if, Square{8, 16})).empty());
    CHECK(testing::instructions(testing::program(&host_if, Square{16, 16})).size() == 1);
}

TEST_CASE("What is created inside a loop body exists once although the body is recorded twice") {
    const isa::Program p = testing::program(&nested, Square{8, 16});
    CHECK(p.buffers.size() == 1);
    CHECK(testing::instructions(p).size() == 1);
    int loops = 0, counters = 0;
    for (const isa::Symbol& s : p.symbols) {
        loops += s.kind == isa::SymbolKind::loop;
        counters += s.kind == isa::SymbolKind::counter;
    }
    CHECK(loops == 2);
    CHECK(counters == 1);
}

TEST_CASE("A counter runs on through all iterations and selects slots in turn") {
    isa::Program p = testing::program(&nested, Square{8, 16}, testing::split_chip(), "plan_buffers");
    isa::Walker walk(p, p.sections[0], {.params = {{"X.0", 16}, {"X.1", 40}}});
    std::vector<std::int64_t> slots;
    for (isa::Step s = walk.next(); s.kind != isa::StepKind::end; s = walk.next())
        if (s.kind == isa::StepKind::instr) slots.push_back(std::get<isa::CopyT<std::int64_t>>(s.instr->operands).dst.slot);
    CHECK(slots == std::vector<std::int64_t>{0, 1, 2, 0, 1, 2});
}

TEST_CASE("D26: one program serves every shape; valid extents follow the launch and are never negative") {
    isa::Program p = testing::program(&copy_through, Square{8, 16}, testing::split_chip(), "plan_buffers");
    for (std::int64_t m : {1, 15, 16, 17, 127, 128, 129, 8192}) {
        isa::Walker walk(p, p.sections[0], {.params = {{"X.0", m}, {"X.1", 20}, {"Y.0", m}, {"Y.1", 20}}});
        std::int64_t elements = 0;
        for (isa::Step s = walk.next(); s.kind != isa::StepKind::end; s = walk.next()) {
            if (s.kind != isa::StepKind::instr) continue;
            const auto& c = std::get<isa::CopyT<std::int64_t>>(s.instr->operands);
            REQUIRE(c.rows > 0);
            REQUIRE(c.cols > 0);
            if (s.instr->instr->op == isa::Op::mov_ub_gm) elements += c.rows * c.cols;
        }
        CHECK(elements == m * 20);
    }
}

TEST_CASE("Tiles and loops outside of a kernel are refused") {
    CHECK_THROWS_WITH(loop(4), Catch::Contains("exist only inside a kernel"));
    CHECK_THROWS_WITH(buffer<f32>(UB, {8, 8}), Catch::Contains("exist only inside a kernel"));
}

TEST_CASE("Index arithmetic on constants folds and rounds towards minus infinity") {
    Trace trace("k", testing::split_chip());
    const auto value = [&](Index i) { return trace.exprs().node(i.expr()).value; };
    CHECK(value(Index(-7) / 2) == -4);
    CHECK(value(Index(-7) % 4) == 1);
    CHECK(value(ceil_div(Index(17), 16)) == 2);
    CHECK(value(min(Index(3), Knob(2)) + max(Index(3), 5)) == 7);
    CHECK(value(Index(3) == 3 && !(Index(2) > 3)) == 1);
    static_assert(!std::is_convertible_v<Index, bool>);
    static_assert(!std::is_constructible_v<bool, Index>);
}
