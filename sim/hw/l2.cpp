// SPDX-License-Identifier: Apache-2.0
#include "sim/hw/l2.h"

#include <algorithm>
#include <bit>

namespace sfumato::sim::hw {

L2::L2(const isa::Chip& chip) : line_bytes_(chip.l2.line), hashed_(chip.l2.hashed) {
    line_shift_ = std::countr_zero(static_cast<std::uint64_t>(line_bytes_));
    // a sector is what one request moves; 32 of them is what a mask holds
    sector_bytes_ = std::clamp<std::int64_t>(chip.gm.request, std::max<std::int64_t>(1, line_bytes_ / 32), line_bytes_);
    sector_shift_ = std::countr_zero(static_cast<std::uint64_t>(sector_bytes_));
    ways_ = static_cast<std::size_t>(std::max<std::int64_t>(1, chip.l2.ways));
    sets_ = static_cast<std::size_t>(chip.l2.capacity / line_bytes_) / ways_;
    slots_.resize(sets_ * ways_);
    hand_.resize(sets_, 0);
}

std::uint32_t& L2::entry(std::int64_t line) {
    const auto page = static_cast<std::size_t>(line >> kPageBits);
    if (page >= pages_.size()) pages_.resize(page + 1);
    if (!pages_[page]) pages_[page] = std::make_unique<Page>();
    return (*pages_[page])[static_cast<std::size_t>(line) & ((std::size_t{1} << kPageBits) - 1)];
}

std::size_t L2::set_of(std::int64_t line) const {
    auto x = static_cast<std::uint64_t>(line);
    if (hashed_) {  // a multiplicative hash: neighbouring lines and power-of-two pitches spread over the sets
        x *= 0x9e3779b97f4a7c15ull;
        x ^= x >> 32;
    }
    return static_cast<std::size_t>(x % sets_);
}

std::uint32_t L2::mask(std::int64_t first, std::int64_t last) const {
    const auto lo = static_cast<unsigned>(first >> sector_shift_), hi = static_cast<unsigned>((last - 1) >> sector_shift_);
    return static_cast<std::uint32_t>(((std::uint64_t{2} << hi) - 1) & ~((std::uint64_t{1} << lo) - 1));
}

L2::Slot& L2::allocate(std::int64_t line, std::uint32_t& where, Found& found) {
    const std::size_t set = set_of(line), base = set * ways_;
    std::size_t way = hand_[set];
    for (;; way = way + 1 == ways_ ? 0 : way + 1) {
        Slot& s = slots_[base + way];
        if (s.line < 0 || !s.recent) break;
        s.recent = false;
    }
    hand_[set] = static_cast<std::uint16_t>(way + 1 == ways_ ? 0 : way + 1);
    Slot& s = slots_[base + way];
    if (s.line >= 0) {
        entry(s.line) = 0;
        found.victim = true;
        found.evicted = static_cast<std::int64_t>(std::popcount(s.dirty)) << sector_shift_;
    }
    s = Slot{};
    s.line = line;
    where = static_cast<std::uint32_t>(base + way + 1);
    return s;
}

L2::Found L2::read(std::int64_t line, std::int64_t first, std::int64_t last, Serial who, bool bypass) {
    Found out;
    const std::uint32_t need = mask(first, last);
    const auto bytes = [&](std::uint32_t m) { return static_cast<std::int64_t>(std::popcount(m)) << sector_shift_; };
    if (!enabled()) {
        out.missing = bytes(need);
        return out;
    }
    std::uint32_t& where = entry(line);
    const std::uint32_t whole = mask(0, line_bytes_);
    if (where == 0) {
        out.missing = bytes(bypass ? need : whole);  // a miss fetches the whole line, unless it goes around L2
        if (bypass) return out;
        Slot& s = allocate(line, where, out);
        s.sectors = whole;
        s.filler = s.reader = who;
        return out;
    }
    Slot& s = slots_[where - 1];
    s.recent = true;
    out.filler = s.filler;
    out.reader = s.reader;
    out.sharers = &s.sharers;
    out.present = (need & ~s.sectors) == 0;
    if (!out.present) {
        out.missing = bytes((bypass ? need : whole) & ~s.sectors);
        if (!bypass) {
            s.sectors = whole;
            s.filler = who;
        }
    }
    s.reader = who;
    return out;
}

L2::Found L2::write(std::int64_t line, std::int64_t first, std::int64_t last, Serial who, bool bypass) {
    Found out;
    const std::uint32_t touched = mask(first, last);
    if (!enabled()) return out;
    std::uint32_t& where = entry(line);
    if (where == 0) {
        if (bypass) return out;
        Slot& s = allocate(line, where, out);
        s.sectors = s.dirty = touched;
        s.reader = who;
        return out;
    }
    Slot& s = slots_[where - 1];
    out.present = true;
    s.sectors |= touched;
    s.recent = true;
    s.reader = who;
    if (bypass) s.dirty &= ~touched;  // the bytes go to memory as well, so this copy is clean
    else s.dirty |= touched;
    return out;
}

void L2::warm(std::int64_t line) {
    if (!enabled()) return;
    Found ignored;
    std::uint32_t& where = entry(line);
    Slot& s = where == 0 ? allocate(line, where, ignored) : slots_[where - 1];
    s.sectors = mask(0, line_bytes_);
}

}  // namespace sfumato::sim::hw
