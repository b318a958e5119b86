// SPDX-License-Identifier: Apache-2.0
#include "fusion/compile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "fusion/passes/report.h"
#include "fusion/shape.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

namespace {

class Clock {
public:
    /// Milliseconds since the last call.
    double lap() {
        const auto now = std::chrono::steady_clock::now();
        return std::chrono::duration<double, std::milli>(now - std::exchange(last_, now)).count();
    }

private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

constexpr int kRulesLevel = 2;

Variant fused(const char* name, const Graph& imported, const CompileRequest& request, int level, const isa::Chip& chip, const PassObserver& observe) {
    Variant v{name, imported.clone(), {}, {}, {}};
    Switches switches = request.switches;
    switches.level = level;
    v.records = run_passes(v.graph, request.passes, switches, &chip, observe);
    return v;
}

Variant asked_for(CompiledModel& out, const CompileRequest& request, const isa::Chip& chip) {
    if (request.audit_runs == 0) return fused("full", out.model.graph, request, request.switches.level, chip, request.observe);
    Variant v{"full", out.model.graph.clone(), {}, {}, {}};
    v.records = run_audited(v.graph, request.passes, request.switches, &chip, request.observe, small_bindings(v.graph), request.audit_runs, out.audit);
    return v;
}

void check_no_reuse(const std::set<std::string>& given, const Graph& imported, const Graph& fused) {
    std::vector<std::string> known;
    for (const Graph* g : {&imported, &fused})
        for (const NodeId id : g->order()) known.push_back(g->node(id).name);
    for (const Graph* g : {&imported, &fused})
        for (const auto& [op, count] : count_operators(*g)) known.push_back(op);
    for (const std::string& name : given) {
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        const std::string near = isa::nearest(name, known);
        throw isa::InputError("--no-reuse-memory: the graph has no node or operator called '" + name + "'" + (near.empty() ? "" : "; did you mean " + near + "?"));
    }
}

// The graph decides whether a plan exists; the limit, which is the user's, only whether it will do.
void plan_variants(CompiledModel& out, const MemoryOptions& options) {
    MemoryOptions unlimited = options;
    unlimited.limit_bytes.reset();
    try {
        for (Variant& v : out.variants) v.plan = plan_memory(v.graph, unlimited);
    } catch (const isa::InputError& e) {
        out.no_plan = e.what();
        for (Variant& v : out.variants) v.plan.reset();
    }
    if (!options.limit_bytes) return;
    if (!out.no_plan.empty()) throw isa::InputError("--memory-limit cannot be kept: " + out.no_plan);
    plan_memory(out.full().graph, options);
}

}  // namespace

Estimate estimate(const Graph& g, const isa::Chip& chip, const Bindings& sizes) {
    Estimate e;
    for (const NodeId id : g.order()) {
        if (plan::on_host(g, id)) continue;
        const plan::Work work = plan::work_of(g, {id}, chip, sizes);
        const plan::Price price = plan::price_of(work, chip);
        e.time_us += price.us;
        e.read_bytes += work.read_bytes;
        e.write_bytes += work.write_bytes;
        e.limiter_us[std::string(price.limiter)] += price.us;
        ++e.launches;
    }
    return e;
}

namespace {
OutputSummary summary(const Value& v, const Tensor& t) {
    OutputSummary s{v.name, std::string(name(t.type)), t.dims};
    if (std::holds_alternative<std::vector<std::string>>(t.data)) return s;
    std::int64_t finite = 0;
    for (std::int64_t i = 0; i < t.size(); ++i) {
        const double x = t.number(i);
        if (!std::isfinite(x)) {
            ++s.not_finite;
            continue;
        }
        s.least = finite == 0 ? x : std::min(s.least, x);
        s.most = finite == 0 ? x : std::max(s.most, x);
        s.mean += (x - s.mean) / static_cast<double>(++finite);
    }
    return s;
}
}  // namespace

OutputValues output_values(const Graph& g) {
    OutputValues out;
    out.sizes = small_bindings(g);
    try {
        const std::vector<Datum> found = evaluate(g, random_inputs(g, out.sizes, 1));
        for (std::size_t i = 0; i < found.size(); ++i)
            if (const auto* t = std::get_if<TensorPtr>(&found[i])) out.outputs.push_back(summary(g.value(g.outputs()[i]), **t));
    } catch (const isa::InputError& e) {
        out.none = e.what();
    }
    return out;
}

CompiledModel compile_model(const CompileRequest& request, const isa::Chip& chip) {
    CompiledModel out;
    Clock clock;
    out.model = import_onnx(request.model);
    apply_shape_ranges(out.model.graph, request.ranges);
    infer_shapes(out.model.graph);
    out.import_ms = clock.lap();
    Variant full = asked_for(out, request, chip);
    out.passes_ms = clock.lap();
    check_no_reuse(request.memory.no_reuse, out.model.graph, full.graph);
    out.variants.push_back({"unfused", out.model.graph.clone(), {}, {}, {}});
    const int level = std::min(request.switches.level, kRulesLevel);
    out.variants.push_back(fused("rules", out.model.graph, request, level, chip, {}));
    out.variants.push_back(std::move(full));
    out.sizes = plan::assumed_sizes(out.model.graph.symbols());
    for (Variant& v : out.variants) v.cost = estimate(v.graph, chip, out.sizes);
    clock.lap();
    plan_variants(out, request.memory);
    out.plan_ms = clock.lap();
    return out;
}

}  // namespace sfumato::fusion
