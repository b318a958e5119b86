// SPDX-License-Identifier: Apache-2.0
#pragma once
// When the scalar unit and the pipes of a core have something to do next. A core is one process of SystemC and keeps this small table itself:
// most of what happens in a core concerns nobody else, and an entry here costs a comparison where an event of the kernel costs a heap.
#include <algorithm>
#include <array>

#include "isa/types.h"
#include "sim/hw/interfaces.h"

namespace sfumato::sim::hw {

class Agenda {
public:
    struct Item {
        isa::Pipe pipe;
        Tick at;
    };
    Agenda() { clear(); }
    void clear() { due_.fill(kNever); }
    void wake(isa::Pipe p, Tick t) {
        Tick& due = due_[static_cast<std::size_t>(p)];
        due = std::min(due, t);
    }
    void done(isa::Pipe p) { due_[static_cast<std::size_t>(p)] = kNever; }
    /// The earliest entry; among equals the first from `rotation` on (a test aid: results must not depend on it).
    Item first(std::size_t rotation = 0) const {
        std::size_t best = rotation;
        for (std::size_t i = 1; i < due_.size(); ++i) {
            const std::size_t p = rotation + i < due_.size() ? rotation + i : rotation + i - due_.size();
            if (due_[p] < due_[best]) best = p;
        }
        return {static_cast<isa::Pipe>(best), due_[best]};
    }

private:
    std::array<Tick, isa::kPipeCount> due_;
};

}  // namespace sfumato::sim::hw
