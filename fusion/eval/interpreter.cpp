// SPDX-License-Identifier: Apache-2.0
// The node loop: values live from their producer to their last use, subgraphs see the values of the graphs around them by name.
#include "fusion/interpreter.h"

#include <set>
#include <unordered_map>

#include "fusion/eval/loops.h"

namespace sfumato::fusion {

using isa::InputError;

namespace {

std::string title(const Node& n) { return "node " + (n.name.empty() ? std::string("without a name") : n.name) + " (" + std::string(name(n.op)) + ")"; }

std::size_t elements(const Tensor& t) {
    return std::visit([](const auto& v) { return v.size(); }, t.data);
}

/// Values of f16 and bf16 rounded, integers wrapped to their width.
void finish(Tensor& t, Precision precision) {
    if (t.type == ElemType::f16 || t.type == ElemType::bf16) {
        if (precision == Precision::all_double) return;
        for (float& x : std::get<std::vector<float>>(t.data)) x = t.type == ElemType::f16 ? round_f16(x) : round_bf16(x);
    } else if (is_integer(t.type) && info(t.type).bits < 64) {
        for (std::int64_t& x : std::get<std::vector<std::int64_t>>(t.data)) x = wrapped(x, t.type);
    }
}

bool stored_as_asked(const Tensor& t, Precision precision) {
    if (!is_float(t.type)) return true;
    return std::holds_alternative<std::vector<double>>(t.data) == (t.type == ElemType::f64 || precision == Precision::all_double);
}

TensorPtr in_precision(const TensorPtr& t, Precision precision) {
    if (stored_as_asked(*t, precision)) return t;
    Tensor out{t->type, t->dims, {}};
    if (const auto* f = std::get_if<std::vector<float>>(&t->data))
        out.data = std::vector<double>(f->begin(), f->end());
    else
        out.data = std::vector<float>(t->doubles().begin(), t->doubles().end());
    return std::make_shared<const Tensor>(std::move(out));
}

Datum in_precision(const Datum& d, Precision precision) {
    if (const auto* t = std::get_if<TensorPtr>(&d)) return in_precision(*t, precision);
    if (const auto* s = std::get_if<std::vector<TensorPtr>>(&d)) {
        std::vector<TensorPtr> out;
        for (const TensorPtr& t : *s) out.push_back(in_precision(t, precision));
        return out;
    }
    return d;
}

/// What is the same for every run of a graph: a loop's body runs many times.
struct Schedule {
    std::vector<NodeId> order;
    std::vector<std::vector<ValueId>> frees;  ///< after each step: values whose last use it was
    explicit Schedule(const Graph& g) : order(g.order()), frees(order.size()) {
        std::vector<bool> seen(g.value_limit(), false);
        for (const ValueId v : g.outputs()) seen[v] = true;
        for (std::size_t i = order.size(); i-- > 0;) {
            const Node& n = g.node(order[i]);
            const auto use = [&](ValueId v) {
                if (v == kNone || seen[v]) return;
                seen[v] = true;
                frees[i].push_back(v);
            };
            for (const ValueId v : n.inputs) use(v);
            for (const ValueId v : n.outputs) use(v);  // nobody reads it
            for (const auto& [name, v] : n.captures) use(v);
        }
    }
};

class Session {
public:
    Session(Precision precision, const Observer* observer) : precision_(precision), observer_(observer) {}

    /// One graph being run.
    struct Frame {
        const Graph& graph;
        std::vector<Datum> values;
        bool top = true;
    };

    std::vector<Datum> run(Frame& f) {
        auto& slot = schedules_[&f.graph];
        if (!slot) slot = std::make_unique<Schedule>(f.graph);
        const Schedule& schedule = *slot;
        for (std::size_t i = 0; i < schedule.order.size(); ++i) {
            step(f, schedule.order[i]);
            for (const ValueId v : schedule.frees[i]) f.values[v] = {};
        }
        std::vector<Datum> results;
        for (const ValueId v : f.graph.outputs()) results.push_back(read(f, v));
        return results;
    }

private:
    Precision precision_;
    const Observer* observer_;
    std::unordered_map<const Graph*, std::unique_ptr<Schedule>> schedules_;

    Datum read(Frame& f, ValueId v) {
        if (v == kNone) return {};
        Datum& d = f.values[v];
        if (const TensorPtr& constant = f.graph.value(v).constant; constant && std::holds_alternative<std::monostate>(d)) d = in_precision(constant, precision_);
        return d;
    }

    void step(Frame& f, NodeId id) {
        const Node& n = f.graph.node(id);
        std::vector<Datum> inputs;
        inputs.reserve(n.inputs.size());
        for (const ValueId v : n.inputs) inputs.push_back(read(f, v));
        EvalContext context(n, std::move(inputs), precision_, [&](const Graph& sub, const std::vector<Datum>& values) { return nested(f, n, sub, values); });
        row(n.op).evaluate(context);
        for (std::size_t i = 0; i < n.outputs.size(); ++i)
            if (n.outputs[i] != kNone) f.values[n.outputs[i]] = context.outputs[i];
        if (observer_ && f.top) (*observer_)(id, context.outputs);
    }

