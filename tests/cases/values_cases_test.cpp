// SPDX-License-Identifier: Apache-2.0
// Cases about tails and hidden memory that need the whole line from text to values: ragged products, row reductions, softmax over tiles.
#include <catch2/catch.hpp>

#include <cmath>

#include "isa/access.h"
#include "isa/text.h"
#include "tests/support/traced_run.h"

using namespace sfumato;
using namespace sfumato::dsl;
using namespace sfumato::testing;

namespace {

void row_sums(In<f32> X, Out<f32> S, Out<f32> M, Tile2 t) {
    auto x = tiles(X, t.rows, t.cols), s = tiles(S, t.rows, 1), m = tiles(M, t.rows, 1);
    for (auto i : cores(s.rows())) {
        s(i, 0) = row_sum(x(i, 0));
        m(i, 0) = row_max(x(i, 0));
    }
}
/// Each element of a row divided by the sum of the row.
void share_of_row(In<f16> X, Out<f32> Y, Tile2 t) {
    auto x = tiles(X, t.rows, t.cols), y = tiles(Y, t.rows, t.cols);
    for (auto i : cores(y.rows())) {
        auto v = cast<f32>(x(i, 0));
        y(i, 0) = v / row_sum(v);
    }
}
void half_row_sums(In<f16> X, Out<f16> S, Tile2 t) {
    auto x = tiles(X, t.rows, t.cols), s = tiles(S, t.rows, 1);
    for (auto i : cores(s.rows())) s(i, 0) = row_sum(x(i, 0));
}
/// The same said instruction by instruction, for rows of one repeat.
void explicit_row_sums(In<f32> X, Out<f32> S, Out<f32> M, Tile2 t) {
    auto x = tiles(X, t.rows, t.cols);
    auto s = tiles(S, t.rows), m = tiles(M, t.rows);
    auto in = buffer<f32>(UB, {t.rows, t.cols}), sums = buffer<f32>(UB, {1, t.rows}), most = buffer<f32>(UB, {1, t.rows});
    for (auto i : cores(s.cols())) {
        copy(in, x(i, 0));
        vcadd(sums, in);
        vcmax(most, in);
        copy(s(i), sums);
        copy(m(i), most);
    }
}
/// Softmax of whole rows, a tile at a time: running maximum and sum in one pass, results in a second.
void softmax(In<f32> X, Out<f32> Y, Tile2 t) {
    auto x = tiles(X, t.rows, t.cols), y = tiles(Y, t.rows, t.cols);
    for (auto i : cores(y.rows())) {
        auto m = full<f32>(column(x(i, 0)), -INFINITY);
        auto l = zeros<f32>(column(x(i, 0)));
        for (auto j : pipelined(x.cols(), 2)) {
            auto s = Tile(x(i, j));
            auto higher = max(m, row_max(s));
            l = l * exp(m - higher) + row_sum(exp(s - higher));
            m = higher;
        }
        for (auto j : pipelined(x.cols(), 2)) y(i, j) = exp(x(i, j) - m) / l;
    }
}

const isa::Chip& chip() {
    static const isa::Chip c = isa::load_chip("Ascend910B1", {}, "isa/chips");
    return c;
}

/// Instructions of the first core that touch on-chip bytes outside of the slot their operand names; `touched`: bytes seen per buffer.
int outside(const Compiled& c, const std::map<std::string, std::int64_t>& params, std::map<std::string, std::int64_t>* touched = nullptr) {
    int wrong = 0;
    for (const isa::Section& s : c.program.sections) {
        isa::Walker w(c.program, s, {params, 0, 1, 0});
        for (isa::Step step = w.next(); step.kind != isa::StepKind::end; step = w.next()) {
            if (step.kind != isa::StepKind::instr) continue;
            for (const isa::Access& a : isa::accesses(*step.instr)) {
                if (a.space == isa::Space::gm) continue;
                const isa::Buffer* home = nullptr;
                for (const isa::Buffer& b : c.program.buffers)
                    for (int slot = 0; slot < b.slots; ++slot)
                        if (const std::int64_t base = *b.base + slot * b.slot_bytes;
                            b.space == a.space && a.start >= base && a.end() <= base + b.slot_bytes) {
                            home = &b;
                            if (touched) (*touched)[b.name] = std::max((*touched)[b.name], a.end() - base);
                        }
                wrong += home == nullptr;
            }
        }
    }
    return wrong;
}

}  // namespace

