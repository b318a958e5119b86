// SPDX-License-Identifier: Apache-2.0
#include "lab/validate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include <nlohmann/json.hpp>

#include "tools/progress.h"
#include "tools/verbs.h"

namespace sfumato::tools {

namespace {

using json = nlohmann::ordered_json;
constexpr std::size_t kWorst = 20;  // rows of the text form

std::string percent(double share) { return traces::short_number(share * 100) + " %"; }

json family_json(const lab::FamilyResult& f) {
    return {{"rows", f.rows},
            {"expressed", f.expressed},
            {"skipped", f.skipped},
            {"mean_abs_error", f.mean_abs_error},
            {"median_abs_error", f.median_abs_error},
            {"max_abs_error", f.max_abs_error},
            {"core_rows", f.core_rows},
            {"core_mean_abs_error", f.core_mean_abs_error},
            {"beyond_30", f.beyond_30}};
}

json as_json(const lab::Validation& v) {
    json j;
    for (const auto& [name, f] : v.families) j["families"][name] = family_json(f);
    j["total"] = family_json(v.total);
    if (v.instruction_score) j["instruction_score"] = *v.instruction_score;
    j["rows"] = json::array();
    for (const lab::RowResult& r : v.rows) {
        json row{{"id", r.row.id},          {"family", r.row.family}, {"metric", r.row.metric},   {"kind", lab::name(r.kind)},
                 {"measured", r.row.value}, {"unit", r.row.unit},     {"expressed", r.expressed}, {"calibration", r.calibration},
                 {"note", r.note},          {"chip", r.chip}};
        row["predicted"] = r.expressed ? json(r.predicted) : json(nullptr);
        row["error"] = r.expressed ? json(r.error) : json(nullptr);
        j["rows"].push_back(std::move(row));
    }
    j["assumptions"] = v.assumptions;
    j["sim"] = {{"wall_s", v.wall_s}};
    return j;
}

std::string as_text(const lab::Validation& v) {
    char line[256];
    std::snprintf(line, sizeof line, "%-22s%7s%11s%12s%12s%12s%12s\n", "family", "rows", "expressed", "mean", "median", "worst", "core mean");
    std::string out = line;
    const auto row = [&](const std::string& name, const lab::FamilyResult& f) {
        std::snprintf(line, sizeof line, "%-22s%7lld%11lld%12s%12s%12s%12s\n", name.c_str(), static_cast<long long>(f.rows),
                      static_cast<long long>(f.expressed), f.expressed ? percent(f.mean_abs_error).c_str() : "-",
                      f.expressed ? percent(f.median_abs_error).c_str() : "-", f.expressed ? percent(f.max_abs_error).c_str() : "-",
                      f.core_rows ? percent(f.core_mean_abs_error).c_str() : "-");
        out += line;
    };
    for (const auto& [name, f] : v.families) row(name, f);
    row("all", v.total);
    if (v.instruction_score) out += "instruction cycles score " + traces::short_number(*v.instruction_score) + " (1: every row exact)\n";
    std::vector<const lab::RowResult*> worst;
    for (const lab::RowResult& r : v.rows)
        if (r.expressed) worst.push_back(&r);
    std::stable_sort(worst.begin(), worst.end(), [](auto* a, auto* b) { return std::fabs(a->error) > std::fabs(b->error); });
    out += "\nworst rows\n";
    for (std::size_t i = 0; i < std::min(kWorst, worst.size()); ++i) {
        const lab::RowResult& r = *worst[i];
        out += "  " + r.row.id + " " + r.row.metric + ": measured " + traces::short_number(r.row.value) + ", predicted " +
               traces::short_number(r.predicted) + " " + r.row.unit + ", " + (r.error > 0 ? "+" : "") + percent(r.error) +
               (r.note.empty() ? "" : "  " + r.note) + "\n";
    }
    out += "\nskipped\n";
    for (const auto& [reason, count] : v.total.skipped) out += "  " + std::to_string(count) + "  " + reason + "\n";
    return out + "simulated in " + traces::short_number(v.wall_s) + " s\n";
}

}  // namespace

int validate(Options& o) {
    std::ifstream in(o.name, std::ios::binary);
    if (!in) throw isa::InputError(o.name + ": cannot read: " + std::strerror(errno));
    const std::string csv((std::istreambuf_iterator<char>(in)), {});
    const auto rows = lab::parse_rows(csv, o.name);
    lab::ValidateOptions options;
    options.sets = o.request.sets;
    options.chip_dir = o.request.chip_dir;
    std::istringstream names(o.family);
    std::vector<std::string> known;
    for (const lab::MeasuredRow& r : rows) known.push_back(r.family);
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    for (std::string name; std::getline(names, name, ',');) {
        lab::require_known("--family", name, known);
        options.families.push_back(name);
    }
    ProgressBar bar;
    options.progress = [&](std::size_t done, std::size_t all, const std::string&) {
        bar(all ? static_cast<double>(done) / static_cast<double>(all) : 0);
    };
    lab::Validation v = lab::validate(rows, options);
    if (o.markdown) {
        v.constants = lab::fitted_constants(rows, options);
        v.hit_curve = lab::hit_rate_curve(options);
    }
    const std::string text = o.json       ? as_json(v).dump(2, ' ', false, json::error_handler_t::replace) + "\n"
                             : o.markdown ? lab::validation_page(v)
                                          : as_text(v);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return kFine;
}

}  // namespace sfumato::tools
