// SPDX-License-Identifier: Apache-2.0
// Shapes of Resize and Upsample: by scales, which are floating numbers, or by sizes.
#include <algorithm>
#include <cmath>

#include "fusion/rules.h"
#include "fusion/shape/rules.h"

namespace sfumato::fusion {

namespace {

Extent scaled(const ShapeContext& c, const Extent& e, double by) {
    if (!(by > 0) || by > 0x1p30) c.fail("scales by " + std::to_string(by));
    if (by == std::floor(by)) return e * Extent(static_cast<std::int64_t>(by));
    if (const auto n = e.constant(); n && *n < std::int64_t{1} << 31) return static_cast<std::int64_t>(std::floor(static_cast<double>(*n) * by));
    const double inverse = 1 / by;
    if (inverse == std::floor(inverse) && inverse < 0x1p30) return c.symbols().floor_div(e, static_cast<std::int64_t>(inverse));
    return c.symbols().fresh("unk");
}

std::optional<std::vector<double>> scales_of(const ShapeContext& c, std::size_t input) {
    const auto it = c.node().attributes.find("scales");
    if (it != c.node().attributes.end()) {
        const auto* list = std::get_if<std::vector<double>>(&it->second);
        if (!list) c.fail("its attribute scales is no list of numbers");
        return *list;
    }
    const Tensor* t = tensor_of(c, input);
    if (!t || t->rank() != 1 || t->type == ElemType::string) return std::nullopt;
    std::vector<double> out;
    for (std::int64_t i = 0; i < t->size() && i <= static_cast<std::int64_t>(kMostDims); ++i) out.push_back(t->number(i));
    return out;
}

}  // namespace

void shape_resize(ShapeContext& c) {
    copy_type(c);
    const Shape* in = c.shape(0);
    if (!in) return;
    const std::size_t scales_input = c.node().op == Op::Upsample || c.node().version < 11 ? 1 : 2;
    std::vector<std::size_t> axes;
    if (const auto list = c.node().integers("axes")) axes = axes_of(c, *list, in->size());
    else
        for (std::size_t i = 0; i < in->size(); ++i) axes.push_back(i);
    Shape out = *in;
    const bool by_size = scales_input == 2 && c.node().has_input(3);
    const auto sizes = by_size ? c.content(3) : std::nullopt;
    const auto scales = by_size ? std::nullopt : scales_of(c, scales_input);
    const std::size_t given = sizes ? sizes->size() : scales ? scales->size() : axes.size();
    if (given != axes.size()) c.fail("has " + std::to_string(given) + " sizes or scales for the shape " + shape_text(c.symbols(), *in));
    const bool keeps_ratio = sizes && c.node().text("keep_aspect_ratio_policy", "stretch") != "stretch";
    for (std::size_t i = 0; i < axes.size(); ++i) {
        Extent& e = out[axes[i]];
        if (sizes && !keeps_ratio) e = (*sizes)[i];
        else if (scales) e = scaled(c, e, (*scales)[i]);
        else e = c.fresh_data();
    }
    c.set_shape(0, std::move(out));
}

void shape_grid_sample(ShapeContext& c) {
    copy_type(c);
    const Shape *in = c.shape(0), *grid = c.shape(1);
    if (!in || !grid) return;
    if (in->size() < 3 || grid->size() != in->size()) c.fail("its input " + shape_text(c.symbols(), *in) + " and grid " + shape_text(c.symbols(), *grid) + " must have the same rank, 3 or more");
    Shape out{(*in)[0], (*in)[1]};
    out.insert(out.end(), grid->begin() + 1, grid->end() - 1);
    c.set_shape(0, std::move(out));
}

}  // namespace sfumato::fusion
