// SPDX-License-Identifier: Apache-2.0
// Search, order and selection.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "fusion/eval/loops.h"
#include "fusion/rules.h"

namespace sfumato::fusion {

namespace {

/// An order of all values: NaN is the largest.
template <class T>
bool before(const T& a, const T& b) {
    if constexpr (std::is_floating_point_v<T>)
        if (a != a || b != b) return a == a && b != b;
    return a < b;
}

}  // namespace

void eval_top_k(EvalContext& c) {
    const Tensor& x = c.in(0);
    const std::int64_t axis = axis_of(c, c.node.integer("axis", -1), x.rank()), k = c.node.has("k") ? c.node.integer("k", 0) : integer_of(c, 1);
    const bool largest = c.node.integer("largest", 1) != 0;
    const Lanes lanes(x.dims, axis);
    require(c, k >= 0 && k <= lanes.n, "k is " + std::to_string(k) + ", axis " + std::to_string(axis) + " of " + text(x.dims) + " has " + std::to_string(lanes.n) + " elements");
    Dims dims = x.dims;
    dims[static_cast<std::size_t>(axis)] = k;
    Tensor values = blank(c, x.type, dims), indices = blank(c, ElemType::i64, dims);
    numeric(c, x, [&](auto tag) {
        using T = decltype(tag);
        std::vector<std::int64_t> order(static_cast<std::size_t>(lanes.n));
        std::int64_t lane = 0;
        lanes.each([&](std::int64_t first) {
            const T* from = data<T>(x) + first;
            std::iota(order.begin(), order.end(), 0);
            std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](std::int64_t a, std::int64_t b) {
                const T &p = from[a * lanes.inner], &q = from[b * lanes.inner];
                if (largest ? before(q, p) : before(p, q)) return true;
                if (largest ? before(p, q) : before(q, p)) return false;
                return a < b;  // of equals the first
            });
            const std::int64_t to = lane / lanes.inner * k * lanes.inner + lane % lanes.inner;
            for (std::int64_t j = 0; j < k; ++j) {
                data<T>(values)[to + j * lanes.inner] = from[order[static_cast<std::size_t>(j)] * lanes.inner];
                data<std::int64_t>(indices)[to + j * lanes.inner] = order[static_cast<std::size_t>(j)];
            }
            ++lane;
        });
    });
    c.set(0, std::move(values));
    c.set(1, std::move(indices));
}

void eval_non_zero(EvalContext& c) {
    const Tensor& x = c.in(0);
    std::vector<std::int64_t> found;
    numeric(c, x, [&](auto tag) {
        for (std::int64_t i = 0; i < x.size(); ++i)
            if (data<decltype(tag)>(x)[i] != 0) found.push_back(i);
    });
    const auto n = static_cast<std::int64_t>(found.size());
    Tensor out = blank(c, ElemType::i64, {x.rank(), n});
    const Dims strides = strides_of(x.dims);
    for (std::int64_t d = 0; d < x.rank(); ++d)
        for (std::int64_t i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(d);
            data<std::int64_t>(out)[d * n + i] = found[static_cast<std::size_t>(i)] / strides[at] % x.dims[at];
        }
    c.set(0, std::move(out));
}

namespace {

/// Rows of a matrix, each once: which rows stand for them, where every row went, how often each stands.
struct Distinct {
    std::vector<std::int64_t> first, inverse, counts;
};
template <class T>
Distinct distinct(const T* x, std::int64_t rows, std::int64_t width, bool sorted) {
    const auto less = [&](std::int64_t a, std::int64_t b) { return std::lexicographical_compare(x + a * width, x + (a + 1) * width, x + b * width, x + (b + 1) * width, before<T>); };
    std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), less);
    std::vector<std::vector<std::int64_t>> classes;  // equal rows, in the order of values
    for (const std::int64_t r : order)
        if (classes.empty() || less(classes.back()[0], r))
            classes.push_back({r});
        else
            classes.back().push_back(r);
    if (!sorted) std::sort(classes.begin(), classes.end(), [](const auto& a, const auto& b) { return a[0] < b[0]; });
    Distinct d;
    d.inverse.resize(static_cast<std::size_t>(rows));
    for (const auto& members : classes) {
        for (const std::int64_t r : members) d.inverse[static_cast<std::size_t>(r)] = static_cast<std::int64_t>(d.first.size());
        d.first.push_back(members[0]);
        d.counts.push_back(static_cast<std::int64_t>(members.size()));
    }
    return d;
}

}  // namespace

