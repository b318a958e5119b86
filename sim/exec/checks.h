// SPDX-License-Identifier: Apache-2.0
#pragma once
// Run-time checks of bound instructions: touched bytes against tensors and spaces, and bytes read that nothing has written. Negative sizes,
// alignment and field limits are isa::verify_bound's business (SeenInstances says when to ask it), order is the hazard tracker's.
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "isa/access.h"
#include "isa/chip.h"
#include "isa/diagnostic.h"
#include "sim/event.h"
#include "sim/simulator.h"

namespace sfumato::sim {

/// Bounds of one instance. `accesses` are isa::accesses(bound). Cheap: a few comparisons when nothing is wrong.
std::optional<isa::Diagnostic> check_bound(const isa::Program&, const isa::Chip&, CoreRef, std::span<const int> tensor_map, const DeviceMemory&,
                                           const isa::BoundInstr&, const isa::AccessList& accesses);
/// Remembers which instances were seen in a launch, up to offsets in GM, so that isa::verify_bound is asked once for each.
class SeenInstances {
public:
    bool first(const isa::BoundInstr&);

private:
    std::unordered_set<std::uint64_t> seen_;
};
/// Bounds of a control load.
std::optional<isa::Diagnostic> check_load(const isa::Program&, CoreRef, std::span<const int> tensor_map, const DeviceMemory&, const isa::Load&,
                                          std::int64_t index);

/// Which bytes have been written: one bit a byte for each space of each core and each device tensor (values mode only).
class Shadow {
public:
    Shadow(const isa::Chip&, std::span<const CoreRef> cores, const DeviceMemory&);
    /// Inputs of a launch hold what the caller gave; outputs and workspaces start empty unless an earlier launch wrote them.
    void begin_launch(const isa::Program&, std::span<const int> tensor_map);
    /// Reports the first unwritten byte the instance reads, then marks what it writes. Call where apply() is called.
    std::optional<isa::Diagnostic> step(const isa::Program&, CoreRef, std::span<const int> tensor_map, const isa::BoundInstr&,
                                        const isa::AccessList&);

private:
    struct Bits {
        std::vector<std::uint64_t> words;
        bool whole = false;  ///< every byte counts as written
        std::int64_t first_clear(std::int64_t begin, std::int64_t end) const;
        void set(std::int64_t begin, std::int64_t end);
    };
    Bits& bits(int core, std::span<const int> tensor_map, const isa::Access&);
    std::vector<std::array<Bits, isa::kSpaceCount>> cores_;
    std::vector<Bits> tensors_;
    std::array<std::int64_t, isa::kSpaceCount> capacity_{};
    std::vector<std::int64_t> sizes_;
};

}  // namespace sfumato::sim
