// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the kernels compute, in double and by definition, without the language they are written in.
#include <cstdint>
#include <span>
#include <vector>

namespace sfumato::kernels::reference {

using Matrix = std::span<const double>;  ///< row-major
using Output = std::span<double>;

/// C = A x B. A is m x k (k x m when `a_transposed`), B is k x n (n x k when `b_transposed`).
void matmul(Matrix a, Matrix b, Output c, std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed = false, bool b_transposed = false);
/// C = max(A x B + bias, 0)
void matmul_bias_relu(Matrix a, Matrix b, Matrix bias, Output c, std::int64_t m, std::int64_t n, std::int64_t k);
void add(Matrix x, Matrix y, Output z);
void mul(Matrix x, Matrix y, Output z);
void exp(Matrix x, Output z);
void mul_add_relu(Matrix x, Matrix y, Matrix w, Output z);
/// x is rows x 2d; y = x1 / (1 + exp(-x1)) * x2 with x1 the first d columns.
void swiglu(Matrix x, Output y, std::int64_t rows, std::int64_t d);
/// y = x1 / (1 + exp(-x2))
void glu(Matrix x, Output y, std::int64_t rows, std::int64_t d);

}  // namespace sfumato::kernels::reference