void eval_unique(EvalContext& c) {
    const Tensor& x = c.in(0);
    const bool along = c.node.has("axis");
    Tensor rows = x;
    Dims perm(x.dims.size());
    std::iota(perm.begin(), perm.end(), 0);
    if (along) {
        const std::int64_t axis = axis_of(c, c.node.integer("axis", 0), x.rank());
        std::swap(perm[0], perm[static_cast<std::size_t>(axis)]);  // its own inverse
        rows = transposed(x, perm);
    } else {
        rows.dims = {x.size()};
    }
    const std::int64_t n = rows.dims[0], width = Lanes(rows.dims, 0).inner;
    Distinct d;
    stored(rows, [&](auto tag) {
        using T = decltype(tag);
        d = distinct(data<T>(rows), n, width, c.node.integer("sorted", 1) != 0);
        Dims dims = rows.dims;
        dims[0] = static_cast<std::int64_t>(d.first.size());
        Tensor out = blank(c, x.type, dims);
        T* to = data<T>(out);
        for (const std::int64_t r : d.first) to = std::copy_n(data<T>(rows) + r * width, width, to);
        c.set(0, along ? transposed(out, perm) : std::move(out));
    });
    const auto list = [](std::vector<std::int64_t> v) {
        const auto size = static_cast<std::int64_t>(v.size());
        return int_tensor(std::move(v), {size});
    };
    c.set(1, list(d.first));
    c.set(2, list(d.inverse));
    c.set(3, list(d.counts));
}

namespace {

struct Box {
    double y0, x0, y1, x1;
    double area() const { return (y1 - y0) * (x1 - x0); }
};

Box box_at(const Tensor& boxes, std::int64_t at, bool centre) {
    const double a = boxes.number(at), b = boxes.number(at + 1), p = boxes.number(at + 2), q = boxes.number(at + 3);
    if (centre) return {b - q / 2, a - p / 2, b + q / 2, a + p / 2};
    return {std::min(a, p), std::min(b, q), std::max(a, p), std::max(b, q)};
}

double overlap(const Box& a, const Box& b) {
    const double h = std::min(a.y1, b.y1) - std::max(a.y0, b.y0), w = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
    if (h <= 0 || w <= 0) return 0;
    return h * w / (a.area() + b.area() - h * w);
}

}  // namespace

void eval_non_max_suppression(EvalContext& c) {
    const Tensor &boxes = c.in(0), &scores = c.in(1);
    require(c, boxes.rank() == 3 && boxes.dims[2] == 4 && scores.rank() == 3 && scores.dims[0] == boxes.dims[0] && scores.dims[2] == boxes.dims[1],
            "takes boxes [batches, n, 4] and scores [batches, classes, n], not " + text(boxes.dims) + " and " + text(scores.dims));
    const std::int64_t most = c.has(2) ? integer_of(c, 2) : 0, n = boxes.dims[1];
    const double threshold = c.has(3) ? scalar_of(c, 3) : 0;
    const bool centre = c.node.integer("center_point_box", 0) != 0;
    std::vector<std::int64_t> selected;
    for (std::int64_t b = 0; b < scores.dims[0]; ++b)
        for (std::int64_t k = 0; k < scores.dims[1]; ++k) {
            const std::int64_t base = (b * scores.dims[1] + k) * n;
            std::vector<std::int64_t> order;
            for (std::int64_t i = 0; i < n; ++i)
                if (!c.has(4) || scores.number(base + i) > scalar_of(c, 4)) order.push_back(i);
            std::stable_sort(order.begin(), order.end(), [&](std::int64_t p, std::int64_t q) { return before(scores.number(base + q), scores.number(base + p)); });
            std::vector<Box> kept;
            for (const std::int64_t i : order) {
                if (static_cast<std::int64_t>(kept.size()) >= most) break;
                const Box box = box_at(boxes, (b * n + i) * 4, centre);
                if (std::any_of(kept.begin(), kept.end(), [&](const Box& other) { return overlap(box, other) > threshold; })) continue;
                kept.push_back(box);
                selected.insert(selected.end(), {b, k, i});
            }
        }
    const auto rows = static_cast<std::int64_t>(selected.size() / 3);
    c.set(0, int_tensor(std::move(selected), {rows, 3}));
}

void eval_det(EvalContext& c) {
    const Tensor& x = c.in(0);
    require(c, x.rank() >= 2 && x.dims.back() == x.dims[x.dims.size() - 2], "takes square matrices, not " + text(x.dims));
    const std::int64_t n = x.dims.back();
    Tensor out = blank(c, x.type, {x.dims.begin(), x.dims.end() - 2});
    for (std::int64_t m = 0; m < out.size(); ++m) {
        std::vector<double> a(static_cast<std::size_t>(n * n));
        const auto at = [&](std::int64_t i, std::int64_t j) -> double& { return a[static_cast<std::size_t>(i * n + j)]; };
        for (std::int64_t i = 0; i < n * n; ++i) a[static_cast<std::size_t>(i)] = x.number(m * n * n + i);
        double det = 1;
        for (std::int64_t col = 0; col < n; ++col) {
            std::int64_t pivot = col;
            for (std::int64_t r = col + 1; r < n; ++r)
                if (std::abs(at(r, col)) > std::abs(at(pivot, col))) pivot = r;
            if (pivot != col) {
                det = -det;
                for (std::int64_t j = 0; j < n; ++j) std::swap(at(col, j), at(pivot, j));
            }
            det *= at(col, col);
            if (at(col, col) == 0) break;
            for (std::int64_t r = col + 1; r < n; ++r) {
                const double f = at(r, col) / at(col, col);
                for (std::int64_t j = col; j < n; ++j) at(r, j) -= f * at(col, j);
            }
        }
        floating(c, out, [&](auto tag) { data<decltype(tag)>(out)[m] = static_cast<decltype(tag)>(det); });
    }
    c.set(0, std::move(out));
}

}  // namespace sfumato::fusion
