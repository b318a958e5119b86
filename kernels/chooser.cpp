// SPDX-License-Identifier: Apache-2.0
#include "kernels/chooser.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "isa/diagnostic.h"

namespace sfumato::kernels {

namespace {

using isa::ceil_div;
using isa::Path;
using isa::round_up;
using isa::Space;
using I = std::int64_t;

/// Parts of the time of one tile; they overlap, so the slowest counts.
struct Load {
    double load = 0, move = 0, compute = 0, issue = 0, drain = 0;
    const char* bound = "";
    double slowest() {
        const std::pair<double, const char*> parts[] = {{load, "load"}, {move, "L1-to-L0"}, {compute, "compute"}, {issue, "issue"}, {drain, "drain"}};
        const auto* worst = std::max_element(std::begin(parts), std::end(parts), [](const auto& a, const auto& b) { return a.first < b.first; });
        bound = worst->second;
        // what overlaps still costs a little at its edges; it also settles ties
        return worst->first + (load + move + compute + issue + drain - worst->first) / 32;
    }
};

/// Keeps the best and the second best; the first found wins a tie.
struct Best {
    Choice choice;
    bool found = false;
    void offer(const Sizes& tile, double cycles, const std::string& why) {
        if (!found || cycles < choice.cycles) {
            choice.runner_up = choice.tile;
            choice.runner_up_cycles = choice.cycles;
            choice.tile = tile;
            choice.cycles = cycles;
            choice.why = why;
            found = true;
        } else if (choice.runner_up.empty() || cycles < choice.runner_up_cycles) {
            choice.runner_up = tile;
            choice.runner_up_cycles = cycles;
        }
    }
};

std::vector<I> candidates(const Sizes& fixed, const char* knob, std::vector<I> values, I limit) {
    if (const auto it = fixed.find(knob); it != fixed.end()) return {it->second};
    std::erase_if(values, [&](I v) { return v > limit; });
    return values.empty() ? std::vector<I>{limit} : values;
}

double cores_of(const isa::Chip& chip, isa::CoreKind split) {
    return static_cast<double>(std::max<I>(1, chip.merged() ? chip.cores.merged : chip.count(split)));
}

/// A block of rows in GM: `pitch` bytes from one row to the next.
struct GmRows {
    I rows = 0, bytes = 0, pitch = 0;
};
bool reads(Path p) { return p == Path::gm_ub || p == Path::gm_l1 || p == Path::gm_l1_nz; }
double latency_of(const isa::Chip& chip, Path path) { return reads(path) ? chip.l2.read_latency + chip.hbm.latency : chip.l2.write_latency; }

/// Requests of one row: naturally aligned powers of two between the smallest request and a full burst; the mean over a few places it may start.
double requests(const isa::Chip& chip, const GmRows& g) {
    const I least = std::max<I>(chip.gm.request, isa::kBlockBytes), full = std::max<I>(chip.gm.full_burst, least);
    I count = 0;
    for (I sample = 0; sample < 4; ++sample) {
        const I start = sample * (g.bytes + g.pitch);
        for (I at = start / least * least; at < start + g.bytes; ++count) {
            I piece = full;
            while (piece > least && (at % piece != 0 || at + piece >= start + g.bytes + piece / 2)) piece /= 2;
            at += piece;
        }
    }
    return static_cast<double>(count) / 4;
}

/// Cycles a core's port needs for such a block, alone and with every core at work. Rows that start anywhere pass the byte shifter; `missing` is
/// the share of the bytes that no core has brought into L2 before.
double transfer(const isa::Chip& chip, Path path, const GmRows& g, double cores, double missing = 1) {
    const isa::PathTiming& p = chip.path(path);
    const double rows = static_cast<double>(g.rows), bytes = static_cast<double>(g.bytes);
    const double latency = reads(path) ? chip.l2.read_latency + missing * chip.hbm.latency : chip.l2.write_latency;
    const bool shifted = g.pitch % isa::kBlockBytes != 0 && g.rows > 1 && chip.gm.shift > 0;
    const double port = rows * (bytes / (shifted ? std::min(p.rate, chip.gm.shift) : p.rate) + p.row);
    const double in_flight = rows * requests(chip, g) * latency / static_cast<double>(std::max<I>(chip.gm.in_flight, 1));
    const double shared = rows * bytes * cores / (chip.l2.total_rate > 0 ? chip.l2.total_rate : 1e9);
    return std::max({port, in_flight, shared}) + p.interval;
}

/// Two limits of one run: the slower one counts, and the other still shows a little at its edges, which also settles ties.
double together(double a, double b) { return std::max(a, b) + std::min(a, b) / 16; }

class MatMulModel {
public:
    MatMulModel(const isa::Chip& c, const MatMulProblem& p) : chip_(c), p_(p), size_(isa::bytes_of(p.dtype)), c0_(isa::fractal_cols(p.dtype)) {}

