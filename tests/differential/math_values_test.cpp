// SPDX-License-Identifier: Apache-2.0
// Values of the maths-like level against double arithmetic written out here: broadcasts, functions, carried variables, conditions.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/traced_run.h"

using namespace sfumato;
using namespace sfumato::dsl;
using namespace sfumato::testing;

namespace {

struct Staged {
    Knob rows, cols, stages;
};

void rows_and_columns(In<f32> X, In<f32> R, In<f32> C, Out<f32> Y, Tile2 t) {
    auto x = tiles(X, t.rows, t.cols), c = tiles(C, t.rows, 1), y = tiles(Y, t.rows, t.cols);
    auto r = tiles(R, t.cols);
    for (auto [i, j] : cores(y.rows(), y.cols())) {
        auto scaled = x(i, j) * r(j) + c(i, Index(0));
        y(i, j) = r(j) - scaled;
    }
}

template <class T>
void functions(In<T> X, Out<T> Y, Out<T> Z, Tile2 t) {
    auto x = tiles(X, t.rows, t.cols), y = tiles(Y, t.rows, t.cols), z = tiles(Z, t.rows, t.cols);
    for (auto [i, j] : cores(y.rows(), y.cols())) {
        Tile v = cast<f32>(x(i, j));
        y(i, j) = cast<T>(gelu(v) + tanh(v) / (2.0 - v) + sqrt(abs(v)) * rsqrt(v * v + 1.0));
        z(i, j) = cast<T>(max(min(v, 0.25), -0.5) + log(exp(v) + 1.0) - sigmoid(-v));
    }
}

// running sums down the rows of blocks, and the value before the last addition
void running(In<f32> X, Out<f32> Sum, Out<f32> Previous, Staged t) {
    auto x = tiles(X, t.rows, t.cols), s = tiles(Sum, t.rows, t.cols), p = tiles(Previous, t.rows, t.cols);
    for (auto [i, j] : cores(s.rows(), s.cols())) {
        auto sum = full<f32>(s(i, j).shape(), 10);
        auto previous = full<f32>(s(i, j).shape(), -1);
        for (auto k : pipelined(x.rows(), static_cast<int>(t.stages.value))) {
            previous = sum;
            sum += x(k, j);
        }
        s(i, j) = sum;
        p(i, j) = previous;
    }
}

// a tile loaded in the loop and read after it; with a single block of rows the loop runs no time
void last(In<f16> X, Out<f16> Y, Staged t) {
    auto x = tiles(X, t.rows, t.cols), y = tiles(Y, t.rows, t.cols);
    for (auto [i, j] : cores(y.rows(), y.cols())) {
        auto v = zeros<f16>(y(i, j).shape());
        for (auto k : pipelined(x.rows() - Index(1), static_cast<int>(t.stages.value))) v = x(k + Index(1), j);
        y(i, j) = v;
    }
}

void clipped_after(In<f32> X, Out<f32> Y, Tile2 t) {
    auto x = tiles(X, t.rows, t.cols), y = tiles(Y, t.rows, t.cols);
    for (auto [i, j] : cores(y.rows(), y.cols())) {
        Tile v = x(i, j);
        when(j >= Index(1), [&] { v = relu(v); });
        y(i, j) = v * 2.0;
    }
}

void copies(In<f16> X, Out<f16> Y, Tile2 t) {
    auto x = tiles(X, t.rows, t.cols), y = tiles(Y, t.rows, t.cols);
    for (auto [i, j] : cores(y.rows(), y.cols())) y(i, j) = x(i, j);
}

// two products that share an operand
std::pair<Tile, Tile> gate_and_up(In<f16> X, In<f16> G, In<f16> U, const TileRef& out, Index m, Index n, Tile3 t) {
    auto x = tiles(X, t.m, t.k), g = tiles(G, t.k, t.n), u = tiles(U, t.k, t.n);
    auto gate = zeros<f32>(out.shape()), up = zeros<f32>(out.shape());
    for (auto k : pipelined(x.cols(), 2)) {
        Tile xk = x(m, k);
        gate += dot(xk, g(k, n));
        up += dot(xk, u(k, n));
    }
    return {gate, up};
}
void two_products(In<f16> X, In<f16> G, In<f16> U, Out<f32> P, Out<f32> Q, Tile3 t) {
    auto p = tiles(P, t.m, t.n), q = tiles(Q, t.m, t.n);
    for (auto [m, n] : cores(p.rows(), p.cols())) {
        auto [gate, up] = gate_and_up(X, G, U, p(m, n), m, n, t);
        p(m, n) = gate;
        q(m, n) = relu(up);
    }
}
// merged cores only: vector work on results of dot
void gated(In<f16> X, In<f16> G, In<f16> U, In<f16> R, Out<f16> Y, Tile3 t) {
    auto r = tiles(R, t.m, t.n), y = tiles(Y, t.m, t.n);
    for (auto [m, n] : cores(y.rows(), y.cols())) {
        auto [gate, up] = gate_and_up(X, G, U, y(m, n), m, n, t);
        y(m, n) = cast<f16>(silu(gate) * up + cast<f32>(r(m, n)));
    }
}
// no loop at all
void one_product(In<f16> A, In<f16> B, In<f32> bias, Out<f32> C, Tile3 t) {
    auto a = tiles(A, t.m, t.k), b = tiles(B, t.k, t.n), c = tiles(C, t.m, t.n);
    auto r = tiles(bias, t.n);
    for (auto [m, n] : cores(c.rows(), c.cols())) c(m, n) = dot(a(m, Index(0)), b(Index(0), n)) + r(n);
}

double gelu_exact(double v) { return v / (1 + std::exp(-1.5957691216057308 * (v + 0.044715 * v * v * v))); }

}  // namespace

