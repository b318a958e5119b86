// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "fusion/eval/contraction.h"

namespace sfumato::fusion {

bool advance(Dims& index, const Dims& dims) {
    for (std::size_t d = dims.size(); d-- > 0;) {
        if (++index[d] < dims[d]) return true;
        index[d] = 0;
    }
    return false;
}

std::int64_t Window::offset(const Dims& at, const Dims& k) const {
    std::int64_t o = 0;
    for (std::size_t d = 0; d < in.size(); ++d) {
        const std::int64_t x = at[d] * stride[d] - begin[d] + k[d] * dilation[d];
        if (x < 0 || x >= in[d]) return -1;
        o = o * in[d] + x;
    }
    return o;
}

namespace {

Dims list(const EvalContext& c, const char* name, std::size_t n, std::int64_t fallback, std::int64_t least) {
    const Dims v = c.node.integers(name).value_or(Dims(n, fallback));
    require(c, v.size() == n, std::string(name) + " has " + std::to_string(v.size()) + " values, " + std::to_string(n) + " are needed");
    for (const std::int64_t x : v) require(c, x >= least, std::string(name) + " " + text(v) + " has a value below " + std::to_string(least));
    return v;
}

}  // namespace

Window window_of(const EvalContext& c, const Dims& spatial, Dims kernel) {
    const std::size_t n = spatial.size();
    Window w;
    w.in = spatial;
    w.kernel = std::move(kernel);
    require(c, w.kernel.size() == n, "a kernel of shape " + text(w.kernel) + " does not fit spatial axes " + text(spatial));
    w.stride = list(c, "strides", n, 1, 1);
    w.dilation = list(c, "dilations", n, 1, 1);
    const Dims pads = list(c, "pads", 2 * n, 0, INT64_MIN / 4);
    w.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(n));
    w.end.assign(pads.begin() + static_cast<std::ptrdiff_t>(n), pads.end());
    const std::string mode = c.node.text("auto_pad", "NOTSET");
    const bool ceil_mode = c.node.integer("ceil_mode", 0) != 0;
    require(c, mode == "NOTSET" || mode == "VALID" || mode == "SAME_UPPER" || mode == "SAME_LOWER",
            "auto_pad is " + mode + ", allowed are NOTSET, VALID, SAME_UPPER and SAME_LOWER");
    for (std::size_t d = 0; d < n; ++d) {
        const std::int64_t reach = (w.kernel[d] - 1) * w.dilation[d] + 1;
        if (mode == "VALID") w.begin[d] = w.end[d] = 0;
        if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
            w.out.push_back((w.in[d] + w.stride[d] - 1) / w.stride[d]);
            const std::int64_t pad = std::max<std::int64_t>(0, (w.out[d] - 1) * w.stride[d] + reach - w.in[d]);
            w.begin[d] = mode == "SAME_UPPER" ? pad / 2 : pad - pad / 2;
            w.end[d] = pad - w.begin[d];
            continue;
        }
        const std::int64_t room = w.in[d] + w.begin[d] + w.end[d] - reach;
        require(c, room >= 0, "a kernel that reaches over " + std::to_string(reach) + " elements does not fit axis " + std::to_string(d + 2) + " of " + std::to_string(w.in[d]) +
                                  " elements padded by " + std::to_string(w.begin[d]) + " and " + std::to_string(w.end[d]));
        std::int64_t out = (ceil_mode ? (room + w.stride[d] - 1) / w.stride[d] : room / w.stride[d]) + 1;
        if (ceil_mode && (out - 1) * w.stride[d] >= w.in[d] + w.begin[d]) --out;  // a window that starts behind the data sees none of it
        w.out.push_back(out);
    }
    return w;
}

}  // namespace sfumato::fusion
