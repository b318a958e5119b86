// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/reference.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace sfumato::kernels::reference {

namespace {
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
Eigen::Map<const RowMajor> matrix(Matrix m, std::int64_t rows, std::int64_t cols) { return {m.data(), rows, cols}; }
Eigen::Map<RowMajor> matrix(Output m, std::int64_t rows, std::int64_t cols) { return {m.data(), rows, cols}; }
}  // namespace

void matmul(Matrix a, Matrix b, Output c, std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed, bool b_transposed) {
    auto out = matrix(c, m, n);
    if (a_transposed)
        out.noalias() = matrix(a, k, m).transpose() * matrix(b, k, n);
    else if (b_transposed)
        out.noalias() = matrix(a, m, k) * matrix(b, n, k).transpose();
    else
        out.noalias() = matrix(a, m, k) * matrix(b, k, n);
}

void matmul_bias_relu(Matrix a, Matrix b, Matrix bias, Output c, std::int64_t m, std::int64_t n, std::int64_t k) {
    matmul(a, b, c, m, n, k);
    auto out = matrix(c, m, n);
    out.rowwise() += matrix(bias, 1, n).row(0);
    out = out.cwiseMax(0.0);
}

void add(Matrix x, Matrix y, Output z) {
    for (std::size_t i = 0; i < z.size(); ++i) z[i] = x[i] + y[i];
}
void mul(Matrix x, Matrix y, Output z) {
    for (std::size_t i = 0; i < z.size(); ++i) z[i] = x[i] * y[i];
}
void exp(Matrix x, Output z) {
    for (std::size_t i = 0; i < z.size(); ++i) z[i] = std::exp(x[i]);
}
void mul_add_relu(Matrix x, Matrix y, Matrix w, Output z) {
    for (std::size_t i = 0; i < z.size(); ++i) z[i] = std::max(x[i] * y[i] + w[i], 0.0);
}

void swiglu(Matrix x, Output y, std::int64_t rows, std::int64_t d) {
    const auto in = matrix(x, rows, 2 * d);
    const auto gate = in.leftCols(d).array(), up = in.rightCols(d).array();
    matrix(y, rows, d) = (gate / (1.0 + (-gate).exp()) * up).matrix();
}
void glu(Matrix x, Output y, std::int64_t rows, std::int64_t d) {
    const auto in = matrix(x, rows, 2 * d);
    matrix(y, rows, d) = (in.leftCols(d).array() / (1.0 + (-in.rightCols(d).array()).exp())).matrix();
}

}  // namespace sfumato::kernels::reference