TEST_CASE("A row and a column are broadcast over a ragged tile, on either side of an operator") {
    for (const char* chip : kChips)
        for (const auto& [rows, cols] : {std::pair{1, 1}, {7, 20}, {33, 150}, {300, 70}}) {
            Array x = random_array(DType::f32, {rows, cols}, 1), r = random_array(DType::f32, {cols}, 2), c = random_array(DType::f32, {rows, 1}, 3);
            Array y = empty_array(DType::f32, {rows, cols});
            run(rows_and_columns, chip, Tile2{16, 72}, {&x, &r, &c, &y});
            const auto n = static_cast<std::size_t>(cols);
            compare(
                y, [&](std::size_t i) { return r.values[i % n] - (x.values[i] * r.values[i % n] + c.values[i / n]); }, 4);
        }
}

TEST_CASE("Functions of the maths level are what their names say") {
    const auto check = [](auto kernel, DType t, double steps) {
        for (const char* chip : {"Ascend910B1", "Ascend910A"}) {
            if (t == DType::bf16 && std::string(chip) == "Ascend910A") continue;
            Array x = random_array(t, {19, 45}, 4, -1.5, 1.5), y = empty_array(t, {19, 45}), z = empty_array(t, {19, 45});
            run(kernel, chip, Tile2{8, 32}, {&x, &y, &z});
            compare(
                y,
                [&](std::size_t i) {
                    const double v = x.values[i];
                    return gelu_exact(v) + std::tanh(v) / (2 - v) + std::sqrt(std::fabs(v)) / std::sqrt(v * v + 1);
                },
                steps, 2e-6);
            compare(
                z,
                [&](std::size_t i) {
                    const double v = x.values[i];
                    return std::max(std::min(v, 0.25), -0.5) + std::log(std::exp(v) + 1) - 1 / (1 + std::exp(v));
                },
                steps, 2e-6);
        }
    };
    check(functions<f32>, DType::f32, 8);
    check(functions<f16>, DType::f16, 1);
    check(functions<bf16>, DType::bf16, 1);
}

