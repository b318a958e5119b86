// SPDX-License-Identifier: Apache-2.0
#pragma once
// Remembers the costs of recent vector instructions: loops issue the same instruction on the same few addresses, and counting bank conflicts is
// the dearest of all costs to compute. A pure cache: the answer is the one vector_cost() gives.
#include <array>
#include <vector>

#include "sim/timing/cost.h"

namespace sfumato::sim::hw {

class CostCache {
public:
    explicit CostCache(const isa::Chip& chip) : chip_(chip), entries_(std::size_t{1} << kBits) {}

    timing::LocalCost vector(const isa::BoundInstr& b) {
        const auto& v = std::get<isa::VectorT<std::int64_t>>(b.operands);
        const Key key{v.dst.offset, v.src0.offset, v.src1.offset, v.count, v.repeats, v.dst_block, v.src0_block, v.src1_block,
                      v.dst_repeat, v.src0_repeat, v.src1_repeat};
        std::uint64_t hash = reinterpret_cast<std::uintptr_t>(b.instr);
        for (const std::int64_t k : key) hash = (hash ^ static_cast<std::uint64_t>(k)) * kMultiplier;
        Entry& e = entries_[hash >> (64 - kBits)];
        if (e.instr != b.instr || e.key != key) e = {b.instr, key, timing::vector_cost(chip_, b.instr->op, v)};
        return e.cost;
    }

private:
    static constexpr int kBits = 9;
    static constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15ull;
    using Key = std::array<std::int64_t, 11>;
    struct Entry {
        const isa::Instr* instr = nullptr;
        Key key{};
        timing::LocalCost cost;
    };
    const isa::Chip& chip_;
    std::vector<Entry> entries_;
};

}  // namespace sfumato::sim::hw
