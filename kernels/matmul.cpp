// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul.h"

namespace sfumato::kernels {

using namespace dsl;

template <class T>
void matmul(In<T> A, In<T> B, Out<T> C, MatMulTile t) {
    auto a = tiles(A, t.m, t.k0);
    auto b = tiles(B, t.k0, t.n);
    auto c = tiles(C, t.m, t.n);

    for (auto [m, n] : cores(c.rows(), c.cols())) {
        auto acc = zeros<f32>(c(m, n).shape());
        for (auto k : pipelined(a.cols(), 2, t.k1 / t.k0)) acc += dot(a(m, k), b(k, n));
        c(m, n) = cast<T>(acc);
    }
}

template <class T>
void matmul_transposed_a(In<T> A, In<T> B, Out<T> C, MatMulTile t) {
    auto a = tiles(A, t.k0, t.m);
    auto b = tiles(B, t.k0, t.n);
    auto c = tiles(C, t.m, t.n);

    for (auto [m, n] : cores(c.rows(), c.cols())) {
        auto acc = zeros<f32>(c(m, n).shape());
        for (auto k : pipelined(a.rows(), 2, t.k1 / t.k0)) acc += dot(transpose(a(k, m)), b(k, n));
        c(m, n) = cast<T>(acc);
    }
}

template <class T>
void matmul_transposed_b(In<T> A, In<T> B, Out<T> C, MatMulTile t) {
    auto a = tiles(A, t.m, t.k0);
    auto b = tiles(B, t.n, t.k0);
    auto c = tiles(C, t.m, t.n);

    for (auto [m, n] : cores(c.rows(), c.cols())) {
        auto acc = zeros<f32>(c(m, n).shape());
        for (auto k : pipelined(a.cols(), 2, t.k1 / t.k0)) acc += dot(a(m, k), transpose(b(n, k)));
        c(m, n) = cast<T>(acc);
    }
}

template <class T>
void matmul_bias_relu(In<T> A, In<T> B, In<f32> bias, Out<T> C, MatMulTile t) {
    auto a = tiles(A, t.m, t.k0);
    auto b = tiles(B, t.k0, t.n);
    auto r = tiles(bias, t.n);
    auto c = tiles(C, t.m, t.n);

    for (auto [m, n] : cores(c.rows(), c.cols())) {
        auto acc = zeros<f32>(c(m, n).shape());
        for (auto k : pipelined(a.cols(), 2, t.k1 / t.k0)) acc += dot(a(m, k), b(k, n));
        c(m, n) = cast<T>(relu(acc + r(n)));
    }
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
