// SPDX-License-Identifier: Apache-2.0
#pragma once
// One small launch of one section, executed as far as order is concerned: pipes take their instructions in order, flags let them proceed, and
// vector clocks say which accesses nothing orders. Internal to check_sync, which judges what is found here.
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "isa/access.h"
#include "isa/chip.h"
#include "isa/walker.h"

namespace sfumato::dsl::replay {

struct Item {
    const isa::Instr* instr = nullptr;
    isa::AccessList accesses;
    isa::Pipe src = isa::Pipe::s, dst = isa::Pipe::s;  ///< of sync instructions
    std::int64_t id = 0;
    std::vector<std::int64_t> loops;
};
struct Trace {
    std::vector<Item> items;
    bool cut = false;  ///< longer than the limit
};
Trace walk(const isa::Program&, const isa::Section&, const isa::WalkContext&, int limit);

enum class Fault { race, set_twice, never_set, unprimed, left_set, id_range, stuck };
struct Finding {
    Fault fault = Fault::race;
    const Item *first = nullptr, *second = nullptr;  ///< race: the earlier and the later access; otherwise the instruction at fault and a related one
    isa::Access a, b;
};
struct Rules {
    const isa::Chip& chip;
};
/// Sync instructions in `without` (by instruction id) are left out.
std::vector<Finding> run(const Trace&, const Rules&, const std::set<int>& without = {});

}  // namespace sfumato::dsl::replay