TEST_CASE("B23 B24 B25 variables carried through a pipelined loop have their serial values for 1, 2 and 3 stages and any trip count") {
    for (int stages : {1, 2, 3})
        for (int blocks : {1, 2, 5}) {
            Array x = random_array(DType::f32, {8 * blocks, 40}, 5), s = empty_array(DType::f32, {8, 40}), p = empty_array(DType::f32, {8, 40});
            run(running, "Ascend910B1", Staged{8, 16, stages}, {&x, &s, &p});
            const auto sum = [&](std::size_t i, int count) {
                double v = 10;
                for (int b = 0; b < count; ++b) v += x.values[static_cast<std::size_t>(b) * 8 * 40 + i];
                return v;
            };
            compare(
                s, [&](std::size_t i) { return sum(i, blocks); }, 8);
            compare(
                p, [&](std::size_t i) { return sum(i, blocks - 1); }, 8);
            Array h = random_array(DType::f16, {8 * blocks, 40}, 6), y = empty_array(DType::f16, {8, 40});
            run(last, "Ascend910B1", Staged{8, 16, stages}, {&h, &y});
            compare(
                y, [&](std::size_t i) { return blocks == 1 ? 0.0 : h.values[static_cast<std::size_t>(blocks - 1) * 8 * 40 + i]; }, 0, 0);
        }
}

TEST_CASE("B01 a variable assigned under a condition keeps its value when the condition is false") {
    Array x = random_array(DType::f32, {9, 40}, 7), y = empty_array(DType::f32, {9, 40});
    run(clipped_after, "Ascend910B1", Tile2{8, 16}, {&x, &y});
    compare(
        y, [&](std::size_t i) { return 2 * (i % 40 >= 16 ? std::max(x.values[i], 0.0) : x.values[i]); }, 1);
}

TEST_CASE("D02 D03 a copy of tiles is exact for every width and needs no vector instruction") {
    for (int cols : {1, 2, 7, 8, 9, 120, 126, 127, 128})
        for (int rows : {1, 2, 3, 7, 8, 9}) {
            Array x = random_array(DType::f16, {rows, cols}, 8), y = empty_array(DType::f16, {rows, cols});
            run(copies, "Ascend910B1", Tile2{4, 64}, {&x, &y});
            REQUIRE(y.values == x.values);
        }
}

TEST_CASE("Two products of one loop share the tile they have in common") {
    for (const char* chip : kChips) {
        Array x = random_array(DType::f16, {40, 100}, 9), g = random_array(DType::f16, {100, 50}, 10), u = random_array(DType::f16, {100, 50}, 11);
        Array p = empty_array(DType::f32, {40, 50}), q = empty_array(DType::f32, {40, 50});
        run(two_products, chip, Tile3{32, 32, 32}, {&x, &g, &u, &p, &q});
        compare(p, products(x, g), 0, 2e-5);
        compare(
            q, [&](std::size_t i) { return std::max(0.0, products(x, u)(i)); }, 0, 2e-5);
    }
}

TEST_CASE("E06 merged cores compute vector epilogues of two products, for tiles that fit UB whole and in parts") {
    for (const Tile3& tile : {Tile3{32, 32, 32}, Tile3{128, 160, 32}, Tile3{48, 16, 112}}) {
        Array x = random_array(DType::f16, {150, 100}, 9), g = random_array(DType::f16, {100, 170}, 10), u = random_array(DType::f16, {100, 170}, 11);
        Array r = random_array(DType::f16, {150, 170}, 12), y = empty_array(DType::f16, {150, 170});
        run(gated, "Ascend910A", tile, {&x, &g, &u, &r, &y});
        compare(
            y,
            [&](std::size_t i) {
                const double gate = products(x, g)(i);
                return gate / (1 + std::exp(-gate)) * products(x, u)(i) + r.values[i];
            },
            1, 1e-4);
    }
}

TEST_CASE("A product without a loop starts from its bias") {
    for (const char* chip : kChips) {
        Array a = random_array(DType::f16, {20, 30}, 13), b = random_array(DType::f16, {30, 50}, 14), bias = random_array(DType::f32, {50}, 15);
        Array c = empty_array(DType::f32, {20, 50});
        run(one_product, chip, Tile3{16, 32, 32}, {&a, &b, &bias, &c});
        compare(
            c, [&](std::size_t i) { return products(a, b)(i) + bias.values[i % 50]; }, 0, 1e-5);
    }
}
