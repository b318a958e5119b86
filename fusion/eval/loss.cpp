// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "fusion/eval/loops.h"
#include "fusion/rules.h"

namespace sfumato::fusion {

namespace {

/// The weighted negative log-likelihood of `log_probability` [batch, classes, ...] at the target classes, reduced as the node says.
Tensor likelihood_loss(const EvalContext& c, const Tensor& log_probability) {
    const Tensor& target = c.in(1);
    const Dims classes = ints_of(c, 1);
    const Lanes lanes(log_probability.dims, 1);
    Dims expected = log_probability.dims;
    expected.erase(expected.begin() + 1);
    require(c, log_probability.rank() >= 2 && target.dims == expected, "a target of shape " + text(target.dims) + " does not fit scores of shape " + text(log_probability.dims));
    if (c.has(2)) require(c, c.in(2).size() == lanes.n, std::to_string(c.in(2).size()) + " weights do not fit " + std::to_string(lanes.n) + " classes");
    const std::string reduction = c.node.text("reduction", "mean");
    require(c, reduction == "mean" || reduction == "sum" || reduction == "none", "reduction is " + reduction + ", allowed are mean, sum and none");
    const bool ignores = c.node.has("ignore_index");
    const std::int64_t ignored = c.node.integer("ignore_index", 0);
    Tensor loss = blank(c, log_probability.type, target.dims);
    double sum = 0, weights = 0;
    floating(c, loss, [&](auto tag) {
        using T = decltype(tag);
        for (std::int64_t i = 0; i < target.size(); ++i) {
            const std::int64_t k = classes[static_cast<std::size_t>(i)];
            if (ignores && k == ignored) continue;
            require(c, k >= 0 && k < lanes.n, "target " + std::to_string(k) + " lies outside [0," + std::to_string(lanes.n) + ")");
            const double w = c.has(2) ? c.in(2).number(k) : 1;
            const double value = -w * log_probability.number((i / lanes.inner * lanes.n + k) * lanes.inner + i % lanes.inner);
            data<T>(loss)[i] = static_cast<T>(value);
            sum += value;
            weights += w;
        }
        if (reduction == "none") return;
        loss = blank(c, log_probability.type, {});
        *data<T>(loss) = static_cast<T>(reduction == "sum" ? sum : sum / weights);
    });
    return loss;
}

}  // namespace

void eval_nll_loss(EvalContext& c) { c.set(0, likelihood_loss(c, c.in(0))); }

void eval_cross_entropy_loss(EvalContext& c) {
    const Tensor& x = c.in(0);
    require(c, x.rank() >= 2, "takes [batch, classes, ...], not " + text(x.dims));
    const Lanes lanes(x.dims, 1);
    Tensor log_probability = blank(c, x.type, x.dims);
    floating(c, x, [&](auto tag) {
        using T = decltype(tag);
        lanes.each([&](std::int64_t first) {
            double top = -INFINITY, sum = 0;
            for (std::int64_t k = 0; k < lanes.n; ++k) top = std::max(top, static_cast<double>(data<T>(x)[first + k * lanes.inner]));
            for (std::int64_t k = 0; k < lanes.n; ++k) sum += std::exp(static_cast<double>(data<T>(x)[first + k * lanes.inner]) - top);
            for (std::int64_t k = 0; k < lanes.n; ++k) {
                const std::int64_t at = first + k * lanes.inner;
                data<T>(log_probability)[at] = static_cast<T>(static_cast<double>(data<T>(x)[at]) - top - std::log(sum));
            }
        });
    });
    c.set(0, likelihood_loss(c, log_probability));
    c.set(1, std::move(log_probability));
}

}  // namespace sfumato::fusion
