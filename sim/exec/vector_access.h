// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operands of vector instructions as rows of numbers, one repeat at a time: repeats take effect in order, so an instruction that folds into its
// own destination (repeat stride 0) works as on hardware.
#include <array>
#include <cstring>

#include "sim/exec/element.h"
#include "sim/exec/lanes.h"
#include "sim/exec/ops.h"

namespace sfumato::sim::ops {

inline constexpr std::size_t kMaxLanes = 256;
template <class C>
using LaneBuffer = std::array<C, kMaxLanes>;

struct VectorSide {
    std::byte* base = nullptr;
    isa::DType type = isa::DType::f32;
    LaneStrides strides;

    template <class C>
    void read(I r, I lanes, C* to) const {
        Lanes::runs(strides, r, lanes, [&](I offset, I first, I count) { load_elements(type, base + offset, count, to + first); });
    }
    /// Stores the lanes that do work.
    template <class C>
    void write(const Lanes& which, I r, I lanes, const C* from) const {
        Lanes::runs(strides, r, lanes, [&](I offset, I first, I count) {
            if (!which.holes()) return store_elements(type, from + first, count, base + offset);
            for (I l = 0; l < count; ++l)
                if (which.enabled(first + l)) store_elements(type, from + first + l, 1, base + offset + l * strides.size);
        });
    }
};

inline VectorSide side(const Site& s, const isa::BoundOperand& o, isa::DType t, I block, I repeat) {
    return {o.space == isa::Space::none ? nullptr : s.at(o), t, {block, repeat, isa::bytes_of(t)}};
}
inline VectorSide dst_side(const Site& s, const VectorI& v) { return side(s, v.dst, v.dst_dtype, v.dst_block, v.dst_repeat); }
inline VectorSide src0_side(const Site& s, const VectorI& v) { return side(s, v.src0, v.dtype, v.src0_block, v.src0_repeat); }
inline VectorSide src1_side(const Site& s, const VectorI& v) { return side(s, v.src1, v.dtype, v.src1_block, v.src1_repeat); }

/// Calls f(C{}) with the type that elements of `t` are computed in.
template <class F>
void with_compute(isa::DType t, F&& f) {
    if (is_float(t)) f(float{});
    else f(I{});
}

/// The larger or smaller of two values; NaN wins, so that a poisoned operand shows.
template <class C>
C larger(C a, C b) {
    return a != a ? a : b != b ? b : a < b ? b : a;
}
template <class C>
C smaller(C a, C b) {
    return a != a ? a : b != b ? b : b < a ? b : a;
}

}  // namespace sfumato::sim::ops
