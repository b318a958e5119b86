// SPDX-License-Identifier: Apache-2.0
// From tiles to instructions: what is folded, how many slots, and sums over a launch that have closed forms.
#include <catch2/catch.hpp>
#include <numeric>

#include "isa/walker.h"
#include "traced.h"

using namespace sfumato;
using namespace sfumato::dsl;

namespace {

struct Tile3 {
    Knob m, n, k, steps = 0, stages = 2;
};
template <class T>
void linear(In<T> X, In<T> Y, In<f32> R, Out<f16> Z, Tile3 t) {
    auto a = tiles(X, t.m, t.k), b = tiles(Y, t.k, t.n), c = tiles(Z, t.m, t.n);
    auto r = tiles(R, t.n);
    for (auto [m, n] : cores(c.rows(), c.cols())) {
        auto acc = zeros<f32>(c(m, n).shape());
        for (auto k : pipelined(a.cols(), static_cast<int>(t.stages.value), t.steps)) acc += dot(a(m, k), b(k, n));
        c(m, n) = cast<f16>(relu(acc + r(n)));
    }
}
void transposed(In<f16> X, In<f16> Y, Out<f32> Z, Tile3 t) {
    auto a = tiles(X, t.k, t.m), b = tiles(Y, t.n, t.k), c = tiles(Z, t.m, t.n);
    for (auto [m, n] : cores(c.rows(), c.cols())) {
        auto acc = zeros<f32>(c(m, n).shape());
        for (auto k : pipelined(a.rows(), 2)) acc += dot(transpose(a(k, m)), transpose(b(n, k)));
        c(m, n) = acc;
    }
}
void gated(In<f16> X, In<f16> Y, Out<f16> Z, Tile3 t) {
    auto a = tiles(X, t.m, t.k), b = tiles(Y, t.k, t.n), c = tiles(Z, t.m, t.n);
    for (auto [m, n] : cores(c.rows(), c.cols())) {
        auto acc = zeros<f32>(c(m, n).shape());
        for (auto k : pipelined(a.cols(), 2)) acc += dot(a(m, k), b(k, n));
        c(m, n) = cast<f16>(silu(acc));
    }
}
constexpr int kSiluLine = __LINE__ - 3;
void starts_from_one(In<f16> X, In<f16> Y, Out<f32> Z, Tile3 t) {
    auto a = tiles(X, t.m, t.k), b = tiles(Y, t.k, t.n), c = tiles(Z, t.m, t.n);
    for (auto [m, n] : cores(c.rows(), c.cols())) {
        auto acc = full<f32>(c(m, n).shape(), 1);
        for (auto k : pipelined(a.cols(), 2)) acc += dot(a(m, k), b(k, n));
        c(m, n) = acc;
    }
}
void vector_beside_dot(In<f16> X, In<f16> Y, Out<f32> Z, Tile3 t) {
    auto a = tiles(X, t.m, t.k), b = tiles(Y, t.k, t.n), c = tiles(Z, t.m, t.n);
    for (auto [m, n] : cores(c.rows(), c.cols())) {
        c(m, n) = dot(a(m, 0), b(0, n));
        c(m, n) = zeros<f32>(c(m, n).shape());
    }
}
struct Tile2 {
    Knob rows, cols;
};
void swish(In<bf16> X, In<bf16> Y, Out<bf16> Z, Tile2 t) {
    auto x = tiles(X, t.rows, t.cols), y = tiles(Y, t.rows, t.cols), z = tiles(Z, t.rows, t.cols);
    for (auto [i, j] : cores(z.rows(), z.cols())) z(i, j) = silu(x(i, j)) * y(i, j);
}
void sum(In<f16> X, In<f16> Y, Out<f16> Z, Tile2 t) {
    auto x = tiles(X, t.rows, t.cols), y = tiles(Y, t.rows, t.cols), z = tiles(Z, t.rows, t.cols);
    for (auto [i, j] : cores(z.rows(), z.cols())) z(i, j) = x(i, j) + y(i, j);
}
void chain(In<f16> X, In<f16> Y, Out<f16> Z, Tile2 t) {
    auto x = tiles(X, t.rows, t.cols), y = tiles(Y, t.rows, t.cols), z = tiles(Z, t.rows, t.cols);
    for (auto [i, j] : cores(z.rows(), z.cols())) {
        Tile v = x(i, j);
        z(i, j) = (v + y(i, j)) * v;
    }
}

template <class Tile, class... Args>
Compiled lowered(void (*kernel)(Args...), const Tile& tile, const isa::Chip& chip = testing::split_chip()) {
    return compile(kernel, chip, tile, {.name = "k", .tensors = {"X", "Y", "R", "Z"}, .stop_after = "lower"});
}
const isa::Buffer& buffer_in(const isa::Program& p, isa::Space s) {
    return *std::find_if(p.buffers.begin(), p.buffers.end(), [&](const isa::Buffer& b) { return b.space == s; });
}

/// Every instruction instance of all blocks on one core.
template <class F>
void walk(isa::Program& p, const std::map<std::string, std::int64_t>& params, F&& f) {
    for (const isa::Section& s : p.sections) {
        isa::Walker w(p, s, {params, 0, 1, 0});
        for (isa::Step step = w.next(); step.kind != isa::StepKind::end; step = w.next())
            if (step.kind == isa::StepKind::instr) f(*step.instr);
    }
}
std::map<std::string, std::int64_t> shape(std::int64_t m, std::int64_t n, std::int64_t k) {
    return {{"X.0", m}, {"X.1", k}, {"Y.0", k}, {"Y.1", n}, {"R.0", n}, {"Z.0", m}, {"Z.1", n}};
}

}  // namespace

