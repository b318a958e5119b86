// SPDX-License-Identifier: Apache-2.0
// From JSON text to a Chip: flatten the file and those it extends, apply --set, then resolve each field of the table in the model's unit.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <set>

#include "isa/chip_fields.h"
#include "isa/chip_files.h"
#include "isa/diagnostic.h"

namespace sfumato::isa {

namespace {

using nlohmann::json;

constexpr int kExtendsLimit = 8;
constexpr std::string_view kConfidences[] = {"published", "measured", "derived", "assumed"};
const std::vector<std::string> kTopKeys{"name", "arch", "extends", "sources"};
const std::vector<std::string> kLeafKeys{"value", "unit", "source", "confidence", "note"};

/// A number of a file before its unit is resolved.
struct Leaf {
    double value = 0;
    Provenance from;
    std::string where;  ///< file and JSON pointer, for messages
};
struct Files {
    std::string name, arch;
    std::map<std::string, std::string> sources;
    std::map<std::string, Leaf> leaves;  ///< by dotted path; the extending file wins
};

[[noreturn]] void fail(const std::string& where, const std::string& what) { throw InputError(where + ": " + what); }

std::string at(const std::string& origin, const std::string& pointer) { return origin + " at " + (pointer.empty() ? "/" : pointer); }

std::string offer(const std::string& wanted, const std::vector<std::string>& names) {
    const std::string near = nearest(wanted, names);
    return near.empty() ? "" : "; did you mean '" + near + "'?";
}

json parse_text(std::string_view text, const std::string& origin) {
    try {
        return json::parse(text);
    } catch (const json::parse_error& e) {
        const std::size_t end = std::min(e.byte == 0 ? 0 : e.byte - 1, text.size());
        const std::string_view before = text.substr(0, end);
        const auto line = 1 + std::count(before.begin(), before.end(), '\n');
        const std::size_t last = before.rfind('\n');
        const std::size_t column = end - (last == std::string_view::npos ? 0 : last + 1) + 1;
        std::string what = e.what();
        const std::size_t colon = what.find("column");
        const std::size_t detail = colon == std::string::npos ? std::string::npos : what.find(": ", colon);
        if (detail != std::string::npos) what = what.substr(detail + 2);
        throw InputError(origin + ":" + std::to_string(line) + ":" + std::to_string(column) + ": not JSON: " + what);
    }
}

std::string string_of(const json& j, const std::string& where, const std::string& what) {
    if (!j.is_string()) fail(where, what + " must be a text, found " + std::string(j.type_name()));
    return j.get<std::string>();
}

Leaf read_leaf(const json& j, const ChipField& f, const std::string& origin, const std::string& pointer) {
    const std::string where = at(origin, pointer);
    for (const auto& item : j.items()) {
        if (std::find(kLeafKeys.begin(), kLeafKeys.end(), item.key()) == kLeafKeys.end()) {
            fail(at(origin, pointer + "/" + item.key()), "unknown key '" + item.key() + "' in a number" + offer(item.key(), kLeafKeys));
        }
    }
    for (const char* key : {"value", "unit", "source", "confidence"}) {
        if (!j.contains(key)) fail(where, "a number needs the key '" + std::string(key) + "' (value, unit, source, confidence and, if useful, note)");
    }
    Leaf leaf;
    leaf.where = where;
    const json& v = j["value"];
    if (f.quantity == Quantity::yes_no) {
        if (!v.is_boolean()) fail(where + "/value", "must be true or false, found " + v.dump());
        leaf.value = v.get<bool>() ? 1 : 0;
    } else {
        if (!v.is_number()) fail(where + "/value", "must be a number, found " + std::string(v.type_name()));
        leaf.value = v.get<double>();
    }
    leaf.from.value = v.dump();
    leaf.from.unit = string_of(j["unit"], where + "/unit", "unit");
    leaf.from.source = string_of(j["source"], where + "/source", "source");
    if (leaf.from.source.empty()) fail(where + "/source", "a number without a source; say where it comes from, or why it was assumed");
    leaf.from.confidence = string_of(j["confidence"], where + "/confidence", "confidence");
    if (std::find(std::begin(kConfidences), std::end(kConfidences), leaf.from.confidence) == std::end(kConfidences)) {
        fail(where + "/confidence", "'" + leaf.from.confidence + "' is not one of published, measured, derived, assumed");
    }
    if (j.contains("note")) leaf.from.note = string_of(j["note"], where + "/note", "note");
    if (leaf.from.confidence == "assumed" && leaf.from.note.empty()) fail(where, "an assumed number needs a 'note' that says the reason");
    leaf.from.origin = origin;
    return leaf;
}

/// Keys a group may hold: the next segments of the paths below it.
std::vector<std::string> children(const std::vector<ChipField>& table, const std::string& group) {
    std::set<std::string> names;
    for (const ChipField& f : table) {
        if (f.path.compare(0, group.size(), group) != 0) continue;
        names.insert(f.path.substr(group.size(), f.path.find('.', group.size()) - group.size()));
    }
    return {names.begin(), names.end()};
}

void flatten(const json& j, const std::string& group, const std::string& pointer, const std::string& origin, const std::vector<ChipField>& table,
             Files& out) {
    if (!j.is_object()) fail(at(origin, pointer), "must be an object, found " + std::string(j.type_name()));
    const std::vector<std::string> allowed = children(table, group);
    for (const auto& item : j.items()) {
        const std::string& key = item.key();
        const bool top = group.empty() && std::find(kTopKeys.begin(), kTopKeys.end(), key) != kTopKeys.end();
        if (top) continue;
        const std::string here = pointer + "/" + key;
        if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) {
            std::vector<std::string> names = allowed;
            if (group.empty()) names.insert(names.end(), kTopKeys.begin(), kTopKeys.end());
            fail(at(origin, here), "unknown key '" + key + "'" + offer(key, names));
        }
        const std::string path = group + key;
        const auto field = std::find_if(table.begin(), table.end(), [&](const ChipField& f) { return f.path == path; });
        if (field == table.end()) {
            flatten(item.value(), path + ".", here, origin, table, out);
        } else if (!item.value().is_object()) {
            fail(at(origin, here), "a number is written {\"value\": .., \"unit\": .., \"source\": .., \"confidence\": ..}, found " +
                                       std::string(item.value().type_name()));
        } else {
            out.leaves[path] = read_leaf(item.value(), *field, origin, here);
        }
    }
}

void read_into(std::string_view text, const std::string& origin, const std::vector<ChipField>& table, int depth, Files& out) {
    const json j = parse_text(text, origin);
    if (!j.is_object()) fail(at(origin, ""), "a chip file is one object, found " + std::string(j.type_name()));
    if (j.contains("extends")) {
        const std::string base = string_of(j["extends"], at(origin, "/extends"), "extends");
        if (base.find('/') != std::string::npos || base.size() < 6 || base.substr(base.size() - 5) != ".json") {
            fail(at(origin, "/extends"), "'" + base + "' must be the plain name of a .json file of the same folder or of the chip folder");
        }
        if (depth >= kExtendsLimit)
            fail(at(origin, "/extends"), "files extend each other in a circle or more than " + std::to_string(kExtendsLimit) + " deep");
        const std::string file = sibling_file(origin, base);
        if (file.empty()) fail(at(origin, "/extends"), "there is no file '" + base + "' beside it or in the chip folder");
        read_into(read_chip_file(file), file, table, depth + 1, out);
    }
    if (j.contains("name")) out.name = string_of(j["name"], at(origin, "/name"), "name");
    if (j.contains("arch")) out.arch = string_of(j["arch"], at(origin, "/arch"), "arch");
    if (j.contains("sources")) {
        if (!j["sources"].is_object()) fail(at(origin, "/sources"), "must be an object of short name to text");
        for (const auto& item : j["sources"].items())
            out.sources[item.key()] = string_of(item.value(), at(origin, "/sources/" + item.key()), "a source");
    }
    flatten(j, "", "", origin, table, out);
}

std::string units_of(Quantity q) {
    std::string out;
    for (const UnitInfo& u : units())
        if (u.quantity == q) out += (out.empty() ? "" : ", ") + std::string(u.name);
    return out;
}

void apply_set(const std::string& text, const std::vector<ChipField>& table, Files& out) {
    const std::string where = "--set " + text;
    const std::size_t eq = text.find('=');
    if (eq == std::string::npos || eq == 0) fail(where, "write path=value, for example memory.hbm.bandwidth=3.2TB/s");
    const std::string path = text.substr(0, eq);
    const auto field = std::find_if(table.begin(), table.end(), [&](const ChipField& f) { return f.path == path; });
    if (field == table.end()) {
        std::vector<std::string> names;
        for (const ChipField& f : table) names.push_back(f.path);
        fail(where, "a chip has no number '" + path + "'" + offer(path, names));
    }
    const std::string value = text.substr(eq + 1);
    Leaf leaf;
    std::string unit;
    if (field->quantity == Quantity::yes_no) {
        if (value != "true" && value != "false") fail(where, "'" + value + "' must be true or false");
        leaf.value = value == "true" ? 1 : 0;
    } else {
        char* end = nullptr;
        leaf.value = std::strtod(value.c_str(), &end);
        if (end == value.c_str() || !std::isfinite(leaf.value)) fail(where, "'" + value + "' is not a number");
        unit = end;
    }
    const auto old = out.leaves.find(path);
    if (unit.empty()) {
        if (old == out.leaves.end())
            fail(where, "chip '" + out.name + "' does not have this path, so the value needs a unit (" + units_of(field->quantity) + ")");
        unit = old->second.from.unit;
    }
    leaf.from = {value, unit, "command line", "assumed", "what-if given on the command line", "--set"};
    leaf.where = where;
    out.leaves[path] = leaf;
}

void resolve(const ChipField& f, const Leaf& leaf, double clock_mhz) {
    const UnitInfo* unit = nullptr;
    for (const UnitInfo& u : units())
        if (u.quantity == f.quantity && u.name == leaf.from.unit) unit = &u;
    if (unit == nullptr) fail(leaf.where, "unit '" + leaf.from.unit + "' does not fit " + f.path + "; allowed: " + units_of(f.quantity));
    double v = leaf.value * unit->factor;
    const double hertz = clock_mhz * 1e6;
    if (unit->by_clock) v = f.quantity == Quantity::rate ? v / hertz : v * hertz;
    if (!(v >= f.least && v <= f.most)) {
        char range[80];
        std::snprintf(range, sizeof range, "%.9g is outside %.9g to %.9g", v, f.least, f.most);
        fail(leaf.where, f.path + " = " + range + " " + units_of(f.quantity).substr(0, units_of(f.quantity).find(',')));
    }
    if (const auto* d = std::get_if<double*>(&f.member)) {
        **d = v;
    } else if (const auto* i = std::get_if<std::int64_t*>(&f.member)) {
        if (v != std::floor(v)) fail(leaf.where, f.path + " must be a whole number, found " + leaf.from.value + " " + leaf.from.unit);
        **i = static_cast<std::int64_t>(v);
    } else {
        *std::get<bool*>(f.member) = v != 0;
    }
}

/// What no single number can violate.
void check_together(const Chip& c, const std::string& origin) {
    const bool split = c.cores.aic > 0 || c.cores.aiv > 0;
    if (split == c.merged())
        fail(at(origin, "/cores"), "a chip has either aic and aiv cores or merged cores, found aic " + std::to_string(c.cores.aic) + ", aiv " +
                                       std::to_string(c.cores.aiv) + ", merged " + std::to_string(c.cores.merged));
    if (split && (c.cores.aic == 0 || c.cores.aiv % c.cores.aic != 0)) {
        fail(at(origin, "/cores"),
             "aiv must be a multiple of aic, found aic " + std::to_string(c.cores.aic) + ", aiv " + std::to_string(c.cores.aiv));
    }
    if (c.l2.capacity % (c.l2.line * c.l2.ways) != 0) {
        fail(at(origin, "/memory/l2"),
             "capacity " + std::to_string(c.l2.capacity) + " is not a multiple of line x ways = " + std::to_string(c.l2.line * c.l2.ways));
    }
}

}  // namespace

