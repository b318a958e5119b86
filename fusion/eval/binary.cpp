// SPDX-License-Identifier: Apache-2.0
// Element-wise operators of two and more operands with broadcasting: operator -> formula.
#include <cmath>

#include "fusion/eval/loops.h"
#include "fusion/rules.h"

namespace sfumato::fusion {

namespace {

void same_types(const EvalContext& c, const Tensor& a, const Tensor& b) {
    if (a.type != b.type) c.fail("its operands are " + std::string(name(a.type)) + " and " + std::string(name(b.type)) + ", they must be of one type");
}

template <class F>
Tensor arithmetic(const EvalContext& c, const Tensor& a, const Tensor& b, F f) {
    same_types(c, a, b);
    return numeric(c, a, [&](auto t) {
        using T = std::conditional_t<std::is_integral_v<decltype(t)>, std::uint64_t, decltype(t)>;  // integers wrap: signs do not matter
        return zipped<T>(c, a, b, a.type, f);
    });
}
template <class F>
Tensor ordered(const EvalContext& c, const Tensor& a, const Tensor& b, F f) {
    same_types(c, a, b);
    return numeric(c, a, [&](auto t) { return zipped<decltype(t)>(c, a, b, a.type, f); });
}
template <class F>
Tensor compared(const EvalContext& c, const Tensor& a, const Tensor& b, F f) {
    same_types(c, a, b);
    return numeric(c, a, [&](auto t) { return zipped<decltype(t), std::int64_t>(c, a, b, ElemType::boolean, f); });
}
template <class F>
Tensor bitwise(const EvalContext& c, const Tensor& a, const Tensor& b, F f) {
    same_types(c, a, b);
    if (is_float(a.type) || a.type == ElemType::string) c.fail("takes integers, not " + std::string(name(a.type)));
    return zipped<std::uint64_t>(c, a, b, a.type, f);
}

Tensor quotient(const EvalContext& c, const Tensor& a, const Tensor& b) {
    return ordered(c, a, b, [&](auto x, auto y) {
        using T = decltype(x);
        if constexpr (std::is_integral_v<T>) {
            if (y == 0) c.fail("integer division of " + std::to_string(x) + " by zero");
            if constexpr (std::is_signed_v<T>)
                if (y == -1) return static_cast<T>(-static_cast<std::uint64_t>(x));
        }
        return static_cast<T>(x / y);
    });
}

Tensor remainder(const EvalContext& c, const Tensor& a, const Tensor& b) {
    const bool of_dividend = c.node.integer("fmod", 0) != 0;  // the sign of the result
    return ordered(c, a, b, [&](auto x, auto y) {
        using T = decltype(x);
        if constexpr (std::is_integral_v<T>) {
            if (y == 0) c.fail("integer remainder of " + std::to_string(x) + " by zero");
            if constexpr (std::is_signed_v<T>)
                if (y == -1) return T(0);
            T r = static_cast<T>(x % y);
            if constexpr (std::is_signed_v<T>)
                if (!of_dividend && r != 0 && (r < 0) != (y < 0)) r = static_cast<T>(r + y);
            return r;
        } else {
            T r = std::fmod(x, y);
            if (!of_dividend && r != 0 && (r < 0) != (y < 0)) r += y;
            return r;
        }
    });
}

std::uint64_t integer_power(std::uint64_t base, std::uint64_t exponent) {
    std::uint64_t r = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1) r *= base;
    return r;
}

// The result has the base's type; the exponent may have any.
Tensor power(const EvalContext& c, const Tensor& a, const Tensor& b) {
    if (is_float(a.type)) {
        const Tensor e = converted(c, b, a.type);
        return floating(c, a, [&](auto t) { return zipped<decltype(t)>(c, a, e, a.type, [](auto x, auto y) { return y == 2 ? x * x : std::pow(x, y); }); });
    }
    if (is_float(b.type))
        return zipped<double, std::int64_t>(c, converted(c, a, ElemType::f64), converted(c, b, ElemType::f64), a.type,
                                            [](double x, double y) { return truncated(std::pow(x, y)); });
    return zipped<std::int64_t>(c, a, b, a.type, [&](std::int64_t x, std::int64_t y) {
        if (y >= 0 || b.type == ElemType::u64) return static_cast<std::int64_t>(integer_power(static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(y)));
        return truncated(std::pow(static_cast<double>(x), static_cast<double>(y)));
    });
}

Tensor shifted(const EvalContext& c, const Tensor& a, const Tensor& b) {
    const std::string direction = c.node.text("direction", "");
    if (direction != "LEFT" && direction != "RIGHT") c.fail("direction is \"" + direction + "\", allowed are LEFT and RIGHT");
    const bool left = direction == "LEFT";
    return bitwise(c, a, b, [left](std::uint64_t x, std::uint64_t y) { return y >= 64 ? 0 : left ? x << y : x >> y; });
}

Tensor equal(const EvalContext& c, const Tensor& a, const Tensor& b) {
    if (a.type == ElemType::string && b.type == ElemType::string)
        return zipped<std::string, std::int64_t>(c, a, b, ElemType::boolean, [](const std::string& x, const std::string& y) { return x == y; });
    return compared(c, a, b, [](auto x, auto y) { return x == y; });
}

template <class T>
T larger(T x, T y) {
    return x > y || x != x ? x : y;  // a NaN on either side stays
}
template <class T>
T smaller(T x, T y) {
    return x < y || x != x ? x : y;
}

Tensor applied(const EvalContext& c, const Tensor& a, const Tensor& b) {
    switch (c.node.op) {
        case Op::Add: return arithmetic(c, a, b, [](auto x, auto y) { return x + y; });
        case Op::Sub: return arithmetic(c, a, b, [](auto x, auto y) { return x - y; });
        case Op::Mul: return arithmetic(c, a, b, [](auto x, auto y) { return x * y; });
        case Op::Div: return quotient(c, a, b);
        case Op::Mod: return remainder(c, a, b);
        case Op::Pow: return power(c, a, b);
        case Op::PRelu: return ordered(c, a, b, [](auto x, auto slope) { return x < 0 ? times(slope, x) : x; });
        case Op::BitShift: return shifted(c, a, b);
        case Op::And:
        case Op::BitwiseAnd: return bitwise(c, a, b, [](auto x, auto y) { return x & y; });
        case Op::Or:
        case Op::BitwiseOr: return bitwise(c, a, b, [](auto x, auto y) { return x | y; });
        case Op::Xor:
        case Op::BitwiseXor: return bitwise(c, a, b, [](auto x, auto y) { return x ^ y; });
        case Op::Equal: return equal(c, a, b);
        case Op::Greater: return compared(c, a, b, [](auto x, auto y) { return x > y; });
        case Op::GreaterOrEqual: return compared(c, a, b, [](auto x, auto y) { return x >= y; });
        case Op::Less: return compared(c, a, b, [](auto x, auto y) { return x < y; });
        case Op::LessOrEqual: return compared(c, a, b, [](auto x, auto y) { return x <= y; });
        case Op::Max: return ordered(c, a, b, [](auto x, auto y) { return larger(x, y); });
        case Op::Min: return ordered(c, a, b, [](auto x, auto y) { return smaller(x, y); });
        case Op::Sum:
        case Op::Mean: return arithmetic(c, a, b, [](auto x, auto y) { return x + y; });
        default: c.fail("has no formula");
    }
}

}  // namespace

