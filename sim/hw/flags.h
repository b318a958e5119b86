// SPDX-License-Identifier: Apache-2.0
#pragma once
// The flags between the pipes of one core. A flag that is set carries the tick from which a waiting pipe sees it.
#include <array>
#include <vector>

#include "isa/chip.h"
#include "sim/hw/interfaces.h"

namespace sfumato::sim::hw {

class FlagBank {
public:
    explicit FlagBank(const isa::Chip& chip)
        : ids_(static_cast<std::size_t>(chip.flags.ids)), latency_(to_ticks(chip.flags.latency)), flags_(isa::kPipeCount * isa::kPipeCount * ids_) {}

    struct Flag {
        bool set = false;
        Tick seen = 0;                       ///< from when a waiting pipe sees it
        const isa::Instr* setter = nullptr;  ///< latest set, kept after the wait for messages
        bool waiting = false;  ///< its pipe sleeps until it is set
        std::int64_t sets = 0;  ///< numbers the arrows of this flag
    };
    Flag& at(isa::Pipe src, isa::Pipe dst, std::int64_t id) { return flags_[index(src, dst) * ids_ + static_cast<std::size_t>(id)]; }
    const Flag& at(isa::Pipe src, isa::Pipe dst, std::int64_t id) const { return flags_[index(src, dst) * ids_ + static_cast<std::size_t>(id)]; }
    bool valid(std::int64_t id) const { return id >= 0 && id < static_cast<std::int64_t>(ids_); }
    Tick latency() const { return latency_; }
    std::int64_t ids() const { return static_cast<std::int64_t>(ids_); }
    /// Number of an arrow, the same for a set and the wait that takes it, different for every set of a run.
    std::int64_t flow(int core, isa::Pipe src, isa::Pipe dst, std::int64_t id, std::int64_t count) const {
        const auto all = static_cast<std::int64_t>(flags_.size());
        return (count * kCores + core) * all + static_cast<std::int64_t>(index(src, dst) * ids_) + id;
    }
    void clear() { std::fill(flags_.begin(), flags_.end(), Flag{}); }

private:
    static constexpr std::int64_t kCores = 1 << 13;  ///< more than any chip has
    static std::size_t index(isa::Pipe src, isa::Pipe dst) { return static_cast<std::size_t>(src) * isa::kPipeCount + static_cast<std::size_t>(dst); }
    std::size_t ids_;
    Tick latency_;
    std::vector<Flag> flags_;
};

}  // namespace sfumato::sim::hw
