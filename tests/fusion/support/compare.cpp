// SPDX-License-Identifier: Apache-2.0
#include "tests/fusion/support/compare.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "isa/diagnostic.h"

namespace sfumato::fusion::test {

namespace {

std::string text(const std::vector<std::int64_t>& dims) {
    std::string s = "[";
    for (std::size_t i = 0; i < dims.size(); ++i) s += (i ? "," : "") + std::to_string(dims[i]);
    return s + "]";
}
std::string text(const Tensor& t) { return std::string(name(t.type)) + text(t.dims); }

std::string number_text(double x) {
    std::array<char, 40> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%.9g", x);
    return buffer.data();
}

std::string difference(const Tensor& got, const Tensor& want, const Budget& budget) {
    if (got.type != want.type || got.dims != want.dims) return "got " + text(got) + ", wanted " + text(want);
    if (want.type == ElemType::string) {
        for (std::size_t i = 0; i < want.strings().size(); ++i)
            if (got.strings()[i] != want.strings()[i]) return "element " + std::to_string(i) + ": got \"" + got.strings()[i] + "\", wanted \"" + want.strings()[i] + "\"";
        return "";
    }
    const std::int64_t n = want.size();
    double largest = 0, worst = 0;
    std::int64_t place = -1, count = 0;
    const bool real = is_float(want.type);
    for (std::int64_t i = 0; i < n; ++i)
        if (std::isfinite(want.number(i))) largest = std::max(largest, std::abs(want.number(i)));
    for (std::int64_t i = 0; i < n; ++i) {
        if (!real && got.ints()[static_cast<std::size_t>(i)] == want.ints()[static_cast<std::size_t>(i)]) continue;
        const double a = got.number(i), b = want.number(i);
        if (a == b && real) continue;
        if (std::isnan(a) && std::isnan(b)) continue;
        const double allowed = real ? budget.absolute + budget.relative * (budget.of_largest ? largest : std::abs(b)) : 0;
        const double off = std::abs(a - b);
        if (std::isfinite(a) && std::isfinite(b) && real && off <= allowed) continue;
        ++count;
        const double excess = std::isfinite(off) ? off : INFINITY;
        if (place < 0 || excess > worst) {
            worst = excess;
            place = i;
        }
    }
    if (place < 0) return "";
    return std::to_string(count) + " of " + std::to_string(n) + " elements of " + text(want) + " differ, worst at " + std::to_string(place) + ": got " + number_text(got.number(place)) + ", wanted " +
           number_text(want.number(place)) + " (largest value " + number_text(largest) + ")";
}

}  // namespace

std::string difference(const Datum& got, const Datum& want, const Budget& budget) {
    if (got.index() != want.index()) return "one is a tensor, a sequence or nothing, the other is not";
    if (const auto* t = std::get_if<TensorPtr>(&want)) return difference(*std::get<TensorPtr>(got), **t, budget);
    if (const auto* s = std::get_if<std::vector<TensorPtr>>(&want)) {
        const auto& g = std::get<std::vector<TensorPtr>>(got);
        if (g.size() != s->size()) return "got a sequence of " + std::to_string(g.size()) + ", wanted one of " + std::to_string(s->size());
        for (std::size_t i = 0; i < s->size(); ++i)
            if (const std::string d = difference(*g[i], *(*s)[i], budget); !d.empty()) return "element " + std::to_string(i) + " of the sequence: " + d;
    }
    return "";
}

std::string difference(const std::vector<Datum>& got, const std::vector<Datum>& want, const Budget& budget) {
    if (got.size() != want.size()) return "got " + std::to_string(got.size()) + " outputs, wanted " + std::to_string(want.size());
    for (std::size_t i = 0; i < want.size(); ++i)
        if (const std::string d = difference(got[i], want[i], budget); !d.empty()) return "output " + std::to_string(i) + ": " + d;
    return "";
}

namespace {

/// Numbers that no library's distribution changes: a Mersenne twister, and the sum of twelve uniforms for a bell.
class Source {
public:
    explicit Source(std::uint32_t seed) : engine_(seed) {}
    double uniform() { return static_cast<double>(engine_()) / 4294967296.0; }
    double bell() {
        double s = -6;
        for (int i = 0; i < 12; ++i) s += uniform();
        return s;
    }
    std::int64_t below(std::int64_t n) { return std::min(n - 1, static_cast<std::int64_t>(uniform() * static_cast<double>(n))); }

private:
    std::mt19937 engine_;
};

std::vector<std::int64_t> dims_of(const Graph& g, const Value& v, const Bindings& sizes) {
    if (v.kind != ValueKind::tensor || !v.shape) throw isa::InputError("input " + v.name + " is no tensor of known rank and cannot be drawn");
    std::vector<std::int64_t> dims;
    for (const Extent& e : *v.shape) dims.push_back(g.symbols().evaluate(e, sizes));
    return dims;
}

Tensor drawn(const Value& v, std::vector<std::int64_t> dims, Source& source, const Draw& draw) {
    Tensor t{v.type, std::move(dims), {}};
    const auto n = static_cast<std::size_t>(t.size());
    if (is_float(v.type)) {
        const double fan = t.rank() > 1 ? static_cast<double>(t.dims[0]) : 1, spread = v.weight ? (t.rank() > 1 ? 1 / std::sqrt(fan) : 0.1) : draw.scale;
        const double middle = v.weight && t.rank() == 1 ? 1 : 0;  // gains of norms are near 1
        std::vector<double> values(n);
        const bool cheap = n > 1'000'000;  // large weights need no bell
        for (double& x : values) x = middle + spread * (cheap ? 3.4 * (source.uniform() - 0.5) : source.bell());
        if (v.type == ElemType::f64)
            t.data = std::move(values);
        else
            t.data = std::vector<float>(values.begin(), values.end());
    } else if (v.type == ElemType::boolean || is_integer(v.type)) {
        std::vector<std::int64_t> values(n);
        for (std::int64_t& x : values) x = source.below(v.type == ElemType::boolean ? 2 : draw.integers);
        t.data = std::move(values);
    } else {
        throw isa::InputError("input " + v.name + " is " + std::string(name(v.type)) + " and cannot be drawn");
    }
    return t;
}

std::uint32_t hash(const std::string& s) {
    std::uint32_t h = 2166136261u;
    for (const char ch : s) h = (h ^ static_cast<unsigned char>(ch)) * 16777619u;
    return h;
}

}  // namespace

Inputs random_inputs(const Graph& g, const Bindings& sizes, const Draw& draw) {
    Inputs inputs;
    const auto add = [&](ValueId id) {
        const Value& v = g.value(id);
        if (v.constant || v.fallback || inputs.count(v.name)) return;
        Source source(draw.seed ^ hash(v.name));  // by name: rewriting a graph does not change what its inputs get
        inputs[v.name] = std::make_shared<const Tensor>(drawn(v, dims_of(g, v, sizes), source, draw));
    };
    for (const ValueId id : g.inputs) add(id);
    for (ValueId id = 0; id < g.value_limit(); ++id)
        if (g.value(id).weight && !g.value(id).users.empty()) add(id);
    return inputs;
}

std::string difference(const Graph& got, const Graph& want, const Inputs& inputs, const Budget& budget, Precision precision) {
    Inputs kept;
    for (const auto& [name, d] : inputs)
        if (const auto id = got.find(name); id && got.value(*id).producer == kNone) kept.emplace(name, d);
    return difference(evaluate(got, kept, precision), evaluate(want, inputs, precision), budget);
}

Bindings bindings_of(const Graph& g, const Inputs& inputs) {
    Bindings sizes;
    for (const auto& [name, d] : inputs) {
        const auto id = g.find(name);
        const auto* t = std::get_if<TensorPtr>(&d);
        if (!id || !t || !g.value(*id).shape || g.value(*id).shape->size() != (*t)->dims.size()) continue;
        for (std::size_t i = 0; i < (*t)->dims.size(); ++i) {
            const Extent& e = (*g.value(*id).shape)[i];
            if (e.constant()) continue;
            const std::string symbol = g.symbols().to_text(e);
            if (g.symbols().contains(symbol)) sizes.emplace(symbol, (*t)->dims[i]);
        }
    }
    return sizes;
}

std::vector<std::string> shape_contradictions(const Graph& g, const Inputs& inputs, const Bindings& sizes) {
    std::vector<std::string> lines;
    evaluate(g, inputs, Precision::as_declared, [&](NodeId id, const std::vector<Datum>& outputs) {
        const Node& n = g.node(id);
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            const auto* t = std::get_if<TensorPtr>(&outputs[i]);
            if (n.outputs[i] == kNone || !t) continue;
            const Value& v = g.value(n.outputs[i]);
            const auto say = [&](const std::string& what) { lines.push_back("value " + v.name + " of node " + n.name + " (" + std::string(name(n.op)) + "): " + what + ", at run time it is " + text(**t)); };
            if (v.type != ElemType::undefined && v.type != (*t)->type) say("inferred " + std::string(name(v.type)));
            if (!v.shape) continue;
            if (v.shape->size() != (*t)->dims.size()) {
                say("inferred rank " + std::to_string(v.shape->size()));
                continue;
            }
            for (std::size_t d = 0; d < v.shape->size(); ++d) {
                const Extent& e = (*v.shape)[d];
                const auto names = g.symbols().names_in(e);
                if (!std::all_of(names.begin(), names.end(), [&](const std::string& s) { return sizes.count(s) != 0; })) continue;
                if (g.symbols().evaluate(e, sizes) != (*t)->dims[d]) say("axis " + std::to_string(d) + " inferred as " + g.symbols().to_text(e));
            }
        }
    });
    return lines;
}

}  // namespace sfumato::fusion::test
