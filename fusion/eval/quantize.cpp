// SPDX-License-Identifier: Apache-2.0
// Quantised operators: exact integer sums, one rounding (halves to even) and saturation at the end.
#include <algorithm>
#include <cmath>

#include "fusion/eval/contraction.h"
#include "fusion/eval/loops.h"
#include "fusion/rules.h"

namespace sfumato::fusion {

namespace {

// A scale or zero point, per tensor, per axis or per block of an axis, as strides over the tensor it belongs to.
struct Spread {
    Tensor values;
    Dims strides;
};
Spread spread(const EvalContext& c, Tensor t, const Dims& over, std::int64_t axis, std::int64_t block) {
    if (t.size() == 1 && block == 0) return {std::move(t), Dims(over.size(), 0)};
    if (block > 0) {
        require(c, t.rank() == static_cast<int>(over.size()), "a scale per block has the rank of its tensor");
        const auto a = static_cast<std::size_t>(axis_of(c, axis, t.rank()));
        require(c, t.dims[a] * block >= over[a], "block_size " + std::to_string(block) + " with " + std::to_string(t.dims[a]) + " scales does not cover axis " + std::to_string(a));
        Dims dims = t.dims, strides = strides_of(t.dims);
        dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(a) + 1, block);
        strides.insert(strides.begin() + static_cast<std::ptrdiff_t>(a) + 1, 0);
        Tensor wide = materialised(t, dims, strides);
        Dims merged = t.dims;
        merged[a] *= block;
        wide.dims = merged;
        Dims own = strides_of(merged);
        return {std::move(wide), std::move(own)};
    }
    axis = axis_of(c, axis, static_cast<std::int64_t>(over.size()));
    require(c, t.rank() == 1 && t.size() == over[static_cast<std::size_t>(axis)],
            "a scale or zero point of shape " + text(t.dims) + " does not fit axis " + std::to_string(axis) + " of " + text(over));
    Dims strides(over.size(), 0);
    strides[static_cast<std::size_t>(axis)] = 1;
    return {std::move(t), std::move(strides)};
}

std::int64_t rounded(double x, std::int64_t zero, ElemType type) {
    if (std::isnan(x)) return zero;
    return saturated(truncated(std::nearbyint(std::clamp(x, -1e15, 1e15))) + zero, type);
}

/// y = saturate(round(x / scale) + zero point), all as double.
Tensor quantized(const EvalContext& c, const Tensor& x, const Tensor& scale, const Tensor& zero, std::int64_t axis, std::int64_t block = 0) {
    Tensor out = blank(c, zero.type, x.dims);
    const Spread s = spread(c, converted(c, scale, ElemType::f64), x.dims, axis, block), z = spread(c, zero, x.dims, axis, block);
    std::int64_t* to = data<std::int64_t>(out);
    floating(c, x, [&](auto t) {
        using T = decltype(t);  // the quotient in the input's own precision, as the formula says
        const T* from = data<T>(x);
        const double* by = data<double>(s.values);
        const std::int64_t* plus = data<std::int64_t>(z.values);
        each<3>(x.dims, {strides_of(x.dims), s.strides, z.strides},
                [&](const auto& at) { *to++ = rounded(static_cast<double>(from[at[0]] / static_cast<T>(by[at[1]])), plus[at[2]], out.type); });
    });
    return out;
}

/// x - zero point, as 64-bit integers; without a zero point x itself.
Tensor centred(const EvalContext& c, const Tensor& x, std::size_t zero_input, std::int64_t axis) {
    Tensor out = blank(c, ElemType::i64, x.dims);
    if (!c.has(zero_input)) {
        out.data = x.data;
        return out;
    }
    const Spread z = spread(c, c.in(zero_input), x.dims, axis, 0);
    const std::int64_t *from = data<std::int64_t>(x), *minus = data<std::int64_t>(z.values);
    std::int64_t* to = data<std::int64_t>(out);
    each<2>(x.dims, {strides_of(x.dims), z.strides}, [&](const auto& at) { *to++ = from[at[0]] - minus[at[1]]; });
    return out;
}

Tensor zero_of(const EvalContext& c, std::size_t input, ElemType fallback, const Dims& dims) { return c.has(input) ? c.in(input) : blank(c, fallback, dims); }

/// saturate(round(sum * a_scale * b_scale / y_scale) + y_zero); the b scale may stand per index of `axis`.
Tensor requantized(const EvalContext& c, const Tensor& sum, std::size_t a_scale, std::size_t b_scale, std::size_t y_scale, std::int64_t a_axis, std::int64_t b_axis) {
    const Spread a = spread(c, converted(c, c.in(a_scale), ElemType::f64), sum.dims, a_axis, 0), b = spread(c, converted(c, c.in(b_scale), ElemType::f64), sum.dims, b_axis, 0);
    const double y = scalar_of(c, y_scale);
    const std::int64_t zero = integer_of(c, y_scale + 1);
    Tensor out = blank(c, c.in(y_scale + 1).type, sum.dims);
    const std::int64_t* from = data<std::int64_t>(sum);
    std::int64_t* to = data<std::int64_t>(out);
    each<3>(sum.dims, {strides_of(sum.dims), a.strides, b.strides}, [&](const auto& at) {
        const double factor = data<double>(a.values)[at[1]] * data<double>(b.values)[at[2]] / y;
        *to++ = rounded(static_cast<double>(from[at[0]]) * factor, zero, out.type);
    });
    return out;
}

}  // namespace