void eval_binary(EvalContext& c) { c.set(0, applied(c, c.in(0), c.in(1))); }

void eval_variadic(EvalContext& c) {
    Tensor all = c.in(0);
    for (std::size_t i = 1; i < c.input_count(); ++i) all = applied(c, all, c.in(i));
    if (c.node.op == Op::Mean)
        all = floating(c, all, [&](auto t) { return mapped<decltype(t)>(c, all, all.type, [n = decltype(t)(c.input_count())](auto x) { return x / n; }); });
    c.set(0, std::move(all));
}

void eval_where(EvalContext& c) {
    const Tensor &condition = c.in(0), &a = c.in(1), &b = c.in(2);
    if (condition.type != ElemType::boolean) c.fail("its condition is " + std::string(name(condition.type)) + ", bool is needed");
    same_types(c, a, b);
    Tensor out = blank(c, a.type, broadcast(c, {&condition.dims, &a.dims, &b.dims}));
    stored(a, [&](auto tag) {
        using T = decltype(tag);
        const std::int64_t* which = data<std::int64_t>(condition);
        const T *x = data<T>(a), *y = data<T>(b);
        T* to = data<T>(out);
        each<3>(out.dims, {broadcast_strides(condition.dims, out.dims), broadcast_strides(a.dims, out.dims), broadcast_strides(b.dims, out.dims)},
                [&](const auto& at) { *to++ = which[at[0]] ? x[at[1]] : y[at[2]]; });
    });
    c.set(0, std::move(out));
}

}  // namespace sfumato::fusion
