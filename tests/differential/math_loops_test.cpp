// SPDX-License-Identifier: Apache-2.0
// Loops of the maths-like level that are not the textbook nest: tiles that stay resident, partial sums, values hoisted, exchanged or stored twice.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/traced_run.h"

using namespace sfumato;
using namespace sfumato::dsl;
using namespace sfumato::testing;

namespace {

void resident(In<f16> A, In<f16> B, Out<f32> C, Tile3 t) {
    auto a = tiles(A, t.m, t.k), b = tiles(B, t.k, t.n), c = tiles(C, t.m, t.n);
    for (auto m : cores(c.rows())) {
        Tile kept = a(m, 0);
        for (auto n : pipelined(c.cols(), 2)) c(m, n) = dot(kept, b(0, n));
    }
}
void three_loops(In<f16> A, In<f16> B, In<f32> bias, Out<f16> C, Tile3 t) {
    auto a = tiles(A, t.m, t.k), b = tiles(B, t.k, t.n), c = tiles(C, t.m, t.n);
    auto r = tiles(bias, t.n);
    for (auto m : cores(c.rows()))
        for (auto n : loop(c.cols())) {
            auto acc = zeros<f32>(c(m, n).shape());
            for (auto k : loop(a.cols())) acc += dot(a(m, k), b(k, n));
            c(m, n) = cast<f16>(relu(acc + r(n)));
        }
}
void partial_sums(In<f16> A, In<f16> B, Out<f32> C, Tile3 t) {
    auto a = tiles(A, t.m, t.k), b = tiles(B, t.k, t.n), c = tiles(C, t.m, t.n);
    for (auto m : cores(c.rows())) {
        auto acc = zeros<f32>(c(m, 0).shape());
        for (auto k : pipelined(a.cols(), 2)) {
            acc += dot(a(m, k), b(k, 0));
            c(m, k) = acc;
        }
    }
}
void two_loops(In<f16> A, In<f16> B, Out<f32> C, Tile3 t) {
    auto a = tiles(A, t.m, t.k), b = tiles(B, t.k, t.n), c = tiles(C, t.m, t.n);
    for (auto [m, n] : cores(c.rows(), c.cols())) {
        auto p = zeros<f32>(c(m, n).shape()), q = zeros<f32>(c(m, n).shape());
        for (auto k : pipelined(a.cols(), 2)) p += dot(a(m, k), b(k, n));
        c(m, n) = p;
        for (auto k : pipelined(a.cols(), 3)) q += dot(a(m, k), b(k, n));
        c(m, n) = relu(q);
    }
}
void in_place(InOut<f32> X, Tile2 t) {
    auto x = tiles(X, t.rows, t.cols);
    for (auto [i, j] : cores(x.rows(), x.cols())) x(i, j) = x(i, j) * x(i, j) + 1.0;
}
void several_stores(In<f32> X, Out<f32> Y, Out<f32> Z, Out<f16> W, Tile2 t) {
    auto x = tiles(X, t.rows, t.cols), y = tiles(Y, t.rows, t.cols), z = tiles(Z, t.rows, t.cols), w = tiles(W, t.rows, t.cols);
    for (auto [i, j] : cores(x.rows(), x.cols())) {
        auto v = exp(x(i, j));
        y(i, j) = v;
        z(i, j) = v + x(i, j);
        w(i, j) = cast<f16>(v);
        when(i == Index(0), [&] { z(i, j) = v; });
    }
}
void exchanged(In<f32> X, Out<f32> Y, Out<f32> Z, Tile2 t) {
    auto x = tiles(X, t.rows, t.cols), y = tiles(Y, t.rows, t.cols), z = tiles(Z, t.rows, t.cols);
    for (auto [i, j] : cores(y.rows(), y.cols())) {
        auto a = full<f32>(y(i, j).shape(), 1), b = full<f32>(y(i, j).shape(), 2);
        for (auto k : pipelined(x.rows(), 2)) {
            auto old = a;
            a = b + x(k, j);
            b = old;
        }
        y(i, j) = a;
        z(i, j) = b;
    }
}
void hoisted(In<f32> X, In<f32> R, Out<f32> Y, Tile2 t) {
    auto x = tiles(X, t.rows, t.cols), y = tiles(Y, t.rows, t.cols);
    auto r = tiles(R, t.cols);
    for (auto j : cores(y.cols())) {
        auto factor = exp(r(j));
        for (auto i : pipelined(y.rows(), 3)) y(i, j) = x(i, j) * factor;
    }
}

}  // namespace

