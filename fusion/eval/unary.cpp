// SPDX-License-Identifier: Apache-2.0
// Element-wise operators of one operand: operator -> formula.
#include <cmath>
#include <limits>

#include "fusion/eval/loops.h"
#include "fusion/rules.h"

namespace sfumato::fusion {

namespace {

template <class F>
void number(EvalContext& c, F f) {
    const Tensor& x = c.in(0);
    c.set(0, numeric(c, x, [&](auto t) { return mapped<decltype(t)>(c, x, x.type, f); }));
}
template <class F>
void real(EvalContext& c, F f) {
    const Tensor& x = c.in(0);
    c.set(0, floating(c, x, [&](auto t) { return mapped<decltype(t)>(c, x, x.type, f); }));
}
template <class F>
void predicate(EvalContext& c, F f) {
    const Tensor& x = c.in(0);
    c.set(0, floating(c, x, [&](auto t) { return mapped<decltype(t), std::int64_t>(c, x, ElemType::boolean, f); }));
}
template <class F>
void bits(EvalContext& c, F f) {
    const Tensor& x = c.in(0);
    if (is_float(x.type) || x.type == ElemType::string) c.fail("takes integers, not " + std::string(name(x.type)));
    c.set(0, mapped<std::int64_t>(c, x, x.type, f));
}

template <class T>
T softplus(T x) {
    return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x)));
}
template <class T>
T sigmoid(T x) {
    const T e = std::exp(-std::abs(x));  // never overflows
    return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}
template <class T>
T magnitude(T x) {
    if constexpr (std::is_unsigned_v<T>)
        return x;
    else if constexpr (std::is_integral_v<T>)
        return x < 0 ? static_cast<T>(-static_cast<std::uint64_t>(x)) : x;
    else
        return std::abs(x);
}
template <class T>
T negated(T x) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(-static_cast<std::uint64_t>(x));
    else
        return -x;
}
template <class T>
T gelu(T x, bool with_tanh) {
    if (with_tanh) return T(0.5) * x * (1 + std::tanh(T(0.7978845608028654) * (x + T(0.044715) * x * x * x)));
    return T(0.5) * x * (1 + std::erf(x * T(0.7071067811865476)));
}

/// Activations with parameters, whose names and defaults are the operator's.
void activation(EvalContext& c) {
    const Node& n = c.node;
    const auto parameter = [&](const char* key, double fallback) { return n.real(key, fallback); };
    switch (n.op) {
        case Op::Celu: return real(c, [a = parameter("alpha", 1)](auto x) { return std::max(x, decltype(x)(0)) + std::min(decltype(x)(0), decltype(x)(a * std::expm1(x / a))); });
        case Op::Elu: return real(c, [a = parameter("alpha", 1)](auto x) { return x < 0 ? a * std::expm1(x) : x; });
        case Op::Selu:
            return real(c, [a = parameter("alpha", 1.67326319217681884765625), g = parameter("gamma", 1.05070102214813232421875)](auto x) {
                return x > 0 ? g * x : g * a * std::expm1(x);
            });
        case Op::LeakyRelu: return real(c, [a = parameter("alpha", 0.01)](auto x) { return x < 0 ? a * x : x; });
        case Op::ThresholdedRelu: return real(c, [a = parameter("alpha", 1)](auto x) { return x > a ? x : decltype(x)(0); });
        case Op::HardSigmoid:
            return real(c, [a = parameter("alpha", 0.2), b = parameter("beta", 0.5)](auto x) {
                const double y = a * x + b;
                return y < 0 ? 0 : y > 1 ? 1 : y;  // NaN stays
            });
        case Op::HardSwish:
            return real(c, [](auto x) {
                const auto y = x / 6 + decltype(x)(0.5);
                return x * (y < 0 ? 0 : y > 1 ? 1 : y);
            });
        case Op::Shrink:
            return number(c, [b = parameter("bias", 0), l = parameter("lambd", 0.5)](auto x) {
                const auto v = static_cast<double>(x);
                return v < -l ? v + b : v > l ? v - b : 0.0;
            });
        case Op::Gelu: return real(c, [t = n.text("approximate", "none") == "tanh"](auto x) { return gelu(x, t); });
        case Op::Mish: return real(c, [](auto x) { return x * std::tanh(softplus(x)); });
        case Op::Sigmoid: return real(c, [](auto x) { return sigmoid(x); });
        case Op::Softplus: return real(c, [](auto x) { return softplus(x); });
        case Op::Softsign: return real(c, [](auto x) { return x / (1 + std::abs(x)); });
        default: c.fail("has no formula");
    }
}

}  // namespace

void eval_unary(EvalContext& c) {
    switch (c.node.op) {
        case Op::Abs: return number(c, [](auto x) { return magnitude(x); });
        case Op::Neg: return number(c, [](auto x) { return negated(x); });
        case Op::Sign: return number(c, [](auto x) { return x > 0 ? decltype(x)(1) : x < 0 ? decltype(x)(-1) : x; });
        case Op::Relu: return number(c, [](auto x) { return x < 0 ? decltype(x)(0) : x; });
        case Op::Acos: return real(c, [](auto x) { return std::acos(x); });
        case Op::Acosh: return real(c, [](auto x) { return std::acosh(x); });
        case Op::Asin: return real(c, [](auto x) { return std::asin(x); });
        case Op::Asinh: return real(c, [](auto x) { return std::asinh(x); });
        case Op::Atan: return real(c, [](auto x) { return std::atan(x); });
        case Op::Atanh: return real(c, [](auto x) { return std::atanh(x); });
        case Op::Ceil: return real(c, [](auto x) { return std::ceil(x); });
        case Op::Cos: return real(c, [](auto x) { return std::cos(x); });
        case Op::Cosh: return real(c, [](auto x) { return std::cosh(x); });
        case Op::Erf: return real(c, [](auto x) { return std::erf(x); });
        case Op::Exp: return real(c, [](auto x) { return std::exp(x); });
        case Op::Floor: return real(c, [](auto x) { return std::floor(x); });
        case Op::Log: return real(c, [](auto x) { return std::log(x); });
        case Op::Reciprocal: return real(c, [](auto x) { return 1 / x; });
        case Op::Round: return real(c, [](auto x) { return std::nearbyint(x); });  // halves to even
        case Op::Sin: return real(c, [](auto x) { return std::sin(x); });
        case Op::Sinh: return real(c, [](auto x) { return std::sinh(x); });
        case Op::Sqrt: return real(c, [](auto x) { return std::sqrt(x); });
        case Op::Tan: return real(c, [](auto x) { return std::tan(x); });
        case Op::Tanh: return real(c, [](auto x) { return std::tanh(x); });
        case Op::Not: return bits(c, [](std::int64_t x) { return std::int64_t{x == 0}; });
        case Op::BitwiseNot: return bits(c, [](std::int64_t x) { return ~x; });
        case Op::IsNaN: return predicate(c, [](auto x) { return std::isnan(x); });
        case Op::IsInf: {
            const bool negative = c.node.integer("detect_negative", 1) != 0, positive = c.node.integer("detect_positive", 1) != 0;
            return predicate(c, [=](auto x) { return std::isinf(x) && (x > 0 ? positive : negative); });
        }
        default: return activation(c);
    }
}

}  // namespace sfumato::fusion
