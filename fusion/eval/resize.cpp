// SPDX-License-Identifier: Apache-2.0
// Resampling: every axis of a resize is a weighted sum over few source elements; a grid sample is the same at free coordinates.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "fusion/eval/contraction.h"
#include "fusion/rules.h"

namespace sfumato::fusion {

namespace {

enum class Filter : std::uint8_t { nearest, linear, cubic };

Filter filter_of(const EvalContext& c, const std::string& mode) {
    if (mode == "nearest") return Filter::nearest;
    if (mode == "linear" || mode == "bilinear") return Filter::linear;
    if (mode == "cubic" || mode == "bicubic") return Filter::cubic;
    c.fail("mode is " + mode + ", allowed are nearest, linear and cubic");
}

double linear(double x) { return std::max(0.0, 1 - std::abs(x)); }
double cubic(double x, double a) {
    x = std::abs(x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    return 0;
}

/// Which source elements make an element, with weights. `outside`: the coordinate lies outside and the extrapolation value stands there.
struct Taps {
    std::vector<std::int64_t> at;
    std::vector<double> weight;
    bool outside = false;
};

/// How a resize reads one axis.
struct Axis {
    std::int64_t in = 0, out = 0;
    double scale = 1, roi_begin = 0, roi_end = 1;
};

struct Resampling {
    Filter filter{};
    std::string coordinates, nearest;
    double a = -0.75;
    bool exclude_outside = false, antialias = false;

    double source(const Axis& x, std::int64_t i) const {
        const auto o = static_cast<double>(i), in = static_cast<double>(x.in), out = static_cast<double>(x.out);
        if (coordinates == "asymmetric") return o / x.scale;
        if (coordinates == "align_corners") return x.out == 1 ? 0 : o * (in - 1) / (out - 1);
        if (coordinates == "pytorch_half_pixel") return x.out > 1 ? (o + 0.5) / x.scale - 0.5 : 0;
        if (coordinates == "tf_half_pixel_for_nn") return (o + 0.5) / x.scale;
        if (coordinates == "half_pixel_symmetric") {
            const double exact = in * x.scale, shift = in / 2 * (1 - out / exact);
            return shift + (o + 0.5) / x.scale - 0.5;
        }
        if (coordinates == "tf_crop_and_resize")
            return x.out > 1 ? x.roi_begin * (in - 1) + o * (x.roi_end - x.roi_begin) * (in - 1) / (out - 1) : 0.5 * (x.roi_begin + x.roi_end) * (in - 1);
        return (o + 0.5) / x.scale - 0.5;
    }

    std::int64_t rounded(double x) const {
        if (nearest == "round_prefer_ceil") return truncated(std::floor(x + 0.5));
        if (nearest == "floor") return truncated(std::floor(x));
        if (nearest == "ceil") return truncated(std::ceil(x));
        return truncated(std::ceil(x - 0.5));
    }

    Taps taps(const Axis& axis, std::int64_t i) const {
        const double x = source(axis, i);
        Taps t;
        t.outside = coordinates == "tf_crop_and_resize" && (x < 0 || x > static_cast<double>(axis.in - 1));
        if (filter == Filter::nearest) {
            t.at = {std::clamp<std::int64_t>(rounded(x), 0, axis.in - 1)};
            t.weight = {1};
            return t;
        }
        const double stretch = antialias && axis.scale < 1 ? axis.scale : 1;  // a smaller image: the filter covers what one element stands for
        const double reach = (filter == Filter::cubic ? 2 : 1) / stretch;
        double sum = 0;
        for (std::int64_t s = truncated(std::floor(x - reach)) + 1; static_cast<double>(s) < x + reach; ++s) {
            const double d = (static_cast<double>(s) - x) * stretch;
            double w = filter == Filter::cubic ? cubic(d, a) : linear(d);
            if ((exclude_outside || antialias) && (s < 0 || s >= axis.in)) w = 0;
            t.at.push_back(std::clamp<std::int64_t>(s, 0, axis.in - 1));
            t.weight.push_back(w);
            sum += w;
        }
        if ((exclude_outside || antialias) && sum != 0)
            for (double& w : t.weight) w /= sum;
        return t;
    }
};

/// Scales and result extents by axis of the input.
std::vector<Axis> axes_of_resize(const EvalContext& c, const Tensor& x, bool crop) {
    const bool upsample = c.node.op == Op::Upsample, old = upsample || c.node.version < 11;
    std::vector<Axis> axes;
    for (const std::int64_t d : x.dims) axes.push_back({d, d});
    Dims which(x.dims.size());
    std::iota(which.begin(), which.end(), 0);
    if (const auto given = c.node.integers("axes")) which = axes_of(c, *given, x.rank());
    std::vector<double> scales;
    const std::size_t scale_input = old ? 1 : 2;
    if (upsample && c.node.has("scales")) scales = std::get<std::vector<double>>(c.node.attributes.at("scales"));
    if (c.has(scale_input))
        for (std::int64_t i = 0; i < c.in(scale_input).size(); ++i) scales.push_back(c.in(scale_input).number(i));
    const bool by_size = !old && c.has(3) && c.in(3).size() > 0;
    const Dims sizes = by_size ? ints_of(c, 3) : Dims{};
    require(c, by_size ? sizes.size() == which.size() : scales.size() == which.size(),
            std::to_string(by_size ? sizes.size() : scales.size()) + (by_size ? " sizes" : " scales") + " do not fit " + std::to_string(which.size()) + " axes");
    const std::string policy = c.node.text("keep_aspect_ratio_policy", "stretch");
    double common = policy == "not_larger" ? INFINITY : 0;
    for (std::size_t i = 0; by_size && i < which.size(); ++i) {
        const double ratio = static_cast<double>(sizes[i]) / static_cast<double>(x.dims[static_cast<std::size_t>(which[i])]);
        common = policy == "not_larger" ? std::min(common, ratio) : std::max(common, ratio);
    }
    for (std::size_t i = 0; i < which.size(); ++i) {
        Axis& a = axes[static_cast<std::size_t>(which[i])];
        if (by_size) {
            a.out = policy == "stretch" ? sizes[i] : truncated(std::floor(common * static_cast<double>(a.in) + 0.5));
            a.scale = policy == "stretch" ? static_cast<double>(sizes[i]) / static_cast<double>(a.in) : common;
        } else {
            require(c, scales[i] > 0, "scale " + std::to_string(scales[i]) + " is not positive");
            a.scale = scales[i];
        }
        if (crop && c.has(1) && c.in(1).size() == static_cast<std::int64_t>(2 * which.size())) {
            a.roi_begin = c.in(1).number(static_cast<std::int64_t>(i));
            a.roi_end = c.in(1).number(static_cast<std::int64_t>(i + which.size()));
        }
        if (!by_size) a.out = truncated(std::floor(static_cast<double>(a.in) * (crop ? a.roi_end - a.roi_begin : 1) * a.scale));
        require(c, a.out >= 0 && (a.in > 0 || a.out == 0), "axis " + std::to_string(which[i]) + " of " + text(x.dims) + " cannot become " + std::to_string(a.out));
    }
    return axes;
}

}  // namespace

void eval_resize(EvalContext& c) {
    const Tensor& x = c.in(0);
    const bool old = c.node.op == Op::Upsample || c.node.version < 11;
    Resampling r;
    r.filter = filter_of(c, c.node.text("mode", "nearest"));
    r.coordinates = old ? "asymmetric" : c.node.text("coordinate_transformation_mode", "half_pixel");
    r.nearest = old ? "floor" : c.node.text("nearest_mode", "round_prefer_floor");
    r.a = c.node.real("cubic_coeff_a", -0.75);
    r.exclude_outside = c.node.integer("exclude_outside", 0) != 0;
    r.antialias = c.node.integer("antialias", 0) != 0;
    const bool crop = r.coordinates == "tf_crop_and_resize";
    const std::vector<Axis> axes = axes_of_resize(c, x, crop);
    const bool real = is_float(x.type);
    Tensor y = real ? converted(c, x, ElemType::f64) : x;
    std::vector<std::vector<bool>> outside(axes.size());
    for (std::size_t d = 0; d < axes.size(); ++d) {
        const Axis& a = axes[d];
        outside[d].assign(static_cast<std::size_t>(a.out), false);
        if (a.in == a.out && a.scale == 1 && !crop) continue;
        const Lanes lanes(y.dims, static_cast<std::int64_t>(d));
        Dims dims = y.dims;
        dims[d] = a.out;
        Tensor next = blank(c, y.type, dims);
        for (std::int64_t i = 0; i < a.out; ++i) {
            const Taps t = r.taps(a, i);
            outside[d][static_cast<std::size_t>(i)] = t.outside;
            numeric(c, y, [&](auto tag) {
                using T = decltype(tag);
                for (std::int64_t o = 0; o < lanes.outer; ++o)
                    for (std::int64_t k = 0; k < lanes.inner; ++k) {
                        const T* from = data<T>(y) + o * lanes.n * lanes.inner + k;
                        T& to = data<T>(next)[(o * a.out + i) * lanes.inner + k];
                        if (t.at.size() == 1) {
                            to = from[t.at[0] * lanes.inner];
                            continue;
                        }
                        double sum = 0;
                        for (std::size_t j = 0; j < t.at.size(); ++j) sum += t.weight[j] * static_cast<double>(from[t.at[j] * lanes.inner]);
                        to = static_cast<T>(std::is_integral_v<T> ? std::nearbyint(sum) : sum);
                    }
            });
        }
        y = std::move(next);
    }
    if (crop) {
        Dims at(axes.size(), 0);
        std::int64_t i = 0;
        if (y.size() > 0) do {
                for (std::size_t d = 0; d < at.size(); ++d)
                    if (outside[d][static_cast<std::size_t>(at[d])]) {
                        numeric(c, y, [&](auto tag) { data<decltype(tag)>(y)[i] = static_cast<decltype(tag)>(c.node.real("extrapolation_value", 0)); });
                        break;
                    }
                ++i;
            } while (advance(at, y.dims));
    }
    c.set(0, real ? converted(c, y, x.type) : std::move(y));
}

namespace {

/// The element that stands at index i of an axis under a padding mode; -1 for zero.
std::int64_t padded_index(const std::string& mode, std::int64_t i, std::int64_t n, bool align) {
    if (i >= 0 && i < n) return i;
    if (mode == "zeros") return -1;
    if (mode == "border") return i < 0 ? 0 : n - 1;
    if (align && n == 1) return 0;
    // mirrored about the centres of the outer elements, or about their edges
    const std::int64_t period = align ? 2 * (n - 1) : 2 * n, r = ((i % period) + period) % period;
    return r < n ? r : (align ? period - r : period - 1 - r);
}

}  // namespace

void eval_grid_sample(EvalContext& c) {
    const Tensor &x = c.in(0), &grid = c.in(1);
    const std::int64_t spatial = x.rank() - 2;
    require(c, spatial >= 1 && grid.rank() == x.rank() && grid.dims.back() == spatial && grid.dims[0] == x.dims[0],
            "a grid of shape " + text(grid.dims) + " does not fit an input of shape " + text(x.dims));
    const Filter filter = filter_of(c, c.node.text("mode", "linear"));
    const std::string padding = c.node.text("padding_mode", "zeros");
    require(c, padding == "zeros" || padding == "border" || padding == "reflection", "padding_mode is " + padding + ", allowed are zeros, border and reflection");
    const bool align = c.node.integer("align_corners", 0) != 0;
    Dims dims{x.dims[0], x.dims[1]};
    dims.insert(dims.end(), grid.dims.begin() + 1, grid.dims.end() - 1);
    Tensor out = blank(c, x.type, dims);
    const Dims in(x.dims.begin() + 2, x.dims.end());
    const std::int64_t plane = count(in), points = count({grid.dims.begin() + 1, grid.dims.end() - 1}), channels = x.dims[1];
    const auto taps_at = [&](std::int64_t n, double v) {
        const auto size = static_cast<double>(n);
        const double p = align ? (v + 1) / 2 * (size - 1) : ((v + 1) * size - 1) / 2;
        Taps t;
        const auto add = [&](std::int64_t i, double w) {
            t.at.push_back(padded_index(padding, i, n, align));
            t.weight.push_back(w);
        };
        if (std::isnan(p) || std::abs(p) > 1e15) {
            add(-1, 0);
        } else if (filter == Filter::nearest) {
            add(truncated(std::nearbyint(p)), 1);
        } else {
            const std::int64_t low = truncated(std::floor(p)), reach = filter == Filter::cubic ? 1 : 0;
            for (std::int64_t i = low - reach; i <= low + 1 + reach; ++i) add(i, filter == Filter::cubic ? cubic(p - static_cast<double>(i), -0.75) : linear(p - static_cast<double>(i)));
        }
        return t;
    };
    floating(c, x, [&](auto tag) {
        using T = decltype(tag);
        std::vector<Taps> taps(in.size());
        for (std::int64_t b = 0; b < x.dims[0]; ++b)
            for (std::int64_t p = 0; p < points; ++p) {
                Dims sizes;
                for (std::size_t d = 0; d < in.size(); ++d) {  // the grid names the last axis first
                    taps[d] = taps_at(in[d], grid.number((b * points + p) * spatial + spatial - 1 - static_cast<std::int64_t>(d)));
                    sizes.push_back(static_cast<std::int64_t>(taps[d].at.size()));
                }
                for (std::int64_t ch = 0; ch < channels; ++ch) {
                    const T* from = data<T>(x) + (b * channels + ch) * plane;
                    double sum = 0;
                    Dims at(in.size(), 0);
                    do {
                        double w = 1;
                        std::int64_t o = 0;
                        for (std::size_t d = 0; d < in.size(); ++d) {
                            const auto j = static_cast<std::size_t>(at[d]);
                            w *= taps[d].weight[j];
                            o = o < 0 || taps[d].at[j] < 0 ? -1 : o * in[d] + taps[d].at[j];
                        }
                        if (o >= 0) sum += w * static_cast<double>(from[o]);
                    } while (advance(at, sizes));
                    data<T>(out)[(b * channels + ch) * points + p] = static_cast<T>(sum);
                }
            }
    });
    c.set(0, std::move(out));
}

}  // namespace sfumato::fusion