    std::vector<Datum> nested(Frame& outer, const Node& n, const Graph& sub, const std::vector<Datum>& values) {
        if (values.size() != sub.inputs.size())
            throw InputError(title(n) + ": its subgraph takes " + std::to_string(sub.inputs.size()) + " inputs and gets " + std::to_string(values.size()));
        Frame f{sub, std::vector<Datum>(sub.value_limit()), false};
        for (const auto& [name, local] : sub.captured)
            for (const auto& [key, v] : n.captures)
                if (key == name) f.values[local] = read(outer, v);
        for (std::size_t i = 0; i < values.size(); ++i) f.values[sub.inputs[i]] = values[i];
        return run(f);
    }
};

/// What a caller gives against what the graph declares: type, rank, extents, and one size for each symbol.
class InputCheck {
public:
    explicit InputCheck(const Graph& g) : graph_(g) {}
    void operator()(const Value& v, const Datum& d) {
        if (const auto* t = std::get_if<TensorPtr>(&d)) {
            tensor(v, **t);
        } else if (const auto* s = std::get_if<std::vector<TensorPtr>>(&d)) {
            if (v.kind == ValueKind::tensor) throw InputError("input " + v.name + " is a tensor, a sequence is given");
            for (const TensorPtr& t : *s) type(v, *t);
        } else if (v.kind != ValueKind::optional) {
            throw InputError("input " + v.name + " is given without a value");
        }
    }

private:
    const Graph& graph_;
    Bindings sizes_;
    std::map<std::string, std::string> bound_by_;

    void type(const Value& v, const Tensor& t) {
        if (v.type != ElemType::undefined && v.type != t.type)
            throw InputError("input " + v.name + " is " + std::string(name(v.type)) + ", the tensor given is " + std::string(name(t.type)));
        for (const std::int64_t d : t.dims)
            if (d < 0) throw InputError("input " + v.name + " is given with the negative extent " + std::to_string(d));
        if (static_cast<std::size_t>(t.size()) != elements(t))
            throw InputError("input " + v.name + " is given with shape " + text(t.dims) + " and " + std::to_string(elements(t)) + " elements");
    }
    void tensor(const Value& v, const Tensor& t) {
        if (v.kind == ValueKind::sequence) throw InputError("input " + v.name + " is a sequence, a tensor is given");
        type(v, t);
        if (!v.shape || v.kind != ValueKind::tensor) return;
        if (v.shape->size() != t.dims.size())
            throw InputError("input " + v.name + " has rank " + std::to_string(v.shape->size()) + ", the tensor given has shape " + text(t.dims));
        for (std::size_t i = 0; i < t.dims.size(); ++i) extent(v, (*v.shape)[i], t.dims[i], i);
    }
    void extent(const Value& v, const Extent& declared, std::int64_t got, std::size_t axis) {
        const std::string where = "axis " + std::to_string(axis) + " of input " + v.name;
        if (const auto c = declared.constant()) {
            if (*c != got) throw InputError(where + " is " + std::to_string(*c) + ", the tensor given has " + std::to_string(got));
            return;
        }
        const std::string symbol = graph_.symbols().to_text(declared);
        if (!graph_.symbols().contains(symbol)) return;  // an expression: the graph's own nodes contradict if it does not hold
        const auto [it, fresh] = sizes_.emplace(symbol, got);
        if (fresh) bound_by_[symbol] = where;
        if (it->second != got)
            throw InputError(where + " is " + symbol + ", the tensor given has " + std::to_string(got) + "; " + bound_by_[symbol] + " has " + std::to_string(it->second));
    }
};

}  // namespace

const Tensor& EvalContext::in(std::size_t i) const { return *in_ptr(i); }

TensorPtr EvalContext::in_ptr(std::size_t i) const {
    if (!has(i)) fail("input " + std::to_string(i) + " is absent");
    const auto* t = std::get_if<TensorPtr>(&inputs_[i]);
    if (!t) fail("input " + std::to_string(i) + " is a sequence, a tensor is needed");
    return *t;
}

void EvalContext::set(std::size_t output, Tensor t) {
    if (output >= outputs.size()) return;
    finish(t, precision);
    isa::check(static_cast<std::size_t>(t.size()) == elements(t) && stored_as_asked(t, precision), "a rule made a tensor that its type and shape do not describe");
    outputs[output] = std::make_shared<const Tensor>(std::move(t));
}

void EvalContext::fail(const std::string& what) const { throw InputError(title(node) + ": " + what); }

std::vector<Datum> evaluate(const Graph& g, const std::map<std::string, Datum>& inputs, Precision precision, const Observer& observer) {
    Session session(precision, observer ? &observer : nullptr);
    Session::Frame frame{g, std::vector<Datum>(g.value_limit())};
    InputCheck check(g);
    std::set<std::string> known;
    const auto take = [&](ValueId id) {
        const Value& v = g.value(id);
        known.insert(v.name);
        const auto it = inputs.find(v.name);
        if (it != inputs.end()) {
            check(v, it->second);
            frame.values[id] = in_precision(it->second, precision);
        } else if (v.fallback) {
            frame.values[id] = in_precision(v.fallback, precision);
        } else if (!v.constant) {
            throw InputError((v.weight ? "weight " : "input ") + v.name + " is missing");
        }
    };
    for (const ValueId id : g.inputs) take(id);
    for (ValueId id = 0; id < g.value_limit(); ++id)
        if (g.value(id).weight && !known.count(g.value(id).name) && !g.value(id).users.empty()) take(id);
    for (const auto& [name, d] : inputs)
        if (!known.count(name)) {
            std::vector<std::string> names(known.begin(), known.end());
            const std::string near = isa::nearest(name, names);
            throw InputError("the graph has no input " + name + (near.empty() ? "" : "; meant is perhaps " + near));
        }
    return session.run(frame);
}

std::vector<Datum> evaluate(const Graph& g, const std::map<std::string, Datum>& inputs, Precision precision) { return evaluate(g, inputs, precision, Observer{}); }

}  // namespace sfumato::fusion
