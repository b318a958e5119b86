// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include <nlohmann/json.hpp>

#include "fusion/passes/report.h"
#include "fusion/passes/rewrite.h"
#include "fusion/shape.h"
#include "tools/fuse.h"

namespace sfumato::tools {

namespace {

using json = nlohmann::ordered_json;
using namespace fusion;

json inputs_json(const Graph& g) {
    json out = json::object();
    for (const ValueId v : g.inputs)
        if (!g.value(v).fallback) out[g.value(v).name] = {{"type", name(g.value(v).type)}, {"shape", g.value(v).shape ? json(shape_text(g.symbols(), *g.value(v).shape)) : json(nullptr)}};
    return out;
}

json patterns_json(const Variant& full) {
    json out = json::object();
    for (const auto& [op, count] : count_patterns(full.graph)) out[op] = {{"found", count}};
    return out;
}

json passes_json(const Variant& full) {
    json out = json::object();
    for (const PassRecord& p : full.records) {
        std::map<std::string, int> refused;
        for (const Refusal& f : p.refusals) ++refused[std::string(name(f.reason))];
        out[p.pass] = {{"found", p.matched}, {"effective", p.effective}, {"refused", refused}};
    }
    return out;
}

json groups_json(const FuseReport& r) {
    json out = json::array();
    const Graph& g = r.model.full().graph;
    for (const NodeId id : g.order()) {
        const Node& n = g.node(id);
        if (!n.body) continue;
        const plan::Work work = plan::work_of(g, {id}, r.chip, r.model.sizes);
        const plan::Price price = plan::price_of(work, r.chip);
        out.push_back({{"name", n.name},
                       {"operator", pattern_of(n)},
                       {"nodes", n.body->node_count()},
                       {"origins", n.origins},
                       {"time_us", price.us},
                       {"limiter", price.limiter},
                       {"read_bytes", work.read_bytes},
                       {"write_bytes", work.write_bytes}});
    }
    return out;
}

json runs_json(const CompiledModel& m) {
    json out = json::object();
    for (const Variant& v : m.variants) {
        const Estimate& e = v.cost;
        out[v.name] = {{"time_us", e.time_us},
                       {"gm_bytes", e.read_bytes + e.write_bytes},
                       {"peak_bytes", v.plan ? json(v.plan->arena_bytes) : json(nullptr)},
                       {"launches", e.launches},
                       {"nodes", v.graph.node_count()},
                       {"limiter_us", e.limiter_us}};
    }
    return out;
}

json memory_json(const CompiledModel& m) {
    if (!m.full().plan) return {{"peak_bytes", nullptr}, {"note", m.no_plan}};
    const MemoryPlan &p = *m.full().plan, &unfused = *m.variants.front().plan;
    const auto share = [](std::int64_t part, std::int64_t whole) { return whole > 0 ? 1 - static_cast<double>(part) / static_cast<double>(whole) : 0; };
    return {{"peak_bytes", p.arena_bytes},
            {"lower_bound_bytes", p.lower_bound_bytes},
            {"saved_fraction", share(p.arena_bytes, p.without_reuse_bytes)},
            {"saved_fraction_by_fusion", share(p.arena_bytes, unfused.arena_bytes)},
            {"without_reuse_bytes", p.without_reuse_bytes},
            {"weight_bytes", p.weight_bytes},
            {"input_bytes", p.input_bytes},
            {"output_bytes", p.output_bytes},
            {"kv_saved_bytes", p.kv_saved_bytes},
            {"peak_node", p.peak_node}};
}

json verify_json(const FuseReport& r) {
    const Audit& a = r.model.audit;
    json out{{"checked", r.verified && a.skipped.empty()}, {"runs", a.runs}, {"max_error", a.max_error}, {"budget", a.budget}};
    if (!a.skipped.empty()) out["note"] = a.skipped;
    if (!a.where.empty()) out["where"] = a.where;
    if (!a.guilty.empty()) out["guilty"] = a.guilty;
    return out;
}

json values_json(const OutputValues& v) {
    json list = json::array();
    for (const OutputSummary& o : v.outputs) list.push_back({{"output", o.name}, {"type", o.type}, {"shape", o.dims}, {"least", o.least}, {"mean", o.mean}, {"most", o.most}, {"not_finite", o.not_finite}});
    json out{{"sizes", v.sizes}, {"outputs", list}};
    if (!v.none.empty()) out["note"] = v.none;
    return out;
}

std::string dumped(const json& j) { return j.dump(2, ' ', false, json::error_handler_t::replace) + "\n"; }

}  // namespace

std::string fuse_json(const FuseReport& r) {
    const CompiledModel& m = r.model;
    const auto speedup = [&](std::size_t i) { return m.variants[i].cost.time_us > 0 ? m.variants[0].cost.time_us / m.variants[i].cost.time_us : 1.0; };
    json j{{"model", r.file},
           {"chip", r.chip.name},
           {"opset", m.model.opset},
           {"inputs", inputs_json(m.model.graph)},
           {"sizes", m.sizes},
           {"nodes", {{"imported", m.model.graph.node_count()}, {"after", m.full().graph.node_count()}}},
           {"patterns", patterns_json(m.full())},
           {"passes", passes_json(m.full())},
           {"groups", groups_json(r)},
           {"runs", runs_json(m)},
           {"speedup", {{"rules", speedup(1)}, {"full", speedup(2)}}},
           {"verify", verify_json(r)},
           {"memory", memory_json(m)}};
    if (r.values) j["values"] = values_json(*r.values);
    j["notes"] = m.model.notes;
    j["assumptions"] = {{"chip_hash", r.chip.hash}, {"times", "estimates: bounds by the limits of the chip file, neither measured nor simulated"}};
    j["sim"] = {{"wall_s", r.wall_s}, {"import_ms", m.import_ms}, {"passes_ms", m.passes_ms}, {"plan_ms", m.plan_ms}};
    return dumped(j);
}

std::string fuse_story_json(const std::string& node, const std::string& story) {
    json lines = json::array();
    std::istringstream in(story);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return dumped({{"node", node}, {"story", lines}});
}

}  // namespace sfumato::tools
