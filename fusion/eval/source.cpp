// SPDX-License-Identifier: Apache-2.0
// Operators that make tensors from shapes, attributes and scalars.
#include <algorithm>
#include <cmath>

#include "fusion/eval/loops.h"
#include "fusion/rules.h"

namespace sfumato::fusion {

void eval_shape_of(EvalContext& c) {
    const Dims& dims = c.in(0).dims;
    if (c.node.op == Op::Size) return c.set(0, int_tensor({count(dims)}, {}));
    const auto rank = static_cast<std::int64_t>(dims.size());
    const auto clamped = [&](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + rank : i, 0, rank); };
    const std::int64_t start = clamped(c.node.integer("start", 0)), end = std::max(start, clamped(c.node.integer("end", rank)));
    c.set(0, int_tensor({dims.begin() + start, dims.begin() + end}, {end - start}));
}

void eval_constant(EvalContext& c) {
    if (c.node.has("value")) {
        const auto* t = std::get_if<TensorPtr>(&c.node.attributes.at("value"));
        require(c, t && *t, "its value is no tensor");
        return c.set(0, is_float((*t)->type) ? converted(c, **t, (*t)->type) : **t);
    }
    const auto numbers = [&](ElemType type, const std::vector<double>& v, Dims dims) { return converted(c, Tensor{ElemType::f64, std::move(dims), v}, type); };
    const auto attribute = [&](const char* key) { return c.node.attributes.find(key); };
    const auto none = c.node.attributes.end();
    if (const auto a = attribute("value_float"); a != none) return c.set(0, numbers(ElemType::f32, {std::get<double>(a->second)}, {}));
    if (const auto a = attribute("value_int"); a != none) return c.set(0, int_tensor({std::get<std::int64_t>(a->second)}, {}));
    if (const auto a = attribute("value_string"); a != none) return c.set(0, Tensor{ElemType::string, {}, std::vector<std::string>{std::get<std::string>(a->second)}});
    if (const auto a = attribute("value_floats"); a != none) {
        const auto& v = std::get<std::vector<double>>(a->second);
        return c.set(0, numbers(ElemType::f32, v, {static_cast<std::int64_t>(v.size())}));
    }
    if (const auto a = attribute("value_ints"); a != none) {
        const auto& v = std::get<Dims>(a->second);
        return c.set(0, int_tensor(v, {static_cast<std::int64_t>(v.size())}));
    }
    if (const auto a = attribute("value_strings"); a != none) {
        const auto& v = std::get<std::vector<std::string>>(a->second);
        return c.set(0, Tensor{ElemType::string, {static_cast<std::int64_t>(v.size())}, v});
    }
    c.fail("has no value that the interpreter reads (sparse values are not)");
}

void eval_constant_of_shape(EvalContext& c) {
    const Dims dims = ints_of(c, 0);
    const Tensor zero = float_tensor({0}, {1});
    const Tensor* value = &zero;
    if (c.node.has("value")) {
        const auto* t = std::get_if<TensorPtr>(&c.node.attributes.at("value"));
        require(c, t && *t && (*t)->size() == 1, "its value must be a tensor of one element");
        value = t->get();
    }
    Tensor out = blank(c, value->type, dims);
    if (value->type == ElemType::string) {
        std::fill_n(data<std::string>(out), out.size(), value->strings()[0]);
        return c.set(0, std::move(out));
    }
    const Tensor v = converted(c, *value, value->type);
    stored(out, [&](auto tag) {
        using T = decltype(tag);
        if constexpr (!std::is_same_v<T, std::string>) std::fill_n(data<T>(out), out.size(), data<T>(v)[0]);
    });
    c.set(0, std::move(out));
}

void eval_range(EvalContext& c) {
    const Tensor &start = c.in(0), &limit = c.in(1), &delta = c.in(2);
    require(c, start.type == limit.type && start.type == delta.type, "start, limit and delta must be of one type");
    for (std::size_t i = 0; i < 3; ++i) scalar_of(c, i);
    numeric(c, start, [&](auto tag) {
        using T = decltype(tag);
        const T first = data<T>(start)[0], end = data<T>(limit)[0], step = data<T>(delta)[0];
        require(c, step != 0, "delta is 0");
        std::int64_t n = 0;
        if constexpr (std::is_floating_point_v<T>)
            n = truncated(std::ceil((static_cast<double>(end) - static_cast<double>(first)) / static_cast<double>(step)));
        else
            n = static_cast<std::int64_t>((static_cast<__int128>(end) - first + step + (step > 0 ? -1 : 1)) / static_cast<__int128>(step));
        Tensor out = blank(c, start.type, {std::max<std::int64_t>(n, 0)});
        for (std::int64_t i = 0; i < n; ++i) data<T>(out)[i] = static_cast<T>(first + static_cast<T>(i) * step);
        c.set(0, std::move(out));
    });
}

}  // namespace sfumato::fusion
