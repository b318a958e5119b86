// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tags of the shared L2: which sectors of which lines are present, which are dirty, and which transfer is filling or reading a line. A paged
// table holds the state of each line of GM, so that a lookup costs the same at any associativity and neighbours lie together; the slots of a set
// are only looked at when a line needs room, and the oldest line leaves.
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "isa/chip.h"

namespace sfumato::sim::hw {

/// Serial number of a transfer; 0: none. Serials grow in the order in which transfers look up their lines.
using Serial = std::uint32_t;

class L2 {
public:
    explicit L2(const isa::Chip&);

    static constexpr std::uint8_t kMostSharers = 127;  ///< what `sharers` counts to
    /// A line of GM as L2 knows it; without sectors: not present. Eight bytes, since every transfer walks over them.
    struct Line {
        Serial user = 0;           ///< transfer that is filling the line, afterwards the last one that read it
        std::uint32_t sectors : 8 = 0, dirty : 8 = 0;
        std::uint32_t sharers : 7 = 0;  ///< transfers that read it at the same time, kept by the caller
        std::uint32_t filling : 1 = 0;  ///< `user` fetched sectors of it
        std::uint32_t crowd : 8 = 0;    ///< sharers of the last time it was shared
    };
    /// What a line access found.
    struct Found {
        Line* line = nullptr;      ///< of a line that is present now, or read around L2
        bool present = false;      ///< every sector asked for was there (or is being filled)
        std::int64_t missing = 0;  ///< bytes to fetch: the rest of the line, or what was asked for when it goes around L2
        std::int64_t evicted = 0;  ///< dirty bytes that had to leave for it
        bool victim = false;       ///< a valid line was replaced
    };
    /// What is known of a line; null: nothing.
    Line* find(std::int64_t line) const {
        const auto page = static_cast<std::size_t>(line >> kPageBits);
        return page < pages_.size() && pages_[page] ? &(*pages_[page])[static_cast<std::size_t>(line) & kPageMask] : nullptr;
    }
    /// Bytes [first, last) of the line are present (or being filled).
    bool holds(const Line& l, std::int64_t first, std::int64_t last) const { return (mask(first, last) & ~l.sectors) == 0; }
    /// Reads bytes of which some are not present; allocates and fills the line unless `bypass`.
    Found fetch(std::int64_t line, std::int64_t first, std::int64_t last, bool bypass);
    Found write(std::int64_t line, std::int64_t first, std::int64_t last, bool bypass);
    /// Makes a whole line present and clean.
    void warm(std::int64_t line);
    /// Where a line that is not present will be entered and the line that has to leave for it, for the host to fetch ahead; null: nothing to fetch.
    const void* next_slot(std::int64_t line) const;
    const void* next_victim(std::int64_t line) const;

    std::int64_t line_bytes() const { return line_bytes_; }
    int line_shift() const { return line_shift_; }
    bool enabled() const { return !slots_.empty(); }
    std::int64_t capacity_lines() const { return static_cast<std::int64_t>(slots_.size()); }

    int sector_shift() const { return sector_shift_; }

private:
    static constexpr int kPageBits = 12;
    static constexpr std::size_t kPageMask = (std::size_t{1} << kPageBits) - 1;
    static constexpr std::int64_t kSectors = 8;  ///< of a line, at most: what a mask holds
    using Page = std::array<Line, kPageMask + 1>;

    Line& entry(std::int64_t line) {
        const auto page = static_cast<std::size_t>(line >> kPageBits);
        if (page >= pages_.size() || !pages_[page]) add_page(page);
        return (*pages_[page])[static_cast<std::size_t>(line) & kPageMask];
    }
    void add_page(std::size_t);
    std::size_t set_of(std::int64_t line) const;
    void allocate(std::int64_t line, Line&, Found&);
    std::uint32_t mask(std::int64_t first, std::int64_t last) const {
        const auto lo = static_cast<unsigned>(first >> sector_shift_), hi = static_cast<unsigned>((last - 1) >> sector_shift_);
        return ((2u << hi) - 1) & ~((1u << lo) - 1);
    }
    std::int64_t bytes_of(std::uint32_t sectors) const;

    std::int64_t line_bytes_ = 0;
    int line_shift_ = 0, sector_shift_ = 0;
    std::uint32_t whole_ = 0;
    std::size_t sets_ = 0, ways_ = 0;
    bool hashed_ = false;
    std::vector<std::uint32_t> slots_;  ///< line in each slot, counted from 1, 0: free; slots of a set lie together
    std::vector<std::uint16_t> hand_;
    std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace sfumato::sim::hw
