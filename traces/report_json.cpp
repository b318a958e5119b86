// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "traces/report.h"

namespace sfumato::traces {

using json = nlohmann::ordered_json;

namespace {

json object(const NamedNumbers& numbers) {
    json out = json::object();
    for (const auto& [name, value] : numbers) out[name] = value;
    return out;
}

json diagnostics(const std::vector<isa::Diagnostic>& list) {
    json out = json::array();
    for (const isa::Diagnostic& d : list)
        out.push_back({{"code", isa::name(d.code)}, {"message", d.message}, {"file", d.file}, {"line", d.line}, {"column", d.column}, {"notes", d.notes}});
    return out;
}

json pipes(const RunReport& r) {
    json out = json::object();
    for (const CoreGroup& g : r.groups) {
        json& group = out[std::string(isa::name(g.kind))] = json::object();
        for (const PipeShare& s : g.pipes) group[std::string(isa::kPipeNames[static_cast<std::size_t>(s.pipe)].profiler)] = s.busy;
    }
    return out;
}

json pipe_details(const RunReport& r) {
    json out = json::array();
    for (const CoreGroup& g : r.groups)
        for (const PipeShare& s : g.pipes)
            out.push_back({{"core", isa::name(g.kind)},
                           {"cores", g.cores},
                           {"pipe", isa::kPipeNames[static_cast<std::size_t>(s.pipe)].profiler},
                           {"busy", s.busy},
                           {"stalled", s.stalled},
                           {"idle", s.idle},
                           {"conflict", s.conflict},
                           {"instructions", s.instructions},
                           {"bytes", s.bytes}});
    return out;
}

json memory(const RunReport& r) {
    return {{"gm_read_bytes", r.memory.gm_read_bytes},
            {"gm_write_bytes", r.memory.gm_write_bytes},
            {"hbm_read_bytes", r.memory.hbm_read_bytes},
            {"hbm_write_bytes", r.memory.hbm_write_bytes},
            {"l2_hit_rate", r.l2_hit_rate()},
            {"l2_evictions", r.memory.l2_evictions},
            {"read_gbs", r.gbs(r.memory.gm_read_bytes)},
            {"write_gbs", r.gbs(r.memory.gm_write_bytes)},
            {"hbm_gbs", r.gbs(r.memory.hbm_read_bytes + r.memory.hbm_write_bytes)}};
}

json capacity(const RunReport& r) {
    json out = json::object();
    for (const SpaceUse& s : r.capacity) out[std::string(isa::name(s.space))] = {{"used_bytes", s.used}, {"total_bytes", s.total}};
    return out;
}

json values(const ValueCheck& v) {
    return {{"checked", v.checked},
            {"equal", v.equal},
            {"max_abs_error", v.max_abs_error},
            {"max_rel_error", v.max_rel_error},
            {"tolerance", v.tolerance},
            {"tolerance_rule", v.tolerance_rule},
            {"first_mismatch", v.first_mismatch}};
}

json hot_lines(const RunReport& r) {
    json out = json::array();
    for (const HotLine& h : r.hot)
        out.push_back({{"source_line", h.where}, {"instructions", h.what}, {"count", h.count}, {"bytes", h.bytes}, {"busy_us", h.busy_us}, {"stalled_us", h.stalled_us}});
    return out;
}

/// What is said of one kernel.
json kernel_members(const RunReport& r) {
    json j;
    j["kernel"] = r.kernel;
    j["chip"] = r.chip;
    j["arch"] = r.arch;
    j["status"] = r.status;
    j["shape"] = object(r.shape);
    j["dtype"] = r.dtype;
    j["tile"] = object(r.tile);
    j["blocks"] = r.blocks;
    j["repeat"] = r.repeat;
    j["timed"] = r.timed;
    j["cycles"] = r.cycles;
    j["core_time_us"] = r.core_time_us;
    j["task_time_us"] = r.task_time_us;
    j["core_time_mean_us"] = r.core_time_mean_us;
    j["flops"] = r.flops;
    j["tflops"] = r.tflops();
    j["peak_fraction"] = r.peak_fraction();
    j["pipes"] = pipes(r);
    j["pipe_details"] = pipe_details(r);
    j["memory"] = memory(r);
    j["capacity"] = capacity(r);
    j["sync"] = {{"flags", r.sync.flags}, {"event_ids", r.sync.event_ids}, {"barriers", r.sync.barriers}, {"cross_core", r.sync.cross_core}};
    j["values"] = values(r.values);
    j["hazards"] = diagnostics(r.hazards());
    j["diagnostics"] = diagnostics(r.diagnostics);
    j["bottleneck"] = {
        {"pipe", r.bottleneck.pipe}, {"reason", r.bottleneck.reason}, {"source_line", r.bottleneck.source_line}, {"share", r.bottleneck.share}};
    j["hot_lines"] = hot_lines(r);
    return j;
}

/// One object for each kernel of the run, also when it is the only one, so that a script can always walk the list.
json launches(const RunReport& r) {
    json out = json::array();
    const std::vector<RunReport> alone = r.launches.empty() ? std::vector<RunReport>{r} : std::vector<RunReport>{};
    for (const RunReport& l : r.launches.empty() ? alone : r.launches) {
        json j = kernel_members(l);
        j["begin_us"] = l.begin_us;
        j["reads"] = json::object();
        for (const auto& [tensor, source] : l.reads) j["reads"][tensor] = source;
        j["l2_before"] = l.l2_before;
        j["instructions"] = l.instructions;
        out.push_back(std::move(j));
    }
    return out;
}

std::string dump(const json& j) { return j.dump(2, ' ', false, json::error_handler_t::replace); }

}  // namespace

std::string to_json(const std::vector<isa::Diagnostic>& list) { return dump(diagnostics(list)); }

std::string to_json(const RunReport& r) {
    json j = kernel_members(r);
    if (!r.rounds_us.empty()) j["rounds_us"] = r.rounds_us;
    j["launches"] = launches(r);
    const double rate = r.wall_s > 0 ? static_cast<double>(r.instructions) / r.wall_s : 0;
    j["sim"] = {
        {"wall_s", r.wall_s}, {"compile_s", r.compile_s}, {"instructions", r.instructions}, {"events", r.events}, {"instructions_per_s", rate}};
    const Assumptions& a = r.assumptions;
    j["assumptions"] = {{"chip_hash", a.chip_hash}, {"model_version", a.model_version}, {"l2", a.l2}, {"seed", a.seed}, {"mode", a.mode}, {"notes", a.notes}};
    return dump(j);
}

}  // namespace sfumato::traces
