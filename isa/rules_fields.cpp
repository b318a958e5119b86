// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "isa/fields.h"
#include "isa/rules.h"

namespace sfumato::isa::rules {

namespace {

using I = std::int64_t;
I least(I v) { return v; }
I greatest(I v) { return v; }
I least(Interval v) { return v.lo; }
I greatest(Interval v) { return v.hi; }
bool exactly(I v, I x) { return v == x; }
bool exactly(Interval v, I x) { return v.lo == x && v.hi == x; }
bool known(I) { return true; }
bool known(Interval v) { return v.lo == v.hi; }

std::string show(I v) { return std::to_string(v); }
std::string show(Interval v) {
    if (v.lo == v.hi) return std::to_string(v.lo);
    return v.hi == std::numeric_limits<I>::max() ? "at least " + std::to_string(v.lo) : std::to_string(v.lo) + " to " + std::to_string(v.hi);
}

template <class E>
void within(const Context& c, E v, I lo, I hi, const char* field, const char* remedy) {
    if (least(v) <= hi && greatest(v) >= lo) return;
    c.fail(Code::range, std::string(field) + " is " + show(v) + ", allowed is " + std::to_string(lo) + " to " + std::to_string(hi) + "; " + remedy);
}

// Sizes below zero come from a tail that was not clamped.
template <class E>
bool not_negative(const Context& c, E v, const char* field) {
    if (greatest(v) >= 0) return true;
    c.fail(Code::range, std::string(field) + " is " + show(v) + ", a negative size; clamp the extent at 0, for example max(0, ...)");
    return false;
}

/// Bytes of v elements, saturating so that absurd counts stay absurd.
I times(I v, I factor) { return v > std::numeric_limits<I>::max() / factor ? std::numeric_limits<I>::max() : v * factor; }

template <class E>
void nz_pitch(const Context& c, E pitch, E rows, E cols, I fractal, const char* field) {
    if (known(pitch) && least(pitch) % kFractalRows != 0)
        c.fail(Code::alignment, std::string(field) + " is " + show(pitch) + " rows, a pitch of an NZ matrix is a multiple of 16 rows; use " +
                                    std::to_string(round_up(std::max<I>(0, least(pitch)), kFractalRows)));
    if (least(cols) > fractal && greatest(pitch) < least(rows))
        c.fail(Code::shape,
               std::string(field) + " is " + show(pitch) + " but the matrix has " + show(rows) + " rows; the pitch is the number of physical rows");
}

// Rows of a plain copy on one side.
template <class E>
void row_side(const Context& c, Space space, DType t, E pitch, E rows, E cols, const char* field) {
    if (least(rows) <= 1) return;
    const I size = bytes_of(t);
    if (greatest(pitch) < least(cols)) {
        c.fail(Code::shape, std::string(field) + " is " + show(pitch) + " elements but a row has " + show(cols) +
                                "; rows cannot overlap, the pitch is at least the row length");
        return;
    }
    if (least(pitch) > greatest(cols)) {
        const I gap = times(least(pitch) - greatest(cols), size), limit = space == Space::gm ? kMaxGmGapBytes : kMaxCopyGapBytes;
        if (gap > limit)
            c.fail(Code::range, std::string(field) + " leaves a gap of " + std::to_string(gap) + " bytes between rows, allowed is 0 to " +
                                    std::to_string(limit) + "; copy row by row");
    }
    if (space != Space::gm && known(pitch) && least(pitch) * size % kBlockBytes != 0)
        c.fail(Code::alignment, std::string(field) + " is " + show(pitch) + " elements (" + std::to_string(least(pitch) * size) +
                                    " bytes), rows in " + std::string(name(space)) + " start at multiples of 32 bytes; use a pitch of " +
                                    std::to_string(round_up(least(pitch), kBlockBytes / size)) + " elements");
}

template <class E>
void check(const Context& c, const CopyT<E>& o) {
    if (!not_negative(c, o.rows, "rows") || !not_negative(c, o.cols, "cols")) return;
    if (greatest(o.rows) <= 0 || greatest(o.cols) <= 0) return;
    if (!not_negative(c, o.dst_pitch, "dst_pitch") || !not_negative(c, o.src_pitch, "src_pitch")) return;
    const Op op = c.instr.op;
    const I c0 = fractal_cols(o.dtype);
    if (op == Op::mov_gm_l1_nz) {
        within(c, o.rows, 0, kMaxNzRows, "rows", "copy the matrix in pieces");
        within(c, o.cols, 0, kMaxNzCols, "cols", "copy the matrix in pieces");
        within(c, o.src_pitch, 0, kMaxNzSourcePitch, "src_pitch", "copy the matrix row by row");
        within(c, o.dst_pitch, 0, kMaxNzDestPitch, "dst_pitch", "use a smaller tile in L1");
        nz_pitch(c, o.dst_pitch, o.rows, o.cols, c0, "dst_pitch");
        if (least(o.rows) > 1 && greatest(o.src_pitch) < least(o.cols))
            c.fail(Code::shape,
                   "src_pitch is " + show(o.src_pitch) + " elements but a row has " + show(o.cols) + "; the pitch is at least the row length");
    } else if (op == Op::mov_l1_l0a || op == Op::mov_l1_l0b) {
        const I fractals = ceil_div(std::max<I>(0, least(o.cols)), op == Op::mov_l1_l0a ? c0 : kFractalRows);
        if (fractals > kMaxLoadRepeats)
            c.fail(Code::range, "cols is " + show(o.cols) + ", which takes " + std::to_string(fractals) + " fractals in a run, allowed is 0 to " +
                                    std::to_string(kMaxLoadRepeats) + "; load fewer columns at once");
        if (ceil_div(std::max<I>(0, least(o.src_pitch)), kFractalRows) > kMaxLoadStride)
            c.fail(Code::range, "src_pitch is " + show(o.src_pitch) + " rows, allowed is 0 to " + std::to_string(kMaxLoadStride * kFractalRows) +
                                    "; use a smaller tile in L1");
        nz_pitch(c, o.src_pitch, o.transpose ? o.cols : o.rows, o.transpose ? o.rows : o.cols, c0, "src_pitch");
    } else {
        within(c, o.rows, 0, kMaxCopyRows, "rows", "copy the rows in pieces");
        if (const I bytes = times(std::max<I>(0, least(o.cols)), bytes_of(o.dtype)); bytes > kMaxCopyRowBytes)
            c.fail(Code::range,
                   "a row has " + std::to_string(bytes) + " bytes, allowed is 0 to " + std::to_string(kMaxCopyRowBytes) + "; copy the row in pieces");
        row_side(c, o.dst.space, o.dtype, o.dst_pitch, o.rows, o.cols, "dst_pitch");
        row_side(c, o.src.space, o.dtype, o.src_pitch, o.rows, o.cols, "src_pitch");
    }
}

template <class E>
void check(const Context& c, const DrainT<E>& o) {
    if (!not_negative(c, o.rows, "rows") || !not_negative(c, o.cols, "cols")) return;
    if (greatest(o.rows) <= 0 || greatest(o.cols) <= 0) return;
    if (!not_negative(c, o.dst_pitch, "dst_pitch") || !not_negative(c, o.src_pitch, "src_pitch")) return;
    const bool nz = c.instr.op == Op::fix_l0c_l1;
    within(c, o.rows, 0, nz ? kMaxDrainRowsNz : kMaxDrainRowsNd, "rows", "drain the tile in pieces");
    const I cols = nz ? round_up(std::max<I>(0, least(o.cols)), kFractalRows) : least(o.cols);
    if (cols > kMaxDrainCols)
        c.fail(Code::range, "cols is " + show(o.cols) + (nz ? " (" + std::to_string(cols) + " in whole fractals)" : "") + ", allowed is 0 to " +
                                std::to_string(kMaxDrainCols) + "; drain the tile in pieces");
    nz_pitch(c, o.src_pitch, o.rows, o.cols, kFractalRows, "src_pitch");
    if (nz)
        nz_pitch(c, o.dst_pitch, o.rows, o.cols, fractal_cols(o.dst_dtype), "dst_pitch");
    else
        row_side(c, o.dst.space, o.dst_dtype, o.dst_pitch, o.rows, o.cols, "dst_pitch");
}

template <class E>
void check(const Context& c, const CubeT<E>& o) {
    if (!not_negative(c, o.m, "m") || !not_negative(c, o.k, "k") || !not_negative(c, o.n, "n")) return;
    within(c, o.m, 0, kMaxMmad, "m", "split the tile");
    within(c, o.k, 0, kMaxMmad, "k", "accumulate over several instructions");
    within(c, o.n, 0, kMaxMmad, "n", "split the tile");
    within(c, o.init, 0, 1, "init", "1 starts a sum, 0 continues it");
}

template <class E>
void check(const Context& c, const VectorT<E>& o) {
    const bool normal = o.mode == MaskMode::normal, two = reads_two_sources(c.instr.op);
    const E& work = normal ? o.repeats : o.count;
    if (!not_negative(c, work, normal ? "repeats" : "count") || greatest(work) <= 0) return;
    if (normal) {
        within(c, o.repeats, 0, kMaxRepeats, "repeats", "use a second instruction or mask mode counter");
        if (std::max(bytes_of(o.dtype), bytes_of(o.dst_dtype)) == 4 && o.mask_hi != 0)
            c.fail(Code::range, "mask_hi is not 0, but a repeat of a 32-bit type has 64 lanes; only mask_lo selects lanes");
    } else {
        within(c, o.count, 0, kMaxCount, "count", "split the work");
    }
    const I block = two ? kMaxBlockStrideBinary : kMaxBlockStrideUnary, repeat = two ? kMaxRepeatStrideBinary : kMaxRepeatStrideUnary;
    constexpr const char* kRemedy = "rearrange the tile or use one instruction per row";
    if (!writes_densely(c.instr.op)) {
        if (exactly(o.dst_block, 0))
            c.fail(Code::range, "dst_block is 0: all blocks of a repeat would be written to one place; the least stride is 1");
        else
            within(c, o.dst_block, 1, block, "dst_block", kRemedy);
        within(c, o.dst_repeat, 0, repeat, "dst_repeat", kRemedy);
    }
    if (desc(c.instr.op).src != Space::none) {
        within(c, o.src0_block, 0, block, "src0_block", kRemedy);
        within(c, o.src0_repeat, 0, repeat, "src0_repeat", kRemedy);
    }
    if (two) {
        within(c, o.src1_block, 0, block, "src1_block", kRemedy);
        within(c, o.src1_repeat, 0, repeat, "src1_repeat", kRemedy);
    }
}

template <class E>
void check(const Context& c, const ScalarT<E>& o) {
    not_negative(c, o.cycles, "cycles");
}

template <class E>
void check(const Context& c, const SyncT<E>& o) {
    if (c.instr.op == Op::barrier) return;
    const bool cross = c.instr.op == Op::cross_set || c.instr.op == Op::cross_wait;
    const I ids = cross ? c.chip.cross.ids : c.chip.flags.ids;
    if (ids > 0 && (least(o.id) >= ids || greatest(o.id) < 0))
        c.fail(Code::event_id, "flag id is " + show(o.id) + ", " + c.chip.name + " has ids 0 to " + std::to_string(ids - 1) +
                                   (cross ? " per core" : " for each pair of pipes") + "; reuse an id that is free again");
}

// Addresses and sizes beyond any memory would overflow the arithmetic of later rules; a slot must exist.
template <class E>
bool magnitudes(const Context& c, const OperandsT<E>& operands) {
    const std::size_t before = c.out.size();
    const auto sane = [&](const char* field, E v, const char* part) {
        if (least(v) <= kMaxMagnitude && greatest(v) >= -kMaxMagnitude) return;
        c.fail(Code::range, std::string(field) + part + " is " + show(v) + ", allowed is -2**40 to 2**40");
    };
    std::visit(
        [&](const auto& family) {
            for_each_field(family, [&](const char* field, const auto& v) {
                using T = std::remove_cvref_t<decltype(v)>;
                if constexpr (std::is_same_v<T, E>) {
                    sane(field, v, "");
                } else if constexpr (IsOperand<T>::value) {
                    sane(field, v.offset, " offset"), sane(field, v.slot, " slot");
                    if (v.space == Space::none || v.space == Space::gm || v.object < 0) return;
                    const Buffer& b = c.program.buffers[static_cast<std::size_t>(v.object)];
                    if (least(v.slot) < b.slots && greatest(v.slot) >= 0) return;
                    c.fail(Code::out_of_bounds, std::string(field) + " names slot " + show(v.slot) + " of buffer " +
                                                    object_name(c.program, v.space, v.object) + ", which has slots 0 to " +
                                                    std::to_string(b.slots - 1) + "; take the slot modulo the number of slots");
                }
            });
        },
        operands);
    return c.out.size() == before;
}

template <class E>
void check_all(const Context& c, const OperandsT<E>& o) {
    if (magnitudes<E>(c, o)) std::visit([&](const auto& family) { check(c, family); }, o);
}

}  // namespace

void fields(const Context& c, const BoundOperands& o) { check_all<I>(c, o); }
void fields(const Context& c, const OperandsT<Interval>& o) { check_all<Interval>(c, o); }

}  // namespace sfumato::isa::rules