TEST_CASE("Bias, ReLU and conversion fold into the matrix unit and the drain, and the log says so") {
    const Compiled c = lowered(linear<f16>, Tile3{128, 256, 64});
    REQUIRE(c.program.sections.size() == 1);
    CHECK(c.program.sections[0].kind == isa::CoreKind::aic);
    int drains = 0;
    for (const isa::Instr* i : testing::instructions(c.program)) {
        CHECK(isa::desc(i->op).family != isa::Family::Vector);
        if (const auto* d = std::get_if<isa::Drain>(&i->operands)) {
            ++drains;
            CHECK(d->relu);
            CHECK(d->dst_dtype == isa::DType::f16);
        }
        if (const auto* m = std::get_if<isa::Cube>(&i->operands)) CHECK(m->bias.space == isa::Space::bt);
    }
    CHECK(drains == 1);
    std::map<std::string, std::string> choices;
    for (const Decision& d : c.decisions) choices[d.what] = d.choice;
    CHECK(choices["ReLU"] == "folded into the fix-pipe drain");
    CHECK(choices["conversion to f16"] == "folded into the fix-pipe drain");
    CHECK(choices["addition of the row R"] == "bias table, with the first product");
    // 64-deep rows are 128 bytes; four of them are the 512-byte burst
    CHECK(choices["L0 steps per transfer to L1"] == "4");
    CHECK(choices["slots of the accumulators in L0C"] == "1");
}

TEST_CASE("H4 buffers of the double-buffered matmul have the bytes of the table") {
    const Compiled c = lowered(linear<f16>, Tile3{128, 256, 64, 1});
    std::map<isa::Space, std::int64_t> bytes;
    for (const isa::Buffer& b : c.program.buffers)
        if (b.name != "R_l1") bytes[b.space] += b.slots * b.slot_bytes;  // the table counts the bias once, in its own memory
    CHECK(bytes[isa::Space::l1] == 98304);
    CHECK(bytes[isa::Space::l0a] == 32768);
    CHECK(bytes[isa::Space::l0b] == 65536);
    CHECK(bytes[isa::Space::l0c] == 131072);
    CHECK(bytes[isa::Space::bt] == 1024);
    // n 272: three memories overflow, reported together
    const auto found = [] {
        try {
            compile(linear<f16>, testing::split_chip(), Tile3{128, 272, 64, 1}, {.tensors = {"X", "Y", "R", "Z"}});
        } catch (const isa::Rejected& r) {
            return r.diagnostics;
        }
        return std::vector<isa::Diagnostic>{};
    }();
    CHECK(found.size() == 3);
}

TEST_CASE("E08 the bias enters each tile once, however many steps K takes") {
    for (std::int64_t steps : {1, 2})
        for (std::int64_t k : {1, 64, 65, 128, 320}) {
            Compiled c = lowered(linear<f16>, Tile3{32, 32, 64, steps});
            int loads = 0, first = 0;
            walk(c.program, shape(50, 70, k), [&](const isa::BoundInstr& i) {
                if (i.instr->op == isa::Op::mov_l1_bt) ++loads;
                if (i.instr->op == isa::Op::mmad && std::get<isa::CubeT<std::int64_t>>(i.operands).init) ++first;
            });
            CHECK(loads == 2 * 3);
            CHECK(first == 2 * 3);
        }
}

TEST_CASE("D10 D11 products and drains of a ragged launch cover every element exactly once") {
    for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {17, 15, 100}, {100, 955, 16}, {33, 64, 1000}}) {
        const auto check = [&, m = m, n = n, k = k](Compiled c, const std::map<std::string, std::int64_t>& params, isa::Op drain) {
            std::int64_t multiplied = 0, stored = 0, loaded = 0;
            walk(c.program, params, [&](const isa::BoundInstr& i) {
                if (const auto* x = std::get_if<isa::CubeT<std::int64_t>>(&i.operands)) multiplied += x->m * x->n * x->k;
                if (i.instr->op == drain) {
                    if (const auto* d = std::get_if<isa::DrainT<std::int64_t>>(&i.operands)) stored += d->rows * d->cols;
                    if (const auto* d = std::get_if<isa::CopyT<std::int64_t>>(&i.operands)) stored += d->rows * d->cols;
                }
                if (i.instr->op == isa::Op::mov_gm_l1_nz)
                    loaded += std::get<isa::CopyT<std::int64_t>>(i.operands).rows * std::get<isa::CopyT<std::int64_t>>(i.operands).cols;
            });
            CHECK(multiplied == std::int64_t{m} * n * k);
            CHECK(stored == std::int64_t{m} * n);
            CHECK(loaded == std::int64_t{m} * k * isa::ceil_div(n, 32) + std::int64_t{k} * n * isa::ceil_div(m, 16));
        };
        for (std::int64_t steps : {0, 1, 3}) {
            check(lowered(linear<f16>, Tile3{16, 32, 16, steps}), shape(m, n, k), isa::Op::fix_l0c_gm);
            check(lowered(linear<f16>, Tile3{16, 32, 16, steps}, testing::merged_chip()), shape(m, n, k), isa::Op::mov_ub_gm);
        }
        Compiled t = compile(transposed, testing::split_chip(), Tile3{16, 32, 16}, {.tensors = {"X", "Y", "Z"}, .stop_after = "lower"});
        check(std::move(t), {{"X.0", k}, {"X.1", m}, {"Y.0", n}, {"Y.1", k}, {"Z.0", m}, {"Z.1", n}}, isa::Op::fix_l0c_gm);
    }
}

