// SPDX-License-Identifier: Apache-2.0
// Copies between memories and drains of the accumulator: where each element of a layout goes. Layouts are those of isa/operands.h.
#include <algorithm>
#include <cstring>
#include <vector>

#include "sim/exec/element.h"
#include "sim/exec/ops.h"

namespace sfumato::sim::ops {

namespace {

using isa::Atomic;
using isa::DType;
using isa::kFractalRows;

void add_elements(DType t, const std::byte* src, I count, std::byte* dst) {
    const auto add = [&]<class C>(C) {
        std::vector<C> a(static_cast<std::size_t>(count)), b(a);
        load_elements(t, src, count, a.data());
        load_elements(t, dst, count, b.data());
        for (std::size_t i = 0; i < a.size(); ++i) b[i] += a[i];
        store_elements(t, b.data(), count, dst);
    };
    if (is_float(t)) add(float{});
    else add(I{});
}

void copy_rows(const Site& s, const CopyI& c) {
    if (c.rows <= 0 || c.cols <= 0) return;
    const I size = isa::bytes_of(c.dtype);
    std::byte* dst = s.at(c.dst);
    const std::byte* src = s.at(c.src);
    const std::size_t row = static_cast<std::size_t>(c.cols * size);
    for (I r = 0; r < c.rows; ++r) {
        std::byte* to = dst + r * c.dst_pitch * size;
        const std::byte* from = src + r * c.src_pitch * size;
        if (c.atomic == Atomic::add) add_elements(c.dtype, from, c.cols, to);
        else std::memmove(to, from, row);
        if (c.pad && c.dst_pitch > c.cols) std::memset(to + row, 0, static_cast<std::size_t>((c.dst_pitch - c.cols) * size));
    }
}

/// Fractals of `matrix` (minor x major elements, see below) in L0: fractal index order `outer`, each stored with `c0` of k together. A matrix has
/// `other` rows of m (L0A) or columns of n (L0B), and k along the reduction; both L0 layouts keep k contiguous inside a fractal.
struct FractalLoad {
    I other, k;        ///< valid extents
    bool k_is_column;  ///< in L1, k runs along the columns of the NZ matrix (else along its rows)
    bool k_major;      ///< fractals are ordered k first (L0B), else other first (L0A)
};

template <class T>
void load_fractals(const T* src, T* dst, const FractalLoad& f, I pitch) {
    constexpr I c0 = isa::kBlockBytes / sizeof(T);
    const I kf = isa::ceil_div(f.k, c0), of = isa::ceil_div(f.other, kFractalRows);
    for (I i = 0; i < of; ++i) {
        for (I j = 0; j < kf; ++j) {
            T* box = dst + (f.k_major ? j * of + i : i * kf + j) * kFractalRows * c0;
            const I rows = std::min<I>(kFractalRows, f.other - i * kFractalRows), cols = std::min(c0, f.k - j * c0);
            if (rows < kFractalRows || cols < c0) std::fill(box, box + kFractalRows * c0, T{});
            for (I r = 0; r < rows; ++r) {
                const I o = i * kFractalRows + r;
                if (f.k_is_column) {  // NZ keeps C0 of k together as L0 does
                    std::memcpy(box + r * c0, src + (j * pitch + o) * c0, static_cast<std::size_t>(cols) * sizeof(T));
                } else {
                    const T* column = src + (o / c0) * pitch * c0 + o % c0;
                    for (I q = 0; q < cols; ++q) box[r * c0 + q] = column[(j * c0 + q) * c0];
                }
            }
        }
    }
}

void load_l0(const Site& s, const CopyI& c, const FractalLoad& f) {
    if (c.rows <= 0 || c.cols <= 0) return;
    std::byte *dst = s.at(c.dst), *src = s.at(c.src);
    const auto go = [&]<class T>(T) { load_fractals(reinterpret_cast<const T*>(src), reinterpret_cast<T*>(dst), f, c.src_pitch); };
    switch (isa::bytes_of(c.dtype)) {
        case 1: return go(std::uint8_t{});
        case 2: return go(std::uint16_t{});
        default: return go(std::uint32_t{});
    }
}

/// Row `r` of a drain as `cols` elements of the accumulator type, ReLU applied, handed on as float or integers.
template <class C>
class DrainRows {
public:
    DrainRows(const std::byte* src, const DrainI& d) : src_(src), d_(d), row_(static_cast<std::size_t>(d.cols)) {}
    const C* operator()(I r) {
        for (I c = 0; c < d_.cols; c += kFractalRows) {
            const I count = std::min<I>(kFractalRows, d_.cols - c);
            load_elements(d_.dtype, src_ + (((c / kFractalRows) * d_.src_pitch + r) * kFractalRows) * 4, count, &row_[static_cast<std::size_t>(c)]);
        }
        if (d_.relu)
            for (C& v : row_) v = v < C{} ? C{} : v;  // NaN stays
        if constexpr (std::is_same_v<C, I>)
            for (C& v : row_) v = saturate(d_.dst_dtype, v);
        return row_.data();
    }

private:
    const std::byte* src_;
    const DrainI& d_;
    std::vector<C> row_;
};

template <class C>
void drain_to_rows(const Site& s, const DrainI& d) {
    DrainRows<C> rows(s.at(d.src), d);
    std::byte* dst = s.at(d.dst);
    const I size = isa::bytes_of(d.dst_dtype);
    std::vector<std::byte> converted(static_cast<std::size_t>(d.cols * size));
    for (I r = 0; r < d.rows; ++r) {
        std::byte* to = dst + r * d.dst_pitch * size;
        if (d.atomic == Atomic::add) {
            store_elements(d.dst_dtype, rows(r), d.cols, converted.data());
            add_elements(d.dst_dtype, converted.data(), d.cols, to);
        } else {
            store_elements(d.dst_dtype, rows(r), d.cols, to);
        }
    }
}

template <class C>
void drain_to_nz(const Site& s, const DrainI& d) {
    DrainRows<C> rows(s.at(d.src), d);
    std::byte* dst = s.at(d.dst);
    const I size = isa::bytes_of(d.dst_dtype), c0 = isa::fractal_cols(d.dst_dtype);
    for (I r = 0; r < d.rows; ++r) {
        const C* values = rows(r);
        for (I c = 0; c < d.cols; c += c0) {
            std::byte* to = dst + ((c / c0) * d.dst_pitch + r) * c0 * size;
            const I count = std::min(c0, d.cols - c);
            store_elements(d.dst_dtype, values + c, count, to);
            std::memset(to + count * size, 0, static_cast<std::size_t>((c0 - count) * size));
        }
    }
}

void drain(const Site& s, const DrainI& d, bool nz) {
    if (d.rows <= 0 || d.cols <= 0) return;
    if (is_float(d.dtype)) nz ? drain_to_nz<float>(s, d) : drain_to_rows<float>(s, d);
    else nz ? drain_to_nz<I>(s, d) : drain_to_rows<I>(s, d);
}

}  // namespace

void mov_gm_ub(const Site& s, const CopyI& c) { copy_rows(s, c); }
void mov_gm_l1(const Site& s, const CopyI& c) { copy_rows(s, c); }
void mov_ub_gm(const Site& s, const CopyI& c) { copy_rows(s, c); }
void mov_l1_gm(const Site& s, const CopyI& c) { copy_rows(s, c); }
void mov_ub_l1(const Site& s, const CopyI& c) { copy_rows(s, c); }
void mov_l1_ub(const Site& s, const CopyI& c) { copy_rows(s, c); }
void mov_l1_bt(const Site& s, const CopyI& c) { copy_rows(s, c); }
void mov_l1_fb(const Site& s, const CopyI& c) { copy_rows(s, c); }
void mov_ub_ub(const Site& s, const CopyI& c) { copy_rows(s, c); }

void mov_gm_l1_nz(const Site& s, const CopyI& c) {
    if (c.rows <= 0 || c.cols <= 0) return;
    const I size = isa::bytes_of(c.dtype), c0 = isa::fractal_cols(c.dtype);
    std::byte* dst = s.at(c.dst);
    const std::byte* src = s.at(c.src);
    for (I r = 0; r < c.rows; ++r) {
        for (I k = 0; k < c.cols; k += c0) {
            std::byte* to = dst + ((k / c0) * c.dst_pitch + r) * isa::kBlockBytes;
            const std::byte* from = src + (r * c.src_pitch + k) * size;
            if (k + c0 <= c.cols) {
                std::memcpy(to, from, isa::kBlockBytes);
            } else {
                std::memset(to, 0, isa::kBlockBytes);
                std::memcpy(to, from, static_cast<std::size_t>((c.cols - k) * size));
            }
        }
    }
}

// A is rows = m by cols = k, B is rows = k by cols = n; a transposed source has rows and columns exchanged.
void mov_l1_l0a(const Site& s, const CopyI& c) { load_l0(s, c, {c.rows, c.cols, !c.transpose, false}); }
void mov_l1_l0b(const Site& s, const CopyI& c) { load_l0(s, c, {c.cols, c.rows, c.transpose, true}); }

void fix_l0c_gm(const Site& s, const DrainI& d) { drain(s, d, false); }
void fix_l0c_l1(const Site& s, const DrainI& d) { drain(s, d, true); }
void mov_l0c_ub(const Site& s, const DrainI& d) { drain(s, d, false); }

}  // namespace sfumato::sim::ops
