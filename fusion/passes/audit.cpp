// SPDX-License-Identifier: Apache-2.0
#include "fusion/passes/audit.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "fusion/passes/rewrite.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

Bindings small_bindings(const Graph& g, const Bindings& given) {
    Bindings out = given;
    std::int64_t next = 2;
    for (const ValueId v : g.inputs) {
        if (!g.value(v).shape) continue;
        for (const Extent& e : *g.value(v).shape)
            for (const std::string& name : g.symbols().names_in(e)) {
                if (out.count(name)) continue;
                const Range r = g.symbols().range(name);
                out[name] = std::clamp(next, r.low, r.high);
                next += 1;
            }
    }
    return out;
}

namespace {

// Ids must lie within the smallest table that they index.
std::int64_t id_limit(const Graph& g, ValueId v, int depth = 0) {
    std::int64_t limit = INT64_MAX;
    for (const NodeId id : g.value(v).users) {
        const Node& n = g.node(id);
        if (n.op == Op::Gather && n.inputs.size() == 2 && n.inputs[1] == v && g.value(n.inputs[0]).shape) {
            const Shape& table = *g.value(n.inputs[0]).shape;
            const std::int64_t axis = from_front(n.integer("axis", 0), static_cast<int>(table.size()));
            if (axis < static_cast<std::int64_t>(table.size()))
                if (const auto rows = table[static_cast<std::size_t>(axis)].constant()) limit = std::min(limit, *rows);
        } else if (depth < 4 && (n.op == Op::Cast || n.op == Op::Identity || n.op == Op::Unsqueeze || n.op == Op::Reshape) && n.inputs[0] == v) {
            limit = std::min(limit, id_limit(g, n.outputs[0], depth + 1));
        }
    }
    return limit;
}

std::uint64_t name_hash(std::string_view s) {
    std::uint64_t h = 14695981039346656037ull;
    for (const char c : s) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    return h;
}

TensorPtr random_tensor(const Graph& g, ValueId v, std::vector<std::int64_t> dims, std::uint64_t seed) {
    const Value& value = g.value(v);
    std::mt19937_64 rng(seed ^ name_hash(value.name));  // an input's values do not depend on the other inputs
    Tensor t;
    t.type = value.type;
    t.dims = std::move(dims);
    const auto size = static_cast<std::size_t>(t.size());
    const auto unit = [&] { return static_cast<double>(rng() >> 11) / 9007199254740992.0 * 2 - 1; };
    if (value.type == ElemType::f64) {
        std::vector<double> d(size);
        for (double& x : d) x = unit();
        t.data = std::move(d);
    } else if (is_float(value.type)) {
        std::vector<float> d(size);
        for (float& x : d) x = static_cast<float>(std::round(unit() * 64) / 64);  // exact in every floating type
        t.data = std::move(d);
    } else if (value.type == ElemType::string) {
        t.data = std::vector<std::string>(size, "a");
    } else {
        const std::int64_t limit = id_limit(g, v);
        const std::uint64_t below = limit == INT64_MAX ? 2 : static_cast<std::uint64_t>(std::max<std::int64_t>(limit, 1));
        std::vector<std::int64_t> d(size);
        for (std::int64_t& x : d) x = static_cast<std::int64_t>(rng() % below);
        t.data = std::move(d);
    }
    return std::make_shared<const Tensor>(std::move(t));
}

}  // namespace

Inputs random_inputs(const Graph& g, const Bindings& bindings, std::uint64_t seed) {
    Inputs out;
    for (const ValueId v : g.inputs) {
        const Value& value = g.value(v);
        if (value.fallback) continue;
        if (value.kind != ValueKind::tensor || !value.shape) throw isa::InputError("input " + value.name + " is no tensor of known rank: no random values for it");
        std::vector<std::int64_t> dims;
        for (const Extent& e : *value.shape) dims.push_back(g.symbols().evaluate(e, bindings));
        out[value.name] = random_tensor(g, v, std::move(dims), seed);
    }
    return out;
}

