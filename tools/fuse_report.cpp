// SPDX-License-Identifier: Apache-2.0
// One list of sections, printed for the terminal or as Markdown.
#include <algorithm>
#include <map>
#include <set>

#include "fusion/passes/report.h"
#include "fusion/shape.h"
#include "tools/fuse.h"
#include "tools/text_table.h"
#include "traces/report.h"

namespace sfumato::tools {

namespace {

using namespace fusion;
using isa::with_separators;
using traces::short_number;

struct Section {
    std::string title;
    Rows rows;                       ///< the first is the head
    std::vector<std::string> lines;  ///< behind the table
};

std::string number(double v) { return short_number(v); }
std::string mega(double bytes) { return short_number(bytes / 1e6); }
std::string percent(double share) { return short_number(share * 100) + " %"; }

std::string input_list(const Graph& g) {
    std::vector<std::string> all;
    for (const ValueId v : g.inputs)
        if (!g.value(v).fallback) all.push_back(g.value(v).name + (g.value(v).shape ? shape_text(g.symbols(), *g.value(v).shape) : "") + " " + std::string(name(g.value(v).type)));
    return joined(all);
}

std::string sizes_text(const Graph& g, const Bindings& sizes) {
    std::vector<std::string> all;
    for (const auto& [symbol, size] : sizes) {
        const Range r = g.symbols().range(symbol);
        const std::string high = r.high == Range::kUnbounded ? "any" : std::to_string(r.high);
        all.push_back(symbol + " " + (r.low == r.high ? "" : std::to_string(r.low) + " to " + high + ", ") + "estimated at " + std::to_string(size));
    }
    std::string out;
    for (const std::string& s : all) out += (out.empty() ? "" : "; ") + s;
    return out.empty() ? "all fixed" : out;
}

Section model_section(const FuseReport& r) {
    const ImportedModel& m = r.model.model;
    Section s{"model", {{"what", "value"}}, {}};
    s.rows.push_back({"file", r.file + (m.producer.empty() ? "" : ", by " + m.producer) + ", opset " + std::to_string(m.opset)});
    s.rows.push_back({"inputs", input_list(m.graph)});
    s.rows.push_back({"sizes", sizes_text(m.graph, r.model.sizes)});
    s.rows.push_back({"nodes", std::to_string(m.graph.node_count()) + " imported, " + std::to_string(r.model.full().graph.node_count()) + " after fusion"});
    s.rows.push_back({"time here", number(r.model.import_ms) + " ms import, " + number(r.model.passes_ms) + " ms passes, " + number(r.model.plan_ms) + " ms memory plans"});
    for (const std::string& note : m.notes) s.lines.push_back("note: " + note);
    return s;
}

Section pass_section(const FuseReport& r) {
    Section s{"passes", {{"pass", "matched", "effective", "refused", "why (times)"}}, {}};
    for (const PassRecord& p : r.model.full().records) {
        if (p.matched == 0 && p.effective == 0 && p.refusals.empty()) continue;
        std::map<std::string, int> reasons;
        for (const Refusal& f : p.refusals) ++reasons[std::string(name(f.reason))];
        std::vector<std::string> why;
        for (const auto& [reason, count] : reasons) why.push_back(reason + " " + std::to_string(count));
        s.rows.push_back({p.pass, std::to_string(p.matched), std::to_string(p.effective), std::to_string(p.refusals.size()), joined(why)});
    }
    std::vector<std::string> made;
    for (const auto& [op, count] : count_patterns(r.model.full().graph)) made.push_back(std::to_string(count) + " " + op);
    s.lines.push_back("fused operators: " + (made.empty() ? "none" : joined(made)));
    return s;
}

std::string main_limit(const Estimate& e) {
    const auto most = std::max_element(e.limiter_us.begin(), e.limiter_us.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == e.limiter_us.end() ? "-" : most->first + " " + percent(most->second / std::max(e.time_us, 1e-9));
}

Section estimate_section(const FuseReport& r) {
    Section s{"estimate", {{"degree", "nodes", "launches", "time us", "speedup", "read MB", "written MB", "intermediates MB", "mostly limited by"}}, {}};
    const double unfused = r.model.variants.front().cost.time_us;
    for (const Variant& v : r.model.variants) {
        if (!r.compare && v.name == "rules") continue;
        const Estimate& e = v.cost;
        s.rows.push_back({v.name, std::to_string(v.graph.node_count()), std::to_string(e.launches), number(e.time_us), number(unfused / std::max(e.time_us, 1e-9)), mega(e.read_bytes), mega(e.write_bytes),
                          v.plan ? mega(static_cast<double>(v.plan->arena_bytes)) : "-", main_limit(e)});
    }
    s.lines.push_back("estimated by the limits of " + r.chip.name + " (slowest of cube, vectors, transfers and device memory, plus launch and fill); nothing here was measured or simulated");
    s.lines.push_back("unfused: the model as it stands, one launch for each node that computes");
    return s;
}

Section memory_section(const FuseReport& r) {
    Section s{"memory", {{"what", "bytes"}}, {}};
    if (!r.model.no_plan.empty()) {
        s.rows.clear();
        s.lines.push_back("no plan: " + r.model.no_plan);
        return s;
    }
    const MemoryPlan& p = *r.model.full().plan;
    const auto row = [&](const char* what, std::int64_t bytes) { s.rows.push_back({what, with_separators(bytes)}); };
    row("intermediates, at the upper end of the sizes", p.arena_bytes);
    row("lower bound: the most bytes live at once", p.lower_bound_bytes);
    row("intermediates without reuse", p.without_reuse_bytes);
    row("intermediates of the model as it stands", r.model.variants.front().plan->arena_bytes);
    row("weights", p.weight_bytes);
    row("inputs", p.input_bytes);
    row("outputs", p.output_bytes);
    row("written in place", p.in_place_bytes);
    row("views that move nothing", p.view_bytes);
    row("saved by appending to caches", p.kv_saved_bytes);
    s.lines.push_back("peak at " + p.peak_node + "; placed by " + p.strategy + "; one plan for all sizes in the ranges");
    return s;
}

Section verify_section(const FuseReport& r) {
    const Audit& a = r.model.audit;
    Section s{"verify", {}, {}};
    if (!a.skipped.empty()) s.lines.push_back("not checked: " + a.skipped);
    else if (a.max_error > a.budget)
        s.lines.push_back("WRONG VALUES after " + (a.guilty.empty() ? "the passes" : a.guilty) + ": " + number(a.max_error) + " of the largest value at " + a.where + ", allowed " + number(a.budget));
    else s.lines.push_back("same values before and after in " + std::to_string(a.runs) + " runs: largest difference " + number(a.max_error) + " of the largest value, allowed " + number(a.budget));
    return s;
}

Section values_section(const OutputValues& v) {
    Section s{"values", {{"output", "type", "shape", "least", "mean", "most", "not finite"}}, {}};
    if (!v.none.empty()) {
        s.rows.clear();
        s.lines.push_back("no values: " + v.none);
        return s;
    }
    for (const OutputSummary& o : v.outputs) {
        std::vector<std::string> dims;
        for (const std::int64_t d : o.dims) dims.push_back(std::to_string(d));
        s.rows.push_back({o.name, o.type, "[" + joined(dims) + "]", number(o.least), number(o.mean), number(o.most), std::to_string(o.not_finite)});
    }
    s.lines.push_back("of the fused graph on random inputs");
    return s;
}

std::vector<Section> sections(const FuseReport& r) {
    std::vector<Section> out{model_section(r), pass_section(r), estimate_section(r), memory_section(r)};
    if (r.verified) out.push_back(verify_section(r));
    if (r.values) out.push_back(values_section(*r.values));
    return out;
}

}  // namespace

std::string fuse_text(const FuseReport& r) {
    std::string out;
    for (const Section& s : sections(r)) {
        out += (out.empty() ? "" : "\n") + s.title + "\n";
        std::string body = table(s.rows);
        for (const std::string& line : s.lines) body += line + "\n";
        for (std::size_t at = 0; at < body.size(); at = body.find('\n', at) + 1) body.insert(at, "  "), at += 2;
        out += body;
    }
    return out;
}

std::string fuse_markdown(const FuseReport& r) {
    std::string out = "# Fusion of " + r.file + " on " + r.chip.name + "\n";
    for (const Section& s : sections(r)) {
        out += "\n## " + s.title + "\n\n" + (s.rows.empty() ? "" : markdown(s.rows) + "\n");
        for (const std::string& line : s.lines) out += line + "\n\n";
    }
    while (out.ends_with("\n\n")) out.pop_back();
    return out;
}

}  // namespace sfumato::tools
