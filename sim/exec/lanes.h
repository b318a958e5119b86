// SPDX-License-Identifier: Apache-2.0
#pragma once
// The geometry of a vector instruction: which bytes lane l of repeat r of an operand occupies and which lanes do work. Values and the
// uninitialised-read shadow share it.
#include <algorithm>
#include <cstdint>

#include "isa/access.h"

namespace sfumato::sim {

/// Strides of one operand, in 32-byte blocks, and the width of its elements.
struct LaneStrides {
    std::int64_t block = 1, repeat = 8;
    std::int64_t size = 4;
};

class Lanes {
public:
    using I = std::int64_t;
    explicit Lanes(const isa::VectorT<I>& v) : v_(v), shape_(isa::vector_shape(v)) {
        for (I l = 0; l < shape_.lanes && v.mode == isa::MaskMode::normal; ++l) holes_ = holes_ || !bit(l);
    }
    I repeats() const { return shape_.elements > 0 ? shape_.repeats : 0; }
    /// Lanes of repeat r up to the highest that does work.
    I active(I r) const { return std::min(shape_.lanes, shape_.elements - r * shape_.lanes); }
    bool holes() const { return holes_; }  ///< some lane below active() does nothing
    bool enabled(I lane) const { return !holes_ || bit(lane); }

    /// Calls f(byte offset, first lane, lanes) for the runs of contiguous bytes of repeat r; lanes without work inside a run are not split off.
    template <class F>
    static void runs(const LaneStrides& s, I r, I lanes, F&& f) {
        const I start = r * s.repeat * isa::kBlockBytes;
        if (s.block == 1) return f(start, I{0}, lanes);
        const I per_block = isa::kBlockBytes / s.size;
        for (I l = 0; l < lanes; l += per_block) f(start + (l / per_block) * s.block * isa::kBlockBytes, l, std::min(per_block, lanes - l));
    }

private:
    bool bit(I lane) const { return lane < 128 && ((lane < 64 ? v_.mask_lo >> lane : v_.mask_hi >> (lane - 64)) & 1); }
    const isa::VectorT<I>& v_;
    isa::VectorShape shape_;
    bool holes_ = false;
};

}  // namespace sfumato::sim
