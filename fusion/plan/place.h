// SPDX-License-Identifier: Apache-2.0
#pragma once
// Offsets for blocks of memory of which some must not overlap: several strategies, of which the smallest arena wins.
#include <cstdint>
#include <string>
#include <vector>

namespace sfumato::fusion::plan {

struct Block {
    std::int64_t bytes = 0;  ///< padded
    int first = 0, last = 0;
};

struct Placed {
    std::vector<std::int64_t> offsets;
    std::int64_t arena = 0;
    std::string strategy;
};

/// For each block, the blocks it may not overlap.
using Conflicts = std::vector<std::vector<int>>;
/// Those live at a common step.
Conflicts conflicts_in_time(const std::vector<Block>&);

/// Tries the strategies until one reaches `bound`, which no arena can go below.
Placed place(const std::vector<Block>&, const Conflicts&, std::int64_t bound);

}  // namespace sfumato::fusion::plan
