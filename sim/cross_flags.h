// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counters of the cross-core flags of one launch: who is raised by a set in which mode. No time in here: the timed model adds latency between
// set() and raise(), the interpreter raises at once, the hazard listener joins knowledge along the same lines.
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "isa/chip.h"
#include "isa/diagnostic.h"
#include "sim/placement.h"

namespace sfumato::sim {

class CrossFlags {
public:
    CrossFlags(const isa::Chip&, std::span<const PlacedCore>);

    /// A core sets flag `id`: the ordinals of the cores whose counter rises now. Mode 0: every core of its kind, once all of them have set;
    /// mode 1: the vector cores of its group, once all of them have set; mode 2: from a cube core its vector cores at once, from vector cores
    /// their cube core once all of the group have set.
    std::vector<int> set(int core, std::int64_t id, int mode);
    /// The counter of `core` rises by one; a diagnostic when it exceeds what the chip can count (case C04) or the chip has no such flag.
    std::optional<isa::Diagnostic> raise(int core, std::int64_t id);
    bool ready(int core, std::int64_t id) const;
    /// Lowers the counter; call when ready.
    void take(int core, std::int64_t id);
    /// Flags still raised at the end of a launch as (core, id, count).
    std::vector<std::tuple<int, std::int64_t, std::int64_t>> left_over() const;

private:
    struct Member {
        CoreRef core;
        int group = 0;
    };
    const Member& member(int core) const;

    std::int64_t ids_, max_count_;
    std::vector<Member> members_;
    std::map<std::tuple<int, int, std::int64_t, int>, std::map<int, std::int64_t>> rounds_;  ///< (mode, kind, id, group) -> sets per core
    std::map<std::tuple<int, int, std::int64_t, int>, std::int64_t> done_;                   ///< rounds completed
    std::map<std::pair<int, std::int64_t>, std::int64_t> counters_;
};

}  // namespace sfumato::sim
