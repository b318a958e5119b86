// SPDX-License-Identifier: Apache-2.0
// Reductions over axes. Floating sums are kept in double, integer sums wrap.
#include <cmath>
#include <limits>
#include <numeric>

#include "fusion/eval/loops.h"
#include "fusion/rules.h"

namespace sfumato::fusion {

namespace {

struct Plan {
    Dims kept;     ///< the result with extent 1 on reduced axes
    Dims dims;     ///< the result
    std::int64_t n = 1;  ///< elements per result
};

Plan plan_of(const EvalContext& c, const Tensor& x, const std::optional<Dims>& asked, bool keep) {
    Dims axes = asked.value_or(Dims{});
    if (axes.empty() && c.node.integer("noop_with_empty_axes", 0) == 0) {
        axes.resize(x.dims.size());
        std::iota(axes.begin(), axes.end(), 0);
    }
    axes = axes_of(c, axes, x.rank());
    Plan p;
    p.kept = x.dims;
    for (const std::int64_t a : axes) {
        p.n *= x.dims[static_cast<std::size_t>(a)];
        p.kept[static_cast<std::size_t>(a)] = 1;
    }
    for (std::size_t d = 0; d < x.dims.size(); ++d)
        if (keep || std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) == axes.end()) p.dims.push_back(p.kept[d]);
    return p;
}

template <class T>
using Sum = std::conditional_t<std::is_floating_point_v<T>, double, T>;

/// step(accumulated, element) over the reduced axes of each result, from `initial`.
template <class T, class F>
std::vector<Sum<T>> folded(const Tensor& x, const Plan& p, Sum<T> initial, F step) {
    std::vector<Sum<T>> sums(static_cast<std::size_t>(count(p.kept)), initial);
    const T* from = data<T>(x);
    each_row<2>(x.dims, {strides_of(x.dims), broadcast_strides(p.kept, x.dims)}, [&](const auto& at, std::int64_t n, const auto& stride) {
        const T* q = from + at[0];
        Sum<T>* to = sums.data() + at[1];
        if (stride[1] == 0) {
            Sum<T> a = *to;
            for (std::int64_t j = 0; j < n; ++j) a = step(a, static_cast<Sum<T>>(q[j * stride[0]]));
            *to = a;
        } else {
            for (std::int64_t j = 0; j < n; ++j) to[j * stride[1]] = step(to[j * stride[1]], static_cast<Sum<T>>(q[j * stride[0]]));
        }
    });
    return sums;
}

template <class T>
std::vector<Sum<T>> log_sum_exp(const Tensor& x, const Plan& p) {
    constexpr double kLow = -std::numeric_limits<double>::infinity();
    const auto shift = folded<double>(x, p, kLow, [](double a, double v) { return v > a || v != v ? v : a; });
    std::vector<double> sums(shift.size(), 0);
    each<2>(x.dims, {strides_of(x.dims), broadcast_strides(p.kept, x.dims)}, [&](const auto& at) {
        const auto to = static_cast<std::size_t>(at[1]);
        sums[to] += std::exp(data<double>(x)[at[0]] - (std::isinf(shift[to]) ? 0 : shift[to]));
    });
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = std::log(sums[i]) + (std::isinf(shift[i]) ? 0 : shift[i]);
    return sums;
}

template <class T>
std::vector<Sum<T>> reduced(const EvalContext& c, const Tensor& x, const Plan& p) {
    using A = Sum<T>;
    using Limits = std::numeric_limits<A>;
    const auto finished = [](std::vector<A> v, auto f) {
        for (A& a : v) a = static_cast<A>(f(a));
        return v;
    };
    const auto sum = [](A a, A v) { return plus(a, v); };
    const auto squares = [](A a, A v) { return plus(a, times(v, v)); };
    switch (c.node.op) {
        case Op::ReduceSum: return folded<T>(x, p, 0, sum);
        case Op::ReduceProd: return folded<T>(x, p, 1, [](A a, A v) { return times(a, v); });
        case Op::ReduceSumSquare: return folded<T>(x, p, 0, squares);
        case Op::ReduceL1: return folded<T>(x, p, 0, [](A a, A v) { return plus(a, v < 0 ? times(v, static_cast<A>(-1)) : v); });
        case Op::ReduceL2: return finished(folded<T>(x, p, 0, squares), [](A a) { return std::sqrt(static_cast<double>(a)); });
        case Op::ReduceLogSum: return finished(folded<T>(x, p, 0, sum), [](A a) { return std::log(static_cast<double>(a)); });
        case Op::ReduceMax: return folded<T>(x, p, Limits::has_infinity ? -Limits::infinity() : Limits::lowest(), [](A a, A v) { return v > a || v != v ? v : a; });
        case Op::ReduceMin: return folded<T>(x, p, Limits::has_infinity ? Limits::infinity() : Limits::max(), [](A a, A v) { return v < a || v != v ? v : a; });
        case Op::GlobalAveragePool:
        case Op::ReduceMean:
            if (std::is_integral_v<A> && p.n == 0) c.fail("the mean of no integers");
            return finished(folded<T>(x, p, 0, sum), [&](A a) { return a / static_cast<A>(p.n); });
        default: c.fail("has no reduction");
    }
}

void reduce_to(EvalContext& c, const Tensor& x, const Plan& p) {
    Tensor out = blank(c, x.type, p.dims);
    if (c.node.op == Op::ReduceLogSumExp) {
        const Tensor wide = converted(c, x, ElemType::f64);
        const auto v = log_sum_exp<double>(wide, p);
        return c.set(0, converted(c, Tensor{ElemType::f64, p.dims, v}, x.type));
    }
    numeric(c, x, [&](auto t) {
        using T = decltype(t);
        const auto v = reduced<T>(c, x, p);
        std::transform(v.begin(), v.end(), data<T>(out), [](auto a) { return static_cast<T>(a); });
    });
    c.set(0, std::move(out));
}

/// NaN counts as the largest, so that the order of any list is defined.
template <class T>
bool above(T a, T b) {
    return a > b || (a != a && b == b);
}

}  // namespace

