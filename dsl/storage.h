// SPDX-License-Identifier: Apache-2.0
#pragma once
// Storage and order of the explicit level: buffers with slots in a chosen memory, events between pipes, barriers. A buffer remembers the extents
// of what was last put into it, so that ragged tiles need nothing from the author.
#include <source_location>
#include <string>

#include "dsl/index.h"
#include "dsl/loops.h"
#include "dsl/types.h"

namespace sfumato::dsl {

/// Pipe and space names; a kernel parameter of the same name simply hides one.
namespace pipe {
struct PipeName {
    isa::Pipe pipe;
};
inline constexpr PipeName S{isa::Pipe::s}, V{isa::Pipe::v}, M{isa::Pipe::m}, MTE1{isa::Pipe::mte1}, MTE2{isa::Pipe::mte2}, MTE3{isa::Pipe::mte3},
    FIX{isa::Pipe::fix}, ALL{isa::Pipe::all};
struct PipePair {
    isa::Pipe src, dst;
};
constexpr PipePair operator>>(PipeName a, PipeName b) { return {a.pipe, b.pipe}; }
}  // namespace pipe
namespace space {
struct SpaceName {
    isa::Space space;
};
inline constexpr SpaceName L1{isa::Space::l1}, L0A{isa::Space::l0a}, L0B{isa::Space::l0b}, L0C{isa::Space::l0c}, UB{isa::Space::ub},
    BT{isa::Space::bt}, FB{isa::Space::fb};
}  // namespace space
using namespace pipe;
using namespace space;

/// An index with the author's place, for operators that cannot take one otherwise.
struct SlotIndex {
    Index index;
    std::source_location at;
    SlotIndex(Index i, std::source_location l = std::source_location::current()) : index(i), at(l) {}
    SlotIndex(std::integral auto i, std::source_location l = std::source_location::current()) : index(i), at(l) {}
};
struct Extents {
    std::int64_t rows = 1, cols = 1;
    Extents(std::int64_t r, std::int64_t c) : rows(r), cols(c) {}
    Extents(std::int64_t n) : cols(n) {}
};
struct Slots {
    std::int64_t count = 1;
};
inline Slots slots(std::int64_t n) { return {n}; }

/// One slot of a buffer, or a block of it.
struct BufferRef {
    std::int32_t buffer = -1;
    isa::Expr slot, offset;            ///< offset in bytes
    isa::Expr block_rows, block_cols;  ///< of a part; a whole slot has the extents of what was last put there
    isa::Expr block_pitch;
    std::int64_t max_rows = 1, max_cols = 1;
    bool whole = true, transposed = false;
    std::source_location at;

    isa::Expr rows() const;  ///< valid extents
    isa::Expr cols() const;
    isa::Expr pitch() const;  ///< UB: elements between rows; L1: physical rows of the NZ matrix
    const isa::Buffer& info() const;
    isa::Operand operand() const;
    /// `elements` further on, in the same slot.
    BufferRef from(Index elements, std::source_location) const;
};

class Buffer {
public:
    Buffer(std::int32_t id, std::source_location at) : id_(id), at_(at) {}
    BufferRef operator[](SlotIndex s) const;
    operator BufferRef() const;
    /// From element `offset` of the first slot on; a constant offset must be aligned as the memory demands.
    BufferRef at(Index offset, std::source_location at = std::source_location::current()) const;
    /// Name in reports; by default it follows from the tensor the data comes from.
    Buffer& named(std::string name);
    std::int32_t id() const { return id_; }

private:
    std::int32_t id_;
    std::source_location at_;
};
Buffer make_buffer(isa::DType, isa::Space, Extents, Slots, std::source_location);
template <class T>
Buffer buffer(space::SpaceName s, Extents e, Slots n = {}, std::source_location at = std::source_location::current()) {
    return make_buffer(dtype_of<T>, s.space, e, n, at);
}

/// Columns or rows [i * n, i * n + n) of a block, as far as they are valid.
BufferRef columns(const BufferRef&, Index i, std::int64_t n, std::source_location = std::source_location::current());
BufferRef rows(const BufferRef&, Index i, std::int64_t n, std::source_location = std::source_location::current());
/// The matrix stored there with rows and columns exchanged, as the loads to L0A and L0B can read it.
BufferRef transpose(BufferRef);
/// Valid columns: the depth of a left operand.
inline Index depth(const BufferRef& b) { return Index(b.cols()); }
inline Index height(const BufferRef& b) { return Index(b.rows()); }

/// Flags of one ordered pair of pipes; entry s guards slot s.
class EventRef {
public:
    EventRef(isa::Pipe src, isa::Pipe dst, isa::Expr id) : src_(src), dst_(dst), id_(id) {}
    void set(std::source_location = std::source_location::current()) const;
    void wait(std::source_location = std::source_location::current()) const;

private:
    isa::Pipe src_, dst_;
    isa::Expr id_;
};
class Event {
public:
    Event(isa::Pipe src, isa::Pipe dst, std::int64_t first, std::int64_t count) : src_(src), dst_(dst), first_(first), count_(count) {}
    /// Sets every flag here and waits for it when the enclosing region ends: what the flag guards starts free.
    Event primed(std::source_location = std::source_location::current()) const;
    EventRef operator[](SlotIndex s) const;
    void set(std::source_location at = std::source_location::current()) const { (*this)[0].set(at); }
    void wait(std::source_location at = std::source_location::current()) const { (*this)[0].wait(at); }

private:
    isa::Pipe src_, dst_;
    std::int64_t first_, count_;
};
Event event(pipe::PipePair, std::int64_t n = 1, std::source_location = std::source_location::current());
/// The pipe starts nothing further until its earlier work is complete.
void barrier(pipe::PipeName, std::source_location = std::source_location::current());

}  // namespace sfumato::dsl
