// SPDX-License-Identifier: Apache-2.0
// Tile IR on its own: kernels are put together by hand, expectations are written from the meaning of each operation.
#include <catch2/catch.hpp>

#include "dsl/tile_builder.h"

using namespace sfumato;
using namespace sfumato::dsl::tile;
using isa::DType;

namespace {

/// A kernel over X[R, C] and Y[R, C], cut into tiles of 8 x 32.
struct Small {
    Kernel k;
    Expr zero, trips;
    SymbolId i = -1;
    isa::SourceId line = -1;

    Small() {
        isa::Program& p = k.frame;
        p.name = "small";
        zero = p.constant(0);
        const Expr r = p.symbol(p.add_symbol("R", isa::SymbolKind::param)), c = p.symbol(p.add_symbol("C", isa::SymbolKind::param));
        trips = p.symbol(p.add_symbol("N", isa::SymbolKind::param));
        i = p.add_symbol("i", isa::SymbolKind::loop);
        p.tensors = {{"X", DType::f32, {r, c}, isa::Role::in}, {"Y", DType::f32, {r, c}, isa::Role::out}};
        line = p.add_source({"small.cpp", 7, 3});
        for (int t = 0; t < 2; ++t) k.views.push_back({t, zero, c, r, c, 8, 32, t ? "y" : "x"});
    }
    Builder in(Region& r) { return {k, r}; }
    Region loop() {
        Region r;
        r.kind = Region::Kind::loop;
        r.counter = i;
        r.extent = trips;
        r.stages = 2;
        r.source = line;
        return r;
    }
};

std::string first_message(const std::vector<isa::Diagnostic>& d) { return d.empty() ? "" : d[0].message; }

/// sum = 0; loop { sum += x(i, 0) }; y(0, 0) = sum
Small running_sum() {
    Small s;
    Builder b = s.in(s.k.body);
    const ValueId zeros = b.full(DType::f32, tile_shape(s.k, s.k.views[0], s.zero, s.zero), 0, s.line);
    const CellId sum = b.cell(zeros, s.line);
    Region loop = s.loop();
    Builder inner = s.in(loop);
    const ValueId before = inner.get(sum, s.line);
    const ValueId x = inner.load(0, s.k.frame.symbol(s.i), s.zero, s.line);
    inner.set(sum, inner.binary(OpKind::add, before, x, s.line), s.line);
    s.k.body.nodes.push_back({std::move(loop)});
    b.store(1, s.zero, s.zero, b.get(sum, s.line), s.line);
    return s;
}

}  // namespace

TEST_CASE("A variable set inside a loop becomes a carried value of the loop") {
    Small s = running_sum();
    to_ssa(s.k);
    REQUIRE(verify(s.k).empty());
    CHECK(print(s.k) == R"(kernel small
view x = X[R x C] tiles 8 x 32
view y = Y[R x C] tiles 8 x 32
%0 = full 0 : f32[8 x 32]  // small.cpp:7
loop i < N stages 2 [%5 = %0] {  // small.cpp:7
  %2 = load x(i, 0) : f32[8 x 32]  // small.cpp:7
  %3 = add %5, %2 : f32[8 x 32]  // small.cpp:7
} %3 -> %6 : f32[8 x 32]
store %6, y(0, 0)  // small.cpp:7
)");
}

TEST_CASE("A variable set under a condition is its old value when the condition is false") {
    Small s;
    Builder b = s.in(s.k.body);
    const CellId v = b.cell(b.load(0, s.zero, s.zero, s.line), s.line);
    Region when;
    when.kind = Region::Kind::when;
    when.extent = s.trips;
    Builder inner = s.in(when);
    inner.set(v, inner.unary(OpKind::relu, inner.get(v, s.line), s.line), s.line);
    s.k.body.nodes.push_back({std::move(when)});
    b.store(1, s.zero, s.zero, b.get(v, s.line), s.line);
    to_ssa(s.k);
    REQUIRE(verify(s.k).empty());
    const auto& region = std::get<Region>(s.k.body.nodes[1].node);
    REQUIRE(region.carried.size() == 1);
    CHECK(region.carried[0].inside == -1);
    CHECK(region.carried[0].init == std::get<Op>(s.k.body.nodes[0].node).result);
    CHECK(std::get<Op>(s.k.body.nodes[2].node).args[0] == region.carried[0].result);
}

