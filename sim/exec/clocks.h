// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a pipe knows about the progress of all others: vector clocks. A pipe's own core is a small array that every flag joins; other cores are
// a shared immutable table that changes only when a cross-core flag arrives, so that flags inside a core stay cheap on a chip of 72 cores.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "isa/types.h"

namespace sfumato::sim {

/// Instructions of each pipe known to be complete.
using PipeCounts = std::array<std::int64_t, isa::kPipeCount>;

inline void join(PipeCounts& a, const PipeCounts& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::max(a[i], b[i]);
}

struct Clock {
    using Table = std::vector<PipeCounts>;  ///< by core ordinal
    PipeCounts own{};
    std::shared_ptr<const Table> others;  ///< absent: nothing known

    /// Takes over what another pipe of the same core knows.
    void learn(const Clock& b) {
        join(own, b.own);
        learn_table(b.others);
    }
    /// What this pipe of core `self` knows, as a table that another core can learn.
    Table table(std::size_t self, std::size_t cores) const {
        Table t = others ? *others : Table(cores);
        join(t[self], own);
        return t;
    }
    /// Takes over a table from another core.
    void learn_cross(const std::shared_ptr<const Table>& t, std::size_t self) {
        learn_table(t);
        join(own, (*t)[self]);
    }
    std::int64_t known(std::size_t core, isa::Pipe p) const { return others ? (*others)[core][static_cast<std::size_t>(p)] : 0; }

private:
    static bool covers(const Table& a, const Table& b) {
        for (std::size_t c = 0; c < a.size(); ++c)
            for (std::size_t p = 0; p < a[c].size(); ++p)
                if (a[c][p] < b[c][p]) return false;
        return true;
    }
    void learn_table(const std::shared_ptr<const Table>& b) {
        if (!b || others == b) return;
        if (!others || covers(*b, *others)) {
            others = b;
        } else if (!covers(*others, *b)) {
            Table joined = *others;
            for (std::size_t c = 0; c < joined.size(); ++c) join(joined[c], (*b)[c]);
            others = std::make_shared<const Table>(std::move(joined));
        }
    }
};

}  // namespace sfumato::sim
