// SPDX-License-Identifier: Apache-2.0
// Softmax and the normalisations; sums are kept in double.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "fusion/eval/loops.h"
#include "fusion/rules.h"

namespace sfumato::fusion {

namespace {

struct Moments {
    double mean = 0, variance = 0;
};
/// Of n elements `step` apart.
template <class T>
Moments moments(const T* x, std::int64_t n, std::int64_t step = 1) {
    Moments m;
    for (std::int64_t i = 0; i < n; ++i) m.mean += static_cast<double>(x[i * step]);
    m.mean /= static_cast<double>(n);
    for (std::int64_t i = 0; i < n; ++i) {
        const double d = static_cast<double>(x[i * step]) - m.mean;
        m.variance += d * d;
    }
    m.variance /= static_cast<double>(n);
    return m;
}

void check_channels(const EvalContext& c, const Tensor& t, std::int64_t n, const char* what) {
    require(c, t.rank() == 1 && t.dims[0] == n, std::string(what) + " has shape " + text(t.dims) + ", [" + std::to_string(n) + "] is needed");
}

template <class T>
void soft_lane(Op op, const T* x, T* y, std::int64_t n, std::int64_t step) {
    if (n == 0) return;
    std::int64_t top = 0;
    for (std::int64_t i = 1; i < n; ++i)
        if (x[i * step] > x[top * step]) top = i;
    if (op == Op::Hardmax) {
        for (std::int64_t i = 0; i < n; ++i) y[i * step] = i == top;
        return;
    }
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(x[i * step] - x[top * step]));
    for (std::int64_t i = 0; i < n; ++i) {
        const auto d = static_cast<double>(x[i * step] - x[top * step]);  // -inf - -inf is NaN, as the formula says
        y[i * step] = static_cast<T>(op == Op::LogSoftmax ? d - std::log(sum) : std::exp(d) / sum);
    }
}

}  // namespace

void eval_softmax(EvalContext& c) {
    const Tensor& x = c.in(0);
    const bool flattens = c.node.version < 13;  // the older form sees [axes before, axes from `axis` on]
    const std::int64_t rank = std::max(x.rank(), 1), asked = c.node.integer("axis", flattens ? 1 : -1), axis = flattens ? cut_of(c, asked, rank) : axis_of(c, asked, rank);
    Lanes lanes(x.dims, axis);
    if (flattens) {
        lanes.n *= lanes.inner;
        lanes.inner = 1;
    }
    Tensor out = blank(c, x.type, x.dims);
    floating(c, x, [&](auto t) {
        using T = decltype(t);
        lanes.each([&](std::int64_t at) { soft_lane(c.node.op, data<T>(x) + at, data<T>(out) + at, lanes.n, lanes.inner); });
    });
    c.set(0, std::move(out));
}

void eval_layer_norm(EvalContext& c) {
    const Tensor &x = c.in(0), &scale = c.in(1);
    const std::int64_t axis = axis_of(c, c.node.integer("axis", -1), x.rank());
    const double epsilon = c.node.real("epsilon", 1e-5);
    const auto split = x.dims.begin() + axis;
    const Dims inner(split, x.dims.end());
    Dims kept(x.dims.begin(), split);
    kept.resize(x.dims.size(), 1);
    const std::int64_t n = count(inner), rows = count(kept);
    const ElemType statistic = x.type == ElemType::f64 ? ElemType::f64 : ElemType::f32;
    Tensor out = blank(c, x.type, x.dims), mean = blank(c, statistic, kept), inverse = blank(c, statistic, kept);
    require(c, broadcast(c, {&scale.dims, &inner}) == inner, "scale of shape " + text(scale.dims) + " does not fit " + text(inner));
    const Tensor gamma = materialised(scale, inner, broadcast_strides(scale.dims, inner));
    const bool biased = c.has(2);
    if (biased) require(c, broadcast(c, {&c.in(2).dims, &inner}) == inner, "bias of shape " + text(c.in(2).dims) + " does not fit " + text(inner));
    const Tensor beta = biased ? materialised(c.in(2), inner, broadcast_strides(c.in(2).dims, inner)) : Tensor{};
    floating(c, x, [&](auto t) {
        using T = decltype(t);
        const T *g = data<T>(gamma), *b = biased ? data<T>(beta) : nullptr;
        for (std::int64_t r = 0; r < rows; ++r) {
            const T* from = data<T>(x) + r * n;
            T* to = data<T>(out) + r * n;
            const Moments m = moments(from, n);
            const double s = 1 / std::sqrt(m.variance + epsilon);
            data<T>(mean)[r] = static_cast<T>(m.mean);
            data<T>(inverse)[r] = static_cast<T>(s);
            for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<T>((static_cast<double>(from[i]) - m.mean) * s) * g[i] + (b ? b[i] : T(0));
        }
    });
    c.set(0, std::move(out));
    c.set(1, std::move(mean));
    c.set(2, std::move(inverse));
}

