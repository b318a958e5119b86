// SPDX-License-Identifier: Apache-2.0
// Conversions of type, and operators that pass their input through.
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "fusion/eval/loops.h"
#include "fusion/rules.h"

namespace sfumato::fusion {

namespace {

std::string decimal(double x, bool single) {
    if (std::isnan(x)) return "NaN";
    if (std::isinf(x)) return x > 0 ? "INF" : "-INF";
    std::array<char, 40> text{};
    const auto end = single ? std::to_chars(text.begin(), text.end(), static_cast<float>(x)).ptr : std::to_chars(text.begin(), text.end(), x).ptr;
    return {text.begin(), end};
}

std::string as_text(const Tensor& x, std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    if (is_float(x.type)) return decimal(x.number(i), x.type != ElemType::f64);
    if (x.type == ElemType::boolean) return x.ints()[at] ? "True" : "False";
    return x.type == ElemType::u64 ? std::to_string(static_cast<std::uint64_t>(x.ints()[at])) : std::to_string(x.ints()[at]);
}

template <class T>
T parsed(const EvalContext& c, std::string text) {
    const std::string whole = text;
    if (!text.empty() && text[0] == '+') text.erase(0, 1);
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size()) return value;
    if constexpr (std::is_integral_v<T>) return static_cast<T>(truncated(parsed<double>(c, text)));
    c.fail("the string \"" + whole + "\" is no number");
}

// Floating to integer clamps to the type (NaN is 0); integer to integer keeps the low bits.
std::int64_t to_integer(double x, ElemType type) {
    if (type == ElemType::u64) return x >= 9223372036854775808.0 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(std::min(x, 18446744073709549568.0))) : truncated(x);
    return saturated(truncated(x), type);
}

Tensor cast(const EvalContext& c, const Tensor& x, ElemType type) {
    if (type == x.type) return x;
    Tensor out = blank(c, type, x.dims);
    const std::int64_t n = x.size();
    if (type == ElemType::string) {
        for (std::int64_t i = 0; i < n; ++i) data<std::string>(out)[i] = as_text(x, i);
    } else if (x.type == ElemType::string) {
        numeric(c, out, [&](auto t) {
            using T = decltype(t);
            for (std::int64_t i = 0; i < n; ++i) data<T>(out)[i] = parsed<T>(c, x.strings()[static_cast<std::size_t>(i)]);
        });
        if (type == ElemType::boolean)
            for (std::int64_t i = 0; i < n; ++i) data<std::int64_t>(out)[i] = data<std::int64_t>(out)[i] != 0;
    } else if (type == ElemType::boolean) {
        numeric(c, x, [&](auto t) {
            for (std::int64_t i = 0; i < n; ++i) data<std::int64_t>(out)[i] = data<decltype(t)>(x)[i] != 0;
        });
    } else if (is_float(x.type) && !is_float(type)) {
        for (std::int64_t i = 0; i < n; ++i) data<std::int64_t>(out)[i] = to_integer(x.number(i), type);
    } else {
        return converted(c, x, type);
    }
    return out;
}

}  // namespace

void eval_identity(EvalContext& c) { c.outputs[0] = c.datum(0); }

void eval_cast(EvalContext& c) { c.set(0, cast(c, c.in(0), c.node.op == Op::CastLike ? c.in(1).type : type_of(c, c.node.integer("to", 0)))); }

void eval_clip(EvalContext& c) {
    const Tensor& x = c.in(0);
    numeric(c, x, [&](auto t) {
        using T = decltype(t);
        const auto bound = [&](std::size_t input, const char* attribute, T fallback) -> T {
            if (c.has(input)) {
                require(c, c.in(input).size() == 1 && c.in(input).type == x.type, std::string(attribute) + " must be one " + std::string(name(x.type)));
                return *data<T>(c.in(input));
            }
            return c.node.has(attribute) ? static_cast<T>(c.node.real(attribute, 0)) : fallback;
        };
        using Limits = std::numeric_limits<T>;
        const T low = bound(1, "min", Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
        const T high = bound(2, "max", Limits::has_infinity ? Limits::infinity() : Limits::max());
        c.set(0, mapped<T>(c, x, x.type, [=](T v) {
            v = v < low ? low : v;
            return v > high ? high : v;
        }));
    });
}

void eval_dropout(EvalContext& c) {
    const Tensor& x = c.in(0);
    if (c.node.version >= 12 && c.has(2) && integer_of(c, 2) != 0) {
        const double ratio = c.has(1) ? scalar_of(c, 1) : 0.5;
        if (ratio != 0) c.fail("draws random numbers in training mode with ratio " + std::to_string(ratio) + "; its values are no function of the graph");
    }
    if (wanted(c, 1)) {
        Tensor mask = blank(c, c.node.version >= 10 ? ElemType::boolean : x.type, x.dims);
        numeric(c, mask, [&](auto t) { std::fill_n(data<decltype(t)>(mask), mask.size(), decltype(t)(1)); });
        c.set(1, std::move(mask));
    }
    c.outputs[0] = c.datum(0);
}

void eval_random(EvalContext& c) { c.fail("draws random numbers; its values are no function of the graph"); }
void eval_unsupported(EvalContext& c) { c.fail("is read and shaped, and the interpreter has no values for it"); }

}  // namespace sfumato::fusion
