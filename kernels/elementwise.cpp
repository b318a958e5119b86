// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.h"

#include <type_traits>

namespace sfumato::kernels {

using namespace dsl;

namespace {
/// bf16 has no arithmetic of its own: such tiles are computed in f32.
template <class T>
using Arithmetic = std::conditional_t<std::is_same_v<T, bf16>, f32, T>;
template <class T>
Tile wide(const TileRef& t) {
    return cast<Arithmetic<T>>(t);
}
}  // namespace

template <class T>
void add(In<T> X, In<T> Y, Out<T> Z, VectorTile t) {
    auto x = tiles(X, t.rows, t.cols), y = tiles(Y, t.rows, t.cols), z = tiles(Z, t.rows, t.cols);
    for (auto [i, j] : cores(z.rows(), z.cols())) z(i, j) = cast<T>(wide<T>(x(i, j)) + wide<T>(y(i, j)));
}

template <class T>
void mul(In<T> X, In<T> Y, Out<T> Z, VectorTile t) {
    auto x = tiles(X, t.rows, t.cols), y = tiles(Y, t.rows, t.cols), z = tiles(Z, t.rows, t.cols);
    for (auto [i, j] : cores(z.rows(), z.cols())) z(i, j) = cast<T>(wide<T>(x(i, j)) * wide<T>(y(i, j)));
}

template <class T>
void exp_kernel(In<T> X, Out<T> Z, VectorTile t) {
    auto x = tiles(X, t.rows, t.cols), z = tiles(Z, t.rows, t.cols);
    for (auto [i, j] : cores(z.rows(), z.cols())) z(i, j) = cast<T>(exp(wide<T>(x(i, j))));
}

template <class T>
void mul_add_relu(In<T> X, In<T> Y, In<T> W, Out<T> Z, VectorTile t) {
    auto x = tiles(X, t.rows, t.cols), y = tiles(Y, t.rows, t.cols), w = tiles(W, t.rows, t.cols), z = tiles(Z, t.rows, t.cols);
    for (auto [i, j] : cores(z.rows(), z.cols())) {
        auto product = cast<f32>(x(i, j)) * cast<f32>(y(i, j));
        z(i, j) = cast<T>(relu(product + cast<f32>(w(i, j))));
    }
}

template <class T>
void swiglu(In<T> X, Out<T> Y, VectorTile t) {
    auto d = Y.cols();
    auto gate = tiles(X.columns(0, d), t.rows, t.cols), up = tiles(X.columns(d, d), t.rows, t.cols), y = tiles(Y, t.rows, t.cols);
    for (auto [i, j] : cores(y.rows(), y.cols())) y(i, j) = cast<T>(silu(cast<f32>(gate(i, j))) * cast<f32>(up(i, j)));
}

template <class T>
void glu(In<T> X, Out<T> Y, VectorTile t) {
    auto d = Y.cols();
    auto a = tiles(X.columns(0, d), t.rows, t.cols), b = tiles(X.columns(d, d), t.rows, t.cols), y = tiles(Y, t.rows, t.cols);
    for (auto [i, j] : cores(y.rows(), y.cols())) y(i, j) = cast<T>(cast<f32>(a(i, j)) * sigmoid(cast<f32>(b(i, j))));
}

#define SFUMATO_VECTOR_KERNELS(T)                                           \
    template void add<T>(In<T>, In<T>, Out<T>, VectorTile);                 \
    template void mul<T>(In<T>, In<T>, Out<T>, VectorTile);                 \
    template void exp_kernel<T>(In<T>, Out<T>, VectorTile);                 \
    template void mul_add_relu<T>(In<T>, In<T>, In<T>, Out<T>, VectorTile); \
    template void swiglu<T>(In<T>, Out<T>, VectorTile);                     \
    template void glu<T>(In<T>, Out<T>, VectorTile);
SFUMATO_VECTOR_KERNELS(f16)
SFUMATO_VECTOR_KERNELS(bf16)
SFUMATO_VECTOR_KERNELS(f32)
#undef SFUMATO_VECTOR_KERNELS

}  // namespace sfumato::kernels