TEST_CASE("A variable made in a loop and read after it is refused with its line") {
    Small s;
    Region loop = s.loop();
    Builder inner = s.in(loop);
    const CellId v = inner.cell(inner.load(0, s.zero, s.zero, s.line), s.line);
    s.k.body.nodes.push_back({std::move(loop)});
    Builder b = s.in(s.k.body);
    b.store(1, s.zero, s.zero, b.get(v, s.line), s.line);
    try {
        to_ssa(s.k);
        FAIL("not refused");
    } catch (const isa::Rejected& r) {
        CHECK(r.diagnostics[0].line == 7);
        CHECK(r.diagnostics[0].code == isa::Code::trace);
    }
}

TEST_CASE("The verifier of tile IR finds each broken rule") {
    Small s = running_sum();
    to_ssa(s.k);
    auto& loop = std::get<Region>(s.k.body.nodes[1].node);
    auto& add = std::get<Op>(loop.nodes[1].node);
    SECTION("an argument from inside a loop used outside") {
        std::get<Op>(s.k.body.nodes[2].node).args[0] = add.result;
        CHECK(first_message(verify(s.k)) == "store uses %3, which is not defined there");
    }
    SECTION("a wrong number of arguments") {
        add.args.pop_back();
        CHECK(first_message(verify(s.k)) == "add has 1 arguments, it takes 2");
    }
    SECTION("a value defined twice") {
        add.result = std::get<Op>(loop.nodes[0].node).result;
        CHECK(first_message(verify(s.k)) == "add defines %2, which is defined already");
    }
    SECTION("different element types") {
        s.k.values[2].dtype = DType::f16;
        const auto found = verify(s.k);
        REQUIRE(found.size() == 2);
        CHECK(found[0].message == "load of f16 where X holds f32");
        CHECK(found[1].message == "add of f32 and f16");
    }
    SECTION("extents that do not broadcast") {
        s.k.values[5].shape.cols = 16;
        CHECK_FALSE(verify(s.k).empty());
    }
    SECTION("variables left over") {
        add.kind = OpKind::set;
        CHECK(first_message(verify(s.k)) == "set stands in a kernel in SSA form");
    }
    SECTION("a loop without trips") {
        loop.extent = {};
        CHECK(first_message(verify(s.k)) == "a region has neither trips nor a condition");
    }
}

TEST_CASE("Extents that a launch must make equal are listed and checked against its parameters") {
    Small s;
    isa::Program& p = s.k.frame;
    const Expr other = p.symbol(p.add_symbol("D", isa::SymbolKind::param));
    s.k.views[1].cols = other;
    Builder b = s.in(s.k.body);
    b.store(1, s.zero, s.zero, b.unary(OpKind::exp, b.load(0, s.zero, s.zero, s.line), s.line), s.line);
    to_ssa(s.k);
    const auto all = requirements(s.k);
    REQUIRE(all.size() == 1);
    CHECK(unmet(p, all, {{"R", 9}, {"C", 40}, {"D", 40}}).empty());
    const auto broken = unmet(p, all, {{"R", 9}, {"C", 40}, {"D", 39}});
    REQUIRE(broken.size() == 1);
    CHECK(broken[0].message == "columns of the value stored to y and columns of y must be equal, found 40 and 39");
    CHECK(broken[0].line == 7);
}

TEST_CASE("D15 valid extents of a tile are what is left of the window, never negative") {
    Small s;
    const Expr i = s.k.frame.symbol(s.i);
    const Shape shape = tile_shape(s.k, s.k.views[0], i, s.zero);
    const auto rows = [&](std::int64_t extent, std::int64_t index) {
        std::vector<std::int64_t> symbols(s.k.frame.symbols.size(), 0);
        symbols[0] = extent;
        symbols[static_cast<std::size_t>(s.i)] = index;
        return s.k.frame.exprs.eval(shape.valid_rows, symbols);
    };
    CHECK(rows(20, 0) == 8);
    CHECK(rows(20, 2) == 4);
    CHECK(rows(20, 3) == 0);
    CHECK(rows(16, 1) == 8);
}

TEST_CASE("A row reduction gives one column, and the verifier says when it does not") {
    Small s;
    Builder b = s.in(s.k.body);
    const ValueId sum = b.row_reduction(OpKind::row_sum, b.load(0, s.zero, s.zero, s.line), s.line);
    CHECK(s.k.values[static_cast<std::size_t>(sum)].shape.rows == 8);
    CHECK(s.k.values[static_cast<std::size_t>(sum)].shape.cols == 1);
    CHECK(verify(s.k).empty());
    s.k.values[static_cast<std::size_t>(sum)].shape.cols = 32;
    CHECK(first_message(verify(s.k)) == "row_sum of 8 x 32 gives 8 x 32");
}
