// SPDX-License-Identifier: Apache-2.0
// sfumato fuse: a model from its file to patterns, memory plan and estimates.
#include "tools/fuse.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fusion/passes/dump.h"
#include "fusion/passes/report.h"
#include "fusion/shape.h"
#include "tools/text_table.h"
#include "tools/verbs.h"
#include "traces/part_file.h"

namespace sfumato::tools {

namespace {

using fusion::Switches;
constexpr int kAuditRuns = 2;

std::string whole_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in.is_open() || in.bad() || std::filesystem::is_directory(path)) throw isa::InputError("--fusion-switch " + path + ": cannot be read");
    return text;
}

/// File first, command line over it.
Switches switches_of(const FuseOptions& f) {
    Switches s;
    if (!f.switch_file.empty()) read_switches(whole_file(f.switch_file), f.switch_file, s);
    if (!f.ops.empty()) read_switches("[OP_FUSION]\nfusion_op_type = " + f.ops + "\n", "--fusion-ops", s);
    if (f.level >= 0) s.level = static_cast<int>(f.level);
    return s;
}

std::int64_t bytes_of_limit(const std::string& text) {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    const std::string unit = end;
    double factor = 0;
    for (const auto& [name, size] : {std::pair{"", 1.0}, {"B", 1.0}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}})
        if (unit == name) factor = size;
    if (end == text.c_str() || factor == 0 || !(number > 0) || number * factor > 9e18)
        throw isa::InputError("--memory-limit '" + text + "': expected bytes, e.g. 24GB, 32GiB or 1000000");
    return static_cast<std::int64_t>(number * factor);
}

std::vector<fusion::InputRange> ranges_of(const FuseOptions& f) {
    std::vector<fusion::InputRange> out;
    for (const std::string& text : f.shapes)
        for (fusion::InputRange& r : fusion::parse_shape_ranges(text)) out.push_back(std::move(r));
    return out;
}

void write_folder(const std::string& out, const FuseReport& report, const std::string& text) {
    const std::filesystem::path folder = out;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw isa::InputError("--out " + out + ": cannot create the folder: " + error.message());
    const auto file = [&](const char* name, const std::string& content) { traces::write_file((folder / name).string(), content); };
    const fusion::Variant& full = report.model.full();
    file("report.txt", text);
    file("report.md", fuse_markdown(report));
    file("report.json", fuse_json(report));
    file("fusion_result.json", fusion::fusion_result_json(full.graph, full.records));
    file("imported.txt", fusion::to_text(report.model.model.graph, fusion::Detail::no_data));
    file("fused.onnx", fusion::export_onnx(full.graph));
    file("fused.txt", fusion::to_text(full.graph, fusion::Detail::no_data));
}

/// Lines in the manner of the vendor's log: level 0 also tells each refusal, 1 each pass, 2 what to be warned of; 3 and 4 nothing here.
std::string log_lines(const fusion::CompiledModel& m) {
    const char *on = std::getenv("ASCEND_SLOG_PRINT_TO_STDOUT"), *given = std::getenv("ASCEND_GLOBAL_LOG_LEVEL");
    if (!on || std::string(on) != "1") return "";
    const std::string level = given ? given : "3";
    if (level.size() != 1 || level[0] < '0' || level[0] > '4') throw isa::InputError("ASCEND_GLOBAL_LOG_LEVEL=" + level + ": expected 0 (debug), 1 (info), 2 (warning), 3 (error) or 4 (none)");
    std::string out;
    for (const std::string& note : m.model.notes)
        if (level <= "2") out += "[WARNING] IMPORT: " + note + "\n";
    for (const fusion::PassRecord& r : m.full().records) {
        if (level <= "1")
            out += "[INFO] FUSION: " + r.pass + ": matched " + std::to_string(r.matched) + ", effective " + std::to_string(r.effective) + ", refused " + std::to_string(r.refusals.size()) + "\n";
        if (level == "0")
            for (const fusion::Refusal& f : r.refusals) out += "[DEBUG] FUSION: " + r.pass + ": " + f.node + ": " + std::string(fusion::code(f.reason)) + " " + f.text + "\n";
    }
    return out;
}

int list_passes(const Options& o) {
    if (o.markdown) {
        print(fusion::passes_page());
        return kFine;
    }
    Rows rows{{"pass", "kind", "level", "in the literature", "what it does"}};
    for (const fusion::PassRow& p : fusion::pass_table()) rows.push_back({p.name, std::string(fusion::name(p.kind)), std::to_string(p.level), p.article_term.empty() ? "-" : p.article_term, p.summary});
    print(o.json ? objects("passes", rows) : table(rows));
    return kFine;
}

int explain_node(const FuseOptions& f, const fusion::CompileRequest& request, const isa::Chip& chip, bool json) {
    fusion::ImportedModel model = fusion::import_onnx(request.model);
    fusion::apply_shape_ranges(model.graph, request.ranges);
    fusion::infer_shapes(model.graph);
    const std::string story = fusion::explain(model.graph, request.passes, request.switches, &chip, f.explain);
    print(json ? fuse_story_json(f.explain, story) : story);
    return kFine;
}

}  // namespace

int fuse(Options& o) {
    const FuseOptions& f = o.fuse;
    if (f.list_passes) return list_passes(o);
    if (f.model.empty()) throw isa::InputError("fuse: give a model, MODEL.onnx, or --list-passes");
    const auto start = std::chrono::steady_clock::now();
    const isa::Chip chip = isa::load_chip(o.request.chip, o.request.sets, o.request.chip_dir);
    fusion::CompileRequest request;
    request.model = f.model;
    request.ranges = ranges_of(f);
    request.switches = switches_of(f);
    for (const std::string& name : f.no_reuse) request.memory.no_reuse.insert(name);
    request.memory.reuse = !f.no_memory_reuse;
    if (!f.memory_limit.empty()) request.memory.limit_bytes = bytes_of_limit(f.memory_limit);
    request.audit_runs = f.verify ? kAuditRuns : 0;
    const fusion::DumpOptions dumps = fusion::dump_options([](const char* name) -> const char* { return std::getenv(name); });
    if (dumps.on) request.observe = fusion::dumper(dumps);
    if (!f.explain.empty()) return explain_node(f, request, chip, o.json);
    const fusion::CompiledModel model = fusion::compile_model(request, chip);
    FuseReport report{model, chip, std::filesystem::path(f.model).filename().string(), f.compare, f.verify, {}, 0};
    if (f.values) report.values = fusion::output_values(model.full().graph);
    report.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const std::string text = fuse_text(report);
    if (!o.out.empty()) write_folder(o.out, report, text);
    const std::string log = log_lines(model);
    if (o.json) std::fputs(log.c_str(), stderr);
    else print(log);
    print(o.json ? fuse_json(report) : text);
    return model.audit.max_error <= model.audit.budget ? kFine : kFailed;
}

}  // namespace sfumato::tools
