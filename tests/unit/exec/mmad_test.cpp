// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "one_instr.h"

using namespace sfumato;
using namespace sfumato::testing;

namespace {

/// Writes A (zZ) and B (nZ) fractals by the formulas of operands.h; padding holds NaN or garbage that must not reach the result.
struct Matmul {
    Matmul(DType type, I m_, I k_, I n_)
        : t(type), m(m_), k(k_), n(n_), c0(32 / isa::bytes_of(type)), a(some_values(m * k, 3, scale())), b(some_values(k * n, 5, scale())) {
        cube.dst = in(Space::l0c);
        cube.a = in(Space::l0a);
        cube.b = in(Space::l0b);
        cube.dtype = t;
        cube.m = m;
        cube.k = k;
        cube.n = n;
        cube.init = 1;
        const I kf = up(k, c0), nf = up(n, 16);
        const double garbage = t == DType::i8 ? 77 : NAN;
        for (I r = 0; r < up(m, 16) * 16; ++r)
            for (I c = 0; c < kf * c0; ++c)
                put(t, bench.at(Space::l0a, (((r / 16) * kf + c / c0) * 16 * c0 + (r % 16) * c0 + c % c0) * size()),
                    r < m && c < k ? a[at(r * k + c)] : garbage);
        for (I r = 0; r < kf * c0; ++r)
            for (I c = 0; c < nf * 16; ++c)
                put(t, bench.at(Space::l0b, (((r / c0) * nf + c / 16) * 16 * c0 + (c % 16) * c0 + r % c0) * size()),
                    r < k && c < n ? b[at(r * n + c)] : garbage);
    }
    static std::size_t at(I i) { return static_cast<std::size_t>(i); }
    static I up(I v, I by) { return (v + by - 1) / by; }
    double scale() const { return t == DType::i8 ? 1 : 1.0 / 8; }
    I size() const { return isa::bytes_of(t); }
    double product(I r, I c) const {
        double sum = 0;
        for (I i = 0; i < k; ++i) sum += a[at(r * k + i)] * b[at(i * n + c)];
        return sum;
    }
    /// C in NZ with 16 * ceil(m / 16) physical rows.
    double result(I r, I c) {
        const I pitch = up(m, 16) * 16;
        return get(t == DType::i8 ? DType::i32 : DType::f32, bench.at(Space::l0c, (((c / 16) * pitch + r) * 16 + c % 16) * 4));
    }

    DType t;
    I m, k, n, c0;
    std::vector<double> a, b;
    Bench bench;
    isa::CubeT<I> cube;
};

}  // namespace

TEST_CASE("mmad multiplies zZ by nZ into NZ with exact extents, whatever stands in the padding") {
    // products of sixty-fourths with |a| < 8: sums stay exact in float
    for (const DType t : {DType::f16, DType::bf16, DType::f32, DType::i8})
        for (const auto& [m, k, n] : std::vector<std::array<I, 3>>{{16, 32, 16}, {1, 1, 1}, {5, 17, 9}, {33, 100, 47}, {128, 64, 64}}) {
            Matmul p(t, m, k, n);
            p.bench.run(Op::mmad, p.cube);
            bool same = true;
            for (I r = 0; r < m; ++r)
                for (I c = 0; c < n; ++c) same = same && p.result(r, c) == p.product(r, c);
            INFO(name(t) << " " << m << "x" << k << "x" << n);
            CHECK(same);
        }
}

TEST_CASE("E08: init starts from zero or the bias, otherwise mmad adds to the accumulator") {
    Matmul p(DType::f16, 20, 40, 30);
    const auto bias = some_values(30, 9);
    p.bench.fill(Space::bt, DType::f32, 64, bias);
    p.cube.bias = in(Space::bt, 64);
    p.bench.run(Op::mmad, p.cube);
    for (I c = 0; c < 30; ++c) CHECK(p.result(19, c) == p.product(19, c) + bias[static_cast<std::size_t>(c)]);
    p.cube.init = 0;
    p.bench.run(Op::mmad, p.cube);
    for (I c = 0; c < 30; ++c) CHECK(p.result(7, c) == 2 * p.product(7, c) + bias[static_cast<std::size_t>(c)]);
    p.cube.init = 1;
    p.cube.bias = {};
    p.bench.run(Op::mmad, p.cube);
    for (I c = 0; c < 30; ++c) CHECK(p.result(0, c) == p.product(0, c));
}

TEST_CASE("E02: f32 keeps all 24 bits of its operands, f16 sums are kept in f32") {
    Matmul p(DType::f32, 1, 1, 1);
    put(DType::f32, p.bench.at(Space::l0a), 1 + std::ldexp(1, -23));
    put(DType::f32, p.bench.at(Space::l0b), 1);
    p.bench.run(Op::mmad, p.cube);
    CHECK(p.result(0, 0) == 1 + std::ldexp(1, -23));
    Matmul q(DType::f16, 1, 16, 1);
    for (I i = 0; i < 16; ++i) put(DType::f16, q.bench.at(Space::l0a, 2 * i), i == 0 ? 2048 : 1), put(DType::f16, q.bench.at(Space::l0b, 2 * i), 1);
    q.bench.run(Op::mmad, q.cube);
    CHECK(q.result(0, 0) == 2048 + 15);
}

TEST_CASE("a product without rows, columns or depth leaves the accumulator alone") {
    for (const auto& [m, k, n] : std::vector<std::array<I, 3>>{{0, 16, 16}, {16, 0, 16}, {16, 16, 0}}) {
        Matmul p(DType::f16, 16, 16, 16);
        p.cube.m = m;
        p.cube.k = k;
        p.cube.n = n;
        p.bench.fill(Space::l0c, DType::f32, 0, {5});
        p.bench.run(Op::mmad, p.cube);
        CHECK(p.result(0, 0) == 5);
    }
}
