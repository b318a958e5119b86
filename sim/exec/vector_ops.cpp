// SPDX-License-Identifier: Apache-2.0
// Element-wise vector instructions: read in the compute type, apply, round once to the destination type.
#include <cmath>
#include <type_traits>

#include "sim/exec/vector_access.h"

namespace sfumato::sim::ops {

namespace {

/// dst = f(src0, src1)
template <class F>
void binary(const Site& s, const VectorI& v, F&& f) {
    const Lanes lanes(v);
    const VectorSide a = src0_side(s, v), b = src1_side(s, v), d = dst_side(s, v);
    with_compute(v.dtype, [&]<class C>(C) {
        LaneBuffer<C> x, y;
        for (I r = 0; r < lanes.repeats(); ++r) {
            const I n = lanes.active(r);
            a.read(r, n, x.data());
            b.read(r, n, y.data());
            for (I l = 0; l < n; ++l) x[l] = f(x[l], y[l]);
            d.write(lanes, r, n, x.data());
        }
    });
}

/// dst = f(src0, scalar), the scalar rounded to the element type first
template <class F>
void unary(const Site& s, const VectorI& v, F&& f) {
    const Lanes lanes(v);
    const VectorSide a = src0_side(s, v), d = dst_side(s, v);
    with_compute(v.dtype, [&]<class C>(C) {
        const C scalar = static_cast<C>(round_scalar(v.dtype, v.scalar));
        LaneBuffer<C> x;
        for (I r = 0; r < lanes.repeats(); ++r) {
            const I n = lanes.active(r);
            a.read(r, n, x.data());
            for (I l = 0; l < n; ++l) x[l] = f(x[l], scalar);
            d.write(lanes, r, n, x.data());
        }
    });
}

/// The same for operations that exist on floats only.
template <class F>
void unary_float(const Site& s, const VectorI& v, F&& f) {
    isa::check(is_float(v.dtype), "a float operation on an integer type passed the verifier");
    unary(s, v, [&]<class C>(C x, C scalar) -> C {
        if constexpr (std::is_floating_point_v<C>) return f(x, scalar);
        else return x;
    });
}

/// dst = f(dst, src0, src1 or scalar)
template <class F>
void accumulate(const Site& s, const VectorI& v, bool scalar_operand, F&& f) {
    const Lanes lanes(v);
    const VectorSide a = src0_side(s, v), b = src1_side(s, v), d = dst_side(s, v);
    with_compute(v.dtype, [&]<class C>(C) {
        LaneBuffer<C> x, y, z;
        y.fill(static_cast<C>(round_scalar(v.dtype, v.scalar)));
        for (I r = 0; r < lanes.repeats(); ++r) {
            const I n = lanes.active(r);
            a.read(r, n, x.data());
            if (!scalar_operand) b.read(r, n, y.data());
            d.read(r, n, z.data());
            for (I l = 0; l < n; ++l) z[l] = f(z[l], x[l], y[l]);
            d.write(lanes, r, n, z.data());
        }
    });
}

}  // namespace

void vadd(const Site& s, const VectorI& v) { binary(s, v, [](auto a, auto b) { return a + b; }); }
void vsub(const Site& s, const VectorI& v) { binary(s, v, [](auto a, auto b) { return a - b; }); }
void vmul(const Site& s, const VectorI& v) { binary(s, v, [](auto a, auto b) { return a * b; }); }
void vdiv(const Site& s, const VectorI& v) {
    binary(s, v, []<class C>(C a, C b) -> C { return std::is_integral_v<C> && b == C{} ? C{} : a / b; });
}
void vmax(const Site& s, const VectorI& v) { binary(s, v, [](auto a, auto b) { return larger(a, b); }); }
void vmin(const Site& s, const VectorI& v) { binary(s, v, [](auto a, auto b) { return smaller(a, b); }); }
void vand(const Site& s, const VectorI& v) {
    binary(s, v, []<class C>(C a, C b) -> C { return static_cast<C>(static_cast<I>(a) & static_cast<I>(b)); });
}
void vor(const Site& s, const VectorI& v) {
    binary(s, v, []<class C>(C a, C b) -> C { return static_cast<C>(static_cast<I>(a) | static_cast<I>(b)); });
}
void vmla(const Site& s, const VectorI& v) { accumulate(s, v, false, [](auto d, auto a, auto b) { return d + a * b; }); }
void vaxpy(const Site& s, const VectorI& v) { accumulate(s, v, true, [](auto d, auto a, auto b) { return d + b * a; }); }

void vadds(const Site& s, const VectorI& v) { unary(s, v, [](auto x, auto c) { return x + c; }); }
void vmuls(const Site& s, const VectorI& v) { unary(s, v, [](auto x, auto c) { return x * c; }); }
void vmaxs(const Site& s, const VectorI& v) { unary(s, v, [](auto x, auto c) { return larger(x, c); }); }
void vmins(const Site& s, const VectorI& v) { unary(s, v, [](auto x, auto c) { return smaller(x, c); }); }
void vlrelu(const Site& s, const VectorI& v) { unary(s, v, [](auto x, auto c) { return x > 0 ? x : c * x; }); }
void vabs(const Site& s, const VectorI& v) { unary_float(s, v, [](float x, float) { return std::fabs(x); }); }
void vrelu(const Site& s, const VectorI& v) { unary(s, v, []<class C>(C x, C) { return larger(x, C{}); }); }
void vexp(const Site& s, const VectorI& v) { unary_float(s, v, [](float x, float) { return std::exp(x); }); }
void vln(const Site& s, const VectorI& v) { unary_float(s, v, [](float x, float) { return std::log(x); }); }
void vsqrt(const Site& s, const VectorI& v) { unary_float(s, v, [](float x, float) { return std::sqrt(x); }); }
void vrsqrt(const Site& s, const VectorI& v) { unary_float(s, v, [](float x, float) { return 1.0f / std::sqrt(x); }); }
void vrec(const Site& s, const VectorI& v) { unary_float(s, v, [](float x, float) { return 1.0f / x; }); }
void vnot(const Site& s, const VectorI& v) {
    unary(s, v, []<class C>(C x, C) -> C { return static_cast<C>(~static_cast<I>(x)); });
}

void vconv(const Site& s, const VectorI& v) {
    const Lanes lanes(v);
    const VectorSide a = src0_side(s, v), d = dst_side(s, v);
    with_compute(v.dtype, [&]<class C>(C) {
        LaneBuffer<C> x;
        for (I r = 0; r < lanes.repeats(); ++r) {
            const I n = lanes.active(r);
            a.read(r, n, x.data());
            if constexpr (std::is_same_v<C, I>)
                for (I l = 0; l < n; ++l) x[l] = saturate(v.dst_dtype, x[l]);
            d.write(lanes, r, n, x.data());
        }
    });
}

}  // namespace sfumato::sim::ops
