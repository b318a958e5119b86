// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <nlohmann/json.hpp>

#include "isa/text.h"
#include "tools/verbs.h"

namespace sfumato::tools {

namespace {

using json = nlohmann::ordered_json;

std::string numbers(const lab::Numbers& n) {
    std::string out;
    for (const auto& [name, value] : n) out += (out.empty() ? "" : " ") + name + "=" + std::to_string(value);
    return out;
}

std::string choice_text(const lab::Prepared& p) {
    std::string out = "tiling      " + numbers(p.tile);
    if (!p.choice) return out + "  (given)\n";
    out += "  predicted " + isa::with_separators(static_cast<std::int64_t>(p.choice->cycles)) + " cycles: " + p.choice->why + "\n";
    if (!p.choice->runner_up.empty())
        out += "runner-up   " + numbers(p.choice->runner_up) + "  predicted " +
               isa::with_separators(static_cast<std::int64_t>(p.choice->runner_up_cycles)) + " cycles, " +
               (p.choice->cycles > 0 ? traces::short_number((p.choice->runner_up_cycles / p.choice->cycles - 1) * 100) + " % more" : "") + "\n";
    return out;
}

std::string decisions_text(const lab::Prepared& p) {
    std::string out;
    for (const dsl::Decision& d : p.compiled.decisions) {
        out += "  " + d.what + ": " + d.choice;
        if (!d.runner_up.empty()) out += "; instead of " + d.runner_up;
        if (!d.why.empty()) out += " (" + d.why + ")";
        if (const std::string at = isa::where(p.program(), d.source); !at.empty()) out += "  " + at;
        out += "\n";
    }
    return out;
}

json capacity_json(const lab::Prepared& p) {
    json out = json::object();
    for (const dsl::SpaceUse& s : p.compiled.capacity.spaces) {
        json rows = json::array();
        for (const dsl::CapacityRow& row : s.rows) {
            const isa::Buffer& b = p.program().buffers[static_cast<std::size_t>(row.buffer)];
            rows.push_back({{"name", b.name},
                            {"dtype", isa::name(b.dtype)},
                            {"shape", b.shape},
                            {"slots", b.slots},
                            {"bytes", row.bytes},
                            {"base", row.base},
                            {"first", row.live.first},
                            {"last", row.live.last},
                            {"why", b.why},
                            {"source_line", isa::where(p.program(), b.source)}});
        }
        out[std::string(isa::name(s.space))] = {{"used_bytes", s.used}, {"total_bytes", s.capacity}, {"sum_bytes", s.sum}, {"buffers", rows}};
    }
    return out;
}

json sync_json(const lab::Prepared& p) {
    const isa::Program& program = p.program();
    const auto at = [&](isa::SourceId s) { return isa::where(program, s); };
    json flags = json::array(), conflicts = json::array();
    for (const dsl::FlagInfo& f : p.compiled.sync.flags)
        flags.push_back({{"src", isa::name(f.src)},
                         {"dst", isa::name(f.dst)},
                         {"barrier", f.barrier},
                         {"distance", f.distance},
                         {"ids", f.ids},
                         {"first_id", f.base},
                         {"set_after", at(f.set_after)},
                         {"wait_before", at(f.wait_before)},
                         {"reason", f.reason}});
    constexpr const char* kKinds[] = {"raw", "war", "waw"};
    for (const dsl::Conflict& c : p.compiled.sync.conflicts)
        conflicts.push_back({{"kind", kKinds[static_cast<int>(c.kind)]},
                             {"on", c.buffer >= 0 ? program.buffers[static_cast<std::size_t>(c.buffer)].name
                                                  : program.tensors[static_cast<std::size_t>(c.tensor)].name},
                             {"first", at(c.a)},
                             {"second", at(c.b)},
                             {"first_pipe", isa::name(c.a_pipe)},
                             {"second_pipe", isa::name(c.b_pipe)},
                             {"distance", c.distance},
                             {"chain", c.chain}});
    return {{"flags", flags}, {"conflicts", conflicts}, {"barriers", p.compiled.sync.barriers()}, {"notes", p.compiled.sync.notes}};
}

json as_json(const lab::Prepared& p) {
    json j{{"kernel", p.name}, {"chip", p.chip.name}, {"shape", p.shape}, {"tile", p.tile}};
    if (p.choice)
        j["choice"] = {{"cycles", p.choice->cycles},
                       {"why", p.choice->why},
                       {"runner_up", p.choice->runner_up},
                       {"runner_up_cycles", p.choice->runner_up_cycles}};
    j["capacity"] = capacity_json(p);
    j["sync"] = sync_json(p);
    j["decisions"] = json::array();
    for (const dsl::Decision& d : p.compiled.decisions)
        j["decisions"].push_back(
            {{"what", d.what}, {"choice", d.choice}, {"runner_up", d.runner_up}, {"why", d.why}, {"source_line", isa::where(p.program(), d.source)}});
    j["hints"] = json::parse(traces::to_json(p.compiled.hints));
    return j;
}

/// A program in text form was not compiled here: its order is judged by the checker alone.
int explain_file(const Options& o, const lab::Prepared& p) {
    const traces::RunReport r = traces::measure(p.chip, p.program(), {});
    const auto found = dsl::check_sync(p.program(), p.chip);
    if (o.json) {
        json j{{"kernel", p.name}, {"chip", p.chip.name}};
        const json all = json::parse(traces::to_json(r));
        j["capacity"] = all["capacity"];
        j["sync"] = all["sync"];
        j["diagnostics"] = json::parse(traces::to_json(found));
        std::printf("%s\n", j.dump(2).c_str());
    } else {
        std::printf("%s on %s\n\ncapacity\n%s\norder: %lld flags, %lld barriers; %s\n%s", p.name.c_str(), p.chip.name.c_str(),
                    traces::capacity_text(r).c_str(), static_cast<long long>(r.sync.flags), static_cast<long long>(r.sync.barriers),
                    found.empty() ? "the checker found no race" : "the checker found:", isa::to_text(found).c_str());
    }
    return found.empty() ? kFine : kFailed;
}

}  // namespace

int explain(Options& o) {
    const lab::Prepared p = lab::prepare(o.request);
    if (!p.kernel) return explain_file(o, p);
    if (o.json) {
        std::printf("%s\n", as_json(p).dump(2).c_str());
        return kFine;
    }
    const isa::Program& program = p.program();
    std::string out = p.name + " on " + p.chip.name + ", " + numbers(p.shape) + ", " + std::string(isa::name(p.dtype)) + "\n" + choice_text(p);
    out += "compiled in " + traces::short_number(p.compile_s * 1e3) + " ms\n";
    out += "\ncapacity\n" + dsl::to_text(p.compiled.capacity, program);
    out += "\norder\n" + dsl::to_text(p.compiled.sync, program, true);
    if (!p.compiled.decisions.empty()) out += "\ndecisions\n" + decisions_text(p);
    if (!p.compiled.hints.empty()) out += "\nhints\n" + isa::to_text(p.compiled.hints);
    out += "\nmemory map (addresses over the instructions that use them)\n" + dsl::memory_map(p.compiled.capacity, program);
    std::printf("%s", out.c_str());
    return kFine;
}

int disassemble(Options& o) {
    lab::Request r = o.request;
    r.keep_texts = !o.after.empty();
    const lab::Prepared p = lab::prepare(r);
    std::string text = isa::print_program(p.program());
    if (!o.after.empty()) {
        std::vector<std::string> names;
        for (const dsl::PassText& t : p.compiled.texts) names.push_back(t.name);
        if (o.after == "list") {
            text.clear();
            for (const dsl::Pass& pass : dsl::passes()) text += std::string(pass.name) + "\t" + std::string(pass.what) + "\n";
        } else {
            lab::require_known("--after pass", o.after, names);
            for (const dsl::PassText& t : p.compiled.texts)
                if (t.name == o.after) text = t.text;
        }
    }
    if (o.json)
        std::printf("%s\n", json{{"kernel", p.name}, {"chip", p.chip.name}, {"text", text}}.dump(2).c_str());
    else
        std::printf("%s", text.c_str());
    return kFine;
}

}  // namespace sfumato::tools