namespace {

/// Normalises each run of channels / groups; scale and bias stand per channel or per group.
void normalise_groups(EvalContext& c, std::int64_t groups) {
    const Tensor &x = c.in(0), &scale = c.in(1), &bias = c.in(2);
    const double epsilon = c.node.real("epsilon", 1e-5);
    require(c, x.rank() >= 2, "takes [batch, channels, ...], not " + text(x.dims));
    const std::int64_t channels = x.dims[1];
    require(c, groups >= 1 && channels % groups == 0, std::to_string(groups) + " groups do not divide " + std::to_string(channels) + " channels");
    const std::int64_t per_scale = scale.size() == channels ? 1 : channels / groups, inner = Lanes(x.dims, 1).inner, n = channels / groups * inner;
    check_channels(c, scale, channels / per_scale, "scale");
    check_channels(c, bias, channels / per_scale, "bias");
    Tensor out = blank(c, x.type, x.dims);
    floating(c, x, [&](auto t) {
        using T = decltype(t);
        for (std::int64_t i = 0; i < x.dims[0] * groups; ++i) {
            const T* from = data<T>(x) + i * n;
            T* to = data<T>(out) + i * n;
            const Moments m = moments(from, n);
            const double s = 1 / std::sqrt(m.variance + epsilon);
            for (std::int64_t j = 0; j < n; ++j) {
                const std::int64_t channel = (i % groups) * (channels / groups) + j / inner;
                to[j] = static_cast<T>((static_cast<double>(from[j]) - m.mean) * s) * data<T>(scale)[channel / per_scale] + data<T>(bias)[channel / per_scale];
            }
        }
    });
    c.set(0, std::move(out));
}

}  // namespace

void eval_group_norm(EvalContext& c) { normalise_groups(c, c.node.integer("num_groups", 0)); }
void eval_instance_norm(EvalContext& c) { normalise_groups(c, c.in(0).rank() < 2 ? 1 : c.in(0).dims[1]); }

void eval_batch_norm(EvalContext& c) {
    const Tensor& x = c.in(0);
    const double epsilon = c.node.real("epsilon", 1e-5), momentum = c.node.real("momentum", 0.9);
    const bool training = c.node.version >= 14 ? c.node.integer("training_mode", 0) != 0 : wanted(c, 1);
    require(c, c.node.integer("spatial", 1) != 0, "with spatial 0 is not evaluated");
    const Lanes lanes(x.dims, x.rank() > 1 ? 1 : 0);
    const std::int64_t channels = x.rank() > 1 ? lanes.n : 1;
    for (std::size_t i = 1; i < 5; ++i) check_channels(c, c.in(i), channels, "a parameter");
    Tensor out = blank(c, x.type, x.dims), mean = converted(c, c.in(3), ElemType::f64), variance = converted(c, c.in(4), ElemType::f64);
    floating(c, x, [&](auto t) {
        using T = decltype(t);
        for (std::int64_t ch = 0; ch < channels; ++ch) {
            const std::int64_t n = x.rank() > 1 ? lanes.inner : lanes.n, outer = x.rank() > 1 ? lanes.outer : 1;
            const auto each_element = [&](auto f) {
                for (std::int64_t o = 0; o < outer; ++o)
                    for (std::int64_t i = 0; i < n; ++i) f((o * channels + ch) * n + i);
            };
            double *m = data<double>(mean) + ch, *v = data<double>(variance) + ch, used_mean = *m, used_variance = *v;
            if (training) {
                double sum = 0, squares = 0;
                const auto size = static_cast<double>(outer * n);
                each_element([&](std::int64_t at) { sum += static_cast<double>(data<T>(x)[at]); });
                used_mean = sum / size;
                each_element([&](std::int64_t at) { squares += std::pow(static_cast<double>(data<T>(x)[at]) - used_mean, 2); });
                used_variance = squares / size;
                *m = *m * momentum + used_mean * (1 - momentum);
                *v = *v * momentum + used_variance * (1 - momentum);
            }
            const double scale = c.in(1).number(ch) / std::sqrt(used_variance + epsilon), bias = c.in(2).number(ch);
            each_element([&](std::int64_t at) { data<T>(out)[at] = static_cast<T>((static_cast<double>(data<T>(x)[at]) - used_mean) * scale + bias); });
        }
    });
    c.set(0, std::move(out));
    c.set(1, converted(c, mean, c.in(3).type));
    c.set(2, converted(c, variance, c.in(4).type));
}

