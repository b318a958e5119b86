// SPDX-License-Identifier: Apache-2.0
#include "dsl/passes/remedies.h"

#include <algorithm>
#include <set>

#include "dsl/passes/placement.h"

namespace sfumato::dsl {

using namespace isa;

namespace {

struct Remedy {
    std::string text;
    std::int64_t used = 0;
    SourceId source = -1;
};

std::int64_t used_by(const Program& p, const Chip& chip, Space space) {
    for (const SpaceUse& u : place_buffers(p, chip).spaces)
        if (u.space == space) return u.used;
    return 0;
}

// The program with every buffer axis of extent `from` cut to `to`.
Program with_extent(const Program& p, std::int64_t from, std::int64_t to) {
    Program out = p;
    for (Buffer& b : out.buffers)
        for (std::int64_t& extent : b.shape)
            if (extent == from) {
                extent = to;
                b.slot_bytes = b.slot_bytes / from * to + (b.slot_bytes % from) * to / from;
            }
    return out;
}

// Axes that carry the extent, "in acc, b0".
std::string carriers(const Program& p, Space space, std::int64_t extent) {
    std::string out;
    for (const Buffer& b : p.buffers)
        if (b.space == space && std::find(b.shape.begin(), b.shape.end(), extent) != b.shape.end()) out += (out.empty() ? "" : ", ") + b.name;
    return out;
}

void fewer_slots(const Program& p, const Chip& chip, Space space, std::vector<Remedy>& out) {
    for (std::size_t b = 0; b < p.buffers.size(); ++b) {
        if (p.buffers[b].space != space) continue;
        Program changed = p;
        for (int slots = p.buffers[b].slots - 1; slots >= 1; --slots) {
            changed.buffers[b].slots = slots;
            const std::int64_t used = used_by(changed, chip, space);
            if (used > chip.bytes(space)) continue;
            out.push_back({p.buffers[b].name + " slots(" + std::to_string(slots) + ")", used, p.buffers[b].source});
            break;
        }
    }
    Program all = p;
    for (Buffer& b : all.buffers)
        if (b.space == space) b.slots = 1;
    const std::int64_t used = used_by(all, chip, space);
    if (out.empty() && used <= chip.bytes(space)) out.push_back({"slots(1) for every buffer", used, -1});
}

void smaller_extents(const Program& p, const Chip& chip, Space space, std::vector<Remedy>& out) {
    std::set<std::int64_t> extents;
    for (const Buffer& b : p.buffers)
        if (b.space == space)
            for (std::int64_t e : b.shape)
                if (e > 16) extents.insert(e);
    for (std::int64_t extent : extents) {
        // the largest multiple of 16 that fits; bytes grow with the extent, so bisection finds it
        std::int64_t fits = 0, fails = (extent + 15) / 16;
        while (fails - fits > 1) {
            const std::int64_t middle = (fits + fails) / 2;
            (used_by(with_extent(p, extent, middle * 16), chip, space) <= chip.bytes(space) ? fits : fails) = middle;
        }
        if (fits == 0) continue;
        out.push_back({"extent " + with_separators(extent) + " <= " + with_separators(fits * 16) + " (" + carriers(p, space, extent) + ")",
                       used_by(with_extent(p, extent, fits * 16), chip, space), -1});
    }
}

}  // namespace

std::vector<std::string> remedies(const Program& p, const Chip& chip, Space space) {
    std::vector<Remedy> found, extents;
    fewer_slots(p, chip, space, found);
    smaller_extents(p, chip, space, extents);
    const auto by_use = [](const Remedy& a, const Remedy& b) { return a.used > b.used; };
    std::stable_sort(found.begin(), found.end(), by_use);
    std::stable_sort(extents.begin(), extents.end(), by_use);
    if (found.size() > 3) found.resize(3);
    if (extents.size() > 2) extents.resize(2);
    found.insert(found.end(), extents.begin(), extents.end());
    std::vector<std::string> out;
    for (const Remedy& r : found) {
        std::string line = "fits if  " + r.text + "  " + with_separators(r.used) + " B (" + std::to_string(r.used * 100 / chip.bytes(space)) + " %)";
        if (const std::string at = where(p, r.source); !at.empty()) line += "  " + at;
        out.push_back(line);
    }
    return out;
}

}  // namespace sfumato::dsl
