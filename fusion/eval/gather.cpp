// SPDX-License-Identifier: Apache-2.0
// Operators that read or write by index tensors.
#include <algorithm>
#include <numeric>

#include "fusion/eval/loops.h"
#include "fusion/rules.h"

namespace sfumato::fusion {

namespace {

std::int64_t index_in(const EvalContext& c, std::int64_t i, std::int64_t n) {
    if (i < -n || i >= n) c.fail("index " + std::to_string(i) + " lies outside an axis of " + std::to_string(n) + " elements");
    return i < 0 ? i + n : i;
}

/// What a scatter does with the value that is there.
enum class Merge : std::uint8_t { none, add, mul, max, min };
Merge merge_of(const EvalContext& c) {
    constexpr std::array<std::string_view, 5> kNames{"none", "add", "mul", "max", "min"};
    const std::string asked = c.node.text("reduction", "none");
    const auto it = std::find(kNames.begin(), kNames.end(), asked);
    require(c, it != kNames.end(), "reduction is " + asked + ", allowed are none, add, mul, max and min");
    return static_cast<Merge>(it - kNames.begin());
}
template <class T>
void merge(const EvalContext& c, Merge how, T& to, const T& from) {
    if constexpr (std::is_same_v<T, std::string>) {
        require(c, how == Merge::none, "strings cannot be reduced");
        to = from;
    } else {
        switch (how) {
            case Merge::none: to = from; break;
            case Merge::add: to = plus(to, from); break;
            case Merge::mul: to = times(to, from); break;
            case Merge::max: to = std::max(to, from); break;
            case Merge::min: to = std::min(to, from); break;
        }
    }
}

void same_storage(const EvalContext& c, const Tensor& a, const Tensor& b) {
    require(c, a.type == b.type, "its data and updates are " + std::string(name(a.type)) + " and " + std::string(name(b.type)));
}

/// Offsets into `dims` that rows of index tuples select; each row has `width` indices for the axes from `first` on.
struct Tuples {
    std::int64_t rows = 0, slice = 1;  ///< slice: elements that one tuple selects
    std::vector<std::int64_t> offsets;
};
Tuples tuples_of(const EvalContext& c, const Tensor& indices, const Dims& dims, std::int64_t batch) {
    require(c, indices.rank() >= 1 && indices.dims.back() + batch <= static_cast<std::int64_t>(dims.size()),
            "indices of shape " + text(indices.dims) + " do not fit data of shape " + text(dims));
    const std::int64_t width = indices.dims.back();
    const Dims strides = strides_of(dims);
    Tuples t;
    for (std::size_t d = static_cast<std::size_t>(batch + width); d < dims.size(); ++d) t.slice *= dims[d];
    std::int64_t batches = 1, per_batch = 1;
    for (std::int64_t d = 0; d < batch; ++d) batches *= dims[static_cast<std::size_t>(d)];
    for (std::size_t d = static_cast<std::size_t>(batch); d < dims.size(); ++d) per_batch *= dims[d];
    t.rows = count({indices.dims.begin(), indices.dims.end() - 1});
    const std::int64_t rows_per_batch = batches == 0 ? 0 : t.rows / batches;
    const std::int64_t* index = indices.ints().data();
    for (std::int64_t r = 0; r < t.rows; ++r) {
        std::int64_t at = rows_per_batch == 0 ? 0 : r / rows_per_batch * per_batch;
        for (std::int64_t j = 0; j < width; ++j) {
            const auto axis = static_cast<std::size_t>(batch + j);
            at += index_in(c, index[r * width + j], dims[axis]) * strides[axis];
        }
        t.offsets.push_back(at);
    }
    return t;
}

}  // namespace

void eval_gather(EvalContext& c) {
    const Tensor& x = c.in(0);
    const Dims index = ints_of(c, 1);
    const std::int64_t axis = axis_of(c, c.node.integer("axis", 0), x.rank());
    const Lanes lanes(x.dims, axis);
    Dims dims(x.dims.begin(), x.dims.begin() + axis);
    dims.insert(dims.end(), c.in(1).dims.begin(), c.in(1).dims.end());
    dims.insert(dims.end(), x.dims.begin() + axis + 1, x.dims.end());
    Tensor out = blank(c, x.type, std::move(dims));
    Dims rows;
    for (const std::int64_t i : index) rows.push_back(index_in(c, i, lanes.n));
    stored(x, [&](auto tag) {
        using T = decltype(tag);
        T* to = data<T>(out);
        for (std::int64_t o = 0; o < lanes.outer; ++o)
            for (const std::int64_t i : rows) to = std::copy_n(data<T>(x) + (o * lanes.n + i) * lanes.inner, lanes.inner, to);
    });
    c.set(0, std::move(out));
}

void eval_gather_elements(EvalContext& c) {
    const Tensor &x = c.in(0), &indices = c.in(1);
    const std::int64_t axis = axis_of(c, c.node.integer("axis", 0), x.rank());
    const auto a = static_cast<std::size_t>(axis);
    const Dims index = ints_of(c, 1);
    require(c, indices.rank() == x.rank(), "indices of shape " + text(indices.dims) + " do not fit data of shape " + text(x.dims));
    for (std::size_t d = 0; d < x.dims.size(); ++d)
        require(c, d == a || indices.dims[d] <= x.dims[d], "indices of shape " + text(indices.dims) + " do not fit data of shape " + text(x.dims));
    Tensor out = blank(c, x.type, indices.dims);
    Dims strides = strides_of(x.dims);
    const std::int64_t along = std::exchange(strides[a], 0);
    stored(x, [&](auto tag) {
        using T = decltype(tag);
        T* to = data<T>(out);
        const std::int64_t* i = index.data();
        each<1>(indices.dims, {strides}, [&](const auto& at) { *to++ = data<T>(x)[at[0] + index_in(c, *i++, x.dims[a]) * along]; });
    });
    c.set(0, std::move(out));
}

void eval_gather_nd(EvalContext& c) {
    const Tensor &x = c.in(0), &indices = c.in(1);
    const std::int64_t batch = c.node.integer("batch_dims", 0);
    ints_of(c, 1);
    require(c, batch >= 0 && batch < x.rank() && batch < indices.rank() && std::equal(x.dims.begin(), x.dims.begin() + batch, indices.dims.begin()),
            "batch_dims is " + std::to_string(batch) + " for data " + text(x.dims) + " and indices " + text(indices.dims));
    const Tuples t = tuples_of(c, indices, x.dims, batch);
    Dims dims(indices.dims.begin(), indices.dims.end() - 1);
    dims.insert(dims.end(), x.dims.begin() + batch + indices.dims.back(), x.dims.end());
    Tensor out = blank(c, x.type, std::move(dims));
    stored(x, [&](auto tag) {
        using T = decltype(tag);
        T* to = data<T>(out);
        for (const std::int64_t at : t.offsets) to = std::copy_n(data<T>(x) + at, t.slice, to);
    });
    c.set(0, std::move(out));
}

void eval_scatter_elements(EvalContext& c) {
    const Tensor &x = c.in(0), &indices = c.in(1), &updates = c.in(2);
    const std::int64_t axis = axis_of(c, c.node.integer("axis", 0), x.rank());
    const auto a = static_cast<std::size_t>(axis);
    const Dims index = ints_of(c, 1);
    same_storage(c, x, updates);
    require(c, indices.dims == updates.dims && indices.rank() == x.rank(),
            "indices of shape " + text(indices.dims) + " do not fit updates " + text(updates.dims) + " and data " + text(x.dims));
    for (std::size_t d = 0; d < x.dims.size(); ++d)
        require(c, d == a || indices.dims[d] <= x.dims[d], "indices of shape " + text(indices.dims) + " do not fit data of shape " + text(x.dims));
    const Merge how = merge_of(c);
    Tensor out = x;
    Dims strides = strides_of(x.dims);
    const std::int64_t along = std::exchange(strides[a], 0);
    stored(x, [&](auto tag) {
        using T = decltype(tag);
        const T* from = data<T>(updates);
        const std::int64_t* i = index.data();
        each<1>(indices.dims, {strides}, [&](const auto& at) { merge(c, how, data<T>(out)[at[0] + index_in(c, *i++, x.dims[a]) * along], *from++); });
    });
    c.set(0, std::move(out));
}

void eval_scatter_nd(EvalContext& c) {
    const Tensor &x = c.in(0), &updates = c.in(2);
    ints_of(c, 1);
    same_storage(c, x, updates);
    const Tuples t = tuples_of(c, c.in(1), x.dims, 0);
    require(c, updates.size() == t.rows * t.slice, "updates of shape " + text(updates.dims) + " do not fit indices " + text(c.in(1).dims) + " and data " + text(x.dims));
    const Merge how = merge_of(c);
    Tensor out = x;
    stored(x, [&](auto tag) {
        using T = decltype(tag);
        const T* from = data<T>(updates);
        for (const std::int64_t at : t.offsets)
            for (std::int64_t j = 0; j < t.slice; ++j) merge(c, how, data<T>(out)[at + j], *from++);
    });
    c.set(0, std::move(out));
}

void eval_reverse_sequence(EvalContext& c) {
    const Tensor& x = c.in(0);
    const std::int64_t batch = axis_of(c, c.node.integer("batch_axis", 1), x.rank(), "batch_axis"), time = axis_of(c, c.node.integer("time_axis", 0), x.rank(), "time_axis");
    const Dims lengths = ints_of(c, 1), strides = strides_of(x.dims);
    const auto b = static_cast<std::size_t>(batch), t = static_cast<std::size_t>(time);
    require(c, batch != time && static_cast<std::int64_t>(lengths.size()) == x.dims[b], std::to_string(lengths.size()) + " lengths do not fit batch axis " + std::to_string(batch) + " of " + text(x.dims));
    for (const std::int64_t n : lengths) require(c, n >= 0 && n <= x.dims[t], "length " + std::to_string(n) + " lies outside 0 to " + std::to_string(x.dims[t]));
    Tensor out = x;
    stored(x, [&](auto tag) {
        using T = decltype(tag);
        for (std::int64_t i = 0; i < x.size(); ++i) {
            const std::int64_t n = lengths[static_cast<std::size_t>(i / strides[b] % x.dims[b])], at = i / strides[t] % x.dims[t];
            if (at < n) data<T>(out)[i] = data<T>(x)[i + (n - 1 - 2 * at) * strides[t]];
        }
    });
    c.set(0, std::move(out));
}

void eval_trilu(EvalContext& c) {
    const Tensor& x = c.in(0);
    require(c, x.rank() >= 2, "takes matrices, not " + text(x.dims));
    const bool upper = c.node.integer("upper", 1) != 0;
    const std::int64_t k = c.has(1) ? integer_of(c, 1) : 0, rows = x.dims[x.dims.size() - 2], columns = x.dims.back();
    Tensor out = x;
    numeric(c, x, [&](auto tag) {
        using T = decltype(tag);
        for (std::int64_t i = 0; i < x.size(); ++i) {
            const std::int64_t r = i / columns % rows, col = i % columns;
            if (upper ? col - r < k : col - r > k) data<T>(out)[i] = T(0);
        }
    });
    c.set(0, std::move(out));
}

void eval_compress(EvalContext& c) {
    Tensor x = c.in(0);
    const Tensor& condition = c.in(1);
    require(c, condition.type == ElemType::boolean && condition.rank() == 1, "its condition must be a list of bool");
    std::int64_t axis = 0;
    if (c.node.has("axis"))
        axis = axis_of(c, c.node.integer("axis", 0), x.rank());
    else
        x.dims = {x.size()};
    const Lanes lanes(x.dims, axis);
    require(c, condition.size() <= lanes.n, "a condition of " + std::to_string(condition.size()) + " values is longer than axis " + std::to_string(axis) + " of " + text(x.dims));
    Dims kept;
    for (std::int64_t i = 0; i < condition.size(); ++i)
        if (condition.ints()[static_cast<std::size_t>(i)]) kept.push_back(i);
    Dims dims = x.dims;
    dims[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(kept.size());
    Tensor out = blank(c, x.type, dims);
    stored(x, [&](auto tag) {
        using T = decltype(tag);
        T* to = data<T>(out);
        for (std::int64_t o = 0; o < lanes.outer; ++o)
            for (const std::int64_t i : kept) to = std::copy_n(data<T>(x) + (o * lanes.n + i) * lanes.inner, lanes.inner, to);
    });
    c.set(0, std::move(out));
}

void eval_one_hot(EvalContext& c) {
    const Tensor &indices = c.in(0), &values = c.in(2);
    const std::int64_t depth = truncated(scalar_of(c, 1)), axis = axis_of(c, c.node.integer("axis", -1), indices.rank() + 1);
    require(c, values.size() == 2 && depth >= 0, "depth is " + std::to_string(depth) + " with " + std::to_string(values.size()) + " values; two values, off and on, are needed");
    Dims dims = indices.dims;
    dims.insert(dims.begin() + axis, depth);
    Tensor out = blank(c, values.type, dims);
    const Lanes lanes(dims, axis);
    stored(values, [&](auto tag) {
        using T = decltype(tag);
        std::fill_n(data<T>(out), out.size(), data<T>(values)[0]);
        for (std::int64_t i = 0; i < indices.size(); ++i) {
            std::int64_t hot = truncated(indices.number(i));
            if (hot < -depth || hot >= depth) continue;  // no place: all off
            if (hot < 0) hot += depth;
            data<T>(out)[(i / lanes.inner * depth + hot) * lanes.inner + i % lanes.inner] = data<T>(values)[1];
        }
    });
    c.set(0, std::move(out));
}

void eval_eye_like(EvalContext& c) {
    const Tensor& x = c.in(0);
    require(c, x.rank() == 2, "takes a matrix, not " + text(x.dims));
    const auto type = type_of(c, c.node.integer("dtype", static_cast<std::int64_t>(x.type)));
    const std::int64_t k = c.node.integer("k", 0);
    Tensor out = blank(c, type, x.dims);
    numeric(c, out, [&](auto tag) {
        for (std::int64_t r = 0; r < x.dims[0]; ++r)
            if (r + k >= 0 && r + k < x.dims[1]) data<decltype(tag)>(out)[r * x.dims[1] + r + k] = decltype(tag)(1);
    });
    c.set(0, std::move(out));
}

}  // namespace sfumato::fusion
