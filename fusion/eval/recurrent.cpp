// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN: one driver over directions and steps, and one step for each kind of cell.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "fusion/eval/contraction.h"
#include "fusion/rules.h"

namespace sfumato::fusion {

namespace {

struct Activation {
    std::string kind;
    double alpha = 0, beta = 0;

    double operator()(double x) const {
        if (kind == "sigmoid") return 1 / (1 + std::exp(-x));
        if (kind == "tanh") return std::tanh(x);
        if (kind == "relu") return std::max(x, 0.0);
        if (kind == "affine") return alpha * x + beta;
        if (kind == "leakyrelu") return x < 0 ? alpha * x : x;
        if (kind == "thresholdedrelu") return x > alpha ? x : 0;
        if (kind == "scaledtanh") return alpha * std::tanh(beta * x);
        if (kind == "hardsigmoid") return std::clamp(alpha * x + beta, 0.0, 1.0);
        if (kind == "elu") return x < 0 ? alpha * std::expm1(x) : x;
        if (kind == "softsign") return x / (1 + std::abs(x));
        return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));  // softplus
    }
};

/// What the node says, and its operands by direction.
struct Cell {
    Op op{};
    std::int64_t directions = 1, steps = 0, batch = 0, input = 0, hidden = 0, gates = 1;
    bool reverse = false, batch_first = false, linear_before_reset = false, input_forget = false;
    double clip = 0;  ///< 0: none
    std::vector<Activation> activations;  ///< per direction: LSTM f g h, GRU f g, RNN f
    int per_direction = 1;
    Dims lengths;

    double clipped(double x) const { return clip > 0 ? std::clamp(x, -clip, clip) : x; }
    double act(std::int64_t direction, int which, double x) const { return activations[static_cast<std::size_t>(direction * per_direction + which)](clipped(x)); }
};