void eval_reduce(EvalContext& c) {
    const Tensor& x = c.in(0);
    reduce_to(c, x, plan_of(c, x, list_of(c, "axes", 1), c.node.integer("keepdims", 1) != 0));
}

void eval_arg_reduce(EvalContext& c) {
    const Tensor& x = c.in(0);
    const std::int64_t axis = axis_of(c, c.node.integer("axis", 0), x.rank());
    const bool last = c.node.integer("select_last_index", 0) != 0, largest = c.node.op == Op::ArgMax;
    const Lanes lanes(x.dims, axis);
    require(c, lanes.n > 0 || lanes.outer * lanes.inner == 0, "axis " + std::to_string(axis) + " of " + text(x.dims) + " is empty and has no extreme");
    Dims dims = x.dims;
    if (c.node.integer("keepdims", 1) != 0)
        dims[static_cast<std::size_t>(axis)] = 1;
    else
        dims.erase(dims.begin() + axis);
    Tensor out = blank(c, ElemType::i64, std::move(dims));
    std::int64_t* to = data<std::int64_t>(out);
    numeric(c, x, [&](auto t) {
        const auto* from = data<decltype(t)>(x);
        lanes.each([&](std::int64_t at) {
            std::int64_t best = 0;
            for (std::int64_t j = 1; j < lanes.n; ++j) {
                const auto v = from[at + j * lanes.inner], b = from[at + best * lanes.inner];
                if ((largest ? above(v, b) : above(b, v)) || (last && v == b)) best = j;
            }
            *to++ = best;
        });
    });
    c.set(0, std::move(out));
}

void eval_cumsum(EvalContext& c) {
    const Tensor& x = c.in(0);
    const Lanes lanes(x.dims, axis_of(c, integer_of(c, 1), x.rank()));
    const bool exclusive = c.node.integer("exclusive", 0) != 0, reverse = c.node.integer("reverse", 0) != 0;
    Tensor out = blank(c, x.type, x.dims);
    numeric(c, x, [&](auto t) {
        using T = decltype(t);
        lanes.each([&](std::int64_t first) {
            T sum = 0;
            for (std::int64_t j = 0; j < lanes.n; ++j) {
                const std::int64_t at = first + (reverse ? lanes.n - 1 - j : j) * lanes.inner;
                const T next = plus(sum, data<T>(x)[at]);
                data<T>(out)[at] = exclusive ? sum : next;
                sum = next;
            }
        });
    });
    c.set(0, std::move(out));
}

void eval_global_pool(EvalContext& c) {
    const Tensor& x = c.in(0);
    require(c, x.rank() >= 2, "takes [batch, channels, ...], not " + text(x.dims));
    Dims axes(x.dims.size() - 2);
    std::iota(axes.begin(), axes.end(), 2);
    if (axes.empty()) return c.set(0, x);
    const Plan p = plan_of(c, x, axes, true);
    if (c.node.op == Op::GlobalAveragePool) return reduce_to(c, x, p);
    Tensor out = blank(c, x.type, p.dims);
    const double norm = static_cast<double>(c.node.integer("p", 2));
    numeric(c, x, [&](auto t) {
        using T = decltype(t);
        using A = Sum<T>;
        std::vector<A> v;
        if (c.node.op == Op::GlobalMaxPool) {
            v = folded<T>(x, p, std::numeric_limits<A>::lowest(), [](A a, A e) { return e > a || e != e ? e : a; });
        } else {
            v = folded<T>(x, p, 0, [&](A a, A e) { return static_cast<A>(a + static_cast<A>(std::pow(std::abs(static_cast<double>(e)), norm))); });
            for (A& a : v) a = static_cast<A>(std::pow(static_cast<double>(a), 1 / norm));
        }
        std::transform(v.begin(), v.end(), data<T>(out), [](A a) { return static_cast<T>(a); });
    });
    c.set(0, std::move(out));
}

}  // namespace sfumato::fusion
