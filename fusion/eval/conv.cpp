// SPDX-License-Identifier: Apache-2.0
// Convolution as a matrix product over gathered windows, and its transpose as a product whose result is scattered.
#include <algorithm>

#include "fusion/eval/contraction.h"
#include "fusion/rules.h"

namespace sfumato::fusion {

namespace {

Dims spatial(const Tensor& t) { return {t.dims.begin() + 2, t.dims.end()}; }

/// For each kernel cell (rows) and output position (columns) the input offset, or -1 in padding.
std::vector<std::int64_t> offsets_of(const Window& w) {
    std::vector<std::int64_t> table;
    if (count(w.kernel) == 0 || count(w.out) == 0) return table;
    table.reserve(static_cast<std::size_t>(count(w.kernel) * count(w.out)));
    Dims k(w.kernel.size(), 0);
    do {
        Dims at(w.out.size(), 0);
        do table.push_back(w.offset(at, k));
        while (advance(at, w.out));
    } while (advance(k, w.kernel));
    return table;
}

std::int64_t groups_of(const EvalContext& c, std::int64_t channels, std::int64_t maps) {
    const std::int64_t g = c.node.integer("group", 1);
    require(c, g >= 1 && channels % g == 0 && maps % g == 0,
            "group is " + std::to_string(g) + ", it must divide " + std::to_string(channels) + " input and " + std::to_string(maps) + " output channels");
    return g;
}

void check_operands(const EvalContext& c, const Tensor& x, const Tensor& w) {
    require(c, x.rank() >= 3 && x.rank() == w.rank() && x.type == w.type,
            "cannot convolve " + std::string(name(x.type)) + text(x.dims) + " with " + std::string(name(w.type)) + text(w.dims));
    if (const auto kernel = c.node.integers("kernel_shape"))
        require(c, *kernel == spatial(w), "kernel_shape is " + text(*kernel) + ", the weights have " + text(spatial(w)));
}

}  // namespace

Tensor convolved(const EvalContext& c, const Tensor& x, const Tensor& w) {
    check_operands(c, x, w);
    const Window win = window_of(c, spatial(x), spatial(w));
    const std::int64_t batch = x.dims[0], channels = x.dims[1], maps = w.dims[0];
    const std::int64_t groups = groups_of(c, channels, maps), per_group = channels / groups, maps_per_group = maps / groups;
    require(c, w.dims[1] == per_group, "weights of shape " + text(w.dims) + " take " + std::to_string(w.dims[1]) + " channels, a group has " + std::to_string(per_group));
    Dims dims{batch, maps};
    dims.insert(dims.end(), win.out.begin(), win.out.end());
    Tensor out = blank(c, x.type, dims);
    const std::int64_t in_size = count(win.in), out_size = count(win.out), cells = count(win.kernel), depth = per_group * cells;
    const bool direct = cells == 1 && win.in == win.out && std::all_of(win.begin.begin(), win.begin.end(), [](std::int64_t p) { return p == 0; }) &&
                        std::all_of(win.stride.begin(), win.stride.end(), [](std::int64_t s) { return s == 1; });
    const std::vector<std::int64_t> table = direct ? std::vector<std::int64_t>{} : offsets_of(win);
    multiplied(c, x, [&](auto t) {
        using T = decltype(t);
        std::vector<T> columns(direct ? 0 : static_cast<std::size_t>(depth * out_size));
        for (std::int64_t b = 0; b < batch; ++b)
            for (std::int64_t g = 0; g < groups; ++g) {
                const T* from = data<T>(x) + (b * channels + g * per_group) * in_size;
                if (!direct)
                    for (std::int64_t ch = 0; ch < per_group; ++ch)
                        for (std::int64_t i = 0; i < cells * out_size; ++i) {
                            const std::int64_t at = table[static_cast<std::size_t>(i)];
                            columns[static_cast<std::size_t>(ch * cells * out_size + i)] = at < 0 ? T(0) : from[ch * in_size + at];
                        }
                product(data<T>(w) + g * maps_per_group * depth, false, direct ? from : columns.data(), false, data<T>(out) + (b * maps + g * maps_per_group) * out_size, maps_per_group,
                        depth, out_size);
            }
    });
    return out;
}

Tensor with_channel_bias(const EvalContext& c, Tensor y, const Tensor& bias) {
    require(c, bias.rank() == 1 && bias.dims[0] == y.dims[1], "a bias of shape " + text(bias.dims) + " does not fit " + std::to_string(y.dims[1]) + " channels");
    const Lanes lanes(y.dims, 1);
    multiplied(c, y, [&](auto t) {
        using T = decltype(t);
        T* to = data<T>(y);
        for (std::int64_t o = 0; o < lanes.outer; ++o)
            for (std::int64_t ch = 0; ch < lanes.n; ++ch)
                for (std::int64_t i = 0; i < lanes.inner; ++i) *to++ += data<T>(bias)[ch];
    });
    return y;
}

void eval_conv(EvalContext& c) {
    Tensor y = convolved(c, c.in(0), c.in(1));
    c.set(0, c.has(2) ? with_channel_bias(c, std::move(y), c.in(2)) : std::move(y));
}

namespace {

/// The window of a transposed convolution: the one that slides over its result.
Window transposed_window(const EvalContext& c, const Dims& in, const Dims& kernel) {
    const std::size_t n = in.size();
    Window w;
    w.kernel = kernel;
    w.out = in;
    w.stride = c.node.integers("strides").value_or(Dims(n, 1));
    w.dilation = c.node.integers("dilations").value_or(Dims(n, 1));
    const Dims extra = c.node.integers("output_padding").value_or(Dims(n, 0));
    const Dims pads = c.node.integers("pads").value_or(Dims(2 * n, 0));
    const auto given = c.node.integers("output_shape");
    require(c, w.stride.size() == n && w.dilation.size() == n && extra.size() == n && pads.size() == 2 * n && (!given || given->size() >= n),
            "strides, dilations, pads, output_padding and output_shape must have a value for each of " + std::to_string(n) + " spatial axes");
    const std::string mode = c.node.text("auto_pad", "NOTSET");
    for (std::size_t d = 0; d < n; ++d) {
        const std::int64_t full = w.stride[d] * (in[d] - 1) + extra[d] + (kernel[d] - 1) * w.dilation[d] + 1;
        const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
        if (!given && !same) {
            const bool padded = mode != "VALID";
            w.begin.push_back(padded ? pads[d] : 0);
            w.end.push_back(padded ? pads[n + d] : 0);
        } else {
            const std::int64_t size = given ? (*given)[given->size() - n + d] : in[d] * w.stride[d];
            const std::int64_t pad = std::max<std::int64_t>(0, full - size);
            w.begin.push_back(mode == "SAME_UPPER" ? pad / 2 : pad - pad / 2);
            w.end.push_back(pad - w.begin[d]);
            w.in.push_back(size);
            continue;
        }
        w.in.push_back(full - w.begin[d] - w.end[d]);
        require(c, w.in[d] >= 0, "padding takes more than the " + std::to_string(full) + " elements of axis " + std::to_string(d + 2));
    }
    return w;
}

}  // namespace

void eval_conv_transpose(EvalContext& c) {
    const Tensor &x = c.in(0), &w = c.in(1);
    check_operands(c, x, w);
    const std::int64_t batch = x.dims[0], channels = x.dims[1], groups = c.node.integer("group", 1);
    require(c, groups >= 1 && channels % groups == 0 && w.dims[0] == channels,
            "group is " + std::to_string(groups) + " with " + std::to_string(channels) + " input channels and weights of shape " + text(w.dims));
    const std::int64_t per_group = channels / groups, maps_per_group = w.dims[1], maps = maps_per_group * groups;
    const Window win = transposed_window(c, spatial(x), spatial(w));
    Dims dims{batch, maps};
    dims.insert(dims.end(), win.in.begin(), win.in.end());
    Tensor out = blank(c, x.type, dims);
    const std::int64_t in_size = count(win.out), out_size = count(win.in), cells = count(win.kernel);
    const std::vector<std::int64_t> table = offsets_of(win);
    multiplied(c, x, [&](auto t) {
        using T = decltype(t);
        std::vector<T> columns(static_cast<std::size_t>(maps_per_group * cells * in_size));
        for (std::int64_t b = 0; b < batch; ++b)
            for (std::int64_t g = 0; g < groups; ++g) {
                product(data<T>(w) + g * per_group * maps_per_group * cells, true, data<T>(x) + (b * channels + g * per_group) * in_size, false, columns.data(), maps_per_group * cells,
                        per_group, in_size);
                T* to = data<T>(out) + (b * maps + g * maps_per_group) * out_size;
                for (std::int64_t m = 0; m < maps_per_group; ++m)
                    for (std::int64_t i = 0; i < cells * in_size; ++i)
                        if (const std::int64_t at = table[static_cast<std::size_t>(i)]; at >= 0) to[m * out_size + at] += columns[static_cast<std::size_t>(m * cells * in_size + i)];
            }
    });
    c.set(0, c.has(2) ? with_channel_bias(c, std::move(out), c.in(2)) : std::move(out));
}

}  // namespace sfumato::fusion
