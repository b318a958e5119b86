// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the evaluation rules share: shapes and strides, one odometer over any number of strided operands, typed dispatch on a tensor's storage,
// and loops over one axis. Private to fusion/eval/.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fusion/interpreter.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

using Dims = std::vector<std::int64_t>;

std::int64_t count(const Dims&);
Dims strides_of(const Dims&);  ///< row-major, in elements
std::string text(const Dims&);  ///< "[2,3]"
/// Adds to a product of extents; more elements than a host can hold fails naming the node.
std::int64_t checked_count(const EvalContext&, const Dims&);
/// -rank <= axis < rank, made non-negative; `what` names the attribute or input.
std::int64_t axis_of(const EvalContext&, std::int64_t axis, std::int64_t rank, const char* what = "axis");
/// The same for an axis before which a shape is cut in two: `rank` is allowed, and negative ones count from the rank all the same.
std::int64_t cut_of(const EvalContext&, std::int64_t axis, std::int64_t rank);
Dims axes_of(const EvalContext&, Dims axes, std::int64_t rank);  ///< each as above; a repeated axis fails
Dims broadcast(const EvalContext&, const std::vector<const Dims*>&);
Dims broadcast_strides(const Dims& from, const Dims& to);  ///< 0 where `from` is 1 or has no axis

/// A tensor of zeros (empty strings) stored as the run's precision says.
Tensor blank(const EvalContext&, ElemType, Dims);
/// The same elements in another storage or class: floating to double and back, integers to floating. Not for strings.
Tensor converted(const EvalContext&, const Tensor&, ElemType);
/// Integers of an input, whatever its integer type.
Dims ints_of(const EvalContext&, std::size_t input);
/// A list that is an attribute in old opsets and an input in new ones.
std::optional<Dims> list_of(const EvalContext&, const char* attribute, std::size_t input);
double scalar_of(const EvalContext&, std::size_t input);
std::int64_t integer_of(const EvalContext&, std::size_t input);
inline bool wanted(const EvalContext& c, std::size_t output) { return output < c.node.outputs.size() && c.node.outputs[output] != kNone; }
void require(const EvalContext&, bool ok, const std::string& what);

/// The type of an ONNX type number that the interpreter has values of.
ElemType type_of(const EvalContext&, std::int64_t number);

/// Rounded toward zero, clamped to 64 bits; NaN is 0.
std::int64_t truncated(double);
std::int64_t saturated(std::int64_t, ElemType);  ///< clamped to the type's range
std::int64_t wrapped(std::int64_t, ElemType);    ///< the type's low bits
float round_f16(float);
float round_bf16(float);

/// Sums and products; those of integers wrap.
template <class T>
T plus(T a, T b) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else
        return a + b;
}
template <class T>
T times(T a, T b) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    else
        return a * b;
}

template <class T>
struct StorageOf {
    using type = T;
};
template <>
struct StorageOf<std::uint64_t> {
    using type = std::int64_t;
};
/// Elements as T: float, double, int64, uint64 (bit for bit the same storage as int64), string.
template <class T>
const T* data(const Tensor& t) {
    return reinterpret_cast<const T*>(std::get<std::vector<typename StorageOf<T>::type>>(t.data).data());
}
template <class T>
T* data(Tensor& t) {
    return reinterpret_cast<T*>(std::get<std::vector<typename StorageOf<T>::type>>(t.data).data());
}

/// Calls f(T{}) for the storage of t: float, double, uint64 for u64, int64 for the other integers and bool. Strings fail.
template <class F>
decltype(auto) numeric(const EvalContext& c, const Tensor& t, F&& f) {
    switch (t.data.index()) {
        case 0: return f(float{});
        case 1: return f(double{});
        case 2: return t.type == ElemType::u64 ? f(std::uint64_t{}) : f(std::int64_t{});
        default: c.fail("takes numbers, not strings");
    }
}
template <class F>
decltype(auto) floating(const EvalContext& c, const Tensor& t, F&& f) {
    switch (t.data.index()) {
        case 0: return f(float{});
        case 1: return f(double{});
        default: c.fail("takes a floating type, not " + std::string(name(t.type)));
    }
}
/// Any storage, for moving elements: float, double, int64, string.
template <class F>
decltype(auto) stored(const Tensor& t, F&& f) {
    switch (t.data.index()) {
        case 0: return f(float{});
        case 1: return f(double{});
        case 2: return f(std::int64_t{});
        default: return f(std::string{});
    }
}

