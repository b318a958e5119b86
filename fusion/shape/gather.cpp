// SPDX-License-Identifier: Apache-2.0
// Shapes of operators that move elements by an index.
#include "fusion/rules.h"
#include "fusion/shape/rules.h"

namespace sfumato::fusion {

namespace {

ElemType type_attribute(const ShapeContext& c, const char* attribute, ElemType fallback) {
    if (!c.node().has(attribute)) return fallback;
    const std::int64_t t = c.node().integer(attribute, 1);
    if (t < 1 || t >= kElemTypeCount) c.fail("its attribute " + std::string(attribute) + " is " + std::to_string(t) + ", no element type that is supported");
    return static_cast<ElemType>(t);
}

void gather_content(ShapeContext& c, std::size_t result_rank) {
    const auto data = c.content(0), indices = c.content(1);
    if (!data || !indices || result_rank > 1) return;
    std::vector<Extent> out;
    const auto n = static_cast<std::int64_t>(data->size());
    for (const Extent& e : *indices) {
        const auto i = e.constant();
        if (!i) return;
        if (*i < -n || *i >= n) c.fail("index " + std::to_string(*i) + " lies outside of " + std::to_string(n) + " elements");
        out.push_back((*data)[static_cast<std::size_t>(*i < 0 ? *i + n : *i)]);
    }
    c.set_content(0, std::move(out));
}

}  // namespace

void shape_gather(ShapeContext& c) {
    copy_type(c);
    const Shape *data = c.shape(0), *indices = c.shape(1);
    if (!data || !indices) return;
    if (data->empty()) c.fail("gathers from a scalar");
    const std::size_t axis = axis_of(c, c.node().integer("axis", 0), data->size());
    const auto at = data->begin() + static_cast<std::ptrdiff_t>(axis);
    Shape out(data->begin(), at);
    out.insert(out.end(), indices->begin(), indices->end());
    out.insert(out.end(), at + 1, data->end());
    const std::size_t rank = out.size();
    c.set_shape(0, std::move(out));
    if (data->size() == 1) gather_content(c, rank);
}

void shape_gather_elements(ShapeContext& c) {
    copy_type(c);
    const Shape *data = c.shape(0), *indices = c.shape(1);
    if (data && indices && data->size() != indices->size()) c.fail("data " + shape_text(c.symbols(), *data) + " and indices " + shape_text(c.symbols(), *indices) + " have different ranks");
    if (data) (void)axis_of(c, c.node().integer("axis", 0), data->size());
    if (indices) c.set_shape(0, *indices);
}

void shape_gather_nd(ShapeContext& c) {
    copy_type(c);
    const Shape *data = c.shape(0), *indices = c.shape(1);
    if (!data || !indices) return;
    if (indices->empty()) c.fail("its indices are a scalar");
    const auto depth = indices->back().constant();
    if (!depth) return;  // the rank depends on it
    const std::int64_t batch = c.node().integer("batch_dims", 0);
    const auto rank = static_cast<std::int64_t>(data->size());
    if (*depth < 0 || batch < 0 || batch >= static_cast<std::int64_t>(indices->size()) || batch > rank || *depth > rank - batch)
        c.fail("indices " + shape_text(c.symbols(), *indices) + " with batch_dims " + std::to_string(batch) + " do not fit data " + shape_text(c.symbols(), *data));
    Shape out(indices->begin(), indices->end() - 1);
    out.insert(out.end(), data->begin() + batch + *depth, data->end());
    c.set_shape(0, std::move(out));
}

void shape_compress(ShapeContext& c) {
    copy_type(c);
    const Shape* in = c.shape(0);
    if (!c.node().has("axis")) return c.set_shape(0, {c.fresh_data()});
    if (!in) return;
    Shape out = *in;
    out[axis_of(c, c.node().integer("axis", 0), in->size())] = c.fresh_data();
    c.set_shape(0, std::move(out));
}

void shape_one_hot(ShapeContext& c) {
    copy_type(c, 2);
    const Shape* in = c.shape(0);
    if (!in) return;
    const auto content = c.content(1);
    const Extent depth = content && content->size() == 1 ? (*content)[0] : c.fresh_data();
    Shape out = *in;
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis_of(c, c.node().integer("axis", -1), in->size(), true)), depth);
    c.set_shape(0, std::move(out));
}

void shape_eye_like(ShapeContext& c) {
    c.set_type(0, type_attribute(c, "dtype", c.input(0)->type));
    if (const Shape* in = c.shape(0)) c.set_shape(0, *in);
}

void shape_top_k(ShapeContext& c) {
    copy_type(c);
    c.set_type(1, ElemType::i64);
    const Shape* in = c.shape(0);
    if (!in) return;
    const std::size_t axis = axis_of(c, c.node().integer("axis", -1), in->size());
    Extent k = c.node().integer("k", 0);
    if (c.node().version >= 10) {
        const auto content = c.content(1);
        k = content && content->size() == 1 ? (*content)[0] : c.fresh_data();
    }
    if (const auto n = (*in)[axis].constant(), m = k.constant(); m && (*m < 0 || (n && *m > *n))) c.fail("takes " + std::to_string(*m) + " of " + c.symbols().to_text((*in)[axis]) + " elements");
    Shape out = *in;
    out[axis] = k;
    c.set_shape(0, out);
    c.set_shape(1, std::move(out));
}

void shape_non_zero(ShapeContext& c) {
    c.set_type(0, ElemType::i64);
    if (const Shape* in = c.shape(0)) c.set_shape(0, {static_cast<std::int64_t>(in->size()), c.fresh_data()});
    else c.set_shape(0, {c.symbols().fresh("unk"), c.fresh_data()});
}

void shape_unique(ShapeContext& c) {
    copy_type(c);
    for (const std::size_t i : {1, 2, 3}) c.set_type(i, ElemType::i64);
    const Extent found = c.fresh_data();
    c.set_shape(1, {found});
    c.set_shape(3, {found});
    const Shape* in = c.shape(0);
    if (!c.node().has("axis")) {
        c.set_shape(0, {found});
        c.set_shape(2, {in ? volume(*in) : c.symbols().fresh("unk")});
        return;
    }
    if (!in) return c.set_shape(2, {c.symbols().fresh("unk")});
    const std::size_t axis = axis_of(c, c.node().integer("axis", 0), in->size());
    Shape out = *in;
    out[axis] = found;
    c.set_shape(0, std::move(out));
    c.set_shape(2, {(*in)[axis]});
}

void shape_non_max_suppression(ShapeContext& c) {
    c.set_type(0, ElemType::i64);
    c.set_shape(0, {c.fresh_data(), 3});
}

}  // namespace sfumato::fusion
