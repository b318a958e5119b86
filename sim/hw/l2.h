// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tags of the shared L2: which sectors of which lines are present, which are dirty, and which transfer is filling or reading a line. A paged
// map leads from a line to its slot, so that a lookup costs the same at any associativity; CLOCK chooses victims.
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

    /// What a line access found.
    struct Found {
        bool present = false;      ///< every sector asked for was there (or is being filled)
        std::int64_t missing = 0;  ///< bytes to fetch: the rest of the line, or what was asked for when it goes around L2
        Serial filler = 0;         ///< last transfer that fetched sectors of the line
        Serial reader = 0;         ///< last transfer that read the line before this one
        std::uint16_t* sharers = nullptr;  ///< of a present line: how many transfers read it at the same time, kept by the caller
        std::int64_t evicted = 0;  ///< dirty bytes that had to leave for it
        bool victim = false;       ///< a valid line was replaced
    };
    /// Reads bytes [first, last) of the line; allocates and fills it unless `bypass`.
    Found read(std::int64_t line, std::int64_t first, std::int64_t last, Serial who, bool bypass);
    Found write(std::int64_t line, std::int64_t first, std::int64_t last, Serial who, bool bypass);
    /// Makes a whole line present and clean.
    void warm(std::int64_t line);

    std::int64_t line_bytes() const { return line_bytes_; }
    int line_shift() const { return line_shift_; }
    bool enabled() const { return !slots_.empty(); }
    std::int64_t capacity_lines() const { return static_cast<std::int64_t>(slots_.size()); }

private:
    struct Slot {
        std::int64_t line = -1;
        Serial filler = 0, reader = 0;
        std::uint32_t sectors = 0, dirty = 0;
        std::uint16_t sharers = 1;
        bool recent = false;
    };
    static constexpr int kPageBits = 12;
    using Page = std::array<std::uint32_t, std::size_t{1} << kPageBits>;  ///< slot + 1 of each line

    std::uint32_t& entry(std::int64_t line);
    std::size_t set_of(std::int64_t line) const;
    Slot& allocate(std::int64_t line, std::uint32_t& where, Found&);
    std::uint32_t mask(std::int64_t first, std::int64_t last) const;

    std::int64_t line_bytes_ = 0, sector_bytes_ = 0;
    int line_shift_ = 0, sector_shift_ = 0;
    std::size_t sets_ = 0, ways_ = 0;
    bool hashed_ = false;
    std::vector<Slot> slots_;
    std::vector<std::uint16_t> hand_;
    std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace sfumato::sim::hw