Chip parse_chip(std::string_view text, const std::string& origin, const std::vector<std::string>& sets) {
    Chip chip;
    const std::vector<ChipField> table = chip_fields(chip);
    Files files;
    read_into(text, origin, table, 0, files);
    if (files.name.empty()) fail(at(origin, "/name"), "a chip file needs a name");
    if (files.arch.empty()) fail(at(origin, "/arch"), "a chip file needs an arch, for example dav-c220");
    for (const std::string& s : sets) apply_set(s, table, files);

    chip.name = files.name;
    chip.arch = files.arch;
    chip.sources = files.sources;
    std::set<std::string> present;  // optional groups that have at least one number
    for (const ChipField& f : table)
        if (!f.group.empty() && files.leaves.count(f.path) > 0) present.insert(f.group);
    for (const ChipField& f : table) {  // the clock is the first row, so that later rows can use it
        const auto leaf = files.leaves.find(f.path);
        if (leaf == files.leaves.end()) {
            if (!f.group.empty() && present.count(f.group) == 0) continue;
            std::string pointer = "/" + f.path;
            std::replace(pointer.begin(), pointer.end(), '.', '/');
            fail(at(origin, pointer), "missing number: " + f.path + ", " + f.doc + " (unit " + units_of(f.quantity) + ")");
        }
        resolve(f, leaf->second, chip.cores.clock_mhz);
        chip.provenance[f.path] = leaf->second.from;
    }
    check_together(chip, origin);
    chip.hash = hash_of(chip);
    return chip;
}

}  // namespace sfumato::isa
