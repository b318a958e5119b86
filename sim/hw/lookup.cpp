// SPDX-License-Identifier: Apache-2.0
// The part of the memory system that turns a transfer's rows into segments: which bytes L2 serves, which come from HBM, what had to leave.
#include <algorithm>
#include <bit>

#include "sim/hw/memory.h"

namespace sfumato::sim::hw {

namespace {
constexpr std::int64_t kRowsAhead = 8;  // host latency of a tag is about that of eight look-ups
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
void Memory::add_segment(Flow& f, Server server, Track track, const Kind& k, Fixed turns, Fixed weight, Tick latency) {
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
    s.cap = std::max<Fixed>(1, mul_div_up(s.bytes << kFractionBits, kOne, std::max<Fixed>(1, std::max(port, in_flight) + turns)));
}

void Memory::count_read(const L2::Found& found, Flow& f, Looked& sum, const Kind& asked, Fixed line_port, int port) {
    if (found.missing > 0 && sum.hit.bytes == 0) sum.miss_first = true;
    Kind& kind = found.missing > 0 ? sum.miss : sum.hit;
    kind.bytes += asked.bytes;
    kind.requests += asked.requests;
    kind.moved += found.missing > 0 ? found.missing : asked.moved;
    sum.evicted += found.evicted;
    ++(found.present ? stats_.l2_hits : stats_.l2_misses);
    if (found.victim) ++stats_.l2_evictions;
    if (!found.line) return;
    L2::Line& l = *found.line;
    const bool in_use = l.user != f.serial && live(l.user);
    if (in_use && l.filling && (f.fills.empty() || f.fills.back() != l.user)) {
        if (std::find(f.fills.begin(), f.fills.end(), l.user) == f.fills.end()) f.fills.push_back(l.user);
    }
    // A line is served to its readers in turn, so every one of a group waits for all; how many come is known from the last time it was shared. No more
    // can wait for it than have transfers under way.
    const bool shared = in_use && live_[l.user & live_mask_].second != port;
    const std::size_t under_way = engaged_.size() + (ports_[static_cast<std::size_t>(port)].engaged ? 0u : 1u);
    if (!shared) l.crowd = l.sharers;
    l.sharers = static_cast<std::uint8_t>(shared ? std::min<std::size_t>({std::size_t{l.sharers} + 1, under_way, L2::kMostSharers}) : 1u) & L2::kMostSharers;
    const std::size_t group = std::max<std::size_t>(l.sharers, found.missing > 0 ? 1u : std::min<std::size_t>(l.crowd, under_way));
    if (group > 1) {
        const Fixed alone = std::max(line_port, div_up((asked.requests * read_latency_) << kFractionBits, in_flight_));
        sum.turns += std::max<Fixed>(0, static_cast<Fixed>(group) * same_line_ - alone);
    }
    if (found.missing > 0) {
        l.user = f.serial;
        l.filling = true;
    } else if (!in_use || !l.filling) {  // the filler stays named until it is done
        l.user = f.serial;
        l.filling = false;
    }
}

Memory::Looked Memory::look_up_lines(Flow& f, int port) {
    Looked sum;
    const Transfer& t = f.what;
    const std::int64_t line_bytes = l2_.line_bytes(), sector = std::int64_t{1} << l2_.sector_shift();
    const Fixed per_byte = t.bytes > 0 ? t.port / t.bytes : 0;
    for (std::int64_t r = 0; r < t.rows; ++r) {
        const std::int64_t begin = t.address + r * t.pitch, end = begin + t.row_bytes;
        l2_.prefetch((begin + kRowsAhead * t.pitch) >> l2_.line_shift());
        for (std::int64_t at = begin; at < end;) {
            const std::int64_t line = at >> l2_.line_shift(), line_start = line << l2_.line_shift();
            const std::int64_t first = at - line_start, last = std::min(end - line_start, line_bytes);
            Kind asked{last - first, line_bytes, 1};
            if (asked.bytes != line_bytes || line_bytes > chip_.gm.full_burst)
                asked = {last - first, ((last + sector - 1) & -sector) - (first & -sector), requests(first, last)};
            at = line_start + line_bytes;
            if (!t.write) {
                count_read(l2_.read(line, first, last, t.bypass), f, sum, asked, per_byte * asked.bytes, port);
                continue;
            }
            const L2::Found found = l2_.write(line, first, last, t.bypass);
            ++(found.present ? stats_.l2_write_hits : stats_.l2_write_misses);
            if (found.victim) ++stats_.l2_evictions;
            sum.evicted += found.evicted;
            Kind& kind = t.bypass || !l2_.enabled() ? sum.miss : found.evicted > 0 ? sum.replaced : sum.hit;
            kind.bytes += asked.bytes;
            kind.moved += asked.moved;
            kind.requests += asked.requests;
        }
    }
    return sum;
}

void Memory::look_up(Flow& f, Port& p) {
    do f.serial = next_serial_++;
    while (f.serial == 0 || live_[f.serial & live_mask_].first != 0);
    live_[f.serial & live_mask_] = {f.serial, p.number};
    const Looked sum = look_up_lines(f, p.number);
    (f.what.write ? stats_.gm_write_bytes : stats_.gm_read_bytes) += f.what.bytes;
    stats_.hbm_write_bytes += sum.evicted;
    // What an eviction moves is paid by the transfer that caused it, as extra weight of its own bytes.
    const auto with_evictions = [&](Fixed weight, const Kind& k) { return weight + (k.moved > 0 ? mul_div_up(write_weight_, sum.evicted, k.moved) : 0); };
    if (f.what.write) {
        add_segment(f, l2_write, Track::l2_write, sum.hit, 0, kOne, write_latency_);
        if (sum.miss.moved > 0) {  // around L2
            stats_.hbm_write_bytes += sum.miss.moved;
            add_segment(f, hbm, Track::hbm_write, sum.miss, 0, with_evictions(write_weight_, sum.miss), write_latency_);
        } else {
            add_segment(f, hbm, Track::hbm_write, sum.replaced, 0, with_evictions(0, sum.replaced), write_latency_);
        }
        return;
    }
    stats_.hbm_read_bytes += sum.miss.moved;
    if (!sum.miss_first) add_segment(f, l2_read, Track::l2_read, sum.hit, sum.turns, kOne, read_latency_);
    add_segment(f, hbm, Track::hbm_read, sum.miss, 0, with_evictions(read_weight_, sum.miss), read_latency_ + hbm_latency_);
    if (sum.miss_first) add_segment(f, l2_read, Track::l2_read, sum.hit, sum.turns, kOne, read_latency_);
}

}  // namespace sfumato::sim::hw
