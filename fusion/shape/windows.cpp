// SPDX-License-Identifier: Apache-2.0
// Shapes of convolutions and pools.
#include <algorithm>

#include "fusion/rules.h"
#include "fusion/shape/rules.h"

namespace sfumato::fusion {

namespace {

constexpr std::int64_t kLargestStep = std::int64_t{1} << 40;

/// The window of each spatial dimension, with the defaults of ONNX.
struct Windows {
    std::vector<Extent> kernel;
    std::vector<std::int64_t> strides, dilations, begin, end;
    std::string auto_pad;
};

std::vector<std::int64_t> list(const ShapeContext& c, const char* attribute, std::size_t count, std::int64_t fallback, std::int64_t least) {
    auto v = c.node().integers(attribute).value_or(std::vector<std::int64_t>(count, fallback));
    if (v.size() != count) c.fail("its attribute " + std::string(attribute) + " has " + std::to_string(v.size()) + " entries for " + std::to_string(count) + " needed");
    for (const std::int64_t x : v)
        if (x < least || x > kLargestStep) c.fail("its attribute " + std::string(attribute) + " holds " + std::to_string(x) + "; at least " + std::to_string(least) + " is needed");
    return v;
}

Windows windows(const ShapeContext& c, std::size_t spatial, const Shape* weights) {
    Windows w;
    if (const auto kernel = c.node().integers("kernel_shape")) {
        if (kernel->size() != spatial) c.fail("its kernel_shape has " + std::to_string(kernel->size()) + " entries for " + std::to_string(spatial) + " spatial dimensions");
        for (const std::int64_t k : *kernel)
            if (k < 1 || k > kLargestStep) c.fail("its kernel_shape holds " + std::to_string(k));
        w.kernel.assign(kernel->begin(), kernel->end());
    }
    if (weights) {
        if (weights->size() != spatial + 2) c.fail("its weights " + shape_text(c.symbols(), *weights) + " have another rank than its input, " + std::to_string(spatial + 2));
        for (std::size_t i = 0; i < spatial; ++i) {
            if (w.kernel.size() == spatial) unify(c, w.kernel[i], (*weights)[i + 2], "kernel_shape and the extents of the weights");
            else w.kernel.push_back((*weights)[i + 2]);
        }
    }
    if (w.kernel.size() != spatial) w.kernel.assign(spatial, Extent(0));  // reported by the caller
    w.strides = list(c, "strides", spatial, 1, 1);
    w.dilations = list(c, "dilations", spatial, 1, 1);
    const auto pads = list(c, "pads", 2 * spatial, 0, -kLargestStep);
    w.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial));
    w.end.assign(pads.begin() + static_cast<std::ptrdiff_t>(spatial), pads.end());
    w.auto_pad = c.node().text("auto_pad", "NOTSET");
    if (w.auto_pad.empty()) w.auto_pad = "NOTSET";
    if (w.auto_pad != "NOTSET" && w.auto_pad != "VALID" && w.auto_pad != "SAME_UPPER" && w.auto_pad != "SAME_LOWER") c.fail("auto_pad '" + w.auto_pad.substr(0, 40) + "' is none of NOTSET, VALID, SAME_UPPER, SAME_LOWER");
    return w;
}

Extent reach(const Windows& w, std::size_t i) { return (w.kernel[i] - Extent(1)) * w.dilations[i] + Extent(1); }

Extent slid(const ShapeContext& c, const Windows& w, std::size_t i, const Extent& in, bool ceil) {
    Symbols& s = c.symbols();
    const Extent stride = w.strides[i];
    if (w.auto_pad.starts_with("SAME")) return s.ceil_div(in, stride);
    const std::int64_t begin = w.auto_pad == "VALID" ? 0 : w.begin[i], end = w.auto_pad == "VALID" ? 0 : w.end[i];
    const Extent room = in + Extent(begin) + Extent(end) - reach(w, i);
    if (const auto r = room.constant(); r && *r < 0)
        c.fail("the window of " + s.to_text(reach(w, i)) + " along spatial dimension " + std::to_string(i) + " does not fit into " + s.to_text(in) + " with padding " + std::to_string(begin) + " and " + std::to_string(end));
    Extent out = (ceil ? s.ceil_div(room, stride) : s.floor_div(room, stride)) + Extent(1);
    // a last window that would begin behind the input and its left padding is left out
    if (const auto n = out.constant(), extent = in.constant(); ceil && n && extent && (*n - 1) * w.strides[i] >= *extent + begin) out = out - Extent(1);
    return out;
}