void eval_mean_variance_norm(EvalContext& c) {
    const Tensor& x = c.in(0);
    const Dims axes = axes_of(c, c.node.integers("axes").value_or(Dims{0, 2, 3}), x.rank());
    // the reduced axes go last, each row is normalised, and all goes back
    Dims perm, back(x.dims.size());
    std::int64_t n = 1;
    for (std::int64_t d = 0; d < x.rank(); ++d)
        if (std::find(axes.begin(), axes.end(), d) == axes.end()) perm.push_back(d);
    for (const std::int64_t a : axes) {
        perm.push_back(a);
        n *= x.dims[static_cast<std::size_t>(a)];
    }
    for (std::size_t i = 0; i < perm.size(); ++i) back[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
    Tensor y = transposed(x, perm);
    floating(c, y, [&](auto t) {
        using T = decltype(t);
        T* p = data<T>(y);
        for (std::int64_t r = 0; n > 0 && r < y.size() / n; ++r, p += n) {
            const Moments m = moments(p, n);
            for (std::int64_t i = 0; i < n; ++i) p[i] = static_cast<T>((static_cast<double>(p[i]) - m.mean) / (std::sqrt(m.variance) + 1e-9));
        }
    });
    c.set(0, transposed(y, back));
}

void eval_lp_norm(EvalContext& c) {
    const Tensor& x = c.in(0);
    const Lanes lanes(x.dims, axis_of(c, c.node.integer("axis", -1), x.rank()));
    const std::int64_t p = c.node.integer("p", 2);
    require(c, p == 1 || p == 2, "p is " + std::to_string(p) + ", allowed are 1 and 2");
    Tensor out = blank(c, x.type, x.dims);
    floating(c, x, [&](auto t) {
        using T = decltype(t);
        lanes.each([&](std::int64_t first) {
            double norm = 0;
            for (std::int64_t j = 0; j < lanes.n; ++j) {
                const auto v = static_cast<double>(data<T>(x)[first + j * lanes.inner]);
                norm += p == 1 ? std::abs(v) : v * v;
            }
            if (p == 2) norm = std::sqrt(norm);
            for (std::int64_t j = 0; j < lanes.n; ++j) data<T>(out)[first + j * lanes.inner] = static_cast<T>(static_cast<double>(data<T>(x)[first + j * lanes.inner]) / norm);
        });
    });
    c.set(0, std::move(out));
}

void eval_lrn(EvalContext& c) {
    const Tensor& x = c.in(0);
    const double alpha = c.node.real("alpha", 1e-4), beta = c.node.real("beta", 0.75), bias = c.node.real("bias", 1);
    const std::int64_t size = c.node.integer("size", 0);
    require(c, size >= 1 && x.rank() >= 2, "takes [batch, channels, ...] and a size above 0, not " + text(x.dims) + " and " + std::to_string(size));
    const Lanes lanes(x.dims, 1);
    Tensor out = blank(c, x.type, x.dims);
    floating(c, x, [&](auto t) {
        using T = decltype(t);
        lanes.each([&](std::int64_t first) {
            for (std::int64_t j = 0; j < lanes.n; ++j) {
                double squares = 0;
                for (std::int64_t k = std::max<std::int64_t>(0, j - (size - 1) / 2); k <= std::min(lanes.n - 1, j + size / 2); ++k)
                    squares += std::pow(static_cast<double>(data<T>(x)[first + k * lanes.inner]), 2);
                const std::int64_t at = first + j * lanes.inner;
                data<T>(out)[at] = static_cast<T>(static_cast<double>(data<T>(x)[at]) / std::pow(bias + alpha / static_cast<double>(size) * squares, beta));
            }
        });
    });
    c.set(0, std::move(out));
}

}  // namespace sfumato::fusion
