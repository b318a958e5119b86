// SPDX-License-Identifier: Apache-2.0
// Operators that move elements by strides: reshapes, transposes, slices, tiles, joins and pads.
#include <algorithm>
#include <numeric>

#include "fusion/eval/loops.h"
#include "fusion/rules.h"

namespace sfumato::fusion {

namespace {

Dims reshape_target(const EvalContext& c, const Tensor& x) {
    Dims dims = ints_of(c, 1);
    const Dims asked = dims;
    const bool zero_is_zero = c.node.integer("allowzero", 0) != 0;
    std::int64_t known = 1;
    int open = -1;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        if (dims[i] == 0 && !zero_is_zero) {
            require(c, i < x.dims.size(), "target " + text(asked) + " copies axis " + std::to_string(i) + ", the input " + text(x.dims) + " has none");
            dims[i] = x.dims[i];
        }
        if (dims[i] == -1) {
            require(c, open < 0, "target " + text(asked) + " has more than one -1");
            open = static_cast<int>(i);
            continue;
        }
        require(c, dims[i] >= 0, "target " + text(asked) + " has a negative extent");
        known *= dims[i];
    }
    if (open >= 0) {
        require(c, known != 0 ? x.size() % known == 0 : false, "target " + text(asked) + " leaves no whole extent for -1: the input " + text(x.dims) + " has " + std::to_string(x.size()) + " elements");
        dims[static_cast<std::size_t>(open)] = x.size() / known;
    }
    require(c, count(dims) == x.size(), "cannot reshape " + text(x.dims) + " (" + std::to_string(x.size()) + " elements) to " + text(asked) + " (" + std::to_string(count(dims)) + ")");
    return dims;
}

Dims squeezed(const EvalContext& c, const Tensor& x) {
    Dims dims = x.dims, out;
    const auto axes = list_of(c, "axes", 1);
    if (axes) {
        for (const std::int64_t a : axes_of(c, *axes, x.rank())) {
            require(c, dims[static_cast<std::size_t>(a)] == 1, "axis " + std::to_string(a) + " of " + text(x.dims) + " is not 1");
            dims[static_cast<std::size_t>(a)] = -1;
        }
        std::copy_if(dims.begin(), dims.end(), std::back_inserter(out), [](std::int64_t d) { return d != -1; });
    } else {
        std::copy_if(dims.begin(), dims.end(), std::back_inserter(out), [](std::int64_t d) { return d != 1; });
    }
    return out;
}

Dims unsqueezed(const EvalContext& c, const Tensor& x) {
    const auto asked = list_of(c, "axes", 1);
    require(c, asked.has_value(), "has no axes");
    Dims axes = axes_of(c, *asked, x.rank() + static_cast<std::int64_t>(asked->size()));
    std::sort(axes.begin(), axes.end());
    Dims dims = x.dims;
    for (const std::int64_t a : axes) dims.insert(dims.begin() + a, 1);
    return dims;
}

Dims flattened(const EvalContext& c, const Tensor& x) {
    const Lanes lanes(x.dims, cut_of(c, c.node.integer("axis", 1), x.rank()));
    return {lanes.outer, lanes.n * lanes.inner};
}

}  // namespace

void eval_reshape(EvalContext& c) {
    const Tensor& x = c.in(0);
    const auto target = [&] {
        switch (c.node.op) {
            case Op::Reshape: return reshape_target(c, x);
            case Op::Squeeze: return squeezed(c, x);
            case Op::Unsqueeze: return unsqueezed(c, x);
            default: return flattened(c, x);
        }
    };
    c.set(0, reshaped(x, target()));
}

void eval_transpose(EvalContext& c) {
    const Tensor& x = c.in(0);
    Dims perm(x.dims.size());
    std::iota(perm.rbegin(), perm.rend(), 0);
    perm = c.node.integers("perm").value_or(perm);
    require(c, perm.size() == x.dims.size(), "perm " + text(perm) + " does not fit an input of shape " + text(x.dims));
    c.set(0, transposed(x, axes_of(c, perm, x.rank())));
}

void eval_expand(EvalContext& c) {
    const Tensor& x = c.in(0);
    const Dims target = ints_of(c, 1);
    const Dims dims = broadcast(c, {&x.dims, &target});
    checked_count(c, dims);
    c.set(0, materialised(x, dims, broadcast_strides(x.dims, dims)));
}

