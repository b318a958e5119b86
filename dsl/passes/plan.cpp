// SPDX-License-Identifier: Apache-2.0
#include "dsl/passes/plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "dsl/passes/placement.h"
#include "dsl/passes/remedies.h"

namespace sfumato::dsl {

using namespace isa;

namespace {

std::string size_text(std::int64_t bytes, std::int64_t capacity) {
    const std::string percent = capacity > 0 ? " (" + std::to_string(bytes * 100 / capacity) + " %)" : "";
    return with_separators(bytes) + " B" + percent;
}

std::string shape_text(const Buffer& b) {
    std::string out = "[";
    for (std::size_t i = 0; i < b.shape.size(); ++i) out += (i ? "," : "") + std::to_string(b.shape[i]);
    out += "]";
    if (b.shape.empty()) out = with_separators(b.slot_bytes) + " B";
    if (b.slots > 1) out += " x " + std::to_string(b.slots);
    return out;
}

std::string pad(std::string s, std::size_t width) {
    if (s.size() < width) s.append(width - s.size(), ' ');
    return s;
}
std::string pad_left(const std::string& s, std::size_t width) { return s.size() < width ? std::string(width - s.size(), ' ') + s : s; }

// Rows of one space as aligned columns.
std::vector<std::string> row_lines(const SpaceUse& use, const Program& p) {
    std::size_t name_width = 0, type_width = 0, bytes_width = 0, where_width = 0;
    for (const CapacityRow& r : use.rows) {
        const Buffer& b = p.buffers[static_cast<std::size_t>(r.buffer)];
        name_width = std::max(name_width, b.name.size());
        type_width = std::max(type_width, name(b.dtype).size() + 1 + shape_text(b).size());
        bytes_width = std::max(bytes_width, with_separators(r.bytes).size());
        where_width = std::max(where_width, where(p, b.source).size());
    }
    std::vector<std::string> out;
    for (const CapacityRow& r : use.rows) {
        const Buffer& b = p.buffers[static_cast<std::size_t>(r.buffer)];
        std::string line = pad(b.name, name_width) + "  " + pad(std::string(name(b.dtype)) + " " + shape_text(b), type_width) + "  " +
                           pad_left(with_separators(r.bytes), bytes_width) + "   " + pad(where(p, b.source), where_width) + "  " + b.why;
        while (!line.empty() && line.back() == ' ') line.pop_back();
        out.push_back(line);
    }
    return out;
}

Diagnostic overflow(const SpaceUse& use, const Program& p, const Chip& chip) {
    Diagnostic d;
    d.code = Code::capacity;
    d.message = std::string(name(use.space)) + " needs " + with_separators(use.used) + " B of " + with_separators(use.capacity) + " B, over by " +
                with_separators(use.used - use.capacity) + " B";
    const Buffer& largest = p.buffers[static_cast<std::size_t>(use.rows.front().buffer)];
    if (largest.source >= 0 && static_cast<std::size_t>(largest.source) < p.sources.size()) {
        const Source& s = p.sources[static_cast<std::size_t>(largest.source)];
        d.file = s.file;
        d.line = s.line;
        d.column = s.column;
    }
    d.notes = row_lines(use, p);
    if (use.sum != use.used) d.notes.push_back("(" + with_separators(use.sum) + " B without buffers that share bytes)");
    for (const std::string& r : remedies(p, chip, use.space)) d.notes.push_back(r);
    return d;
}

}  // namespace

CapacityReport plan_buffers(Program& p, const Chip& chip) {
    CapacityReport report = place_buffers(p, chip);
    std::vector<Diagnostic> errors;
    for (const SpaceUse& use : report.spaces)
        if (use.used > use.capacity) errors.push_back(overflow(use, p, chip));
    if (!errors.empty()) throw Rejected(std::move(errors));
    for (const SpaceUse& use : report.spaces)
        for (const CapacityRow& r : use.rows) {
            Buffer& b = p.buffers[static_cast<std::size_t>(r.buffer)];
            b.base = r.base;
            if (b.slots > 1) b.slot_bytes = r.bytes / b.slots;
        }
    return report;
}

std::string to_text(const CapacityReport& report, const Program& p) {
    std::string out;
    for (const SpaceUse& use : report.spaces) {
        out += std::string(name(use.space)) + "  " + size_text(use.used, use.capacity) + " of " + with_separators(use.capacity) + " B";
        if (use.sum != use.used) out += "  (" + with_separators(use.sum) + " B without sharing)";
        out += "\n";
        for (const std::string& line : row_lines(use, p)) out += "   " + line + "\n";
    }
    return out;
}

std::string memory_map(const CapacityReport& report, const Program& p) {
    constexpr int kColumns = 48;
    std::string out;
    for (const SpaceUse& use : report.spaces) {
        int last = 0;
        std::size_t name_width = 0;
        for (const CapacityRow& r : use.rows) {
            if (r.live.last < std::numeric_limits<int>::max() - 1) last = std::max(last, r.live.last + 1);
            name_width = std::max(name_width, p.buffers[static_cast<std::size_t>(r.buffer)].name.size());
        }
        std::vector<CapacityRow> rows = use.rows;
        std::stable_sort(rows.begin(), rows.end(), [](const CapacityRow& a, const CapacityRow& b) { return a.base < b.base; });
        out += std::string(name(use.space)) + "  address x instruction (0.." + std::to_string(std::max(0, last - 1)) + ")\n";
        for (const CapacityRow& r : rows) {
            std::string bar(static_cast<std::size_t>(kColumns), '.');
            for (int c = 0; c < kColumns && last > 0; ++c) {
                const int from = c * last / kColumns, to = std::max(from, (c + 1) * last / kColumns - 1);
                if (r.live.meets({from, to})) bar[static_cast<std::size_t>(c)] = '#';
            }
            out += "   " + pad_left(with_separators(r.base), 9) + " .. " + pad_left(with_separators(r.base + r.bytes), 9) + "  " +
                   pad(p.buffers[static_cast<std::size_t>(r.buffer)].name, name_width) + "  |" + bar + "|\n";
        }
    }
    return out;
}

}  // namespace sfumato::dsl
