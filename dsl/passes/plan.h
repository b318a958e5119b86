// SPDX-License-Identifier: Apache-2.0
#pragma once
// Buffer planning: every buffer gets an address, or the author gets one report that names every buffer, its line, what it costs and what
// would fit. Two buffers share bytes only when their sum does not fit and their live ranges are disjoint; insert_sync sees the sharing.
#include <string>
#include <vector>

#include "isa/chip.h"
#include "isa/diagnostic.h"
#include "isa/program.h"

namespace sfumato::dsl {

/// Positions (instructions in text order, all sections) over which a buffer holds a value; loops it lives across are included whole.
struct LiveRange {
    int first = 0, last = -1;
    bool meets(const LiveRange& o) const { return first <= o.last && o.first <= last; }
    bool operator==(const LiveRange&) const = default;
};
/// By buffer index; a buffer that nothing accesses has an empty range.
std::vector<LiveRange> live_ranges(const isa::Program&);

struct CapacityRow {
    int buffer = -1;
    std::int64_t bytes = 0;  ///< all slots, each rounded up to the space's alignment
    std::int64_t base = 0;
    LiveRange live;
};
struct SpaceUse {
    isa::Space space = isa::Space::none;
    std::int64_t used = 0;  ///< highest end address
    std::int64_t capacity = 0;
    std::int64_t sum = 0;           ///< of all rows; larger than `used` when buffers share bytes
    std::vector<CapacityRow> rows;  ///< largest first
};
struct CapacityReport {
    std::vector<SpaceUse> spaces;  ///< in the order of isa::Space, only those with buffers
};

/// Sets `base` of every on-chip buffer (and rounds `slot_bytes` of multi-slot ones up to the alignment). Slots are never reduced. Throws Rejected
/// with one diagnostic per overflowing space.
CapacityReport plan_buffers(isa::Program&, const isa::Chip&);

/// The byte table: space, every buffer with type, shape x slots, bytes, source line and who asked for the slots.
std::string to_text(const CapacityReport&, const isa::Program&);
/// Addresses over live ranges, one block of text per space.
std::string memory_map(const CapacityReport&, const isa::Program&);

using isa::with_separators;

}  // namespace sfumato::dsl
