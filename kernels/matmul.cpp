// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul.h"

namespace sfumato::kernels {

using namespace dsl;

namespace {

/// C = finish(sum over k of step(m, n, k)): the loops of every product. `finish` gets the sum and the column of tiles.
template <class T, class Step, class Finish>
void products(const Out<T>& C, Index steps, const MatMulTile& t, Step step, Finish finish) {
    auto c = tiles(C, t.m, t.n);
    for (auto [m, n] : cores(c.rows(), c.cols())) {
        auto acc = zeros<f32>(c(m, n).shape());
        for (auto k : pipelined(steps, 2, t.k1 / t.k0)) acc += step(m, n, k);
        c(m, n) = cast<T>(finish(acc, n));
    }
}
const auto as_it_is = [](const Tile& sum, Index) { return sum; };

}  // namespace

template <class T>
void matmul(In<T> A, In<T> B, Out<T> C, MatMulTile t) {
    auto a = tiles(A, t.m, t.k0), b = tiles(B, t.k0, t.n);
    products(
        C, a.cols(), t, [&](Index m, Index n, Index k) { return dot(a(m, k), b(k, n)); }, as_it_is);
}

template <class T>
void matmul_transposed_a(In<T> A, In<T> B, Out<T> C, MatMulTile t) {
    auto a = tiles(A, t.k0, t.m), b = tiles(B, t.k0, t.n);
    products(
        C, a.rows(), t, [&](Index m, Index n, Index k) { return dot(transpose(a(k, m)), b(k, n)); }, as_it_is);
}

template <class T>
void matmul_transposed_b(In<T> A, In<T> B, Out<T> C, MatMulTile t) {
    auto a = tiles(A, t.m, t.k0), b = tiles(B, t.n, t.k0);
    products(
        C, a.cols(), t, [&](Index m, Index n, Index k) { return dot(a(m, k), transpose(b(n, k))); }, as_it_is);
}

template <class T>
void matmul_bias_relu(In<T> A, In<T> B, In<f32> bias, Out<T> C, MatMulTile t) {
    auto a = tiles(A, t.m, t.k0), b = tiles(B, t.k0, t.n);
    auto r = tiles(bias, t.n);
    products(
        C, a.cols(), t, [&](Index m, Index n, Index k) { return dot(a(m, k), b(k, n)); }, [&](const Tile& sum, Index n) { return relu(sum + r(n)); });
}

#define SFUMATO_MATMULS(T)                                                  \
    template void matmul<T>(In<T>, In<T>, Out<T>, MatMulTile);              \
    template void matmul_transposed_a<T>(In<T>, In<T>, Out<T>, MatMulTile); \
    template void matmul_transposed_b<T>(In<T>, In<T>, Out<T>, MatMulTile); \
    template void matmul_bias_relu<T>(In<T>, In<T>, In<f32>, Out<T>, MatMulTile);
SFUMATO_MATMULS(f16)
SFUMATO_MATMULS(bf16)
SFUMATO_MATMULS(f32)
#undef SFUMATO_MATMULS

}  // namespace sfumato::kernels
