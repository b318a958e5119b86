// SPDX-License-Identifier: Apache-2.0
// The matrix unit: fractal tiles become plain float matrices, Eigen multiplies them, the sum goes back to NZ order.
#include <Eigen/Core>
#include <cstring>
#include <vector>

#include "sim/exec/element.h"
#include "sim/exec/ops.h"

namespace sfumato::sim::ops {

namespace {

using isa::kFractalRows;

void load_run(isa::DType t, const std::byte* from, I count, float* to) { load_elements(t, from, count, to); }
void load_run(isa::DType, const std::byte* from, I count, std::int32_t* to) {
    for (I i = 0; i < count; ++i) to[i] = static_cast<std::int8_t>(from[i]);
}

/// Rows (m of A, n of B) of `k` contiguous elements each from fractals: fractal (o, j) lies at index o * o_step + j * j_step.
template <class C>
void unpack(const std::byte* src, isa::DType t, I of, I kf, I o_step, I j_step, C* to) {
    const I c0 = isa::fractal_cols(t), k = kf * c0;
    for (I o = 0; o < of; ++o)
        for (I j = 0; j < kf; ++j)
            for (I r = 0; r < kFractalRows; ++r)
                load_run(t, src + (o * o_step + j * j_step) * isa::kFractalBytes + r * isa::kBlockBytes, c0, to + (o * kFractalRows + r) * k + j * c0);
}

template <class C>
void multiply(const Site& s, const CubeI& c) {
    using Rows = Eigen::Matrix<C, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const I c0 = isa::fractal_cols(c.dtype);
    const I mf = isa::ceil_div(c.m, kFractalRows), kf = isa::ceil_div(c.k, c0), nf = isa::ceil_div(c.n, kFractalRows);
    const I m16 = mf * kFractalRows;
    Rows a(m16, kf * c0), b(nf * kFractalRows, kf * c0), sum(c.m, c.n);
    unpack(s.at(c.a), c.dtype, mf, kf, kf, 1, a.data());
    unpack(s.at(c.b), c.dtype, nf, kf, 1, nf, b.data());
    std::byte* dst = s.at(c.dst);
    const auto place = [&](I r, I col) { return dst + ((col / kFractalRows) * m16 + r) * kFractalRows * 4; };
    if (!c.init) {
        for (I col = 0; col < c.n; col += kFractalRows)
            for (I r = 0; r < c.m; ++r) std::memcpy(&sum(r, col), place(r, col), static_cast<std::size_t>(std::min<I>(kFractalRows, c.n - col)) * 4);
    } else {
        if (c.bias.space == isa::Space::none) {
            sum.setZero();
        } else {
            const std::byte* bias = s.at(c.bias);
            for (I r = 0; r < c.m; ++r) std::memcpy(&sum(r, 0), bias, static_cast<std::size_t>(c.n) * 4);
        }
        std::memset(dst, 0, static_cast<std::size_t>(m16 * nf * kFractalRows * 4));
    }
    sum.noalias() += a.topLeftCorner(c.m, c.k) * b.topLeftCorner(c.n, c.k).transpose();
    for (I col = 0; col < c.n; col += kFractalRows)
        for (I r = 0; r < c.m; ++r) std::memcpy(place(r, col), &sum(r, col), static_cast<std::size_t>(std::min<I>(kFractalRows, c.n - col)) * 4);
}

}  // namespace

void mmad(const Site& s, const CubeI& c) {
    if (c.m <= 0 || c.n <= 0 || c.k <= 0) return;
    if (is_float(c.dtype)) multiply<float>(s, c);
    else multiply<std::int32_t>(s, c);
}

}  // namespace sfumato::sim::ops
