// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compares two recordings of one loop body: they must be the same up to the names of what was created inside.
#include "dsl/tile_ir.h"

namespace sfumato::dsl {

struct Difference {
    bool found = false;
    isa::SourceId source = -1;  ///< operation of the second recording that differs, -1: unknown
};
Difference compare_recordings(const tile::Kernel&, const tile::Region& first, const tile::Region& second);

}  // namespace sfumato::dsl
