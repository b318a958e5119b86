// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix products: C = A x B, with a bias row and ReLU, with operands stored transposed; the explicit forms say every buffer, slot and event.
#include "dsl/dsl.h"

namespace sfumato::kernels {

/// Rows and columns of an output tile; depth of a transfer to L1 and of a load to L0.
struct MatMulTile {
    dsl::Knob m, n, k1, k0;
};

/// C = A x B
template <class T>
void matmul(dsl::In<T> A, dsl::In<T> B, dsl::Out<T> C, MatMulTile t);
/// C = A' x B, A is stored k x m
template <class T>
void matmul_transposed_a(dsl::In<T> A, dsl::In<T> B, dsl::Out<T> C, MatMulTile t);
/// C = A x B', B is stored n x k
template <class T>
void matmul_transposed_b(dsl::In<T> A, dsl::In<T> B, dsl::Out<T> C, MatMulTile t);
/// C = relu(A x B + bias)
template <class T>
void matmul_bias_relu(dsl::In<T> A, dsl::In<T> B, dsl::In<dsl::f32> bias, dsl::Out<T> C, MatMulTile t);
/// C = relu(A x B + bias), every buffer, slot and flag in the author's hand; split cube cores.
template <class T>
void matmul_bias_relu_expert(dsl::In<T> A, dsl::In<T> B, dsl::In<dsl::f32> bias, dsl::Out<T> C, MatMulTile t);
/// The same on merged cores, which have neither a fix-pipe nor a bias table: bias, ReLU and conversion are vector work in UB.
template <class T>
void matmul_bias_relu_expert_merged(dsl::In<T> A, dsl::In<T> B, dsl::In<dsl::f32> bias, dsl::Out<T> C, MatMulTile t);

}  // namespace sfumato::kernels