TEST_CASE("A07: scratch of a sum over 8,192 elements is a buffer of the plan, and nothing is written beside the plan") {
    const Compiled c = compile(row_sums, chip(), Tile2{1, 8192}, {.tensors = {"X", "S", "M"}});
    const SpaceUse& ub = c.capacity.spaces.at(0);
    // two rows of 32,768 bytes for the input (loaded twice, two slots each); 128 partial sums, then 2: 512 + 32 bytes of scratch
    bool listed = false;
    for (const CapacityRow& r : ub.rows) {
        const isa::Buffer& b = c.program.buffers[static_cast<std::size_t>(r.buffer)];
        listed = listed || (b.slot_bytes == 512 + 32 && b.why == "intermediate values");
    }
    INFO(to_text(c.capacity, c.program));
    CHECK(listed);
    CHECK(ub.used <= ub.capacity);
    std::map<std::string, std::int64_t> touched;
    CHECK(outside(c, {{"X.0", 1}, {"X.1", 8192}, {"S.0", 1}, {"S.1", 1}, {"M.0", 1}, {"M.1", 1}}, &touched) == 0);
    CHECK(touched["temp"] == 512 + 8);  // two partial sums at the end of the declared scratch

    Array x = random_array(DType::f32, {1, 8192}, 3), s = empty_array(DType::f32, {1, 1}), m = s;
    run(row_sums, "Ascend910B1", Tile2{1, 8192}, {&x, &s, &m});
    double sum = 0, largest = x.values[0];
    for (double v : x.values) {
        sum += v;
        largest = std::max(largest, v);
    }
    CHECK(std::fabs(s.values[0] - sum) < 8192 * std::ldexp(1.0, -24) * 90);
    CHECK(m.values[0] == largest);
}

TEST_CASE("A07: when scratch does not fit any more the kernel is refused with scratch in the byte table") {
    // 24,576 f32 in two slots are all of UB
    try {
        compile(row_sums, chip(), Tile2{1, 24576}, {.tensors = {"X", "S", "M"}});
        FAIL("a plan without room for scratch was accepted");
    } catch (const isa::Rejected& r) {
        REQUIRE(r.diagnostics.size() == 1);
        CHECK(r.diagnostics[0].code == isa::Code::capacity);
        CHECK_THAT(isa::to_text(r.diagnostics[0]), Catch::Contains("temp") && Catch::Contains("intermediate values"));
    }
}

TEST_CASE("A08: row reductions touch no byte beyond the scratch they declare, for every width and number of rows") {
    for (const std::int64_t rows : {1, 2, 7, 32})
        for (const std::int64_t cols : {1, 8, 63, 64, 65, 128, 256, 1000, 4097}) {
            if (rows * cols > 8000) continue;
            INFO(rows << " x " << cols);
            const Compiled c = compile(row_sums, chip(), Tile2{rows, cols}, {.tensors = {"X", "S", "M"}});
            for (const std::int64_t valid : {std::int64_t{1}, cols / 2 + 1, cols})
                CHECK(outside(c, {{"X.0", rows}, {"X.1", valid}, {"S.0", rows}, {"S.1", 1}, {"M.0", rows}, {"M.1", 1}}) == 0);
        }
}

TEST_CASE("A03: a column of 4,096 elements takes 16,384 bytes, and a row's sum is spread over the row it came from") {
    const Compiled c = compile(row_sums, chip(), Tile2{4096, 1}, {.tensors = {"X", "S", "M"}});
    for (const isa::Buffer& b : c.program.buffers) CHECK(b.slot_bytes <= 16384);
    for (const char* name : kChips) {
        Array x = random_array(DType::f16, {1, 4096}, 5, 0.5, 1), y = empty_array(DType::f32, {1, 4096});
        run(share_of_row, name, Tile2{1, 4096}, {&x, &y});
        double sum = 0;
        for (double v : x.values) sum += v;
        compare(
            y, [&](std::size_t i) { return x.values[i] / sum; }, 64, 1e-9);
    }
}