namespace {

void compare_tensors(const Tensor& a, const Tensor& b, const std::string& name, Difference& worst) {
    const auto wrong = [&](double error, const std::string& where) {
        if (error <= worst.error) return;
        worst = {error, where};
    };
    if (a.dims != b.dims || a.type != b.type) return wrong(HUGE_VAL, name + ": another shape or type");
    if (std::holds_alternative<std::vector<std::string>>(a.data)) return wrong(a.data == b.data ? 0 : HUGE_VAL, name + ": other text");
    double largest = 0;
    for (std::int64_t i = 0; i < a.size(); ++i)
        if (std::isfinite(a.number(i))) largest = std::max(largest, std::abs(a.number(i)));
    for (std::int64_t i = 0; i < a.size(); ++i) {
        const double x = a.number(i), y = b.number(i);
        if (x == y || (std::isnan(x) && std::isnan(y))) continue;
        const double error = std::isfinite(x) && std::isfinite(y) ? std::abs(x - y) / std::max(largest, 1e-30) : HUGE_VAL;
        if (error > worst.error) wrong(error, name + "[" + std::to_string(i) + "]");
    }
}

void compare(const Datum& a, const Datum& b, const std::string& name, Difference& worst) {
    if (a.index() != b.index()) {
        worst = {HUGE_VAL, name + ": another kind of value"};
        return;
    }
    if (const auto* t = std::get_if<TensorPtr>(&a)) return compare_tensors(**t, *std::get<TensorPtr>(b), name, worst);
    const auto* list = std::get_if<std::vector<TensorPtr>>(&a);
    if (!list) return;
    const auto& other = std::get<std::vector<TensorPtr>>(b);
    if (list->size() != other.size()) {
        worst = {HUGE_VAL, name + ": another length"};
        return;
    }
    for (std::size_t i = 0; i < list->size(); ++i) compare_tensors(*(*list)[i], *other[i], name + "." + std::to_string(i), worst);
}

}  // namespace

Difference difference(const Graph& g, const std::vector<Datum>& expected, const std::vector<Datum>& found) {
    Difference worst;
    if (expected.size() != found.size()) return {HUGE_VAL, "another number of outputs"};
    for (std::size_t i = 0; i < expected.size(); ++i) compare(expected[i], found[i], g.value(g.outputs()[i]).name, worst);
    return worst;
}

double error_budget(const Graph& g) {
    for (ValueId v = 0; v < g.value_limit(); ++v)
        if (g.value(v).type == ElemType::f16 || g.value(v).type == ElemType::bf16) return 2e-2;
    return 1e-5;
}

std::vector<PassRecord> run_audited(Graph& graph, const std::vector<PassRow>& rows, const Switches& switches, const isa::Chip* chip, const PassObserver& observe, const Bindings& bindings, int count,
                                    Audit& audit) {
    const Graph original = graph.clone();
    audit.budget = error_budget(original);
    std::vector<Inputs> inputs;
    std::vector<std::vector<Datum>> expected;
    try {
        for (int i = 0; i < count; ++i) {
            inputs.push_back(random_inputs(original, bindings, static_cast<std::uint64_t>(i) + 1));
            expected.push_back(evaluate(original, inputs.back()));
        }
    } catch (const isa::InputError& e) {
        audit.skipped = e.what();
    }
    auto records = run_passes(graph, rows, switches, chip, observe);
    const auto check = [&](const Graph& g) {
        Difference worst;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            Difference d;
            try {
                d = difference(g, expected[i], evaluate(g, inputs[i]));
            } catch (const isa::InputError& e) {
                d = {HUGE_VAL, e.what()};
            }
            if (d.error > worst.error) worst = d;
        }
        return worst;
    };
    if (!audit.skipped.empty()) return records;
    const Difference end = check(graph);
    audit.runs = static_cast<int>(expected.size());
    audit.max_error = end.error;
    audit.where = end.where;
    if (end.error <= audit.budget) return records;
    // the first pass after which values are wrong
    Graph again = original.clone();
    run_passes(again, rows, switches, chip, [&](const PassRow& row, const Graph& g, bool after) {
        if (!after || !audit.guilty.empty()) return;
        const Difference d = check(g);
        if (d.error <= audit.budget) return;
        audit.guilty = row.name;
        audit.where = d.where;
    });
    for (PassRecord& r : records)
        if (r.pass == audit.guilty) r.refusals.push_back({r.pass, "", Reason::numeric_budget, "values differ by " + std::to_string(audit.max_error) + ", allowed " + std::to_string(audit.budget) + ", at " + audit.where, 0});
    return records;
}

}  // namespace sfumato::fusion