void eval_tile(EvalContext& c) {
    const Tensor& x = c.in(0);
    const Dims repeats = ints_of(c, 1), own = strides_of(x.dims);
    require(c, repeats.size() == x.dims.size(), "repeats " + text(repeats) + " do not fit an input of shape " + text(x.dims));
    Dims woven, strides, dims;  // [repeat, extent] for each axis
    for (std::size_t d = 0; d < repeats.size(); ++d) {
        require(c, repeats[d] >= 0, "repeats " + text(repeats) + " have a negative value");
        woven.insert(woven.end(), {repeats[d], x.dims[d]});
        strides.insert(strides.end(), {0, own[d]});
        dims.push_back(repeats[d] * x.dims[d]);
    }
    checked_count(c, dims);
    c.set(0, reshaped(materialised(x, woven, strides), dims));
}

void eval_concat(EvalContext& c) {
    std::vector<TensorPtr> parts;
    for (std::size_t i = 0; i < c.input_count(); ++i) parts.push_back(c.in_ptr(i));
    c.set(0, concatenated(c, parts, c.node.integer("axis", c.node.version < 4 ? 1 : 0)));
}

void eval_split(EvalContext& c) {
    const Tensor& x = c.in(0);
    const std::int64_t axis = axis_of(c, c.node.integer("axis", 0), x.rank());
    const auto a = static_cast<std::size_t>(axis);
    const auto parts = static_cast<std::int64_t>(c.node.outputs.size());
    Dims sizes = list_of(c, "split", 1).value_or(Dims{});
    if (sizes.empty()) {
        const std::int64_t each = isa::ceil_div(x.dims[a], parts);  // the last is shorter
        require(c, c.node.version >= 18 || x.dims[a] % parts == 0, "axis " + std::to_string(axis) + " of " + text(x.dims) + " does not split into " + std::to_string(parts) + " equal parts");
        for (std::int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp<std::int64_t>(x.dims[a] - i * each, 0, each));
    }
    require(c, std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) == x.dims[a] && static_cast<std::int64_t>(sizes.size()) == parts && *std::min_element(sizes.begin(), sizes.end()) >= 0,
            "split " + text(sizes) + " does not divide axis " + std::to_string(axis) + " of " + text(x.dims) + " among " + std::to_string(parts) + " outputs");
    const Dims strides = strides_of(x.dims);
    Dims dims = x.dims;
    std::int64_t at = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        dims[a] = sizes[i];
        c.set(i, materialised(x, dims, strides, at * strides[a]));
        at += sizes[i];
    }
}

void eval_slice(EvalContext& c) {
    const Tensor& x = c.in(0);
    const auto needed = [&](const char* key, std::size_t input) {
        auto v = list_of(c, key, input);
        require(c, v.has_value(), std::string("has no ") + key);
        return *std::move(v);
    };
    const Dims starts = needed("starts", 1), ends = needed("ends", 2);
    Dims all(starts.size());
    std::iota(all.begin(), all.end(), 0);
    const Dims axes = axes_of(c, list_of(c, "axes", 3).value_or(all), x.rank()), steps = c.has(4) ? ints_of(c, 4) : Dims(starts.size(), 1);
    require(c, ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size(),
            "starts " + text(starts) + ", ends " + text(ends) + ", axes " + text(axes) + " and steps " + text(steps) + " must be of one length");
    Dims dims = x.dims, strides = strides_of(x.dims);
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const auto a = static_cast<std::size_t>(axes[i]);
        const std::int64_t n = x.dims[a], step = steps[i];
        require(c, step != 0, "a step is 0");
        const auto clamped = [&](std::int64_t v, std::int64_t low, std::int64_t high) { return std::clamp(v < 0 ? std::max(v, -n - 1) + n : v, low, high); };
        const std::int64_t first = step > 0 ? clamped(starts[i], 0, n) : clamped(starts[i], 0, std::max<std::int64_t>(n - 1, 0));
        const std::int64_t last = step > 0 ? clamped(ends[i], 0, n) : clamped(ends[i], -1, n - 1);
        const std::int64_t span = step > 0 ? last - first : first - last;
        const std::int64_t stride = step > 0 ? step : step == INT64_MIN ? INT64_MAX : -step;
        dims[a] = span <= 0 || n == 0 ? 0 : (span - 1) / stride + 1;
        offset += dims[a] == 0 ? 0 : first * strides[a];
        strides[a] = dims[a] <= 1 ? 0 : strides[a] * step;
    }
    c.set(0, materialised(x, dims, strides, count(dims) == 0 ? 0 : offset));
}

