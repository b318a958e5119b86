// SPDX-License-Identifier: Apache-2.0
#include "isa/access.h"

#include <algorithm>
#include <bit>

namespace sfumato::isa {

namespace {

using I = std::int64_t;

Access at(const BoundOperand& o, bool write, I rows, I row_bytes, I pitch) { return {o.space, o.object, write, o.offset, rows, row_bytes, pitch}; }

// An NZ matrix of rows x cols with `pitch` physical rows: one run per fractal column, the last one padded to C0.
Access nz(const BoundOperand& o, bool write, I rows, I cols, I pitch, int c0, int size) {
    return at(o, write, ceil_div(cols, c0), rows * c0 * size, pitch * c0 * size);
}
// Fractals of an L0 tile, dense.
Access fractals(const BoundOperand& o, bool write, I count) { return at(o, write, 1, count * kFractalBytes, 0); }

AccessList of(Op op, const CopyT<I>& c) {
    AccessList out;
    const int size = bytes_of(c.dtype), c0 = fractal_cols(c.dtype);
    if (c.rows <= 0 || c.cols <= 0) return out;
    const Access plain_src = at(c.src, false, c.rows, c.cols * size, c.src_pitch * size);
    switch (op) {
        case Op::mov_gm_l1_nz:
            out.add(plain_src);
            out.add(nz(c.dst, true, c.rows, c.cols, c.dst_pitch, c0, size));
            break;
        case Op::mov_l1_l0a:
        case Op::mov_l1_l0b: {
            out.add(c.transpose ? nz(c.src, false, c.cols, c.rows, c.src_pitch, c0, size) : nz(c.src, false, c.rows, c.cols, c.src_pitch, c0, size));
            const I k = op == Op::mov_l1_l0a ? c.cols : c.rows, other = op == Op::mov_l1_l0a ? c.rows : c.cols;
            out.add(fractals(c.dst, true, ceil_div(k, c0) * ceil_div(other, kFractalRows)));
            break;
        }
        default:
            out.add(plain_src);
            out.add(at(c.dst, true, c.rows, (c.pad ? std::max(c.cols, c.dst_pitch) : c.cols) * size, c.dst_pitch * size));
    }
    return out;
}

AccessList of(Op op, const DrainT<I>& d) {
    AccessList out;
    if (d.rows <= 0 || d.cols <= 0) return out;
    const int dst_size = bytes_of(d.dst_dtype);
    out.add(nz(d.src, false, d.rows, d.cols, d.src_pitch, kFractalRows, bytes_of(d.dtype)));
    if (op == Op::fix_l0c_l1)
        out.add(nz(d.dst, true, d.rows, d.cols, d.dst_pitch, fractal_cols(d.dst_dtype), dst_size));
    else
        out.add(at(d.dst, true, d.rows, d.cols * dst_size, d.dst_pitch * dst_size));
    return out;
}

AccessList of(Op, const CubeT<I>& c) {
    AccessList out;
    if (c.m <= 0 || c.n <= 0 || c.k <= 0) return out;
    const int c0 = fractal_cols(c.dtype);
    const I mf = ceil_div(c.m, kFractalRows), kf = ceil_div(c.k, c0), nf = ceil_div(c.n, kFractalRows);
    const I acc_bytes = mf * nf * kFractalRows * kFractalRows * 4;
    out.add(fractals(c.a, false, mf * kf));
    out.add(fractals(c.b, false, kf * nf));
    if (c.bias.space != Space::none && c.init) out.add(at(c.bias, false, 1, c.n * 4, 0));
    if (!c.init) out.add(at(c.dst, false, 1, acc_bytes, 0));
    out.add(at(c.dst, true, 1, acc_bytes, 0));
    return out;
}

// Lanes enabled in a repeat that has `active` elements, block by block: blocks are `block` strides apart, repeats `repeat` strides.
void add_strided(AccessList& out, const BoundOperand& o, bool write, const VectorShape& s, int size, I lane_bytes, I block, I repeat) {
    if (o.space == Space::none || s.elements <= 0) return;
    const I last = s.elements - (s.repeats - 1) * s.lanes;
    if (block == 1 && repeat * kBlockBytes == lane_bytes && s.lanes * size == lane_bytes) {
        out.add(at(o, write, 1, ((s.repeats - 1) * s.lanes + last) * size, 0));
    } else if (block == 1) {
        const I whole = last == s.lanes ? s.repeats : s.repeats - 1;  // a partial last repeat touches its own lanes only
        out.add(at(o, write, whole, s.lanes * size, repeat * kBlockBytes));
        if (whole == s.repeats) return;
        Access tail = at(o, write, 1, last * size, 0);
        tail.start += whole * repeat * kBlockBytes;
        out.add(tail);
    } else {
        // rectangles that cover every block touched: exact for bounds, conservative for hazards
        const auto add = [&](I first, I repeats, I lanes) {
            const I blocks = ceil_div(lanes * size, kBlockBytes);
            const I run = block == 0 ? std::min<I>(kBlockBytes, lanes * size) : (blocks - 1) * (block - 1) * kBlockBytes + lanes * size;
            Access a = at(o, write, repeats, run, repeat * kBlockBytes);
            a.start += first * repeat * kBlockBytes;
            out.add(a);
        };
        const I whole = last == s.lanes ? s.repeats : s.repeats - 1;
        add(0, whole, s.lanes);
        if (whole < s.repeats) add(whole, 1, last);
    }
}

bool is_reduction(TimingClass t) { return t == TimingClass::v_cadd || t == TimingClass::v_cmax || t == TimingClass::v_cg; }

AccessList of(Op op, const VectorT<I>& v) {
    AccessList out;
    const VectorShape s = vector_shape(v);
    if (s.elements <= 0) return out;
    const InstrDesc& d = desc(op);
    const int src_size = bytes_of(v.dtype), dst_size = bytes_of(v.dst_dtype);
    const I full = kRepeatBytes / std::max(src_size, op == Op::vconv ? dst_size : src_size);
    if (op == Op::vbrcb) {
        out.add(at(v.src0, false, 1, s.repeats * 8 * src_size, 0));
        add_strided(out, v.dst, true, {s.repeats, full, s.repeats * full}, dst_size, kRepeatBytes, v.dst_block, v.dst_repeat);
        return out;
    }
    if (op == Op::vtrans) {
        const I blocks = kFractalRows;
        out.add(at(v.src0, false, s.repeats, ((blocks - 1) * v.src0_block + 1) * kBlockBytes, v.src0_repeat * kBlockBytes));
        out.add(at(v.dst, true, s.repeats, ((blocks - 1) * v.dst_block + 1) * kBlockBytes, v.dst_repeat * kBlockBytes));
        return out;
    }
    add_strided(out, v.src0, false, s, src_size, full * src_size, v.src0_block, v.src0_repeat);
    add_strided(out, v.src1, false, s, src_size, full * src_size, v.src1_block, v.src1_repeat);
    if (op == Op::vcmp) {
        out.add(at(v.dst, true, 1, ceil_div(s.repeats * full, 8), 0));
    } else if (is_reduction(d.timing)) {
        const I last = s.elements - (s.repeats - 1) * s.lanes;  // a block reduction gives eight results a repeat, the last one fewer
        const I results = d.timing == TimingClass::v_cg ? (s.repeats - 1) * 8 + ceil_div(last * src_size, kBlockBytes) : s.repeats;
        out.add(at(v.dst, true, 1, results * dst_size, 0));
    } else {
        if (op == Op::vmla || op == Op::vaxpy) add_strided(out, v.dst, false, s, dst_size, full * dst_size, v.dst_block, v.dst_repeat);
        add_strided(out, v.dst, true, s, dst_size, full * dst_size, v.dst_block, v.dst_repeat);
    }
    return out;
}

AccessList of(Op, const ScalarT<I>&) { return {}; }
AccessList of(Op, const SyncT<I>&) { return {}; }

}  // namespace

VectorShape vector_shape(const VectorT<I>& v) {
    const I lanes = kRepeatBytes / std::max(bytes_of(v.dtype), bytes_of(v.dst_dtype));
    if (v.mode == MaskMode::counter) return {v.count > 0 ? ceil_div(v.count, lanes) : 0, lanes, std::max<I>(v.count, 0)};
    // the highest enabled lane bounds what a repeat touches
    const I top = v.mask_hi ? 128 - std::countl_zero(v.mask_hi) : v.mask_lo ? 64 - std::countl_zero(v.mask_lo) : 0;
    const I active = std::min(top, lanes);
    if (active <= 0 || v.repeats <= 0) return {0, lanes, 0};
    return {v.repeats, active, v.repeats * active};
}

AccessList accesses(const BoundInstr& b) {
    return std::visit([&](const auto& o) { return of(b.instr->op, o); }, b.operands);
}

bool overlaps(const Access& a, const Access& b) {
    if (a.space != b.space || (a.space == Space::gm && a.object != b.object)) return false;
    if (a.end() <= b.start || b.end() <= a.start) return false;
    const bool solid_a = a.rows == 1 || a.pitch <= a.row_bytes, solid_b = b.rows == 1 || b.pitch <= b.row_bytes;
    if (solid_a && solid_b) return true;
    const Access& rows = solid_a ? b : a;  // a strided one
    const Access& other = solid_a ? a : b;
    // walk the rows of the strided side that can meet the other's extent
    const I first = rows.pitch > 0 ? std::max<I>(0, (other.start - rows.start - rows.row_bytes) / rows.pitch) : 0;
    for (I r = first; r < rows.rows; ++r) {
        const I lo = rows.start + r * rows.pitch, hi = lo + rows.row_bytes;
        if (lo >= other.end()) break;
        if (hi <= other.start) continue;
        if (other.rows == 1 || other.pitch <= other.row_bytes) return true;
        const I k = std::max<I>(0, (lo - other.start) / other.pitch);
        for (I j = k; j < other.rows && other.start + j * other.pitch < hi; ++j)
            if (other.start + j * other.pitch + other.row_bytes > lo) return true;
    }
    return false;
}

}  // namespace sfumato::isa