void eval_quantize(EvalContext& c) {
    const Tensor &x = c.in(0), &scale = c.in(1);
    const std::int64_t axis = c.node.integer("axis", 1), block = c.node.integer("block_size", 0);
    if (c.node.op == Op::QuantizeLinear) {
        const auto type = type_of(c, c.node.integer("output_dtype", static_cast<std::int64_t>(ElemType::u8)));
        const Tensor wide = is_float(x.type) ? x : converted(c, x, ElemType::f32);
        return c.set(0, quantized(c, wide, scale, zero_of(c, 2, type, scale.dims), axis, block));
    }
    Tensor out = blank(c, scale.type, x.dims);
    const Spread s = spread(c, scale, x.dims, axis, block), z = spread(c, zero_of(c, 2, x.type, scale.dims), x.dims, axis, block);
    floating(c, out, [&](auto t) {
        using T = decltype(t);
        T* to = data<T>(out);
        const std::int64_t *from = data<std::int64_t>(x), *minus = data<std::int64_t>(z.values);
        each<3>(x.dims, {strides_of(x.dims), s.strides, z.strides},
                [&](const auto& at) { *to++ = static_cast<T>(from[at[0]] - minus[at[2]]) * data<T>(s.values)[at[1]]; });
    });
    c.set(0, std::move(out));
}

void eval_dynamic_quantize(EvalContext& c) {
    const Tensor& x = c.in(0);
    double low = 0, high = 0;  // the range always holds 0
    for (std::int64_t i = 0; i < x.size(); ++i) {
        low = std::min(low, x.number(i));
        high = std::max(high, x.number(i));
    }
    Tensor scale = blank(c, ElemType::f32, {}), zero = blank(c, ElemType::u8, {});
    floating(c, scale, [&](auto t) { *data<decltype(t)>(scale) = static_cast<decltype(t)>((high - low) / 255); });
    const double step = scale.number(0) == 0 ? 1 : scale.number(0);
    *data<std::int64_t>(zero) = rounded(-low / step, 0, ElemType::u8);
    if (scale.number(0) == 0)
        c.set(0, blank(c, ElemType::u8, x.dims));
    else
        c.set(0, quantized(c, x, scale, zero, 0));
    c.set(1, std::move(scale));
    c.set(2, std::move(zero));
}

void eval_matmul_integer(EvalContext& c) {
    // a zero point of a may stand per row, of b per column
    Tensor out = matmul(c, centred(c, c.in(0), 2, -2), centred(c, c.in(1), 3, -1));
    out.type = ElemType::i32;
    c.set(0, std::move(out));
}

void eval_qlinear_matmul(EvalContext& c) {
    const Tensor sum = matmul(c, centred(c, c.in(0), 2, -2), centred(c, c.in(3), 5, -1));
    c.set(0, requantized(c, sum, 1, 4, 6, -2, -1));
}

void eval_conv_integer(EvalContext& c) {
    Tensor out = convolved(c, centred(c, c.in(0), 2, 1), centred(c, c.in(1), 3, 0));
    out.type = ElemType::i32;
    c.set(0, std::move(out));
}

void eval_qlinear_conv(EvalContext& c) {
    Tensor sum = convolved(c, centred(c, c.in(0), 2, 1), centred(c, c.in(3), 5, 0));
    if (c.has(8)) sum = with_channel_bias(c, std::move(sum), c.in(8));
    c.set(0, requantized(c, sum, 1, 4, 6, 1, 1));
}

}  // namespace sfumato::fusion
