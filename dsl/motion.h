// SPDX-License-Identifier: Apache-2.0
#pragma once
// Instructions of the explicit level. `copy` is the one verb for moving data: the two memories decide which instruction it becomes, the tile and
// the buffers decide its extents. Vector instructions go by the names of the instruction table.
#include <optional>
#include <source_location>

#include "dsl/storage.h"
#include "dsl/view.h"

namespace sfumato::dsl {

struct CopyOptions {
    bool relu = false;  ///< drains from L0C only
    isa::Cache cache = isa::Cache::normal;
    isa::Atomic atomic = isa::Atomic::none;
};
void copy(const BufferRef& dst, const TileRef& src, CopyOptions = {}, std::source_location = std::source_location::current());
void copy(const TileRef& dst, const BufferRef& src, CopyOptions = {}, std::source_location = std::source_location::current());
void copy(const BufferRef& dst, const BufferRef& src, CopyOptions = {}, std::source_location = std::source_location::current());
/// Refused: nothing moves data from GM to GM.
void copy(const TileRef& dst, const TileRef& src, CopyOptions = {}, std::source_location = std::source_location::current());

struct MmadOptions {
    std::optional<BufferRef> bias = {};  ///< in BT; added when `init` holds
    Index init = 1;                      ///< condition: start from the bias or zero instead of the accumulator
    bool unit_flag = false;
};
/// c0 (+)= a0 * b0; the extents are those of the operands.
void mmad(const BufferRef& c0, const BufferRef& a0, const BufferRef& b0, const MmadOptions& = {},
          std::source_location = std::source_location::current());

struct FixpipeOptions {
    bool relu = false;
    bool unit_flag = false;
    isa::Cache cache = isa::Cache::normal;
    isa::Atomic atomic = isa::Atomic::none;
};
/// Drains an accumulator to GM (rows) or L1 (fractals), converting to the type of the destination.
void fixpipe(const TileRef& dst, const BufferRef& c0, FixpipeOptions = {}, std::source_location = std::source_location::current());
void fixpipe(const BufferRef& dst, const BufferRef& c0, FixpipeOptions = {}, std::source_location = std::source_location::current());

/// A source of a vector instruction: a buffer, a number, or nothing.
struct VectorSource {
    std::optional<BufferRef> tile;
    std::optional<double> scalar;
    VectorSource() = default;
    VectorSource(const BufferRef& b) : tile(b) {}
    VectorSource(const Buffer& b) : tile(b) {}
    VectorSource(double s) : scalar(s) {}
};
void vector_instruction(isa::Op, const BufferRef& dst, const VectorSource& a, const VectorSource& b, std::source_location);

// vadd(dst, a, b), vmuls(dst, a, 2.0), vexp(dst, a), vdup(dst, 0.0), ...: one function for each row of the Vector family.
#define SFUMATO_VECTOR_Vector(name)                                                                \
    inline void name(const BufferRef& dst, const VectorSource& a = {}, const VectorSource& b = {}, \
                     std::source_location at = std::source_location::current()) {                  \
        vector_instruction(isa::Op::name, dst, a, b, at);                                          \
    }
#define SFUMATO_VECTOR_Copy(name)
#define SFUMATO_VECTOR_Drain(name)
#define SFUMATO_VECTOR_Cube(name)
#define SFUMATO_VECTOR_Scalar(name)
#define SFUMATO_VECTOR_Sync(name)
#define SFUMATO_INSTR(name, pipe, family, ...) SFUMATO_VECTOR_##family(name)
#include "isa/instructions.def"
#undef SFUMATO_INSTR
#undef SFUMATO_VECTOR_Vector
#undef SFUMATO_VECTOR_Copy
#undef SFUMATO_VECTOR_Drain
#undef SFUMATO_VECTOR_Cube
#undef SFUMATO_VECTOR_Scalar
#undef SFUMATO_VECTOR_Sync

}  // namespace sfumato::dsl
