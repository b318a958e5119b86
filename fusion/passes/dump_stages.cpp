// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>

#include "fusion/import.h"
#include "fusion/passes/dump.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

namespace {

std::set<std::string> parts(std::string_view text, char between) {
    std::set<std::string> out;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t end = std::min(text.find(between, from), text.size());
        std::string_view part = text.substr(from, end - from);
        while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
        while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
        if (!part.empty()) out.emplace(part);
        from = end + 1;
    }
    return out;
}

void write(const std::filesystem::path& file, const std::string& text) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary);
    out << text;
    if (!out) throw isa::InputError(file.string() + " cannot be written");
}

void require_pass(const std::string& variable, const std::string& pass) {
    std::vector<std::string> names;
    for (const PassRow& row : pass_table()) names.push_back(row.name);
    if (std::find(names.begin(), names.end(), pass) != names.end()) return;
    const std::string near = isa::nearest(pass, names);
    throw isa::InputError(variable + ": no pass is called '" + pass + "'" + (near.empty() ? "" : "; did you mean " + near + "?"));
}

}  // namespace

DumpOptions dump_options(const std::function<const char*(const char*)>& get) {
    DumpOptions o;
    const auto text = [&](const char* variable) { return std::string(get(variable) ? get(variable) : ""); };
    const std::string graph = text("DUMP_GE_GRAPH"), level = text("DUMP_GRAPH_LEVEL"), format = text("DUMP_GRAPH_FORMAT"), passes = text("DUMP_PASS_NAME");
    if (!graph.empty() && graph != "0") {
        if (graph != "1" && graph != "2" && graph != "3") throw isa::InputError("DUMP_GE_GRAPH is '" + graph + "': 1 is all, 2 no weight data, 3 only links of nodes");
        o.on = true;
        o.detail = graph == "1" ? Detail::all : graph == "2" ? Detail::no_data : Detail::links;
    }
    if (!level.empty()) {
        if (level.size() == 1 && level >= "1" && level <= "4") o.level = level[0] - '0';
        else if (level.size() == 1) throw isa::InputError("DUMP_GRAPH_LEVEL is '" + level + "': 1 all stages, 2 the main ones, 3 the last, 4 the first, or names of passes joined by |");
        else {
            o.stages = parts(level, '|');
            for (const std::string& s : o.stages) require_pass("DUMP_GRAPH_LEVEL", s);
        }
    }
    o.passes = parts(passes, ',');
    for (const std::string& p : o.passes) require_pass("DUMP_PASS_NAME", p);
    o.on = o.on || !o.passes.empty();
    if (!format.empty()) {
        const auto formats = parts(format, '|');
        for (const std::string& f : formats)
            if (f != "onnx" && f != "readable" && f != "ge_proto") throw isa::InputError("DUMP_GRAPH_FORMAT has '" + f + "': allowed are onnx and readable, joined by |");
        if (formats.count("ge_proto")) throw isa::InputError("DUMP_GRAPH_FORMAT: ge_proto is the vendor's own format, which is not written here; allowed are onnx and readable");
        o.readable = formats.count("readable") > 0;
        o.onnx = formats.count("onnx") > 0;
    }
    o.folder = text("DUMP_GRAPH_PATH").empty() ? "fusion_dumps" : text("DUMP_GRAPH_PATH");
    return o;
}

PassObserver dumper(DumpOptions options) {
    if (!options.on) return {};
    struct State {
        DumpOptions o;
        int number = 0;
        PassKind kind = PassKind::memory;
        bool any = false;
    };
    const auto state = std::make_shared<State>(State{std::move(options)});
    return [state](const PassRow& row, const Graph& g, bool after) {
        State& s = *state;
        const bool named = s.o.passes.count(row.name) > 0;
        const bool main_stage = !after && (!s.any || s.kind != row.kind);
        bool wanted = named || s.o.stages.count(row.name) > 0;
        if (s.o.passes.empty() && s.o.stages.empty())
            wanted = s.o.level == 1 ? after : s.o.level == 2 ? main_stage : s.o.level == 4 ? !s.any && !after : after;
        s.any = true;
        s.kind = row.kind;
        if (!wanted) return;
        char prefix[24];
        const bool last_only = s.o.level == 3 && s.o.passes.empty() && s.o.stages.empty();
        std::snprintf(prefix, sizeof prefix, "%04d", last_only ? 0 : s.number++);
        const std::string stem = last_only ? "last" : std::string(prefix) + (after ? "_after_" : "_before_") + row.name;
        if (s.o.readable) write(s.o.folder / (stem + ".txt"), to_text(g, s.o.detail));
        if (s.o.onnx) write(s.o.folder / (stem + ".onnx"), export_onnx(g));
    };
}

}  // namespace sfumato::fusion
