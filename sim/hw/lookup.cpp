// SPDX-License-Identifier: Apache-2.0
// The part of the memory system that turns a transfer's rows into segments: which bytes L2 serves, which come from HBM, what had to leave.
#include <algorithm>
#include <bit>

#include "sim/hw/memory.h"

namespace sfumato::sim::hw {

namespace {
// Tags lie in no order that the host could foresee: it is told of a line, of the place it will get and of whom it will replace in good time.
constexpr std::int64_t kRowsAhead = 4;
}

// Requests of a core for bytes [first, last) of a line: naturally aligned powers of two between the smallest and the largest.
std::int64_t Memory::requests(std::int64_t first, std::int64_t last) const {
    const std::int64_t least = chip_.gm.request, most = std::max(least, chip_.gm.full_burst);
    std::int64_t at = first / least * least, end = isa::round_up(last, least), count = 0;
    if (at == 0 && end == most) return 1;
    for (; at < end; ++count) {
        std::int64_t size = at == 0 ? most : std::min(most, at & -at);
        while (size > least && at + size > end) size /= 2;
        at += size;
    }
    return count;
}

// A segment moves at most what the port carries and at most what the requests in flight bring per latency.
void Memory::add_segment(Flow& f, Server server, Track track, const Kind& k, Fixed weight, Tick latency) {
    if (k.bytes <= 0 || k.moved <= 0) return;
    Segment& s = f.part[f.segments++];
    s.server = server;
    s.track = track;
    s.bytes = k.moved;
    s.weight = weight;
    s.ready = f.what.first + latency;
    const Fixed port = mul_div_up(f.what.port, k.bytes, std::max<std::int64_t>(1, f.what.bytes));
    const Fixed in_flight = div_up((k.requests * latency) << kFractionBits, in_flight_);
    // rounded up: rounding must not make a transfer longer than its port time
    s.cap = std::max<Fixed>(1, mul_div_up(s.bytes << kFractionBits, kOne, std::max<Fixed>(1, std::max(port, in_flight) + k.turns)));
}

// A line that a transfer reads: who else uses it now, and whether its data is still on its way. Returns the port ticks it waits for its turn.
inline Fixed Memory::use_line(L2::Line& l, bool missing, Flow& f, const Reader& who, const Kind& asked) {
    const auto& user = live_[l.user & live_mask_];
    const bool in_use = user.first == l.user && l.user != who.serial && l.user != 0;
    if (in_use && l.filling && (f.fills.empty() || f.fills.back() != l.user)) {
        if (std::find(f.fills.begin(), f.fills.end(), l.user) == f.fills.end()) f.fills.push_back(l.user);
    }
    // A line is served to its readers in turn, so every one of a group waits for all; how many come is known from the last time it was shared. No more
    // can wait for it than have transfers under way.
    const bool shared = in_use && user.second != who.port;
    if (!shared) l.crowd = l.sharers;
    l.sharers = shared ? std::min(l.sharers + 1u, who.most_sharers) : 1u;
    const bool fills = missing && !f.what.bypass;
    const std::uint32_t group = std::max<std::uint32_t>(l.sharers, fills ? 1u : std::min<std::uint32_t>(l.crowd, who.most_sharers));
    if (fills || !in_use || !l.filling) {  // a filler stays named until it is done
        l.user = who.serial;
        l.filling = fills;
    }
    if (group <= 1) return 0;
    const Tick latency = read_latency_ + (missing ? hbm_latency_ : 0);
    const Fixed alone = std::max(who.per_byte * asked.bytes, div_up((asked.requests * latency) << kFractionBits, in_flight_));
    return std::max<Fixed>(0, static_cast<Fixed>(group) * same_line_ - alone);
}

L2::Line* Memory::miss_line(std::int64_t line, const Piece& p, const Flow& f, Looked& sum) {
    const L2::Found found = l2_.fetch(line, p.first, p.last, f.what.bypass);
    if (sum.hit.bytes == 0) sum.miss_first = true;
    sum.miss.add({p.asked.bytes, found.missing, p.asked.requests});
    sum.evicted += found.evicted;
    sum.victims += found.victim;
    return found.line;
}

void Memory::write_line(std::int64_t line, const Piece& p, const Flow& f, Looked& sum) {
    const L2::Found found = l2_.write(line, p.first, p.last, f.what.bypass);
    (f.what.bypass || !l2_.enabled() ? sum.miss : found.evicted > 0 ? sum.replaced : sum.hit).add(p.asked);
    sum.evicted += found.evicted;
    sum.present += found.present;
    sum.victims += found.victim;
}

Memory::Piece Memory::piece(std::int64_t first, std::int64_t last) const {
    const std::int64_t line_bytes = l2_.line_bytes(), sector = std::int64_t{1} << l2_.sector_shift();
    if (last - first == line_bytes && line_bytes <= chip_.gm.full_burst) return {first, last, {line_bytes, line_bytes, 1}};
    return {first, last, {last - first, ((last + sector - 1) & -sector) - (first & -sector), requests(first, last)}};
}

Memory::Looked Memory::look_up_lines(Flow& f, const Port& port) {
    Looked sum;
    const Transfer t = f.what;
    const std::int64_t line_bytes = l2_.line_bytes();
    const int shift = l2_.line_shift();
    const auto most_sharers = static_cast<std::uint32_t>(std::min<std::size_t>(engaged_.size() + (port.engaged ? 0 : 1), std::size_t{L2::kMostSharers}));
    const Reader who{port.number, f.serial, most_sharers, t.bytes > 0 ? t.port / t.bytes : 0};
    Piece p;
    for (std::int64_t r = 0; r < t.rows; ++r) {
        const std::int64_t begin = t.address + r * t.pitch, end = begin + t.row_bytes;
        const auto line_ahead = [&](std::int64_t rows) { return (begin + rows * t.pitch) >> shift; };
        __builtin_prefetch(l2_.find(line_ahead(4 * kRowsAhead)));
        if (!t.bypass) {
            __builtin_prefetch(l2_.next_slot(line_ahead(2 * kRowsAhead)));
            __builtin_prefetch(l2_.next_victim(line_ahead(kRowsAhead)));
        }
        for (std::int64_t at = begin; at < end;) {
            const std::int64_t line = at >> shift, line_start = line << shift;
            const std::int64_t first = at - line_start, last = std::min(end - line_start, line_bytes);
            if (first != p.first || last != p.last) p = piece(first, last);  // the lines of a transfer are mostly alike
            at = line_start + line_bytes;
            ++sum.lines;
            if (t.write) {
                write_line(line, p, f, sum);
                continue;
            }
            L2::Line* l = l2_.find(line);
            const bool held = l && l2_.holds(*l, first, last);
            if (held) {
                sum.hit.add(p.asked);
                ++sum.present;
            } else {
                l = miss_line(line, p, f, sum);
            }
            if (l) (held ? sum.hit : sum.miss).turns += use_line(*l, !held, f, who, p.asked);
        }
    }
    return sum;
}

void Memory::look_up(Flow& f, Port& p) {
    do f.serial = next_serial_++;
    while (f.serial == 0 || live_[f.serial & live_mask_].first != 0);
    live_[f.serial & live_mask_] = {f.serial, p.number};
    const Looked sum = look_up_lines(f, p);
    (f.what.write ? stats_.l2_write_hits : stats_.l2_hits) += sum.present;
    (f.what.write ? stats_.l2_write_misses : stats_.l2_misses) += sum.lines - sum.present;
    stats_.l2_evictions += sum.victims;
    (f.what.write ? stats_.gm_write_bytes : stats_.gm_read_bytes) += f.what.bytes;
    stats_.hbm_write_bytes += sum.evicted;
    // What an eviction moves is paid by the transfer that caused it, as extra weight of its own bytes.
    const auto with_evictions = [&](Fixed weight, const Kind& k) { return weight + (k.moved > 0 ? mul_div_up(write_weight_, sum.evicted, k.moved) : 0); };
    if (f.what.write) {
        add_segment(f, l2_write, Track::l2_write, sum.hit, kOne, write_latency_);
        if (sum.miss.moved > 0) {  // around L2
            stats_.hbm_write_bytes += sum.miss.moved;
            add_segment(f, hbm, Track::hbm_write, sum.miss, with_evictions(write_weight_, sum.miss), write_latency_);
        } else {
            add_segment(f, hbm, Track::hbm_write, sum.replaced, with_evictions(0, sum.replaced), write_latency_);
        }
        return;
    }
    stats_.hbm_read_bytes += sum.miss.moved;
    if (!sum.miss_first) add_segment(f, l2_read, Track::l2_read, sum.hit, kOne, read_latency_);
    add_segment(f, hbm, Track::hbm_read, sum.miss, with_evictions(read_weight_, sum.miss), read_latency_ + hbm_latency_);
    if (sum.miss_first) add_segment(f, l2_read, Track::l2_read, sum.hit, kOne, read_latency_);
}

}  // namespace sfumato::sim::hw