TEST_CASE("B30 stages give the slots of what a loop loads; L0C alternates when two tiles fit") {
    for (std::int64_t stages : {1, 2, 3}) {
        const Compiled c = lowered(linear<f16>, Tile3{64, 64, 32, 2, stages});
        CHECK(buffer_in(c.program, isa::Space::l1).slots == stages);
        CHECK(buffer_in(c.program, isa::Space::l0a).slots == 2);
    }
    CHECK(buffer_in(lowered(linear<f16>, Tile3{128, 128, 64}).program, isa::Space::l0c).slots == 2);
    CHECK(buffer_in(lowered(linear<f16>, Tile3{128, 256, 64}).program, isa::Space::l0c).slots == 1);
}

TEST_CASE("Vector work on a dot result is refused on split cores, with its line, and compiled on merged ones") {
    try {
        compile(gated, testing::split_chip(), Tile3{32, 32, 32}, {.tensors = {"X", "Y", "Z"}});
        FAIL("not refused");
    } catch (const isa::Rejected& r) {
        CHECK(r.diagnostics[0].code == isa::Code::unsupported);
        CHECK(r.diagnostics[0].line == kSiluLine);
        CHECK(r.diagnostics[0].message.find("silu of a dot result needs the vector unit, and Ascend910B1 has split cores") == 0);
    }
    CHECK_NOTHROW(compile(gated, testing::merged_chip(), Tile3{32, 32, 32}, {.tensors = {"X", "Y", "Z"}}));
}

TEST_CASE("What the lowering cannot keep is refused in words of the kernel") {
    const auto message = [](auto kernel, const isa::Chip& chip) -> std::string {
        try {
            compile(kernel, chip, Tile3{32, 32, 32}, {.tensors = {"X", "Y", "Z"}});
        } catch (const isa::Rejected& r) {
            return r.diagnostics[0].message;
        }
        return "";
    };
    CHECK(message(starts_from_one, testing::split_chip()) ==
          "an accumulator of dot starts from a value that is not zeros; start it from zeros and add the value after the loop");
    CHECK(message(vector_beside_dot, testing::split_chip()) ==
          "a kernel that uses dot stores a tile that does not come from dot, and Ascend910B1 has split cores: vector work beside dot needs a kernel "
          "of its own");
    CHECK(message(linear<bf16>, testing::merged_chip()) == "dot of bf16: the matrix unit of Ascend910A does not take it; cast the tensors to f16");
}

TEST_CASE("A step that is not whole fractals cannot be one of several in a transfer") {
    CHECK_NOTHROW(lowered(linear<f16>, Tile3{32, 32, 20}));
    try {
        lowered(linear<f16>, Tile3{32, 32, 20, 2});
        FAIL("not refused");
    } catch (const isa::Rejected& r) {
        CHECK(r.diagnostics[0].message == "one transfer cannot bring 2 steps of 20: a step must be a multiple of 16");
    }
}

TEST_CASE("A26 a vector result takes the place of an argument only when it is no wider; two temporaries serve silu(x) * y") {
    const Compiled c = lowered(swish, Tile2{16, 128});
    int temps = 0;
    for (const isa::Buffer& b : c.program.buffers) temps += b.name.starts_with("temp");
    CHECK(temps == 2);
    for (const isa::Instr* i : testing::instructions(c.program))
        if (const auto* v = std::get_if<isa::Vector>(&i->operands); v && v->dst.object == v->src0.object && v->src0.space == isa::Space::ub) {
            CHECK(isa::bytes_of(v->dst_dtype) <= isa::bytes_of(v->dtype));
            CHECK(v->dst == v->src0);
        }
}

TEST_CASE("E01 one f16 operation stays f16, a chain is computed in f32") {
    const auto conversions = [](const Compiled& c) {
        const auto all = testing::instructions(c.program);
        return std::count_if(all.begin(), all.end(), [](const isa::Instr* i) { return i->op == isa::Op::vconv; });
    };
    CHECK(conversions(lowered(sum, Tile2{16, 128})) == 0);
    CHECK(conversions(lowered(chain, Tile2{16, 128})) == 3);
}
