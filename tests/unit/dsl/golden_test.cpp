// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cmath>

#include "dsl/golden.h"
#include "traced.h"

using namespace sfumato;
using namespace sfumato::dsl;

namespace {
struct Tile3 {
    Knob m, n, k;
};
void linear(In<f16> A, In<f16> B, In<f32> bias, Out<f16> C, Tile3 t) {
    auto a = tiles(A, t.m, t.k), b = tiles(B, t.n, t.k), c = tiles(C, t.m, t.n);
    auto r = tiles(bias, t.n);
    for (auto [m, n] : cores(c.rows(), c.cols())) {
        auto acc = zeros<f32>(c(m, n).shape());
        for (auto k : pipelined(a.cols(), 2)) acc += dot(a(m, k), transpose(b(n, k)));
        c(m, n) = cast<f16>(silu(acc + r(n)));
        when(m == Index(1), [&] { c(m, n) = cast<f16>(acc); });
    }
}
void shares(In<f32> X, Out<f32> Y, Out<f32> M, Tile3 t) {
    auto x = tiles(X, t.m, t.n), y = tiles(Y, t.m, t.n), m = tiles(M, t.m, 1);
    for (auto i : cores(x.rows())) {
        y(i, 0) = x(i, 0) / row_sum(x(i, 0));
        m(i, 0) = row_max(x(i, 0));
    }
}
void by_hand(In<f32> X, Out<f32>, testing::NoTile) {
    auto x = tiles(X, 8, 16);
    auto ub = buffer<f32>(UB, {8, 16});
    copy(ub, x(0, 0));
}
tile::Kernel recorded(const Tile3& t) { return record(linear, testing::split_chip(), t, {.tensors = {"A", "B", "bias", "C"}}); }
}  // namespace

TEST_CASE("Golden mode evaluates a kernel in double, whatever its tiles") {
    const int m = 5, n = 7, k = 9;
    for (const Tile3& t : {Tile3{4, 4, 4}, Tile3{3, 16, 5}}) {
        std::vector<std::vector<double>> v{{}, {}, {}, std::vector<double>(m * n, NAN)};
        for (int i = 0; i < m * k; ++i) v[0].push_back(0.1 * (i % 7) - 0.3);
        for (int i = 0; i < n * k; ++i) v[1].push_back(0.05 * (i % 11) - 0.2);
        for (int i = 0; i < n; ++i) v[2].push_back(0.01 * i);
        golden(recorded(t), {{"A.0", m}, {"A.1", k}, {"B.0", n}, {"B.1", k}, {"bias.0", n}, {"C.0", m}, {"C.1", n}}, v);
        for (int r = 0; r < m; ++r)
            for (int c = 0; c < n; ++c) {
                double s = 0;
                for (int i = 0; i < k; ++i) s += v[0][static_cast<std::size_t>(r * k + i)] * v[1][static_cast<std::size_t>(c * k + i)];
                const double x = s + v[2][static_cast<std::size_t>(c)], expected = r / t.m.value == 1 ? s : x / (1 + std::exp(-x));
                CHECK(v[3][static_cast<std::size_t>(r * n + c)] == Approx(expected));
            }
    }
}

TEST_CASE("Golden mode names what it was not given") {
    std::vector<std::vector<double>> v(4);
    CHECK_THROWS_WITH(golden(recorded({4, 4, 4}), {{"A.0", 1}}, v), "golden mode: parameter A.1 has no value");
    std::map<std::string, std::int64_t> ones;
    for (const char* p : {"A.0", "A.1", "B.0", "B.1", "bias.0", "C.0", "C.1"}) ones[p] = 1;
    CHECK_THROWS_WITH(golden(recorded({4, 4, 4}), ones, v), "golden mode: tensor A has 0 values, its extents say 1");
    v.resize(3);
    CHECK_THROWS_WITH(golden(recorded({4, 4, 4}), ones, v), "golden mode: 3 tensors given, the kernel has 4");
    v = {{1}, {1}};
    const auto k = [] { return record(by_hand, testing::split_chip(), testing::NoTile{}, {.tensors = {"X", "Y"}}); };
    CHECK_THROWS_WITH(golden(k(), {{"X.0", 1}, {"X.1", 1}, {"Y.0", 1}}, v), "golden mode evaluates kernels of the maths-like level only");
}

TEST_CASE("Golden mode reduces rows over what is valid") {
    std::vector<std::vector<double>> v{{1, 2, 5, -8, -1, -1}, std::vector<double>(6), std::vector<double>(2)};
    golden(record(shares, testing::split_chip(), Tile3{2, 16, 1}, {.tensors = {"X", "Y", "M"}}),
           {{"X.0", 2}, {"X.1", 3}, {"Y.0", 2}, {"Y.1", 3}, {"M.0", 2}, {"M.1", 1}}, v);
    CHECK(v[1] == std::vector<double>{0.125, 0.25, 0.625, 0.8, 0.1, 0.1});
    CHECK(v[2] == std::vector<double>{5, -1});
}
