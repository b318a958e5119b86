// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <charconv>

#include "traces/report.h"

namespace sfumato::traces {

using isa::with_separators;

namespace {

constexpr std::size_t kHotLines = 8;      // lines of the hot-spot table
constexpr std::size_t kRounds = 12;       // rounds of a repeated run
constexpr std::size_t kDiagnostics = 20;  // diagnostics printed in full

std::string left(std::string s, std::size_t width) {
    if (s.size() < width) s.append(width - s.size(), ' ');
    return s;
}
std::string right(const std::string& s, std::size_t width) { return s.size() < width ? std::string(width - s.size(), ' ') + s : s; }
std::string percent(double share) { return short_number(share * 100) + " %"; }

std::string list(const NamedNumbers& numbers) {
    std::string out;
    for (const auto& [name, value] : numbers) out += (out.empty() ? "" : " ") + name + "=" + std::to_string(value);
    return out;
}

std::string head(const RunReport& r) {
    std::string out = r.kernel + " on " + r.chip + " (" + r.arch + ")";
    if (!r.shape.empty()) out += ", " + list(r.shape);
    if (!r.dtype.empty()) out += ", " + r.dtype;
    if (!r.tile.empty()) out += ", tile " + list(r.tile);
    if (r.blocks > 0) out += ", " + std::to_string(r.blocks) + (r.blocks == 1 ? " core" : " cores");
    return out + "\n";
}

std::string time(const RunReport& r) {
    std::string out = "time        core " + short_number(r.core_time_us) + " us (" + with_separators(r.cycles) + " cycles on the slowest), mean over cores " +
                      short_number(r.core_time_mean_us) + " us, task " + short_number(r.task_time_us) + " us";
    out += "\n";
    if (r.rounds_us.size() > 1) {
        out += "rounds      ";
        for (std::size_t i = 0; i < std::min(kRounds, r.rounds_us.size()); ++i) out += (i ? ", " : "") + short_number(r.rounds_us[i]);
        out += std::string(r.rounds_us.size() > kRounds ? ", ..." : "") + " us of core time; the last of " + std::to_string(r.rounds_us.size()) + " is reported\n";
    }
    if (r.flops > 0) {
        out += "arithmetic  " + short_number(r.tflops()) + " TFLOP/s";
        if (r.peak_tflops > 0) out += ", " + percent(r.peak_fraction()) + " of the " + r.peak_of + " peak of " + short_number(r.peak_tflops) + " TFLOP/s";
        out += "\n";
    }
    return out;
}

std::string pipe_table(const RunReport& r) {
    std::string out = "pipes       " + left("core", 6) + left("pipe", 9) + right("busy", 8) + right("stalled", 9) + right("idle", 8) + right("instructions", 14) +
                      right("bytes", 18) + "\n";
    for (const CoreGroup& g : r.groups)
        for (const PipeShare& s : g.pipes) {
            if (s.instructions == 0 && s.busy == 0) continue;
            out += "            " + left(std::string(isa::name(g.kind)), 6) + left(std::string(isa::kPipeNames[static_cast<std::size_t>(s.pipe)].profiler), 9) +
                   right(percent(s.busy), 8) + right(percent(s.stalled), 9) + right(percent(s.idle), 8) + right(with_separators(s.instructions), 14) +
                   right(s.bytes > 0 ? with_separators(s.bytes) : "", 18);
            if (s.conflict > 0) out += "  " + percent(s.conflict) + " lost to bank conflicts";
            out += "\n";
        }
    return out;
}

std::string memory_table(const RunReport& r) {
    const sim::MemoryStats& m = r.memory;
    const auto line = [&](const char* name, std::int64_t bytes) {
        return std::string("            ") + left(name, 12) + right(with_separators(bytes), 18) + " B" + right(short_number(r.gbs(bytes)), 10) + " GB/s\n";
    };
    std::string out = "memory      " + (r.l2_before.empty() ? "" : "L2 " + r.l2_before + " at the start, ") + percent(r.l2_hit_rate()) + " of the lines read were hits\n";
    out += line("GM read", m.gm_read_bytes) + line("GM written", m.gm_write_bytes) + line("HBM read", m.hbm_read_bytes) + line("HBM written", m.hbm_write_bytes);
    const double hbm = r.gbs(m.hbm_read_bytes + m.hbm_write_bytes);
    if (r.hbm_peak_gbs > 0) out += "            HBM in all " + short_number(hbm) + " GB/s, " + percent(hbm / r.hbm_peak_gbs) + " of " + short_number(r.hbm_peak_gbs) + " GB/s\n";
    return out;
}

std::string value_lines(const ValueCheck& v) {
    if (!v.checked) return "values      not checked\n";
    std::string out = std::string("values      ") + (v.equal ? "equal to the reference" : "WRONG") + ": largest error " + short_number(v.max_abs_error) + " absolute, " +
                      short_number(v.max_rel_error) + " relative, tolerance " + short_number(v.tolerance);
    if (!v.tolerance_rule.empty()) out += " (" + v.tolerance_rule + ")";
    out += "\n";
    if (!v.first_mismatch.empty()) out += "            first mismatch: " + v.first_mismatch + "\n";
    return out;
}

std::string hot_table(const RunReport& r) {
    std::string out;
    for (std::size_t i = 0; i < std::min(kHotLines, r.hot.size()); ++i) {
        const HotLine& h = r.hot[i];
        if (h.busy_us <= 0) break;
        if (out.empty())
            out = "hot lines   " + left("source", 34) + right("busy us", 11) + right("stalled us", 12) + right("count", 11) + right("bytes", 16) + "  instructions\n";
        out += "            " + left(h.where, 34) + right(short_number(h.busy_us), 11) + right(short_number(h.stalled_us), 12) + right(with_separators(h.count), 11) +
               right(h.bytes > 0 ? with_separators(h.bytes) : "", 16) + "  " + h.what + "\n";
    }
    return out.empty() ? out : out + "            (times summed over cores)\n";
}

std::string diagnostic_lines(const RunReport& r) {
    std::string out;
    for (std::size_t i = 0; i < std::min(kDiagnostics, r.diagnostics.size()); ++i) out += to_text(r.diagnostics[i]) + "\n";
    if (r.diagnostics.size() > kDiagnostics) out += "and " + std::to_string(r.diagnostics.size() - kDiagnostics) + " more\n";
    return out;
}

std::string foot(const RunReport& r) {
    const Assumptions& a = r.assumptions;
    std::string out = "assumed     chip file " + a.chip_hash + ", model " + a.model_version + ", L2 " + a.l2 + ", seed " + std::to_string(a.seed) + ", mode " + a.mode + "\n";
    for (const std::string& n : a.notes) out += "            " + n + "\n";
    out += "simulated   " + with_separators(r.instructions) + " instructions in " + short_number(r.wall_s) + " s";
    if (r.wall_s > 0) out += ", " + short_number(static_cast<double>(r.instructions) / r.wall_s / 1e6) + " million a second";
    if (r.compile_s > 0) out += "; compiled in " + short_number(r.compile_s * 1e3) + " ms";
    return out + "\n";
}

}  // namespace

std::string short_number(double v) {
    if (v == 0) return "0";
    if (!std::isfinite(v)) return v > 0 ? "inf" : v < 0 ? "-inf" : "nan";
    const double size = std::fabs(v);
    std::array<char, 400> text;
    const int digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 0.01 ? 3 : 0;
    const auto end = size >= 0.01 && size < 1e15 ? std::to_chars(text.data(), text.data() + text.size(), v, std::chars_format::fixed, digits)
                                                 : std::to_chars(text.data(), text.data() + text.size(), v, std::chars_format::scientific, 2);
    std::string out(text.data(), end.ptr);
    if (size >= 1000 && size < 1e15) return isa::with_separators(static_cast<std::int64_t>(std::llround(v)));
    return out;
}

std::string capacity_text(const RunReport& r) {
    std::string out;
    for (const SpaceUse& s : r.capacity) {
        out += (out.empty() ? "capacity    " : "            ") + left(std::string(isa::name(s.space)), 4) + right(with_separators(s.used), 9) + " of " +
               right(with_separators(s.total), 9) + " B";
        if (s.total > 0) out += " (" + percent(static_cast<double>(s.used) / static_cast<double>(s.total)) + ")";
        std::string names;
        for (const BufferUse& b : s.buffers) names += (names.empty() ? "  " : ", ") + b.name + (b.slots > 1 ? " x " + std::to_string(b.slots) : "");
        out += names + "\n";
    }
    return out;
}

namespace {

/// What is said of one kernel, without its head and foot.
std::string body(const RunReport& r) {
    std::string out;
    if (r.timed) {
        out += time(r);
        const Bottleneck& b = r.bottleneck;
        if (!b.pipe.empty())
            out += "bound by    " + b.pipe + ", busy " + percent(b.share) + ": " + b.reason + (b.source_line.empty() ? "" : " (" + b.source_line + ")") + "\n";
        out += pipe_table(r) + memory_table(r);
    }
    out += capacity_text(r);
    out += "order       " + std::to_string(r.sync.flags) + " flags, " + std::to_string(r.sync.event_ids) + " event ids, " + std::to_string(r.sync.barriers) +
           " barriers, " + std::to_string(r.sync.cross_core) + " cross-core flags\n";
    out += value_lines(r.values);
    if (r.timed) out += hot_table(r);
    return out;
}

std::string launch_text(const RunReport& r, std::size_t number, std::size_t of) {
    std::string out = "launch " + std::to_string(number) + " of " + std::to_string(of) + ": " + head(r);
    if (r.timed && number > 1) out += "starts      " + short_number(r.begin_us) + " us after the first\n";
    for (const auto& [tensor, source] : r.reads) out += "reads       " + tensor + " is " + source + ", where that launch left it\n";
    return out + body(r) + "\n";
}

}  // namespace

std::string to_text(const RunReport& r) {
    std::string out;
    for (std::size_t i = 0; i < r.launches.size(); ++i) out += launch_text(r.launches[i], i + 1, r.launches.size());
    if (!r.launches.empty()) out += "all " + std::to_string(r.launches.size()) + " launches: " + r.kernel + " on " + r.chip + "\n";
    else out += head(r);
    if (r.status != "ok") out += "status      " + r.status + "\n";
    out += diagnostic_lines(r);
    if (r.launches.empty()) out += body(r);
    else out += (r.timed ? time(r) + memory_table(r) : "") + value_lines(r.values);
    return out + foot(r);
}

std::string compare_text(const std::vector<RunReport>& runs, const std::vector<std::string>& names) {
    constexpr std::size_t kLabel = 22, kColumn = 18;
    std::string out = std::string(kLabel, ' ');
    for (const std::string& n : names) out += right(n, kColumn);
    out += "\n";
    const auto row = [&](const std::string& label, auto&& value) {
        out += left(label, kLabel);
        for (const RunReport& r : runs) out += right(value(r), kColumn);
        out += "\n";
    };
    const auto& first = runs.front();
    row("core time us", [](const RunReport& r) { return short_number(r.core_time_us); });
    row("against the first", [&](const RunReport& r) { return first.core_time_us > 0 ? short_number(r.core_time_us / first.core_time_us) + " x" : "-"; });
    row("task time us", [](const RunReport& r) { return short_number(r.task_time_us); });
    row("cycles", [](const RunReport& r) { return with_separators(r.cycles); });
    row("TFLOP/s", [](const RunReport& r) { return short_number(r.tflops()); });
    row("GM read B", [](const RunReport& r) { return with_separators(r.memory.gm_read_bytes); });
    row("GM written B", [](const RunReport& r) { return with_separators(r.memory.gm_write_bytes); });
    row("L2 hit rate", [](const RunReport& r) { return percent(r.l2_hit_rate()); });
    row("flags", [](const RunReport& r) { return std::to_string(r.sync.flags); });
    row("barriers", [](const RunReport& r) { return std::to_string(r.sync.barriers); });
    row("bound by", [](const RunReport& r) { return r.bottleneck.pipe; });
    row("values", [](const RunReport& r) { return std::string(!r.values.checked ? "not checked" : r.values.equal ? "equal" : "WRONG"); });
    return out;
}

}  // namespace sfumato::traces
