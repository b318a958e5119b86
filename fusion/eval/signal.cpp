// SPDX-License-Identifier: Apache-2.0
// Windows, Fourier transforms and the mel scale, from their definitions.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "fusion/eval/loops.h"
#include "fusion/rules.h"

namespace sfumato::fusion {

namespace {

constexpr double kTurn = 2 * std::numbers::pi;

ElemType output_type(const EvalContext& c) { return type_of(c, c.node.integer("output_datatype", static_cast<std::int64_t>(ElemType::f32))); }

/// sum of x[j] exp(-i 2 pi j k / n), or its inverse, for real or complex x of any length, zeros behind it.
struct Fourier {
    std::int64_t n;
    bool inverse;
    std::vector<double> cosine, sine;
    Fourier(std::int64_t length, bool backward) : n(length), inverse(backward) {
        for (std::int64_t i = 0; i < n; ++i) {
            cosine.push_back(std::cos(kTurn * static_cast<double>(i) / static_cast<double>(n)));
            sine.push_back(std::sin(kTurn * static_cast<double>(i) / static_cast<double>(n)) * (inverse ? 1 : -1));
        }
    }
    /// re(j) and im(j) give the input below `given`; the result of frequency k.
    template <class Re, class Im>
    std::pair<double, double> at(std::int64_t k, std::int64_t given, Re re, Im im) const {
        double a = 0, b = 0;
        for (std::int64_t j = 0; j < std::min(n, given); ++j) {
            const auto phase = static_cast<std::size_t>(static_cast<__int128>(j) * k % n);
            const double x = re(j), y = im(j);
            a += x * cosine[phase] - y * sine[phase];
            b += x * sine[phase] + y * cosine[phase];
        }
        const double scale = inverse ? 1 / static_cast<double>(n) : 1;
        return {a * scale, b * scale};
    }
};

}  // namespace

void eval_window(EvalContext& c) {
    const std::int64_t size = integer_of(c, 0);
    require(c, size >= 0, "its size is " + std::to_string(size));
    const double period = static_cast<double>(c.node.integer("periodic", 1) != 0 ? size : size - 1);
    Tensor out = blank(c, output_type(c), {size});
    numeric(c, out, [&](auto tag) {
        for (std::int64_t i = 0; i < size; ++i) {
            const double a = period == 0 ? 0 : kTurn * static_cast<double>(i) / period;
            double w = 1;
            if (c.node.op == Op::HannWindow) w = 0.5 - 0.5 * std::cos(a);
            if (c.node.op == Op::HammingWindow) w = 25.0 / 46 - 21.0 / 46 * std::cos(a);
            if (c.node.op == Op::BlackmanWindow) w = 0.42 - 0.5 * std::cos(a) + 0.08 * std::cos(2 * a);
            data<decltype(tag)>(out)[i] = static_cast<decltype(tag)>(w);
        }
    });
    c.set(0, std::move(out));
}

void eval_mel_weight_matrix(EvalContext& c) {
    const std::int64_t bins = integer_of(c, 0), length = integer_of(c, 1), rate = integer_of(c, 2), spectrum = length / 2 + 1;
    const double low = scalar_of(c, 3), high = scalar_of(c, 4);
    require(c, bins > 0 && length > 0 && rate > 0, "takes positive num_mel_bins, dft_length and sample_rate");
    const auto mel = [](double hz) { return 2595 * std::log10(1 + hz / 700); };
    std::vector<std::int64_t> edges;
    const double step = (mel(high) - mel(low)) / static_cast<double>(bins + 2);
    for (std::int64_t i = 0; i < bins + 2; ++i) {
        const double hz = 700 * (std::pow(10, (static_cast<double>(i) * step + mel(low)) / 2595) - 1);
        edges.push_back(truncated(std::floor(static_cast<double>(length + 1) * hz / static_cast<double>(rate))));
    }
    Tensor out = blank(c, output_type(c), {spectrum, bins});
    numeric(c, out, [&](auto tag) {
        using T = decltype(tag);
        const auto put = [&](std::int64_t row, std::int64_t bin, double v) {
            if (row >= 0 && row < spectrum) data<T>(out)[row * bins + bin] = static_cast<T>(v);
        };
        for (std::int64_t b = 0; b < bins; ++b) {
            const auto at = static_cast<std::size_t>(b);
            const std::int64_t first = edges[at], centre = edges[at + 1], last = edges[at + 2];
            if (centre == first) put(centre, b, 1);
            for (std::int64_t j = first; centre > first && j <= centre; ++j) put(j, b, static_cast<double>(j - first) / static_cast<double>(centre - first));
            for (std::int64_t j = centre; last > centre && j < last; ++j) put(j, b, static_cast<double>(last - j) / static_cast<double>(last - centre));
        }
    });
    c.set(0, std::move(out));
}

void eval_dft(EvalContext& c) {
    const Tensor& x = c.in(0);
    require(c, x.rank() >= 2 && (x.dims.back() == 1 || x.dims.back() == 2), "takes [batch, ..., 1 or 2], not " + text(x.dims));
    const std::int64_t asked = c.has(2) ? integer_of(c, 2) : c.node.integer("axis", c.node.version < 20 ? 1 : -2);
    const std::int64_t axis = axis_of(c, asked, x.rank()), parts = x.dims.back();
    require(c, axis < x.rank() - 1, "axis " + std::to_string(axis) + " is that of real and imaginary parts");
    const bool inverse = c.node.integer("inverse", 0) != 0, onesided = c.node.integer("onesided", 0) != 0;
    const Lanes lanes({x.dims.begin(), x.dims.end() - 1}, axis);
    const std::int64_t n = c.has(1) ? integer_of(c, 1) : lanes.n, kept = onesided ? n / 2 + 1 : n;
    require(c, n > 0, "dft_length is " + std::to_string(n) + ", it must be positive");
    Dims dims = x.dims;
    dims[static_cast<std::size_t>(axis)] = kept;
    dims.back() = 2;
    Tensor out = blank(c, x.type, dims);
    const Fourier fourier(n, inverse);
    floating(c, x, [&](auto tag) {
        using T = decltype(tag);
        for (std::int64_t o = 0; o < lanes.outer; ++o)
            for (std::int64_t i = 0; i < lanes.inner; ++i) {
                const auto place = [&](std::int64_t j) { return ((o * lanes.n + j) * lanes.inner + i) * parts; };
                for (std::int64_t k = 0; k < kept; ++k) {
                    const auto [re, im] = fourier.at(
                        k, lanes.n, [&](std::int64_t j) { return static_cast<double>(data<T>(x)[place(j)]); },
                        [&](std::int64_t j) { return parts == 2 ? static_cast<double>(data<T>(x)[place(j) + 1]) : 0.0; });
                    T* to = data<T>(out) + ((o * kept + k) * lanes.inner + i) * 2;
                    to[0] = static_cast<T>(re);
                    to[1] = static_cast<T>(im);
                }
            }
    });
    c.set(0, std::move(out));
}

void eval_stft(EvalContext& c) {
    const Tensor& x = c.in(0);
    require(c, x.rank() >= 2, "takes [batch, length, 1 or 2], not " + text(x.dims));
    const std::int64_t parts = x.rank() > 2 ? x.dims.back() : 1, length = x.dims[1], step = integer_of(c, 1);
    require(c, c.has(2) || c.has(3), "needs a window or a frame_length");
    const std::int64_t frame = c.has(3) ? integer_of(c, 3) : c.in(2).size();
    require(c, step > 0 && frame > 0 && frame <= length && (!c.has(2) || c.in(2).size() == frame),
            "frame_step " + std::to_string(step) + " and frame_length " + std::to_string(frame) + " do not fit a signal of " + std::to_string(length) + " and its window");
    const std::int64_t frames = (length - frame) / step + 1, kept = c.node.integer("onesided", 1) != 0 ? frame / 2 + 1 : frame;
    Tensor out = blank(c, x.type, {x.dims[0], frames, kept, 2});
    const Fourier fourier(frame, false);
    floating(c, x, [&](auto tag) {
        using T = decltype(tag);
        T* to = data<T>(out);
        for (std::int64_t b = 0; b < x.dims[0]; ++b)
            for (std::int64_t f = 0; f < frames; ++f) {
                const auto sample = [&](std::int64_t j, std::int64_t part) {
                    const double w = c.has(2) ? c.in(2).number(j) : 1;
                    return w * static_cast<double>(data<T>(x)[(b * length + f * step + j) * parts + part]);
                };
                for (std::int64_t k = 0; k < kept; ++k) {
                    const auto [re, im] = fourier.at(
                        k, frame, [&](std::int64_t j) { return sample(j, 0); }, [&](std::int64_t j) { return parts == 2 ? sample(j, 1) : 0.0; });
                    *to++ = static_cast<T>(re);
                    *to++ = static_cast<T>(im);
                }
            }
    });
    c.set(0, std::move(out));
}

}  // namespace sfumato::fusion
