// SPDX-License-Identifier: Apache-2.0
// Vector instructions that move, compare, select and reduce elements.
#include <limits>

#include "sim/exec/vector_access.h"

namespace sfumato::sim::ops {

namespace {

/// Lanes of a full repeat, whatever the mask says: positions of compare bits count in these.
I full_lanes(const VectorI& v) { return isa::kRepeatBytes / isa::bytes_of(v.dtype); }

/// Folds the working lanes of each repeat in groups of `group` lanes; group g of repeat r becomes element r * groups + g of a dense
/// destination. Sums of 16-bit floats are kept in float until the end.
template <class F>
void reduce(const Site& s, const VectorI& v, I group, F&& f) {
    const Lanes lanes(v);
    const VectorSide a = src0_side(s, v);
    const I groups = full_lanes(v) / group, size = isa::bytes_of(v.dst_dtype);
    std::byte* dst = s.at(v.dst);
    with_compute(v.dtype, [&]<class C>(C) {
        LaneBuffer<C> x;
        for (I r = 0; r < lanes.repeats(); ++r) {
            const I n = lanes.active(r);
            a.read(r, n, x.data());
            for (I g = 0; g * group < n; ++g) {
                bool any = false;
                C value{};
                for (I l = g * group; l < std::min(n, (g + 1) * group); ++l) {
                    if (!lanes.enabled(l)) continue;
                    value = any ? f(value, x[l]) : x[l];
                    any = true;
                }
                if (any) store_elements(v.dst_dtype, &value, 1, dst + (r * groups + g) * size);
            }
        }
    });
}
template <class F>
void reduce_repeats(const Site& s, const VectorI& v, F&& f) {
    if (isa::vector_shape(v).elements > 0) reduce(s, v, full_lanes(v), f);
}
template <class F>
void reduce_blocks(const Site& s, const VectorI& v, F&& f) {
    if (isa::vector_shape(v).elements > 0) reduce(s, v, isa::fractal_cols(v.dtype), f);
}

/// The unsigned type of the same width: moves must not touch the bits of a NaN.
isa::DType raw(isa::DType t) { return isa::bytes_of(t) == 4 ? isa::DType::u32 : isa::bytes_of(t) == 2 ? isa::DType::u16 : isa::DType::u8; }

}  // namespace

void vcadd(const Site& s, const VectorI& v) { reduce_repeats(s, v, [](auto a, auto b) { return a + b; }); }
void vcmax(const Site& s, const VectorI& v) { reduce_repeats(s, v, [](auto a, auto b) { return larger(a, b); }); }
void vcmin(const Site& s, const VectorI& v) { reduce_repeats(s, v, [](auto a, auto b) { return smaller(a, b); }); }
void vcgadd(const Site& s, const VectorI& v) { reduce_blocks(s, v, [](auto a, auto b) { return a + b; }); }
void vcgmax(const Site& s, const VectorI& v) { reduce_blocks(s, v, [](auto a, auto b) { return larger(a, b); }); }
void vcgmin(const Site& s, const VectorI& v) { reduce_blocks(s, v, [](auto a, auto b) { return smaller(a, b); }); }

void vcopy(const Site& s, const VectorI& v) {
    const Lanes lanes(v);
    const VectorSide a = side(s, v.src0, raw(v.dtype), v.src0_block, v.src0_repeat), d = side(s, v.dst, raw(v.dtype), v.dst_block, v.dst_repeat);
    LaneBuffer<I> x;
    for (I r = 0; r < lanes.repeats(); ++r) {
        a.read(r, lanes.active(r), x.data());
        d.write(lanes, r, lanes.active(r), x.data());
    }
}

void vdup(const Site& s, const VectorI& v) {
    const Lanes lanes(v);
    const VectorSide d = dst_side(s, v);
    with_compute(v.dst_dtype, [&]<class C>(C) {
        LaneBuffer<C> x;
        x.fill(static_cast<C>(round_scalar(v.dst_dtype, v.scalar)));
        for (I r = 0; r < lanes.repeats(); ++r) d.write(lanes, r, lanes.active(r), x.data());
    });
}

void vcmp(const Site& s, const VectorI& v) {
    const Lanes lanes(v);
    if (lanes.repeats() == 0) return;
    const VectorSide a = src0_side(s, v), b = src1_side(s, v);
    const I full = full_lanes(v);
    auto& mask = s.machine.core(s.core).compare_mask;
    mask.assign(static_cast<std::size_t>(lanes.repeats() * full), 0);
    with_compute(v.dtype, [&]<class C>(C) {
        LaneBuffer<C> x, y;
        for (I r = 0; r < lanes.repeats(); ++r) {
            const I n = lanes.active(r);
            a.read(r, n, x.data());
            b.read(r, n, y.data());
            for (I l = 0; l < n; ++l) mask[static_cast<std::size_t>(r * full + l)] = lanes.enabled(l) && x[l] < y[l];
        }
    });
    std::byte* dst = s.at(v.dst);
    for (std::size_t i = 0; i < mask.size(); i += 8) {
        unsigned bits = 0;
        for (std::size_t j = 0; j < 8; ++j) bits |= static_cast<unsigned>(mask[i + j]) << j;
        dst[i / 8] = static_cast<std::byte>(bits);
    }
}

void vsel(const Site& s, const VectorI& v) {
    const Lanes lanes(v);
    const VectorSide a = side(s, v.src0, raw(v.dtype), v.src0_block, v.src0_repeat), b = side(s, v.src1, raw(v.dtype), v.src1_block, v.src1_repeat),
                     d = side(s, v.dst, raw(v.dtype), v.dst_block, v.dst_repeat);
    const auto& mask = s.machine.core(s.core).compare_mask;
    const I full = full_lanes(v);
    LaneBuffer<I> x, y;
    for (I r = 0; r < lanes.repeats(); ++r) {
        const I n = lanes.active(r);
        a.read(r, n, x.data());
        b.read(r, n, y.data());
        for (I l = 0; l < n; ++l) {
            const std::size_t i = static_cast<std::size_t>(r * full + l);
            if (i >= mask.size() || !mask[i]) x[l] = y[l];
        }
        d.write(lanes, r, n, x.data());
    }
}

void vbrcb(const Site& s, const VectorI& v) {
    const I repeats = isa::vector_shape(v).elements > 0 ? isa::vector_shape(v).repeats : 0;
    const I size = isa::bytes_of(v.dtype);
    for (I i = 0; i < repeats * 8; ++i) {
        const std::byte* from = s.at(v.src0) + i * size;
        std::byte* block = s.at(v.dst) + ((i / 8) * v.dst_repeat + (i % 8) * v.dst_block) * isa::kBlockBytes;
        for (I o = 0; o < isa::kBlockBytes; o += size) std::memmove(block + o, from, static_cast<std::size_t>(size));
    }
}

void vtrans(const Site& s, const VectorI& v) {
    const I repeats = isa::vector_shape(v).elements > 0 ? isa::vector_shape(v).repeats : 0;
    const I size = isa::bytes_of(v.dtype), columns = isa::kBlockBytes / size, rows = isa::kFractalRows;
    for (I r = 0; r < repeats; ++r) {
        std::array<std::byte, isa::kFractalBytes> out;
        for (I i = 0; i < rows; ++i)
            for (I j = 0; j < columns; ++j)
                std::memcpy(&out[static_cast<std::size_t>((j * rows + i) * size)],
                            s.at(v.src0) + (r * v.src0_repeat + i * v.src0_block) * isa::kBlockBytes + j * size, static_cast<std::size_t>(size));
        for (I b = 0; b < rows; ++b)
            std::memcpy(s.at(v.dst) + (r * v.dst_repeat + b * v.dst_block) * isa::kBlockBytes, &out[static_cast<std::size_t>(b * isa::kBlockBytes)],
                        isa::kBlockBytes);
    }
}

}  // namespace sfumato::sim::ops