namespace {

/// Where element i of a padded axis comes from: an index, or -1 for the constant.
std::int64_t padded_from(const EvalContext& c, const std::string& mode, std::int64_t i, std::int64_t n) {
    if (i >= 0 && i < n) return i;
    if (mode == "constant") return -1;
    require(c, n > 0, "mode " + mode + " has nothing to repeat on an axis without elements");
    if (mode == "edge") return i < 0 ? 0 : n - 1;
    if (mode == "wrap") return ((i % n) + n) % n;
    if (n == 1) return 0;
    const std::int64_t period = 2 * (n - 1), r = ((i % period) + period) % period;
    return r < n ? r : period - r;
}

}  // namespace

void eval_pad(EvalContext& c) {
    const Tensor& x = c.in(0);
    const std::string mode = c.node.text("mode", "constant");
    require(c, mode == "constant" || mode == "reflect" || mode == "edge" || mode == "wrap", "mode is " + mode + ", allowed are constant, reflect, edge and wrap");
    const Dims pads = list_of(c, c.node.has("paddings") ? "paddings" : "pads", 1).value_or(Dims{});
    Dims axes(x.dims.size());
    std::iota(axes.begin(), axes.end(), 0);
    if (c.has(3)) axes = axes_of(c, ints_of(c, 3), x.rank());
    require(c, pads.size() == 2 * axes.size(), "pads " + text(pads) + " do not fit " + std::to_string(axes.size()) + " axes");
    Dims dims = x.dims;
    std::vector<Dims> from(x.dims.size());
    const Dims strides = strides_of(x.dims);
    Dims begin(x.dims.size(), 0);
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const auto a = static_cast<std::size_t>(axes[i]);
        begin[a] = pads[i];
        dims[a] += pads[i] + pads[axes.size() + i];
        require(c, dims[a] >= 0, "pads " + text(pads) + " take more than " + text(x.dims) + " has");
    }
    checked_count(c, dims);
    for (std::size_t d = 0; d < dims.size(); ++d)
        for (std::int64_t i = 0; i < dims[d]; ++i) {
            const std::int64_t source = padded_from(c, mode, i - begin[d], x.dims[d]);
            from[d].push_back(source < 0 ? -1 : source * strides[d]);
        }
    Tensor out = blank(c, x.type, dims);
    stored(x, [&](auto tag) {
        using T = decltype(tag);
        T fill{};
        if (c.has(2) && c.in(2).size() == 1 && c.in(2).data.index() == x.data.index()) fill = data<T>(c.in(2))[0];
        if constexpr (!std::is_same_v<T, std::string>)
            if (c.node.has("value")) fill = static_cast<T>(c.node.real("value", 0));
        T* to = data<T>(out);
        // one call per element: the offset is the sum over axes, unless one of them lies in the padding
        const auto walk = [&](const auto& self, std::size_t d, std::int64_t at) -> void {
            if (d == dims.size()) {
                *to++ = at < 0 ? fill : data<T>(x)[at];
                return;
            }
            for (const std::int64_t o : from[d]) self(self, d + 1, at < 0 || o < 0 ? -1 : at + o);
        };
        walk(walk, 0, 0);
    });
    c.set(0, std::move(out));
}

void eval_depth_to_space(EvalContext& c) {
    const Tensor& x = c.in(0);
    const std::int64_t b = c.node.integer("blocksize", 0);
    require(c, x.rank() == 4 && b > 0 && x.dims[1] % (b * b) == 0, "blocksize " + std::to_string(b) + " does not divide the channels of " + text(x.dims));
    const std::int64_t n = x.dims[0], d = x.dims[1] / (b * b), h = x.dims[2], w = x.dims[3];
    const bool crd = c.node.text("mode", "DCR") == "CRD";
    const Tensor t = crd ? transposed(reshaped(x, {n, d, b, b, h, w}), {0, 1, 4, 2, 5, 3}) : transposed(reshaped(x, {n, b, b, d, h, w}), {0, 3, 4, 1, 5, 2});
    c.set(0, reshaped(t, {n, d, h * b, w * b}));
}

void eval_space_to_depth(EvalContext& c) {
    const Tensor& x = c.in(0);
    const std::int64_t b = c.node.integer("blocksize", 0);
    require(c, x.rank() == 4 && b > 0 && x.dims[2] % b == 0 && x.dims[3] % b == 0, "blocksize " + std::to_string(b) + " does not divide the plane of " + text(x.dims));
    const std::int64_t n = x.dims[0], d = x.dims[1], h = x.dims[2] / b, w = x.dims[3] / b;
    c.set(0, reshaped(transposed(reshaped(x, {n, d, h, b, w, b}), {0, 3, 5, 1, 2, 4}), {n, d * b * b, h, w}));
}

}  // namespace sfumato::fusion