    bool fits(I m, I n, I k1, I k0) const {
        if (k1 % k0 || m % isa::kFractalRows || n % isa::kFractalRows || k0 % std::max<I>(c0_, isa::kFractalRows)) return false;
        const I bias = p_.bias ? n * 4 : 0;
        bool ok = 2 * m * k0 * size_ <= chip_.bytes(Space::l0a) && 2 * k0 * n * size_ <= chip_.bytes(Space::l0b);
        ok = ok && m * n * 4 <= chip_.bytes(Space::l0c);
        ok = ok && 2 * ((m + n) * k1 * size_ + bias) <= chip_.bytes(Space::l1) * 15 / 16;
        if (chip_.merged()) return ok && 2 * (m * n * size_ + bias) + m * n * 4 <= chip_.bytes(Space::ub);
        return ok && bias <= chip_.bytes(Space::bt);
    }
    double cycles(I m, I n, I k1, I k0, std::string& why) const {
        const double tiles = static_cast<double>(ceil_div(p_.m, m) * ceil_div(p_.n, n));
        const double cores = cores_of(chip_, isa::CoreKind::aic), active = std::min(cores, tiles);
        const I rows = std::min(m, p_.m), cols = std::min(n, p_.n), deep = std::min(k1, p_.k);
        const double steps1 = static_cast<double>(ceil_div(p_.k, k1)), steps0 = static_cast<double>(ceil_div(p_.k, k0));
        Load l;
        const double once = static_cast<double>((p_.m + p_.n) * p_.k), asked = tiles * static_cast<double>((rows + cols) * p_.k);
        const double missing = std::min(1.0, once / asked);
        const auto block = [&](I r, I c, I pitch) { return GmRows{r, c * size_, pitch * size_}; };
        const double first = transfer(chip_, Path::gm_l1_nz, block(rows, deep, p_.k), active, missing) +
                             transfer(chip_, Path::gm_l1_nz, block(deep, cols, p_.n), active, missing);
        const double latency = latency_of(chip_, Path::gm_l1_nz);
        l.load = steps1 * std::max(first, (first + latency) / 2);  // two slots hide one latency
        const double fm = static_cast<double>(ceil_div(rows, isa::kFractalRows)), fn = static_cast<double>(ceil_div(cols, isa::kFractalRows));
        const auto type = static_cast<std::size_t>(p_.dtype);
        l.compute = fm * fn * static_cast<double>(ceil_div(p_.k, std::max<I>(chip_.cube.k_step[type], 1))) * chip_.cube.per_fractal[type] +
                    steps0 * chip_.cube.interval;
        const isa::PathTiming &a = chip_.path(Path::l1_l0a), &b = chip_.path(Path::l1_l0b);
        const double deep_k = static_cast<double>(round_up(p_.k, c0_) * size_) * isa::kFractalRows;
        l.move = fm * deep_k / a.rate + fn * deep_k / b.rate + steps0 * (a.interval + b.interval);
        l.issue = steps0 * (2 * chip_.issue.copy + chip_.issue.cube + 4 * chip_.issue.sync + chip_.issue.loop) +
                  steps1 * (2 * chip_.issue.copy + 4 * chip_.issue.sync);
        l.drain = drain(rows, cols, active);
        const bool overlapped = 2 * m * n * 4 <= chip_.bytes(Space::l0c);
        const double exposed = overlapped ? 0 : l.drain;
        if (!overlapped) l.drain = 0;
        const double tile = l.slowest() + exposed;
        why = std::string(l.bound) + "-bound" + (overlapped ? "" : ", drain exposed");
        const double hbm = static_cast<double>((p_.m + p_.n) * p_.k * size_ + p_.m * p_.n * size_) / std::max(chip_.hbm.total_rate, 1e-9);
        return together(std::ceil(tiles / cores) * tile, hbm) + first + latency + drain(rows, cols, active);
    }

private:
    double drain(I rows, I cols, double active) const {
        const double r = static_cast<double>(rows);
        const GmRows out{rows, cols * size_, p_.n * size_};
        if (!chip_.merged()) return transfer(chip_, Path::l0c_gm, out, active);
        const double repeats = r * static_cast<double>(ceil_div(cols * 4, isa::kRepeatBytes));
        return r * static_cast<double>(cols) * 4 / chip_.path(Path::l0c_ub).rate + 3 * repeats + transfer(chip_, Path::ub_gm, out, active);
    }
    const isa::Chip& chip_;
    const MatMulProblem& p_;
    I size_, c0_;
};

}  // namespace

Choice choose_matmul(const isa::Chip& chip, const MatMulProblem& p, const Sizes& fixed) {
    const MatMulModel model(chip, p);
    Best best;
    const std::vector<I> sides{16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 512};
    const std::vector<I> depths{16, 32, 64, 128, 256, 512, 1024};
    const I most_k = round_up(p.k, 32);
    std::string why;
    for (I m : candidates(fixed, "m", sides, round_up(p.m, 16)))
        for (I n : candidates(fixed, "n", sides, round_up(p.n, 16)))
            for (I k0 : candidates(fixed, "k0", depths, std::max<I>(most_k, 32)))
                for (I k1 : candidates(fixed, "k1", depths, std::max<I>(most_k, k0)))
                    if (k0 > 0 && model.fits(m, n, k1, k0)) {
                        const double cycles = model.cycles(m, n, k1, k0, why);
                        best.offer({{"m", m}, {"n", n}, {"k1", k1}, {"k0", k0}}, cycles, why);
                    }
    if (best.found) return best.choice;
    Choice given{fixed, 0, {}, 0, "as given: no tiling with these knobs fits " + chip.name + " twice over"};
    for (const char* knob : {"m", "n", "k1", "k0"}) given.tile.try_emplace(knob, knob[0] == 'k' ? 64 : 16);
    return given;
}

Choice choose_vector(const isa::Chip& chip, const VectorProblem& p, const Sizes& fixed) {
    const I size = isa::bytes_of(p.dtype), per_element = 2 * (p.inputs + 1) * size + p.wide_tiles * 4;
    const double cores = cores_of(chip, isa::CoreKind::aiv);
    const double edge = chip.vector_timing(isa::TimingClass::v_unary, isa::DType::f32).head + chip.flags.barrier + chip.issue.vector;  // of one pass
    Best best;
    const std::vector<I> widths{16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, round_up(p.cols, 16)};
    for (I cols : candidates(fixed, "cols", widths, round_up(p.cols, 16)))
        for (I rows : candidates(fixed, "rows", {1, 2, 4, 8, 16, 32, 64, 128, 256}, p.rows)) {
            if (rows * round_up(cols, 32) * per_element > chip.bytes(Space::ub)) continue;
            const double tiles = static_cast<double>(ceil_div(p.rows, rows) * ceil_div(p.cols, cols)), active = std::min(cores, tiles);
            const double r = static_cast<double>(std::min(rows, p.rows));
            const GmRows block{std::min(rows, p.rows), std::min(cols, p.cols) * size, p.cols * size};
            const double latency = latency_of(chip, Path::gm_ub), once = p.inputs * transfer(chip, Path::gm_ub, block, active);
            Load l;
            l.load = std::max(once, (once + latency) / 2);
            l.drain = transfer(chip, Path::ub_gm, block, active);
            l.compute = p.passes * (r * static_cast<double>(std::min(cols, p.cols)) / 64 + edge);
            l.issue = (p.inputs + 1) * (chip.issue.copy + 4 * chip.issue.sync) + p.passes * chip.issue.vector + chip.issue.loop;
            const double fill = once + l.drain + l.compute + latency + latency_of(chip, Path::ub_gm);
            const double hbm = static_cast<double>(p.rows * p.cols * size * (p.inputs + 1)) / std::max(chip.hbm.total_rate, 1e-9);
            const double tile = l.slowest();
            best.offer({{"rows", rows}, {"cols", cols}}, together(std::ceil(tiles / cores) * (tile + chip.flags.latency), hbm) + fill,
                       std::string(l.bound) + "-bound");
        }
    if (best.found) return best.choice;
    Choice given{fixed, 0, {}, 0, "as given: no tiling with these knobs fits UB of " + chip.name + " twice over"};
    given.tile.try_emplace("rows", 1);
    given.tile.try_emplace("cols", 16);
    return given;
}

Choice choose_copy(const isa::Chip& chip, I rows, I cols, isa::DType type, Space space, const Sizes& fixed) {
    const I size = isa::bytes_of(type), room = chip.bytes(space) / 2;
    Choice c;
    c.tile = fixed;
    const I wide = fixed.contains("cols") ? fixed.at("cols") : std::max<I>(16, std::min<I>(round_up(cols, 16), 1024));
    c.tile["cols"] = wide;
    const I unit = space == Space::l1 ? isa::kFractalRows : 1;
    c.tile.try_emplace("rows", std::max<I>(unit, std::min<I>({round_up(rows, unit), 64, room / (round_up(wide, 32) * size) / unit * unit})));
    for (const auto& [knob, value] : Sizes{{"slots", 2}, {"repeat", 1}, {"shared", 0}, {"stagger", 0}, {"bypass", 0}})
        c.tile.try_emplace(knob, value);
    c.why = "rows of full bursts, two transfers under way";
    return c;
}

}  // namespace sfumato::kernels
