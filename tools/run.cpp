// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include <nlohmann/json.hpp>

#include "isa/text.h"
#include "tools/progress.h"
#include "tools/verbs.h"
#include "traces/part_file.h"

namespace sfumato::tools {

namespace {

using json = nlohmann::ordered_json;

std::string trace_line(const std::string& file, const traces::TraceCounts& c) {
    using isa::with_separators;
    std::string out = "trace       " + file + ": " + with_separators(c.slices) + " slices on " + with_separators(c.rows) + " rows, " + with_separators(c.arrows) +
                      " arrows, " + with_separators(c.samples) + " samples of " + with_separators(c.series) + " counters\n";
    if (!c.note.empty()) out += "            " + c.note + "\n";
    return out;
}

json trace_json(const std::string& file, const traces::TraceCounts& c) {
    return {{"file", file}, {"slices", c.slices}, {"rows", c.rows}, {"arrows", c.arrows}, {"series", c.series}, {"samples", c.samples}, {"left_out", c.left_out}, {"note", c.note}};
}

json as_json(const lab::Request& r, const lab::Result& result) {
    json j = json::parse(traces::to_json(result.report));
    if (result.trace) j["trace"] = trace_json(r.trace, *result.trace);
    return j;
}

lab::Result with_progress(const std::vector<lab::Prepared>& kernels, lab::Request r) {
    ProgressBar bar;
    r.progress = [&](double share) { bar(share); };
    return lab::run(kernels, r);
}

/// One variant of --compare applied to a request.
lab::Request variant(lab::Request r, const std::string& name) {
    constexpr std::string_view kStages = "stages=";
    const auto chips = isa::chip_names(r.chip_dir);
    std::vector<std::string> levels, library;
    for (const kernels::Kernel& k : kernels::table()) {
        library.push_back(k.name);
        if (k.name == r.what) levels = k.levels;
    }
    const auto in = [&](const std::vector<std::string>& list) { return std::find(list.begin(), list.end(), name) != list.end(); };
    if (in(levels)) r.level = name;
    else if (in(chips)) r.chip = name;
    else if (in(library) || name.ends_with(".sfa")) r.what = name;
    else if (name == "cold" || name == "warm") r.warm_l2 = name == "warm";
    else if (name.starts_with(kStages)) {
        const std::string digits = name.substr(kStages.size());
        const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), r.stages);
        if (end.ec != std::errc() || end.ptr != digits.data() + digits.size() || r.stages < 1)
            throw isa::InputError("--compare '" + name + "': expected stages=1, stages=2, ...");
    } else {
        std::vector<std::string> all{"cold", "warm", "stages=2"};
        all.insert(all.end(), levels.begin(), levels.end());
        all.insert(all.end(), chips.begin(), chips.end());
        all.insert(all.end(), library.begin(), library.end());
        lab::require_known("--compare variant", name, all);
    }
    return r;
}

int compare(const Options& o) {
    std::vector<std::string> names;
    std::istringstream in(o.compare);
    for (std::string name; std::getline(in, name, ',');) names.push_back(name);
    if (names.size() < 2) throw isa::InputError("--compare '" + o.compare + "': expected at least two variants separated by commas");
    if (!o.out.empty() || !o.request.trace.empty()) throw isa::InputError("--compare cannot be combined with --out or --trace; run each variant for those");
    std::vector<traces::RunReport> runs;
    json list = json::array();
    bool ok = true;
    for (const std::string& name : names) {
        const lab::Request r = variant(o.request, name);
        const lab::Result result = with_progress(lab::prepare_all(r), r);
        ok = ok && result.ok();
        runs.push_back(result.report);
        json j = as_json(r, result);
        j["variant"] = name;
        list.push_back(std::move(j));
    }
    if (o.json) std::printf("%s\n", json{{"variants", list}}.dump(2).c_str());
    else std::printf("%s", traces::compare_text(runs, names).c_str());
    return ok ? kFine : kFailed;
}

}  // namespace

int run_kernel(Options& o) {
    lab::Request& r = o.request;
    if (o.show_config) {
        const isa::Chip chip = isa::load_chip(r.chip, r.sets, r.chip_dir);
        std::printf("%s\n", (o.json ? config_json(chip) : config_text(chip)).c_str());
        return kFine;
    }
    if (!o.compare.empty()) return compare(o);
    const auto kernels = lab::prepare_all(r);
    const std::filesystem::path folder = o.out;
    if (!o.out.empty()) {
        std::error_code error;
        std::filesystem::create_directories(folder, error);
        if (error) throw isa::InputError("--out " + o.out + ": cannot create the folder: " + error.message());
        if (r.trace.empty() && r.mode != sim::Mode::values) r.trace = (folder / "trace.json.gz").string();
    }
    const lab::Result result = with_progress(kernels, r);
    const std::string text = traces::to_text(result.report) + (result.trace ? trace_line(r.trace, *result.trace) : "");
    const std::string object = as_json(r, result).dump(2) + "\n";
    if (!o.out.empty()) {
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            const std::string name = kernels.size() > 1 ? "program" + std::to_string(i + 1) + ".sfa" : "program.sfa";
            traces::write_file((folder / name).string(), isa::print_program(kernels[i].program()));
        }
        traces::write_file((folder / "report.txt").string(), text);
        traces::write_file((folder / "report.json").string(), object);
        traces::write_file((folder / "pipes.csv").string(), traces::pipes_csv(result.report));
        traces::write_file((folder / "lines.csv").string(), traces::lines_csv(result.report));
    }
    std::printf("%s", (o.json ? object : text).c_str());
    return result.ok() ? kFine : kFailed;
}

}  // namespace sfumato::tools