std::vector<Activation> activations_of(const EvalContext& c, const std::vector<std::string>& defaults, std::int64_t directions) {
    constexpr std::array<std::string_view, 11> kKnown{"relu", "tanh", "sigmoid", "affine", "leakyrelu", "thresholdedrelu", "scaledtanh", "hardsigmoid", "elu", "softsign", "softplus"};
    std::vector<std::string> names;
    for (std::int64_t d = 0; d < directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
    if (const auto it = c.node.attributes.find("activations"); it != c.node.attributes.end())
        if (const auto* given = std::get_if<std::vector<std::string>>(&it->second)) names = *given;
    require(c, names.size() == defaults.size() * static_cast<std::size_t>(directions), "activations has " + std::to_string(names.size()) + " names, " + std::to_string(defaults.size()) + " are needed for each direction");
    const auto list = [&](const char* key) {
        const auto it = c.node.attributes.find(key);
        const auto* v = it == c.node.attributes.end() ? nullptr : std::get_if<std::vector<double>>(&it->second);
        return v ? *v : std::vector<double>{};
    };
    const std::vector<double> alphas = list("activation_alpha"), betas = list("activation_beta");
    std::size_t next_alpha = 0, next_beta = 0;
    std::vector<Activation> out;
    for (std::string kind : names) {
        std::transform(kind.begin(), kind.end(), kind.begin(), [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
        require(c, std::find(kKnown.begin(), kKnown.end(), kind) != kKnown.end(), "the activation " + kind + " is none of the operator");
        const bool takes_alpha = kind == "affine" || kind == "leakyrelu" || kind == "thresholdedrelu" || kind == "scaledtanh" || kind == "hardsigmoid" || kind == "elu";
        const bool takes_beta = kind == "affine" || kind == "scaledtanh" || kind == "hardsigmoid";
        Activation a{kind, kind == "leakyrelu" ? 0.01 : kind == "hardsigmoid" ? 0.2 : 1, kind == "hardsigmoid" ? 0.5 : kind == "affine" ? 0 : 1};
        if (takes_alpha && next_alpha < alphas.size()) a.alpha = alphas[next_alpha++];
        if (takes_beta && next_beta < betas.size()) a.beta = betas[next_beta++];
        out.push_back(std::move(a));
    }
    return out;
}

Cell cell_of(const EvalContext& c, std::int64_t gates, const std::vector<std::string>& activations) {
    Cell cell;
    cell.op = c.node.op;
    cell.gates = gates;
    cell.per_direction = static_cast<int>(activations.size());
    const Tensor &x = c.in(0), &w = c.in(1), &r = c.in(2);
    require(c, x.rank() == 3 && w.rank() == 3 && r.rank() == 3, "X, W and R must be of rank 3, they are " + text(x.dims) + ", " + text(w.dims) + " and " + text(r.dims));
    const std::string direction = c.node.text("direction", "forward");
    require(c, direction == "forward" || direction == "reverse" || direction == "bidirectional", "direction is " + direction + ", allowed are forward, reverse and bidirectional");
    cell.directions = direction == "bidirectional" ? 2 : 1;
    cell.reverse = direction == "reverse";
    cell.batch_first = c.node.integer("layout", 0) != 0;
    cell.steps = x.dims[cell.batch_first ? 1 : 0];
    cell.batch = x.dims[cell.batch_first ? 0 : 1];
    cell.input = x.dims[2];
    cell.hidden = c.node.integer("hidden_size", r.dims[2]);
    const Dims want_w{cell.directions, gates * cell.hidden, cell.input}, want_r{cell.directions, gates * cell.hidden, cell.hidden};
    require(c, w.dims == want_w && r.dims == want_r, "W and R have shapes " + text(w.dims) + " and " + text(r.dims) + ", " + text(want_w) + " and " + text(want_r) + " are needed");
    cell.clip = c.node.real("clip", 0);
    cell.linear_before_reset = c.node.integer("linear_before_reset", 0) != 0;
    cell.input_forget = c.node.integer("input_forget", 0) != 0;
    cell.activations = activations_of(c, activations, cell.directions);
    cell.lengths = c.has(4) ? ints_of(c, 4) : Dims(static_cast<std::size_t>(cell.batch), cell.steps);
    require(c, static_cast<std::int64_t>(cell.lengths.size()) == cell.batch, "sequence_lens has " + std::to_string(cell.lengths.size()) + " values for a batch of " + std::to_string(cell.batch));
    for (const std::int64_t n : cell.lengths) require(c, n >= 0 && n <= cell.steps, "a length of " + std::to_string(n) + " lies outside 0 to " + std::to_string(cell.steps));
    return cell;
}

using Numbers = std::vector<double>;
Numbers numbers(const Tensor& t) {
    Numbers v(static_cast<std::size_t>(t.size()));
    for (std::int64_t i = 0; i < t.size(); ++i) v[static_cast<std::size_t>(i)] = t.number(i);
    return v;
}
Numbers optional_numbers(const EvalContext& c, std::size_t input, const Dims& dims) {
    if (!c.has(input)) return Numbers(static_cast<std::size_t>(count(dims)), 0);
    require(c, c.in(input).dims == dims, "input " + std::to_string(input) + " has shape " + text(c.in(input).dims) + ", " + text(dims) + " is needed");
    return numbers(c.in(input));
}

/// One direction's operands and state; a step sees one element of the batch.
struct Lane {
    const Cell& cell;
    std::int64_t direction;
    const double *r, *wb, *rb, *peepholes;
    double *h, *cell_state;

    double recurrent(std::int64_t gate, std::int64_t i, const double* state) const {
        const double* row = r + (gate * cell.hidden + i) * cell.hidden;
        double sum = 0;
        for (std::int64_t j = 0; j < cell.hidden; ++j) sum += row[j] * state[j];
        return sum;
    }
    double bias(std::int64_t gate, std::int64_t i) const { return wb[gate * cell.hidden + i] + rb[gate * cell.hidden + i]; }

    /// x holds W x for every gate.
    void step(const double* x) {
        const std::int64_t n = cell.hidden;
        const Numbers old(h, h + n);
        const auto sum = [&](std::int64_t gate, std::int64_t i) { return x[gate * n + i] + recurrent(gate, i, old.data()) + bias(gate, i); };
        if (cell.op == Op::RNN) {
            for (std::int64_t i = 0; i < n; ++i) h[i] = cell.act(direction, 0, sum(0, i));
        } else if (cell.op == Op::LSTM) {
            for (std::int64_t i = 0; i < n; ++i) {  // gates i o f c
                const double in = cell.act(direction, 0, sum(0, i) + peepholes[i] * cell_state[i]);
                const double forget = cell.input_forget ? 1 - in : cell.act(direction, 0, sum(2, i) + peepholes[2 * n + i] * cell_state[i]);
                cell_state[i] = forget * cell_state[i] + in * cell.act(direction, 1, sum(3, i));
                h[i] = cell.act(direction, 0, sum(1, i) + peepholes[n + i] * cell_state[i]) * activation_of_state(cell_state[i]);
            }
        } else {
            gru(x, old, sum);
        }
    }

private:
    double activation_of_state(double s) const { return cell.activations[static_cast<std::size_t>(direction * cell.per_direction + 2)](s); }

    template <class F>
    void gru(const double* x, const Numbers& old, const F& sum) {  // gates z r h
        const std::int64_t n = cell.hidden;
        Numbers z(old.size()), reset(old.size()), scaled(old.size());
        for (std::int64_t i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(i);
            z[at] = cell.act(direction, 0, sum(0, i));
            reset[at] = cell.act(direction, 0, sum(1, i));
            scaled[at] = reset[at] * old[at];
        }
        for (std::int64_t i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const double inner = cell.linear_before_reset ? x[2 * n + i] + reset[at] * (recurrent(2, i, old.data()) + rb[2 * n + i]) + wb[2 * n + i]
                                                          : x[2 * n + i] + recurrent(2, i, scaled.data()) + bias(2, i);
            h[i] = (1 - z[at]) * cell.act(direction, 1, inner) + z[at] * old[at];
        }
    }
};

/// The state [directions, batch, hidden] in the node's layout.
Tensor state_tensor(const EvalContext& c, const Cell& cell, const Numbers& v) {
    Tensor t = converted(c, Tensor{ElemType::f64, {cell.directions, cell.batch, cell.hidden}, v}, c.in(0).type);
    return cell.batch_first ? transposed(t, {1, 0, 2}) : t;
}

void run(EvalContext& c, const Cell& cell) {
    const std::int64_t n = cell.hidden, rows = cell.gates * n;
    const Tensor x64 = converted(c, c.in(0), ElemType::f64);
    const Numbers x = numbers(cell.batch_first ? transposed(x64, {1, 0, 2}) : x64), w = numbers(c.in(1)), r = numbers(c.in(2));
    const Numbers b = optional_numbers(c, 3, {cell.directions, 2 * rows}), peepholes = optional_numbers(c, 7, {cell.directions, 3 * n});
    const auto initial = [&](std::size_t input) {
        Numbers v = optional_numbers(c, input, cell.batch_first ? Dims{cell.batch, cell.directions, n} : Dims{cell.directions, cell.batch, n});
        if (!cell.batch_first || !c.has(input)) return v;
        return numbers(transposed(Tensor{ElemType::f64, {cell.batch, cell.directions, n}, v}, {1, 0, 2}));
    };
    Numbers h = initial(5), state = initial(6);
    Tensor y = blank(c, ElemType::f64, {cell.steps, cell.directions, cell.batch, n});
    Numbers projected(static_cast<std::size_t>(cell.steps * cell.batch * rows));
    for (std::int64_t d = 0; d < cell.directions; ++d) {
        product(x.data(), false, w.data() + d * rows * cell.input, true, projected.data(), cell.steps * cell.batch, cell.input, rows);
        for (std::int64_t e = 0; e < cell.batch; ++e) {
            const std::int64_t at = (d * cell.batch + e) * n, length = cell.lengths[static_cast<std::size_t>(e)];
            Lane lane{cell, d, r.data() + d * rows * n, b.data() + d * 2 * rows, b.data() + d * 2 * rows + rows, peepholes.data() + d * 3 * n, h.data() + at, state.data() + at};
            for (std::int64_t i = 0; i < length; ++i) {
                const std::int64_t t = cell.reverse || d == 1 ? length - 1 - i : i;
                lane.step(projected.data() + (t * cell.batch + e) * rows);
                std::copy_n(h.data() + at, n, data<double>(y) + ((t * cell.directions + d) * cell.batch + e) * n);
            }
        }
    }
    c.set(0, converted(c, cell.batch_first ? transposed(y, {2, 0, 1, 3}) : y, c.in(0).type));
    c.set(1, state_tensor(c, cell, h));
    if (cell.op == Op::LSTM) c.set(2, state_tensor(c, cell, state));
}

}  // namespace

void eval_lstm(EvalContext& c) { run(c, cell_of(c, 4, {"Sigmoid", "Tanh", "Tanh"})); }
void eval_gru(EvalContext& c) { run(c, cell_of(c, 3, {"Sigmoid", "Tanh"})); }
void eval_rnn(EvalContext& c) { run(c, cell_of(c, 1, {"Tanh"})); }

}  // namespace sfumato::fusion