std::size_t spatial_rank(const ShapeContext& c, const Shape& in) {
    if (in.size() < 3) c.fail("its input " + shape_text(c.symbols(), in) + " has no spatial dimensions; rank 3 or more is needed");
    return in.size() - 2;
}

std::int64_t groups(const ShapeContext& c) {
    const std::int64_t g = c.node().integer("group", 1);
    if (g < 1 || g > kLargestStep) c.fail("its attribute group is " + std::to_string(g));
    return g;
}

}  // namespace

void shape_conv(ShapeContext& c) {
    const Op op = c.node().op;
    if (op == Op::ConvInteger) c.set_type(0, ElemType::i32);
    else copy_type(c, op == Op::QLinearConv ? 7 : 0);
    const Shape *in = c.shape(0), *weights = c.shape(op == Op::QLinearConv ? 3 : 1);
    if (!in || !weights) return;
    const std::size_t spatial = spatial_rank(c, *in);
    const Windows w = windows(c, spatial, weights);
    unify(c, (*in)[1], (*weights)[1] * groups(c), "channels of the input and of the weights times groups");
    Shape out{(*in)[0], (*weights)[0]};
    for (std::size_t i = 0; i < spatial; ++i) out.push_back(slid(c, w, i, (*in)[i + 2], false));
    c.set_shape(0, std::move(out));
}

void shape_pool(ShapeContext& c) {
    copy_type(c);
    c.set_type(1, ElemType::i64);
    const Shape* in = c.shape(0);
    if (!in) return;
    const std::size_t spatial = spatial_rank(c, *in);
    if (!c.node().has("kernel_shape")) c.fail("has no kernel_shape");
    const Windows w = windows(c, spatial, nullptr);
    Shape out{(*in)[0], (*in)[1]};
    for (std::size_t i = 0; i < spatial; ++i) out.push_back(slid(c, w, i, (*in)[i + 2], c.node().integer("ceil_mode", 0) != 0));
    c.set_shape(0, out);
    c.set_shape(1, std::move(out));
}

void shape_conv_transpose(ShapeContext& c) {
    copy_type(c);
    const Shape *in = c.shape(0), *weights = c.shape(1);
    if (!in || !weights) return;
    const std::size_t spatial = spatial_rank(c, *in);
    const Windows w = windows(c, spatial, weights);
    unify(c, (*in)[1], (*weights)[0], "channels of the input and of the weights");
    Shape out{(*in)[0], (*weights)[1] * groups(c)};
    const auto extra = list(c, "output_padding", spatial, 0, 0);
    auto given = c.node().integers("output_shape");
    if (given && given->size() == spatial + 2) given->erase(given->begin(), given->begin() + 2);
    if (given && given->size() != spatial) c.fail("its output_shape has " + std::to_string(given->size()) + " entries for " + std::to_string(spatial) + " spatial dimensions");
    for (std::size_t i = 0; i < spatial; ++i) {
        const Extent& n = (*in)[i + 2];
        if (given) out.emplace_back((*given)[i]);
        else if (w.auto_pad.starts_with("SAME")) out.push_back(n * w.strides[i]);
        else {
            const std::int64_t pads = w.auto_pad == "VALID" ? 0 : w.begin[i] + w.end[i];
            out.push_back((n - Extent(1)) * w.strides[i] + Extent(extra[i]) + reach(w, i) - Extent(pads));
        }
    }
    c.set_shape(0, std::move(out));
}

}  // namespace sfumato::fusion
