// SPDX-License-Identifier: Apache-2.0
// Pools over sliding windows, their inverse, and regions of interest.
#include <algorithm>
#include <cmath>
#include <limits>

#include "fusion/eval/contraction.h"
#include "fusion/rules.h"

namespace sfumato::fusion {

namespace {

/// The flat position of an offset within one plane, column-major when asked.
std::int64_t plane_index(std::int64_t offset, const Dims& dims, bool column_major) {
    if (!column_major) return offset;
    std::int64_t flat = 0, rest = offset;
    Dims at(dims.size());
    for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d]) at[d] = rest % dims[d];
    for (std::size_t d = dims.size(); d-- > 0;) flat = flat * dims[d] + at[d];
    return flat;
}

/// Cells of the window at `at` that lie in the padded input: what an average that counts padding divides by.
std::int64_t padded_cells(const Window& w, const Dims& at) {
    std::int64_t n = 1;
    for (std::size_t d = 0; d < at.size(); ++d) {
        const std::int64_t start = at[d] * w.stride[d] - w.begin[d], limit = w.in[d] + w.end[d];
        n *= std::clamp<std::int64_t>((limit - start + w.dilation[d] - 1) / w.dilation[d], 0, w.kernel[d]);
    }
    return n;
}

template <class T>
struct Pooled {
    T value;
    std::int64_t offset;  ///< of the maximum
};

/// The node's attributes, read once.
struct Pooling {
    bool max, norm, counts_padding;
    double p;
    explicit Pooling(const Node& n)
        : max(n.op == Op::MaxPool), norm(n.op == Op::LpPool), counts_padding(n.integer("count_include_pad", 0) != 0), p(static_cast<double>(norm ? n.integer("p", 2) : 1)) {}
};

template <class T>
Pooled<T> pool_window(const Pooling& pooling, const Window& w, const T* plane, const Dims& at) {
    T best = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
    double sum = 0;
    std::int64_t place = 0, seen = 0;
    Dims k(w.kernel.size(), 0);
    do {
        const std::int64_t o = w.offset(at, k);
        if (o < 0) continue;
        const T v = plane[o];
        if (pooling.max) {
            if (seen == 0 || v > best || (v != v && best == best)) {
                best = v;
                place = o;
            }
        } else {
            sum += pooling.norm ? std::pow(std::abs(static_cast<double>(v)), pooling.p) : static_cast<double>(v);
        }
        ++seen;
    } while (advance(k, w.kernel));
    if (pooling.max) return {best, place};
    if (pooling.norm) return {static_cast<T>(std::pow(sum, 1 / pooling.p)), 0};
    const std::int64_t n = pooling.counts_padding ? padded_cells(w, at) : seen;
    return {static_cast<T>(sum / static_cast<double>(n)), 0};
}

}  // namespace

void eval_pool(EvalContext& c) {
    const Tensor& x = c.in(0);
    require(c, x.rank() >= 3, "takes [batch, channels, ...], not " + text(x.dims));
    const auto kernel = c.node.integers("kernel_shape");
    require(c, kernel.has_value(), "has no kernel_shape");
    for (const std::int64_t k : *kernel) require(c, k >= 1, "kernel_shape is " + text(*kernel) + ", each must be 1 or more");
    const Window w = window_of(c, {x.dims.begin() + 2, x.dims.end()}, *kernel);
    Dims dims{x.dims[0], x.dims[1]};
    dims.insert(dims.end(), w.out.begin(), w.out.end());
    Tensor out = blank(c, x.type, dims), places = wanted(c, 1) ? blank(c, ElemType::i64, dims) : Tensor{};
    const std::int64_t plane = count(w.in);
    const Pooling pooling(c.node);
    const bool column_major = c.node.integer("storage_order", 0) != 0;
    if (out.size() > 0)
        numeric(c, x, [&](auto t) {
            using T = decltype(t);
            T* to = data<T>(out);
            std::int64_t* index = wanted(c, 1) ? data<std::int64_t>(places) : nullptr;
            for (std::int64_t p = 0; p < x.dims[0] * x.dims[1]; ++p) {
                Dims at(w.out.size(), 0);
                do {
                    const Pooled<T> v = pool_window<T>(pooling, w, data<T>(x) + p * plane, at);
                    *to++ = v.value;
                    if (index) *index++ = p * plane + plane_index(v.offset, w.in, column_major);
                } while (advance(at, w.out));
            }
        });
    c.set(0, std::move(out));
    if (wanted(c, 1)) c.set(1, std::move(places));
}

void eval_max_unpool(EvalContext& c) {
    const Tensor &x = c.in(0), &places = c.in(1);
    const auto kernel = c.node.integers("kernel_shape");
    require(c, kernel && x.rank() >= 3 && kernel->size() + 2 == x.dims.size() && places.dims == x.dims, "needs a kernel_shape for " + text(x.dims) + " and indices of the same shape");
    const std::size_t n = kernel->size();
    const Dims stride = c.node.integers("strides").value_or(Dims(n, 1)), pads = c.node.integers("pads").value_or(Dims(2 * n, 0));
    require(c, stride.size() == n && pads.size() == 2 * n, "strides or pads do not fit " + std::to_string(n) + " spatial axes");
    Dims pooled{x.dims[0], x.dims[1]};  // the shape that the indices count in
    for (std::size_t d = 0; d < n; ++d) pooled.push_back((x.dims[d + 2] - 1) * stride[d] + (*kernel)[d] - pads[d] - pads[n + d]);
    const Dims dims = c.has(2) ? ints_of(c, 2) : pooled;
    require(c, dims.size() == pooled.size(), "output_shape " + text(dims) + " has another rank than " + text(x.dims));
    Tensor out = blank(c, x.type, dims);
    const Dims strides = strides_of(dims);
    numeric(c, x, [&](auto t) {
        using T = decltype(t);
        for (std::int64_t i = 0; i < x.size(); ++i) {
            std::int64_t rest = data<std::int64_t>(places)[i], to = 0;
            require(c, rest >= 0 && rest < count(pooled), "index " + std::to_string(rest) + " lies outside " + text(pooled));
            for (std::size_t d = pooled.size(); d-- > 0; rest /= pooled[d]) {
                require(c, rest % pooled[d] < dims[d], "output_shape " + text(dims) + " is smaller than the indices need");
                to += rest % pooled[d] * strides[d];
            }
            data<T>(out)[to] = data<T>(x)[i];
        }
    });
    c.set(0, std::move(out));
}