/// Joins axes over which every operand's stride continues, so that the innermost loop is long.
template <std::size_t N>
void coalesce(Dims& dims, std::array<Dims, N>& strides) {
    std::size_t kept = 0;
    for (std::size_t d = 0; d < dims.size(); ++d) {
        if (dims[d] == 1) continue;
        const bool joins = kept > 0 && [&] {
            for (const Dims& s : strides)
                if (s[kept - 1] != s[d] * dims[d]) return false;
            return true;
        }();
        if (!joins) ++kept;
        dims[kept - 1] = joins ? dims[kept - 1] * dims[d] : dims[d];
        for (Dims& s : strides) s[kept - 1] = s[d];
    }
    dims.resize(kept);
    for (Dims& s : strides) s.resize(kept);
}

/// The odometer: f(offsets, n, steps) for each innermost row, in row-major order of `dims`; operand i's element j of the row lies at
/// offsets[i] + j * steps[i].
template <std::size_t N, class F>
void each_row(Dims dims, std::array<Dims, N> strides, F&& f) {
    if (count(dims) == 0) return;
    coalesce(dims, strides);
    std::array<std::int64_t, N> at{}, step{};
    if (dims.empty()) return f(at, std::int64_t{1}, step);
    const std::size_t last = dims.size() - 1;
    for (std::size_t i = 0; i < N; ++i) step[i] = strides[i][last];
    Dims index(last, 0);
    for (;;) {
        f(at, dims[last], step);
        std::size_t d = last;
        while (d-- > 0) {
            if (++index[d] < dims[d]) {
                for (std::size_t i = 0; i < N; ++i) at[i] += strides[i][d];
                break;
            }
            for (std::size_t i = 0; i < N; ++i) at[i] -= strides[i][d] * (dims[d] - 1);
            index[d] = 0;
        }
        if (d == static_cast<std::size_t>(-1)) return;
    }
}
/// The same element by element: f(offsets).
template <std::size_t N, class F>
void each(const Dims& dims, const std::array<Dims, N>& strides, F&& f) {
    each_row<N>(dims, strides, [&](std::array<std::int64_t, N> at, std::int64_t n, const std::array<std::int64_t, N>& step) {
        for (std::int64_t j = 0; j < n; ++j) {
            f(at);
            for (std::size_t i = 0; i < N; ++i) at[i] += step[i];
        }
    });
}

/// A tensor seen along one axis: outer * n * inner elements.
struct Lanes {
    std::int64_t outer = 1, n = 1, inner = 1;
    Lanes(const Dims& dims, std::int64_t axis);
    /// f(offset of the lane's first element); elements are `inner` apart.
    template <class F>
    void each(F&& f) const {
        for (std::int64_t o = 0; o < outer; ++o)
            for (std::int64_t i = 0; i < inner; ++i) f(o * n * inner + i);
    }
};

/// The elements that `dims`, `strides` and `offset` select from t, as a dense tensor: transposes, slices, expansions, tiles.
Tensor materialised(const Tensor& t, Dims dims, const Dims& strides, std::int64_t offset = 0);
Tensor reshaped(Tensor, Dims);
Tensor transposed(const Tensor&, const Dims& perm);
/// Tensors of one type along an axis that exists; other extents must agree.
Tensor concatenated(const EvalContext&, const std::vector<TensorPtr>&, std::int64_t axis);
/// Tensors of one shape along a new axis.
Tensor stacked(const EvalContext&, const std::vector<TensorPtr>&, std::int64_t axis);

/// f(x) for each element: the type stays or becomes `type`.
template <class T, class R = T, class F>
Tensor mapped(const EvalContext& c, const Tensor& x, ElemType type, F f) {
    Tensor out = blank(c, type, x.dims);
    const T* from = data<T>(x);
    R* to = data<R>(out);
    for (std::int64_t i = 0, n = x.size(); i < n; ++i) to[i] = static_cast<R>(f(from[i]));
    return out;
}

/// f(a, b) with broadcasting; both have storage T.
template <class T, class R = T, class F>
Tensor zipped(const EvalContext& c, const Tensor& a, const Tensor& b, ElemType type, F f) {
    Tensor out = blank(c, type, broadcast(c, {&a.dims, &b.dims}));
    const T *x = data<T>(a), *y = data<T>(b);
    R* to = data<R>(out);
    each_row<2>(out.dims, {broadcast_strides(a.dims, out.dims), broadcast_strides(b.dims, out.dims)}, [&](auto at, std::int64_t n, auto step) {
        const T *p = x + at[0], *q = y + at[1];
        if (step[0] == 1 && step[1] == 1)
            for (std::int64_t j = 0; j < n; ++j) to[j] = static_cast<R>(f(p[j], q[j]));
        else
            for (std::int64_t j = 0; j < n; ++j) to[j] = static_cast<R>(f(p[j * step[0]], q[j * step[1]]));
        to += n;
    });
    return out;
}

}  // namespace sfumato::fusion
