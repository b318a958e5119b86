// SPDX-License-Identifier: Apache-2.0
#include "isa/chip_page.h"

#include <map>
#include <vector>

#include "isa/chip_fields.h"

namespace sfumato::isa {

namespace {

struct Part {
    Chip chip;
    std::map<std::string, FieldValue> values;
};

/// "|" would end a table cell.
std::string cell(const std::string& s) {
    std::string out;
    for (const char c : s) out += c == '|' ? std::string("\\|") : std::string(1, c);
    return out;
}

/// Every chip of the vendor starts with "Ascend".
std::string short_name(const Chip& chip) {
    constexpr std::string_view kVendor = "Ascend";
    return chip.name.starts_with(kVendor) ? chip.name.substr(kVendor.size()) : chip.name;
}

std::string as_written(const FieldValue& v) {
    std::string out = v.value + (v.unit == "1" || v.unit == "bool" ? "" : " " + v.unit);
    if (v.from.unit != v.unit) out += " (" + v.from.value + " " + v.from.unit + ")";
    return out;
}

/// Chips in which a number has the same value, source and reason share one row.
std::string number_rows(const ChipField& field, const std::vector<Part>& parts) {
    std::vector<std::pair<std::string, const FieldValue*>> rows;  // chip names, value
    for (const Part& part : parts) {
        const auto it = part.values.find(field.path);
        if (it == part.values.end()) continue;
        const FieldValue& v = it->second;
        bool joined = false;
        for (auto& [names, first] : rows) {
            if (as_written(*first) != as_written(v) || first->from.source != v.from.source || first->from.note != v.from.note) continue;
            names += ", " + short_name(part.chip);
            joined = true;
            break;
        }
        if (!joined) rows.emplace_back(short_name(part.chip), &v);
    }
    std::string out;
    for (const auto& [names, v] : rows) {
        out += "| `" + field.path + "` | " + names + " | " + as_written(*v) + " | " + cell(v->from.source) + " | " + v->from.confidence + " | " +
               cell(field.doc) + (v->from.note.empty() ? "" : "; " + cell(v->from.note)) + " |\n";
    }
    return out;
}

}  // namespace

std::string chips_page(const std::string& chip_dir) {
    std::vector<Part> parts;
    std::map<std::string, std::string> sources;
    for (const std::string& name : chip_names(chip_dir)) {
        Part part{load_chip(name, {}, chip_dir), {}};
        for (FieldValue& v : describe(part.chip)) part.values[v.path] = v;
        sources.insert(part.chip.sources.begin(), part.chip.sources.end());
        parts.push_back(std::move(part));
    }
    std::string out =
        "# Chips\n\nGenerated from `isa/chips/*.json`. Every number has a unit, a source and a confidence: *published* (printed by the source), "
        "*measured*,\n"
        "*derived* (arithmetic on other numbers, or calibrated on measurements) or *assumed* (then the reason stands beside it). `--set "
        "path=value[unit]`\n"
        "overrides any of them. Chip names below are short: B2 stands in `910B2` for Ascend910B2. A cycle is a period of the core clock.\n\n"
        "| chip | architecture | cores | clock | assumed numbers |\n|---|---|---|---|---|\n";
    for (const Part& p : parts) {
        int assumed = 0;
        for (const auto& [path, v] : p.values) assumed += v.from.confidence == "assumed" ? 1 : 0;
        const auto& c = p.chip.cores;
        const std::string cores =
            p.chip.merged() ? std::to_string(c.merged) + " merged" + (c.vector_only > 0 ? ", " + std::to_string(c.vector_only) + " vector only" : "")
                            : std::to_string(c.aic) + " cube, " + std::to_string(c.aiv) + " vector";
        out += "| " + p.chip.name + " | " + p.chip.arch + " | " + cores + " | " + p.values.at("clock.core").value + " MHz | " +
               std::to_string(assumed) + " of " + std::to_string(p.values.size()) + " |\n";
    }
    out += "\n## Sources\n\n";
    for (const auto& [key, text] : sources) out += "- **" + key + "** " + text + "\n";
    Chip blank;
    std::string section;
    for (const ChipField& f : chip_fields(blank)) {
        const std::string top = f.path.substr(0, f.path.find('.'));
        if (top != section) {
            section = top;
            out += "\n## " + section + "\n\n| number | chips | value | source | confidence | meaning |\n|---|---|---|---|---|---|\n";
        }
        out += number_rows(f, parts);
    }
    return out;
}

}  // namespace sfumato::isa
