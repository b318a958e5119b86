// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels of the vector unit: element-wise sums, products and chains, and the gated activations over the two halves of a matrix's columns.
#include "dsl/dsl.h"

namespace sfumato::kernels {

/// Rows and columns of a tile.
struct VectorTile {
    dsl::Knob rows, cols;
};

template <class T>
void add(dsl::In<T> X, dsl::In<T> Y, dsl::Out<T> Z, VectorTile t);
template <class T>
void mul(dsl::In<T> X, dsl::In<T> Y, dsl::Out<T> Z, VectorTile t);
template <class T>
void exp_kernel(dsl::In<T> X, dsl::Out<T> Z, VectorTile t);
/// Z = relu(X * Y + W): one pass over the data instead of three.
template <class T>
void mul_add_relu(dsl::In<T> X, dsl::In<T> Y, dsl::In<T> W, dsl::Out<T> Z, VectorTile t);
/// Y = silu(gate) * up over X = [gate | up]
template <class T>
void swiglu(dsl::In<T> X, dsl::Out<T> Y, VectorTile t);
/// Y = a * sigmoid(b) over X = [a | b]
template <class T>
void glu(dsl::In<T> X, dsl::Out<T> Y, VectorTile t);

}  // namespace sfumato::kernels
