// SPDX-License-Identifier: Apache-2.0
// Operators that run subgraphs.
#include <algorithm>

#include "fusion/eval/loops.h"
#include "fusion/rules.h"

namespace sfumato::fusion {

namespace {

const Graph& subgraph(const EvalContext& c, const char* key) {
    const auto it = c.node.attributes.find(key);
    const auto* g = it == c.node.attributes.end() ? nullptr : std::get_if<GraphPtr>(&it->second);
    if (!g || !*g) c.fail(std::string("has no subgraph ") + key);
    return **g;
}

TensorPtr tensor_of(const EvalContext& c, const Datum& d, const char* what) {
    const auto* t = std::get_if<TensorPtr>(&d);
    if (!t) c.fail(std::string(what) + " is no tensor");
    return *t;
}

bool truth(const EvalContext& c, const Datum& d, const char* what) {
    const TensorPtr t = tensor_of(c, d, what);
    require(c, t->type == ElemType::boolean && t->size() == 1, std::string(what) + " is " + std::string(name(t->type)) + text(t->dims) + ", one bool is needed");
    return t->ints()[0] != 0;
}

/// What a loop's scan output is when no iteration ran: the body's declared type, with extent 0 on the scan axis and on unknown axes.
Tensor empty_scan(const EvalContext& c, const Graph& body, ValueId output, std::int64_t axis) {
    const Value& v = body.value(output);
    Dims dims;
    if (v.shape)
        for (const Extent& e : *v.shape) dims.push_back(e.constant().value_or(0));
    dims.insert(dims.begin() + axis_of(c, axis, static_cast<std::int64_t>(dims.size()) + 1), 0);
    return blank(c, v.type == ElemType::undefined ? ElemType::f32 : v.type, dims);
}

Datum shared(Tensor t) { return std::make_shared<const Tensor>(std::move(t)); }

/// The slice of one index along an axis, which goes away.
Tensor slice_at(const Tensor& x, std::int64_t axis, std::int64_t i) {
    Dims dims = x.dims, strides = strides_of(x.dims);
    const std::int64_t offset = i * strides[static_cast<std::size_t>(axis)];
    dims.erase(dims.begin() + axis);
    strides.erase(strides.begin() + axis);
    return materialised(x, dims, strides, offset);
}

}  // namespace

void eval_body(EvalContext& c) {
    std::vector<Datum> inputs;
    for (std::size_t i = 0; i < c.input_count(); ++i) inputs.push_back(c.datum(i));
    c.outputs = c.run(*c.node.body, inputs);
}

void eval_if(EvalContext& c) {
    auto results = c.run(subgraph(c, truth(c, c.datum(0), "its condition") ? "then_branch" : "else_branch"), {});
    require(c, results.size() >= c.outputs.size(), "a branch has " + std::to_string(results.size()) + " outputs, the node " + std::to_string(c.outputs.size()));
    results.resize(c.outputs.size());
    c.outputs = std::move(results);
}

void eval_loop(EvalContext& c) {
    const Graph& body = subgraph(c, "body");
    const std::size_t states = c.input_count() < 2 ? 0 : c.input_count() - 2, results = body.outputs().size();
    require(c, body.inputs.size() == states + 2 && results >= states + 1 && c.outputs.size() <= results - 1,
            "its body takes " + std::to_string(body.inputs.size()) + " and returns " + std::to_string(results) + " values, " + std::to_string(states) + " are carried");
    const std::int64_t most = c.has(0) ? integer_of(c, 0) : INT64_MAX;
    bool go_on = !c.has(1) || truth(c, c.datum(1), "its condition");
    std::vector<Datum> carried;
    for (std::size_t i = 0; i < states; ++i) carried.push_back(c.datum(i + 2));
    std::vector<std::vector<TensorPtr>> scans(results - 1 - states);
    for (std::int64_t i = 0; i < most && go_on; ++i) {
        std::vector<Datum> inputs{shared(int_tensor({i}, {})), shared(int_tensor({1}, {}, ElemType::boolean))};
        inputs.insert(inputs.end(), carried.begin(), carried.end());
        const std::vector<Datum> out = c.run(body, inputs);
        go_on = truth(c, out[0], "the condition that its body returns");
        std::copy_n(out.begin() + 1, states, carried.begin());
        for (std::size_t s = 0; s < scans.size(); ++s) scans[s].push_back(tensor_of(c, out[1 + states + s], "a scan output"));
    }
    for (std::size_t i = 0; i < c.outputs.size(); ++i) {
        if (i < states)
            c.outputs[i] = carried[i];
        else if (wanted(c, i))
            c.set(i, scans[i - states].empty() ? empty_scan(c, body, body.outputs()[i + 1], 0) : stacked(c, scans[i - states], 0));
    }
}

namespace {

struct ScanPlan {
    std::size_t states = 0, scans = 0, first = 0;  ///< first: index of the first state among the node's inputs
    Dims input_axes, input_reverse, output_axes, output_reverse;
    std::int64_t length = 0;
};

Dims numbers(const EvalContext& c, const char* key, std::size_t n) {
    Dims v = c.node.integers(key).value_or(Dims(n, 0));
    require(c, v.size() == n, std::string(key) + " has " + std::to_string(v.size()) + " values, " + std::to_string(n) + " are needed");
    return v;
}

ScanPlan scan_plan(const EvalContext& c, const Graph& body, bool batched) {
    ScanPlan p;
    const std::int64_t scans = c.node.integer("num_scan_inputs", 0);
    p.first = batched ? 1 : 0;
    require(c, scans >= 1 && static_cast<std::size_t>(scans) + p.first <= c.input_count(), "num_scan_inputs is " + std::to_string(scans) + " of " + std::to_string(c.input_count()) + " inputs");
    p.scans = static_cast<std::size_t>(scans);
    p.states = c.input_count() - p.first - p.scans;
    require(c, body.inputs.size() == p.states + p.scans && body.outputs().size() >= p.states,
            "its body takes " + std::to_string(body.inputs.size()) + " values, " + std::to_string(p.states + p.scans) + " are given");
    const std::size_t outputs = body.outputs().size() - p.states;
    p.input_axes = numbers(c, "scan_input_axes", p.scans);
    p.input_reverse = numbers(c, batched ? "directions" : "scan_input_directions", p.scans);
    p.output_axes = numbers(c, "scan_output_axes", outputs);
    p.output_reverse = numbers(c, "scan_output_directions", outputs);
    return p;
}

/// One scan over inputs whose scan axes are the plan's. Returns final states, then scan outputs.
std::vector<Datum> scanned(const EvalContext& c, const Graph& body, const ScanPlan& p, std::vector<Datum> states, const std::vector<TensorPtr>& xs, std::optional<std::int64_t> stop) {
    std::int64_t length = -1;
    Dims axes;
    for (std::size_t s = 0; s < xs.size(); ++s) {
        axes.push_back(axis_of(c, p.input_axes[s], xs[s]->rank(), "a scan axis"));
        const std::int64_t n = xs[s]->dims[static_cast<std::size_t>(axes[s])];
        require(c, length < 0 || length == n, "its scan inputs have lengths " + std::to_string(length) + " and " + std::to_string(n));
        length = n;
    }
    if (stop) length = std::min(length, *stop);
    std::vector<std::vector<TensorPtr>> rows(body.outputs().size() - states.size());
    for (std::int64_t i = 0; i < length; ++i) {
        std::vector<Datum> inputs = states;
        for (std::size_t s = 0; s < xs.size(); ++s) inputs.push_back(shared(slice_at(*xs[s], axes[s], p.input_reverse[s] ? length - 1 - i : i)));
        std::vector<Datum> out = c.run(body, inputs);
        for (std::size_t r = 0; r < rows.size(); ++r) rows[r].push_back(tensor_of(c, out[states.size() + r], "a scan output"));
        out.resize(states.size());
        states = std::move(out);
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
        if (p.output_reverse[r]) std::reverse(rows[r].begin(), rows[r].end());
        states.push_back(shared(rows[r].empty() ? empty_scan(c, body, body.outputs()[p.states + r], p.output_axes[r]) : stacked(c, rows[r], p.output_axes[r])));
    }
    return states;
}

/// Opset 8: everything has a batch axis in front, and each batch element its own length.
std::vector<Datum> scanned_by_batch(const EvalContext& c, const Graph& body, const ScanPlan& p) {
    const std::int64_t batch = c.in(p.first).rank() > 0 ? c.in(p.first).dims[0] : 0;
    const std::optional<Dims> lengths = c.has(0) ? std::optional(ints_of(c, 0)) : std::nullopt;
    require(c, !lengths || static_cast<std::int64_t>(lengths->size()) == batch, "sequence_lens does not fit a batch of " + std::to_string(batch));
    std::vector<std::vector<TensorPtr>> parts(body.outputs().size());
    for (std::int64_t b = 0; b < batch; ++b) {
        std::vector<Datum> states;
        std::vector<TensorPtr> xs;
        for (std::size_t i = 0; i < p.states + p.scans; ++i) {
            const Tensor& t = c.in(p.first + i);
            require(c, t.rank() > 0 && t.dims[0] == batch, "input " + std::to_string(p.first + i) + " of shape " + text(t.dims) + " has no batch of " + std::to_string(batch));
            const auto part = std::make_shared<const Tensor>(slice_at(t, 0, b));
            if (i < p.states)
                states.emplace_back(part);
            else
                xs.push_back(part);
        }
        const auto out = scanned(c, body, p, std::move(states), xs, lengths ? std::optional((*lengths)[static_cast<std::size_t>(b)]) : std::nullopt);
        for (std::size_t i = 0; i < out.size(); ++i) parts[i].push_back(tensor_of(c, out[i], "an output"));
    }
    std::vector<Datum> results;
    for (auto& list : parts) results.push_back(shared(stacked(c, list, 0)));
    return results;
}

}  // namespace

void eval_scan(EvalContext& c) {
    const Graph& body = subgraph(c, "body");
    const bool batched = c.node.version < 9;
    const ScanPlan p = scan_plan(c, body, batched);
    std::vector<Datum> results;
    if (batched) {
        results = scanned_by_batch(c, body, p);
    } else {
        std::vector<Datum> states;
        std::vector<TensorPtr> xs;
        for (std::size_t i = 0; i < p.states; ++i) states.push_back(c.datum(i));
        for (std::size_t i = 0; i < p.scans; ++i) xs.push_back(c.in_ptr(p.states + i));
        results = scanned(c, body, p, std::move(states), xs, std::nullopt);
    }
    require(c, results.size() >= c.outputs.size(), "its body returns fewer values than the node");
    results.resize(c.outputs.size());
    c.outputs = std::move(results);
}

void eval_sequence_map(EvalContext& c) {
    const Graph& body = subgraph(c, "body");
    const auto* first = std::get_if<std::vector<TensorPtr>>(&c.datum(0));
    require(c, first != nullptr, "its first input must be a sequence");
    std::vector<std::vector<TensorPtr>> results(c.outputs.size());
    for (std::size_t i = 0; i < first->size(); ++i) {
        std::vector<Datum> inputs;
        for (std::size_t j = 0; j < c.input_count(); ++j) {
            if (const auto* s = std::get_if<std::vector<TensorPtr>>(&c.datum(j))) {
                require(c, s->size() == first->size(), "its sequences have " + std::to_string(first->size()) + " and " + std::to_string(s->size()) + " elements");
                inputs.emplace_back((*s)[i]);
            } else {
                inputs.push_back(c.datum(j));
            }
        }
        const auto out = c.run(body, inputs);
        for (std::size_t o = 0; o < results.size() && o < out.size(); ++o) results[o].push_back(tensor_of(c, out[o], "an output"));
    }
    for (std::size_t o = 0; o < results.size(); ++o) c.outputs[o] = std::move(results[o]);
}

}  // namespace sfumato::fusion
