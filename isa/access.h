// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which bytes a bound instruction reads and writes, as strided rectangles. Bounds checks, the hazard listener, the uninitialised-read shadow and
// the cost model of transfers share this one description.
#include <vector>

#include "isa/walker.h"

namespace sfumato::isa {

/// `rows` runs of `row_bytes`, `pitch` bytes apart, from `start` (tensor offset for GM, absolute address on chip).
struct Access {
    Space space = Space::none;
    std::int32_t object = -1;
    bool write = false;
    std::int64_t start = 0, rows = 1, row_bytes = 0, pitch = 0;
    std::int64_t end() const { return rows <= 0 || row_bytes <= 0 ? start : start + (rows - 1) * pitch + row_bytes; }
};
/// At most eight accesses; empty for work of size 0 and for scalar and sync instructions.
struct AccessList {
    Access item[8];
    int count = 0;
    const Access* begin() const { return item; }
    const Access* end() const { return item + count; }
    void add(const Access& a) {
        if (a.rows > 0 && a.row_bytes > 0) item[count++] = a;
    }
};
AccessList accesses(const BoundInstr&);

/// Two rectangles share a byte.
bool overlaps(const Access&, const Access&);

/// Repeats and active lanes of a vector instruction after its mask mode is resolved.
struct VectorShape {
    std::int64_t repeats = 0;   ///< including a partial last one
    std::int64_t lanes = 0;     ///< lanes of a full repeat
    std::int64_t elements = 0;  ///< lanes that do work, over all repeats
};
VectorShape vector_shape(const VectorT<std::int64_t>&);

}  // namespace sfumato::isa