TEST_CASE("D21: row reductions of the explicit level look at valid elements only") {
    for (const char* name : kChips)
        for (const auto& [rows, cols] : {std::pair{1, 1}, {34, 50}, {7, 64}}) {
            Array x = random_array(DType::f32, {rows, cols}, 8, -3, -1), s = empty_array(DType::f32, {rows}), m = s;
            run(explicit_row_sums, name, Tile2{16, 64}, {&x, &s, &m});
            const auto over_row = [&](auto step) {
                return [&, step](std::size_t i) {
                    double v = x.values[i * static_cast<std::size_t>(cols)];
                    for (int k = 1; k < cols; ++k) v = step(v, x.values[i * static_cast<std::size_t>(cols) + static_cast<std::size_t>(k)]);
                    return v;
                };
            };
            compare(s, over_row([](double a, double b) { return a + b; }), 64);
            compare(m, over_row([](double a, double b) { return std::max(a, b); }), 0, 0);
        }
}

TEST_CASE("E01: row sums of f16 are kept in f32 and rounded once, columns included, for random rows") {
    for (const char* name : kChips)
        for (const auto& [rows, cols] : {std::pair{1, 1}, {3, 126}, {34, 1000}}) {
            Array x = random_array(DType::f16, {rows, cols}, 6), s = empty_array(DType::f16, {rows, 1});
            run(half_row_sums, name, Tile2{16, 1008}, {&x, &s});
            compare(
                s,
                [&](std::size_t i) {
                    double sum = 0;
                    for (int k = 0; k < cols; ++k) sum += x.values[i * static_cast<std::size_t>(cols) + static_cast<std::size_t>(k)];
                    return sum;
                },
                1, cols * std::ldexp(1.0, -20));
        }
}

TEST_CASE("D21: softmax of 34 x 130 in tiles of 32 x 64, and of other ragged shapes, takes no share of what lies behind the edge") {
    for (const char* name : kChips)
        for (const auto& [rows, cols] : {std::pair{34, 130}, {1, 1}, {33, 64}, {2, 65}, {5, 700}})
            for (const double shift : {0.0, -40.0, 60.0}) {  // a fill of zeros would win or lose the maximum
                INFO(name << " " << rows << " x " << cols << " values around " << shift);
                Array x = random_array(DType::f32, {rows, cols}, 7, shift - 3, shift + 3), y = empty_array(DType::f32, {rows, cols});
                run(softmax, name, Tile2{32, 64}, {&x, &y});
                const auto n = static_cast<std::size_t>(cols);
                std::vector<double> sums(static_cast<std::size_t>(rows), 0);
                for (std::size_t i = 0; i < x.values.size(); ++i) sums[i / n] += std::exp(x.values[i] - shift);
                compare(
                    y, [&](std::size_t i) { return std::exp(x.values[i] - shift) / sums[i / n]; }, 64, 1e-9);
            }
}

TEST_CASE("Programs that start a maximum from minus infinity are printed and read back") {
    const Compiled c = compile(softmax, chip(), Tile2{32, 64}, {.tensors = {"X", "Y"}});
    const std::string text = isa::print_program(c.program);
    CHECK_THAT(text, Catch::Contains("scalar=-inf"));
    CHECK(isa::print_program(isa::parse_program(text, "softmax.sfa")) == text);
}

