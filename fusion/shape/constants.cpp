// SPDX-License-Identifier: Apache-2.0
// Where followed values begin: shapes, constants, ranges.
#include <algorithm>

#include "fusion/rules.h"
#include "fusion/shape/rules.h"

namespace sfumato::fusion {

void shape_shape_of(ShapeContext& c) {
    c.set_type(0, ElemType::i64);
    const Shape* in = c.shape(0);
    if (!in) {
        if (!c.node().has("start") && !c.node().has("end")) c.set_shape(0, {c.symbols().fresh("unk")});
        return;
    }
    const auto rank = static_cast<std::int64_t>(in->size());
    const auto bound = [&](const char* attribute, std::int64_t fallback) {
        const std::int64_t v = c.node().integer(attribute, fallback);
        return std::clamp<std::int64_t>(v < 0 ? v + rank : v, 0, rank);
    };
    const std::int64_t start = bound("start", 0), end = std::max(start, bound("end", rank));
    c.set_shape(0, {end - start});
    c.set_content(0, {in->begin() + start, in->begin() + end});
}

void shape_size(ShapeContext& c) {
    c.set_type(0, ElemType::i64);
    c.set_shape(0, {});
    if (const Shape* in = c.shape(0)) c.set_content(0, {volume(*in)});
}

const Tensor* tensor_of(const ShapeContext& c, std::size_t i) {
    const Value* v = c.input(i);
    if (!v) return nullptr;
    if (v->constant) return v->constant.get();
    if (v->producer == kNone || c.graph.node(v->producer).op != Op::Constant) return nullptr;
    const auto& attributes = c.graph.node(v->producer).attributes;
    const auto it = attributes.find("value");
    const auto* t = it == attributes.end() ? nullptr : std::get_if<TensorPtr>(&it->second);
    return t ? t->get() : nullptr;
}

namespace {

void set_tensor(ShapeContext& c, const Tensor& t) {
    c.set_type(0, t.type);
    c.set_shape(0, Shape(t.dims.begin(), t.dims.end()));
    if (auto content = tensor_content(t)) c.set_content(0, std::move(*content));
}

}  // namespace

void shape_constant(ShapeContext& c) {
    const Node& n = c.node();
    int forms = 0;
    for (const auto& [name, a] : n.attributes) {
        if (!name.starts_with("value")) continue;
        ++forms;
        if (const auto* t = std::get_if<TensorPtr>(&a)) set_tensor(c, **t);
        else if (const auto* i = std::get_if<std::int64_t>(&a)) set_tensor(c, int_tensor({*i}, {}));
        else if (const auto* f = std::get_if<double>(&a)) set_tensor(c, float_tensor({static_cast<float>(*f)}, {}));
        else if (const auto* is = std::get_if<std::vector<std::int64_t>>(&a)) set_tensor(c, int_tensor(*is, {static_cast<std::int64_t>(is->size())}));
        else if (const auto* fs = std::get_if<std::vector<double>>(&a)) set_tensor(c, float_tensor({fs->begin(), fs->end()}, {static_cast<std::int64_t>(fs->size())}));
        else if (std::holds_alternative<std::string>(a) || std::holds_alternative<std::vector<std::string>>(a)) {
            c.set_type(0, ElemType::string);
            const auto* all = std::get_if<std::vector<std::string>>(&a);
            c.set_shape(0, all ? Shape{static_cast<std::int64_t>(all->size())} : Shape{});
        }
    }
    if (forms != 1) c.fail("has " + std::to_string(forms) + " values; exactly one of value, value_float(s), value_int(s), value_string(s) is needed");
}

void shape_constant_of_shape(ShapeContext& c) {
    Tensor zero = float_tensor({0.0F}, {1});
    const Tensor* fill = &zero;
    if (const auto it = c.node().attributes.find("value"); it != c.node().attributes.end()) {
        const auto* t = std::get_if<TensorPtr>(&it->second);
        if (!t || (*t)->size() != 1) c.fail("its value must be a tensor of one element");
        fill = t->get();
    }
    c.set_type(0, fill->type);
    const auto dims = c.content(0);
    if (!dims) {
        const Shape* length = c.shape(0);
        const auto n = length && length->size() == 1 ? (*length)[0].constant() : std::nullopt;
        Shape out;
        for (std::int64_t i = 0; n && i < *n && i <= static_cast<std::int64_t>(kMostDims); ++i) out.push_back(c.fresh_data());
        if (n) c.set_shape(0, std::move(out));
        return;
    }
    c.set_shape(0, *dims);
    if (dims->size() > 1) return;
    const auto count = dims->empty() ? std::optional<std::int64_t>(1) : (*dims)[0].constant();
    const auto value = tensor_content(*fill);
    if (count && *count <= kMostContent && value) c.set_content(0, std::vector<Extent>(static_cast<std::size_t>(*count), (*value)[0]));
}

void shape_range(ShapeContext& c) {
    copy_type(c);
    const auto start = c.content(0), limit = c.content(1), delta = c.content(2);
    const bool known = start && limit && delta && start->size() == 1 && limit->size() == 1 && delta->size() == 1;
    const auto step = known ? (*delta)[0].constant() : std::nullopt;
    if (step == 0) c.fail("its delta is 0");
    if (!step || *step == INT64_MIN) return c.set_shape(0, {c.fresh_data()});
    Symbols& s = c.symbols();
    const Extent way = *step > 0 ? (*limit)[0] - (*start)[0] : (*start)[0] - (*limit)[0];
    Extent count = s.ceil_div(way, *step > 0 ? *step : -*step);
    if (const auto n = count.constant()) count = std::max<std::int64_t>(*n, 0);
    else if (s.range(way).high <= 0) count = 0;
    else if (s.range(way).low < 0) c.assume(s.to_text(way) + " >= 0");
    c.set_shape(0, {count});
    const auto n = count.constant();
    if (!n || *n > kMostContent) return;
    std::vector<Extent> all;
    for (std::int64_t i = 0; i < *n; ++i) all.push_back((*start)[0] + Extent(i) * Extent(*step));
    c.set_content(0, std::move(all));
}

}  // namespace sfumato::fusion
