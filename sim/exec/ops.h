// SPDX-License-Identifier: Apache-2.0
#pragma once
// One function per row of the instruction table, named like the row. The declarations are generated, so a row without a definition does not link
// and a row whose family changes does not compile.
#include <span>

#include "sim/exec/machine.h"

namespace sfumato::sim::ops {

using I = std::int64_t;
using CopyI = isa::CopyT<I>;
using DrainI = isa::DrainT<I>;
using CubeI = isa::CubeT<I>;
using VectorI = isa::VectorT<I>;
using ScalarI = isa::ScalarT<I>;
using SyncI = isa::SyncT<I>;

/// Where an instruction runs: resolves operands to bytes.
struct Site {
    Machine& machine;
    int core;
    std::span<const int> tensor_map;
    std::byte* at(const isa::BoundOperand& o) const {
        if (o.space == isa::Space::gm) return machine.memory().tensors[static_cast<std::size_t>(tensor_map[static_cast<std::size_t>(o.object)])].bytes.data() + o.offset;
        return machine.space(core, o.space) + o.offset;
    }
};

#define SFUMATO_INSTR(name, pipe, family, ...) void name(const Site&, const family##I&);
#include "isa/instructions.def"
#undef SFUMATO_INSTR

}  // namespace sfumato::sim::ops
