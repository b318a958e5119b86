// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operand families of the instruction set. Each family is a struct template over the type of its integers: Expr in a program, int64_t in
// an instruction instance whose symbols have values. `fields` lists the members once; printer, parser, encoder and binder read it.
#include <cstdint>
#include <tuple>
#include <variant>

#include "isa/expr.h"
#include "isa/types.h"

namespace sfumato::isa {

template <class Owner, class T>
struct Field {
    using Type = T;
    const char* name;
    T Owner::*member;
};
template <class Owner, class T>
constexpr Field<Owner, T> field(const char* name, T Owner::*member) {
    return {name, member};
}

/// A place in memory. In a program: `object` is the tensor (GM) or the buffer, `slot` selects one of the buffer's slots and `offset` is a byte
/// offset inside tensor or slot. In a bound instance: `offset` is the byte offset in the tensor (GM) or the absolute address in the space.
template <class E>
struct OperandT {
    Space space = Space::none;
    std::int32_t object = -1;
    E slot{};
    E offset{};
    bool operator==(const OperandT&) const = default;
};

enum class Cache : std::uint8_t { normal, bypass };      ///< bypass: the access does not allocate in L2
enum class Atomic : std::uint8_t { none, add };          ///< how a store combines with GM
enum class MaskMode : std::uint8_t { normal, counter };  ///< per-repeat lane bits, or an element count

/// Row-wise copies and fractal loads. rows x cols elements; pitches in elements for ND sides. For an NZ side (destination of mov_gm_l1_nz,
/// source of mov_l1_l0a/b) the pitch is the number of physical rows, a multiple of 16: element (r, c) lies at
/// ((c / C0) * pitch + r) * C0 + c % C0. L0A holds (i, j) fractals at i * ceil(cols / C0) + j; L0B holds (k, n) fractals at
/// k * ceil(cols / 16) + n, each stored n-major. `transpose`: the source stores the matrix as cols x rows.
template <class E>
struct CopyT {
    OperandT<E> dst, src;
    DType dtype = DType::f16;
    E rows{}, cols{}, dst_pitch{}, src_pitch{};
    bool transpose = false;
    bool pad = false;
    Cache cache = Cache::normal;
    Atomic atomic = Atomic::none;
    static constexpr auto fields() {
        return std::make_tuple(field("dst", &CopyT::dst), field("src", &CopyT::src), field("dtype", &CopyT::dtype), field("rows", &CopyT::rows),
                               field("cols", &CopyT::cols), field("dst_pitch", &CopyT::dst_pitch), field("src_pitch", &CopyT::src_pitch),
                               field("transpose", &CopyT::transpose), field("pad", &CopyT::pad), field("cache", &CopyT::cache),
                               field("atomic", &CopyT::atomic));
    }
};

/// Accumulator drains: rows x cols elements of an L0C tile in NZ order with `src_pitch` physical rows, to rows of `dst_pitch` elements
/// (ND; NZ with `dst_pitch` physical rows for fix_l0c_l1), converted from `dtype` to `dst_dtype` after the optional ReLU.
template <class E>
struct DrainT {
    OperandT<E> dst, src;
    DType dtype = DType::f32, dst_dtype = DType::f16;
    E rows{}, cols{}, dst_pitch{}, src_pitch{};
    bool relu = false;
    bool unit_flag = false;
    Cache cache = Cache::normal;
    Atomic atomic = Atomic::none;
    static constexpr auto fields() {
        return std::make_tuple(field("dst", &DrainT::dst), field("src", &DrainT::src), field("dtype", &DrainT::dtype),
                               field("dst_dtype", &DrainT::dst_dtype), field("rows", &DrainT::rows), field("cols", &DrainT::cols),
                               field("dst_pitch", &DrainT::dst_pitch), field("src_pitch", &DrainT::src_pitch), field("relu", &DrainT::relu),
                               field("unit_flag", &DrainT::unit_flag), field("cache", &DrainT::cache), field("atomic", &DrainT::atomic));
    }
};

/// C[m, n] (+)= A[m, k] x B[k, n]. Layouts follow from the extents: A zZ with ceil(k / C0) fractals a row, B nZ with ceil(n / 16), C NZ with
/// 16 * ceil(m / 16) physical rows. `bias` (space none: absent) is added when `init` is 1. Sums are f32 (i32 for integers).
template <class E>
struct CubeT {
    OperandT<E> dst, a, b, bias;
    DType dtype = DType::f16;
    E m{}, k{}, n{}, init{};
    bool unit_flag = false;
    static constexpr auto fields() {
        return std::make_tuple(field("dst", &CubeT::dst), field("a", &CubeT::a), field("b", &CubeT::b), field("bias", &CubeT::bias),
                               field("dtype", &CubeT::dtype), field("m", &CubeT::m), field("k", &CubeT::k), field("n", &CubeT::n),
                               field("init", &CubeT::init), field("unit_flag", &CubeT::unit_flag));
    }
};

/// Vector and reduction instructions. `repeats` repeats of 8 blocks; strides in 32-byte blocks (block stride inside a repeat, repeat stride
/// between repeats). mode normal: `mask_hi:mask_lo` enables lanes of every repeat; mode counter: the first `count` elements in repeat order
/// are processed and `repeats` follows from it. Reductions write densely from dst (vcg*: result b of repeat r is element 8 * r + b). A conversion
/// counts repeats in its wider type. vcmp writes bit (r * lanes of a full repeat + lane) from dst and leaves the same bits in the core's compare
/// mask, which the next vsel reads. vbrcb and vtrans work on whole repeats; a repeat of vtrans is 16 blocks of 32 bytes, read as 16 rows
/// and written as their columns one after the other.
template <class E>
struct VectorT {
    OperandT<E> dst, src0, src1;
    DType dtype = DType::f32, dst_dtype = DType::f32;
    double scalar = 0;
    MaskMode mode = MaskMode::counter;
    E count{}, repeats{};
    std::uint64_t mask_hi = 0, mask_lo = 0;
    E dst_block{}, src0_block{}, src1_block{}, dst_repeat{}, src0_repeat{}, src1_repeat{};
    static constexpr auto fields() {
        return std::make_tuple(field("dst", &VectorT::dst), field("src0", &VectorT::src0), field("src1", &VectorT::src1),
                               field("dtype", &VectorT::dtype), field("dst_dtype", &VectorT::dst_dtype), field("scalar", &VectorT::scalar),
                               field("mode", &VectorT::mode), field("count", &VectorT::count), field("repeats", &VectorT::repeats),
                               field("mask_hi", &VectorT::mask_hi), field("mask_lo", &VectorT::mask_lo), field("dst_block", &VectorT::dst_block),
                               field("src0_block", &VectorT::src0_block), field("src1_block", &VectorT::src1_block),
                               field("dst_repeat", &VectorT::dst_repeat), field("src0_repeat", &VectorT::src0_repeat),
                               field("src1_repeat", &VectorT::src1_repeat));
    }
};

/// Work of the scalar unit itself.
template <class E>
struct ScalarT {
    E cycles{};
    static constexpr auto fields() { return std::make_tuple(field("cycles", &ScalarT::cycles)); }
};

/// Flags and barriers. `src`, `dst`: the ordered pipe pair; barrier uses `src`; cross_set uses `src`, cross_wait `dst`. `mode` 0: all cores of
/// a kind, 1: the vector cores of a pair, 2: a cube core and its vector cores.
template <class E>
struct SyncT {
    Pipe src = Pipe::s, dst = Pipe::s;
    E id{};
    std::int32_t mode = 0;
    static constexpr auto fields() {
        return std::make_tuple(field("src", &SyncT::src), field("dst", &SyncT::dst), field("id", &SyncT::id), field("mode", &SyncT::mode));
    }
};

template <class E>
using OperandsT = std::variant<CopyT<E>, DrainT<E>, CubeT<E>, VectorT<E>, ScalarT<E>, SyncT<E>>;

using Operand = OperandT<Expr>;
using Copy = CopyT<Expr>;
using Drain = DrainT<Expr>;
using Cube = CubeT<Expr>;
using Vector = VectorT<Expr>;
using Scalar = ScalarT<Expr>;
using Sync = SyncT<Expr>;
using Operands = OperandsT<Expr>;

using BoundOperand = OperandT<std::int64_t>;
using BoundOperands = OperandsT<std::int64_t>;

enum class Family : std::uint8_t { Copy, Drain, Cube, Vector, Scalar, Sync };  ///< index in the variant
inline constexpr const char* kFamilyNames[] = {"Copy", "Drain", "Cube", "Vector", "Scalar", "Sync"};

}  // namespace sfumato::isa
