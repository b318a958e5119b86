// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix products and the geometry of sliding windows, shared by the rules of products, convolutions and pools. Only product.cpp sees Eigen.
#include "fusion/eval/loops.h"

namespace sfumato::fusion {

/// c[m,n] = op(a) * op(b), all row-major and dense; op transposes when asked (a is then k x m, b n x k).
void product(const float* a, bool transpose_a, const float* b, bool transpose_b, float* c, std::int64_t m, std::int64_t k, std::int64_t n);
void product(const double* a, bool transpose_a, const double* b, bool transpose_b, double* c, std::int64_t m, std::int64_t k, std::int64_t n);
void product(const std::uint64_t* a, bool transpose_a, const std::uint64_t* b, bool transpose_b, std::uint64_t* c, std::int64_t m, std::int64_t k, std::int64_t n);

/// Calls f(T{}) with the type that a product of t's storage is computed in: float, double, uint64 (integers wrap).
template <class F>
void multiplied(const EvalContext& c, const Tensor& t, F&& f) {
    numeric(c, t, [&](auto x) { f(std::conditional_t<std::is_integral_v<decltype(x)>, std::uint64_t, decltype(x)>{}); });
}

/// numpy's matmul with broadcasting of the leading axes; a and b have one storage.
Tensor matmul(const EvalContext&, const Tensor& a, const Tensor& b);
/// The node's convolution of x and w, without bias.
Tensor convolved(const EvalContext&, const Tensor& x, const Tensor& w);
Tensor with_channel_bias(const EvalContext&, Tensor y, const Tensor& bias);

/// A window sliding over spatial axes.
struct Window {
    Dims in, kernel, stride, dilation, begin, end;  ///< end: padding behind the data
    Dims out;

    /// f(kernel index, input offset or -1 in padding) for the window at output position `at`; `inside_padded` counts the cells that lie in the
    /// padded input.
    std::int64_t offset(const Dims& at, const Dims& k) const;
};
/// Reads strides, dilations, pads, auto_pad and ceil_mode of the node.
Window window_of(const EvalContext&, const Dims& spatial, Dims kernel);
/// Next index in row-major order; false after the last.
bool advance(Dims& index, const Dims& dims);

}  // namespace sfumato::fusion