TEST_CASE("A16 a tile loaded before a loop stays resident while the loop reads it") {
    for (const char* chip : kChips) {
        Array a = random_array(DType::f16, {40, 30}, 1), b = random_array(DType::f16, {30, 100}, 2), c = empty_array(DType::f32, {40, 100});
        run(resident, chip, Tile3{16, 32, 32}, {&a, &b, &c});
        compare(c, products(a, b), 0, 1e-5);
    }
}

TEST_CASE("Loops over rows, columns and depth may all be the author's") {
    for (const char* chip : kChips) {
        Array a = random_array(DType::f16, {40, 90}, 1), b = random_array(DType::f16, {90, 100}, 2), r = random_array(DType::f32, {100}, 3);
        Array c = empty_array(DType::f16, {40, 100});
        run(three_loops, chip, Tile3{16, 32, 32}, {&a, &b, &r, &c});
        compare(
            c, [&](std::size_t i) { return std::max(0.0, r.values[i % 100] + products(a, b)(i)); }, 1, 1e-5);
    }
}

TEST_CASE("An accumulator may be stored between the steps of its loop") {
    for (const char* chip : kChips) {
        Array a = random_array(DType::f16, {40, 96}, 1), b = random_array(DType::f16, {96, 32}, 2), c = empty_array(DType::f32, {40, 96});
        run(partial_sums, chip, Tile3{16, 32, 32}, {&a, &b, &c});
        compare(
            c,
            [&](std::size_t i) {
                double s = 0;
                for (std::size_t k = 0; k < 32 * (i % 96 / 32 + 1); ++k) s += a.values[i / 96 * 96 + k] * b.values[k * 32 + i % 32];
                return s;
            },
            0, 1e-5);
    }
}

TEST_CASE("B25 two sibling loops with different stages keep their own accumulators") {
    for (const char* chip : kChips) {
        Array a = random_array(DType::f16, {40, 90}, 1), b = random_array(DType::f16, {90, 50}, 2), c = empty_array(DType::f32, {40, 50});
        run(two_loops, chip, Tile3{16, 32, 32}, {&a, &b, &c});
        compare(
            c, [&](std::size_t i) { return std::max(0.0, products(a, b)(i)); }, 0, 1e-5);
    }
}

TEST_CASE("A tensor is updated in place") {
    for (const char* chip : kChips) {
        Array x = random_array(DType::f32, {19, 45}, 1);
        const Array before = x;
        run(in_place, chip, Tile2{8, 16}, {&x});
        compare(
            x, [&](std::size_t i) { return before.values[i] * before.values[i] + 1; }, 2);
    }
}

TEST_CASE("A value may be stored several times, in other types and under a condition") {
    for (const char* chip : kChips) {
        Array x = random_array(DType::f32, {19, 45}, 1), y = empty_array(DType::f32, {19, 45}), z = y, w = empty_array(DType::f16, {19, 45});
        run(several_stores, chip, Tile2{8, 16}, {&x, &y, &z, &w});
        const auto e = [&](std::size_t i) { return std::exp(x.values[i]); };
        compare(y, e, 4);
        compare(w, e, 1);
        compare(
            z, [&](std::size_t i) { return e(i) + (i / 45 < 8 ? 0 : x.values[i]); }, 4);
    }
}

TEST_CASE("Variables that take over each other's values are exchanged at once, not one after the other") {
    for (int blocks : {1, 2, 3}) {
        Array x = random_array(DType::f32, {8 * blocks, 40}, 1), y = empty_array(DType::f32, {8, 40}), z = y;
        run(exchanged, "Ascend910B1", Tile2{8, 16}, {&x, &y, &z});
        const auto both = [&](std::size_t i) {
            double a = 1, b = 2;
            for (int k = 0; k < blocks; ++k) std::tie(a, b) = std::pair(b + x.values[static_cast<std::size_t>(k) * 320 + i], a);
            return std::pair(a, b);
        };
        compare(
            y, [&](std::size_t i) { return both(i).first; }, 4);
        compare(
            z, [&](std::size_t i) { return both(i).second; }, 4);
    }
}

TEST_CASE("A value computed before a loop is computed once and lives through it") {
    for (const char* chip : kChips) {
        Array x = random_array(DType::f32, {50, 45}, 1), r = random_array(DType::f32, {45}, 3), y = empty_array(DType::f32, {50, 45});
        run(hoisted, chip, Tile2{8, 16}, {&x, &r, &y});
        compare(
            y, [&](std::size_t i) { return x.values[i] * std::exp(r.values[i % 45]); }, 4);
    }
}