namespace {

/// Four cells and their weights around a point of a plane; all weights 0 outside.
struct Bilinear {
    std::array<std::int64_t, 4> at{};
    std::array<double, 4> weight{};
    Bilinear(double y, double x, std::int64_t height, std::int64_t width) {
        if (y < -1 || y > static_cast<double>(height) || x < -1 || x > static_cast<double>(width)) return;
        const auto split = [](double v, std::int64_t n, std::int64_t& low, std::int64_t& high) {
            v = std::max(v, 0.0);
            low = std::min(static_cast<std::int64_t>(v), n - 1);
            high = std::min(low + 1, n - 1);
            return low == n - 1 ? 0.0 : v - static_cast<double>(low);
        };
        std::int64_t y0 = 0, y1 = 0, x0 = 0, x1 = 0;
        const double dy = split(y, height, y0, y1), dx = split(x, width, x0, x1);
        at = {y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1};
        weight = {(1 - dy) * (1 - dx), (1 - dy) * dx, dy * (1 - dx), dy * dx};
    }
};

struct Region {
    double y, x, bin_height, bin_width;
    std::int64_t samples_y, samples_x;
};

template <class T>
T region_cell(const T* plane, const Region& r, std::int64_t ph, std::int64_t pw, std::int64_t height, std::int64_t width, bool max) {
    double sum = 0, best = -std::numeric_limits<double>::infinity();
    for (std::int64_t iy = 0; iy < r.samples_y; ++iy)
        for (std::int64_t ix = 0; ix < r.samples_x; ++ix) {
            const double y = r.y + (static_cast<double>(ph) + (static_cast<double>(iy) + 0.5) / static_cast<double>(r.samples_y)) * r.bin_height;
            const double x = r.x + (static_cast<double>(pw) + (static_cast<double>(ix) + 0.5) / static_cast<double>(r.samples_x)) * r.bin_width;
            const Bilinear b(y, x, height, width);
            for (std::size_t i = 0; i < 4; ++i) {
                const double v = b.weight[i] * static_cast<double>(plane[b.at[i]]);
                sum += v;
                best = std::max(best, v);
            }
        }
    const auto n = static_cast<double>(r.samples_y * r.samples_x);
    return static_cast<T>(n == 0 ? 0 : max ? best : sum / n);
}

}  // namespace

void eval_roi_align(EvalContext& c) {
    const Tensor &x = c.in(0), &rois = c.in(1);
    const Dims batch = ints_of(c, 2);
    require(c, x.rank() == 4 && rois.rank() == 2 && rois.dims[1] == 4 && static_cast<std::int64_t>(batch.size()) == rois.dims[0],
            "takes [batch, channels, height, width], [regions, 4] and [regions], not " + text(x.dims) + ", " + text(rois.dims) + " and [" + std::to_string(batch.size()) + "]");
    const std::int64_t out_h = c.node.integer("output_height", 1), out_w = c.node.integer("output_width", 1), sampling = c.node.integer("sampling_ratio", 0);
    const double scale = c.node.real("spatial_scale", 1);
    const bool half = c.node.version >= 16 && c.node.text("coordinate_transformation_mode", "half_pixel") == "half_pixel", max = c.node.text("mode", "avg") == "max";
    const std::int64_t channels = x.dims[1], height = x.dims[2], width = x.dims[3];
    Tensor out = blank(c, x.type, {rois.dims[0], channels, out_h, out_w});
    floating(c, x, [&](auto t) {
        using T = decltype(t);
        T* to = data<T>(out);
        for (std::int64_t r = 0; r < rois.dims[0]; ++r) {
            const std::int64_t b = batch[static_cast<std::size_t>(r)];
            require(c, b >= 0 && b < x.dims[0], "batch index " + std::to_string(b) + " lies outside [0," + std::to_string(x.dims[0]) + ")");
            const double shift = half ? 0.5 : 0;
            const double x0 = rois.number(r * 4) * scale - shift, y0 = rois.number(r * 4 + 1) * scale - shift;
            double w = rois.number(r * 4 + 2) * scale - shift - x0, h = rois.number(r * 4 + 3) * scale - shift - y0;
            if (!half) {
                w = std::max(w, 1.0);
                h = std::max(h, 1.0);
            }
            const double bin_h = h / static_cast<double>(out_h), bin_w = w / static_cast<double>(out_w);
            const Region region{y0, x0, bin_h, bin_w, sampling > 0 ? sampling : truncated(std::ceil(bin_h)), sampling > 0 ? sampling : truncated(std::ceil(bin_w))};
            for (std::int64_t ch = 0; ch < channels; ++ch)
                for (std::int64_t ph = 0; ph < out_h; ++ph)
                    for (std::int64_t pw = 0; pw < out_w; ++pw) *to++ = region_cell(data<T>(x) + (b * channels + ch) * height * width, region, ph, pw, height, width, max);
        }
    });
    c.set(0, std::move(out));
}

}  // namespace sfumato::fusion