TEST_CASE("D10: [4,128] x [128,64] has 16 physical rows and stores the 4 valid ones") {
    for (const char* level : {"maths", "explicit"}) {
        const RunPlan plan{.kernel = "matmul_bias_relu", .shape = {{"m", 4}, {"n", 64}, {"k", 128}}, .level = level};
        const KernelRun r = run_kernel(plan);
        CHECK(r.result.diagnostics.empty());
        CHECK(r.wrong == "");
        const Compiled c = compile_kernel(plan, chip());
        isa::Walker w(c.program, c.program.sections[0], {kernels::launch_params(kernels::find(plan.kernel), plan.shape), 0, 1, 0});
        int drains = 0;
        for (isa::Step step = w.next(); step.kind != isa::StepKind::end; step = w.next()) {
            if (step.kind != isa::StepKind::instr) continue;
            if (const auto* d = std::get_if<isa::DrainT<std::int64_t>>(&step.instr->operands)) {
                ++drains;
                CHECK(d->rows == 4);
                CHECK(d->src_pitch == 16);
            }
        }
        CHECK(drains > 0);
    }
}

TEST_CASE("D11: M of 1 to 250, N of 5 and 17 and K = 100 all compile and give their values") {
    for (const char* name : kChips)
        for (const char* level : {"maths", "explicit"})
            for (const std::int64_t m : {1, 5, 8, 17, 40, 100, 250})
                for (const std::int64_t n : {5, 17}) {
                    INFO(name << " " << level << " " << m << " x " << n);
                    const KernelRun r =
                        run_kernel({.kernel = "matmul_bias_relu", .chip = name, .shape = {{"m", m}, {"n", n}, {"k", 100}}, .level = level});
                    CHECK(r.result.diagnostics.empty());
                    CHECK(r.wrong == "");
                }
}

TEST_CASE("A15: a right operand of 128 x 512 f16 is tiled until a slot holds 32,768 bytes") {
    const kernels::Kernel& k = kernels::find("matmul");
    for (const kernels::Sizes& fixed : {kernels::Sizes{}, {{"n", 512}}, {{"m", 64}, {"n", 512}, {"k1", 128}}}) {
        const kernels::Sizes shape{{"m", 64}, {"n", 512}, {"k", 128}};
        const kernels::Sizes tile = kernels::complete_tile(k, chip(), shape, DType::f16, fixed);
        CHECK(tile.at("n") * tile.at("k0") * 2 <= 32768);
        const KernelRun r = run_kernel({.kernel = "matmul", .shape = shape, .tile = tile});
        CHECK(r.result.diagnostics.empty());
        CHECK(r.wrong == "");
    }
}

namespace {
void two_panels(In<f16> A, In<f16> B, In<f16> D, Out<f32> C, Out<f32> E, Tile3 t) {
    auto a = tiles(A, t.m, t.k), b = tiles(B, t.k, t.n), c = tiles(C, t.m, t.n), d = tiles(D, t.k, t.n), e = tiles(E, t.m, t.n);
    for (auto [m, n] : cores(c.rows(), c.cols())) {
        c(m, n) = dot(a(m, Index(0)), b(Index(0), n));
        e(m, n) = dot(a(m, Index(0)), d(Index(0), n));
    }
}
}  // namespace

TEST_CASE("A13: two products of one kernel are checked against L0B together, and fill it exactly") {
    Array a = random_array(DType::f16, {32, 100}, 1), b = random_array(DType::f16, {100, 256}, 2), d = random_array(DType::f16, {100, 256}, 3);
    Array c = empty_array(DType::f32, {32, 256}), e = c;
    run(two_panels, "Ascend910B1", Tile3{32, 64, 128}, {&a, &b, &d, &c, &e});  // two panels of 16,384 bytes in two slots each
    const Compiled compiled = compile(two_panels, chip(), Tile3{32, 64, 128});
    for (const SpaceUse& s : compiled.capacity.spaces)
        if (s.space == isa::Space::l0b) CHECK(s.used == 65536);
    compare(c, products(a, b), 0, 2e-5);
    compare(e, products(a, d), 0, 2e-5);
    try {  // each product alone would fit
        compile(two_panels, chip(), Tile3{32, 96, 128});
        FAIL("two operands were placed one by one");
    } catch (const isa::Rejected& r) {
        REQUIRE(r.diagnostics.size() == 1);
        CHECK_THAT(isa::to_text(r.diagnostics[0]),
                   Catch::Contains("L0B needs 98,304 B of 65,536 B") && Catch::Contains("t1_l0b") && Catch::Contains("t2_l0b"));
    }
}
