// SPDX-License-Identifier: Apache-2.0
#include "fusion/eval/loops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace sfumato::fusion {

std::int64_t count(const Dims& dims) {
    std::int64_t n = 1;
    for (const std::int64_t d : dims) n *= d;
    return n;
}

std::int64_t checked_count(const EvalContext& c, const Dims& dims) {
    constexpr std::int64_t kMost = std::int64_t{1} << 36;
    std::int64_t n = 1;
    bool empty = false;
    for (const std::int64_t d : dims) {
        if (d < 0) c.fail("shape " + text(dims) + " has a negative extent");
        if (d == 0) empty = true;
    }
    if (empty) return 0;
    for (const std::int64_t d : dims) {
        if (d > kMost / n) c.fail("shape " + text(dims) + " has more elements than the interpreter holds (" + isa::with_separators(kMost) + ")");
        n *= d;
    }
    return n;
}

Dims strides_of(const Dims& dims) {
    Dims s(dims.size(), 1);
    for (std::size_t d = dims.size(); d-- > 1;) s[d - 1] = s[d] * dims[d];
    return s;
}

std::string text(const Dims& dims) {
    std::string s = "[";
    for (std::size_t i = 0; i < dims.size(); ++i) s += (i ? "," : "") + std::to_string(dims[i]);
    return s + "]";
}

void require(const EvalContext& c, bool ok, const std::string& what) {
    if (!ok) c.fail(what);
}

std::int64_t axis_of(const EvalContext& c, std::int64_t axis, std::int64_t rank, const char* what) {
    if (axis < -rank || axis >= rank)
        c.fail(std::string(what) + " is " + std::to_string(axis) + ", allowed are " + std::to_string(-rank) + " to " + std::to_string(rank - 1));
    return axis < 0 ? axis + rank : axis;
}

std::int64_t cut_of(const EvalContext& c, std::int64_t axis, std::int64_t rank) { return axis == rank ? rank : axis_of(c, axis, rank); }

Dims axes_of(const EvalContext& c, Dims axes, std::int64_t rank) {
    for (std::int64_t& a : axes) a = axis_of(c, a, rank, "an axis");
    Dims sorted = axes;
    std::sort(sorted.begin(), sorted.end());
    require(c, std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "an axis stands twice in " + text(axes));
    return axes;
}

Dims broadcast(const EvalContext& c, const std::vector<const Dims*>& shapes) {
    std::size_t rank = 0;
    for (const Dims* s : shapes) rank = std::max(rank, s->size());
    Dims out(rank, 1);
    for (const Dims* s : shapes)
        for (std::size_t i = 0; i < s->size(); ++i) {
            std::int64_t& d = out[rank - s->size() + i];
            const std::int64_t e = (*s)[i];
            if (e == d || e == 1) continue;
            if (d != 1) {
                std::string all;
                for (const Dims* each : shapes) all += (all.empty() ? "" : " and ") + text(*each);
                c.fail("shapes " + all + " do not broadcast");
            }
            d = e;
        }
    return out;
}

Dims broadcast_strides(const Dims& from, const Dims& to) {
    const Dims own = strides_of(from);
    Dims s(to.size(), 0);
    const std::size_t skip = to.size() - from.size();
    for (std::size_t i = 0; i < from.size(); ++i) s[skip + i] = from[i] == 1 ? 0 : own[i];
    return s;
}

Tensor blank(const EvalContext& c, ElemType type, Dims dims) {
    const auto n = static_cast<std::size_t>(checked_count(c, dims));
    Tensor t{type, std::move(dims), {}};
    if (type == ElemType::string)
        t.data = std::vector<std::string>(n);
    else if (!is_float(type))
        t.data = std::vector<std::int64_t>(n);
    else if (type == ElemType::f64 || c.precision == Precision::all_double)
        t.data = std::vector<double>(n);
    else
        t.data = std::vector<float>(n);
    return t;
}

Tensor converted(const EvalContext& c, const Tensor& from, ElemType type) {
    Tensor out = blank(c, type, from.dims);
    if (out.data.index() == from.data.index() && (from.type == ElemType::u64) == (type == ElemType::u64)) {
        out.data = from.data;
        return out;
    }
    numeric(c, from, [&](auto a) {
        const auto* x = data<decltype(a)>(from);
        numeric(c, out, [&](auto b) {
            using B = decltype(b);
            B* y = data<B>(out);
            for (std::int64_t i = 0, n = from.size(); i < n; ++i)
                if constexpr (std::is_integral_v<B> && std::is_floating_point_v<decltype(a)>)
                    y[i] = static_cast<B>(truncated(static_cast<double>(x[i])));
                else
                    y[i] = static_cast<B>(x[i]);
        });
    });
    return out;
}

Dims ints_of(const EvalContext& c, std::size_t input) {
    const Tensor& t = c.in(input);
    if (!is_integer(t.type) && t.type != ElemType::boolean) c.fail("input " + std::to_string(input) + " is " + std::string(name(t.type)) + ", integers are needed");
    return t.ints();
}

std::optional<Dims> list_of(const EvalContext& c, const char* attribute, std::size_t input) {
    if (c.has(input)) return ints_of(c, input);
    return c.node.integers(attribute);
}

double scalar_of(const EvalContext& c, std::size_t input) {
    const Tensor& t = c.in(input);
    if (t.size() != 1 || t.type == ElemType::string) c.fail("input " + std::to_string(input) + " has shape " + text(t.dims) + ", one number is needed");
    return t.number(0);
}

std::int64_t integer_of(const EvalContext& c, std::size_t input) {
    const Dims v = ints_of(c, input);
    if (v.size() != 1) c.fail("input " + std::to_string(input) + " has " + std::to_string(v.size()) + " elements, one integer is needed");
    return v[0];
}

ElemType type_of(const EvalContext& c, std::int64_t number) {
    if (number <= 0 || number >= kElemTypeCount || info(static_cast<ElemType>(number)).kind == ElemClass::none)
        c.fail("type number " + std::to_string(number) + " is none that the interpreter has");
    return static_cast<ElemType>(number);
}

std::int64_t truncated(double x) {
    if (std::isnan(x)) return 0;
    if (x >= 9223372036854775808.0) return std::numeric_limits<std::int64_t>::max();
    if (x < -9223372036854775808.0) return std::numeric_limits<std::int64_t>::min();
    return static_cast<std::int64_t>(x);
}

std::int64_t saturated(std::int64_t x, ElemType type) {
    const ElemInfo& i = info(type);
    if (i.bits >= 64) return x;
    const bool is_signed = i.kind == ElemClass::signed_integer;
    const std::int64_t low = is_signed ? -(std::int64_t{1} << (i.bits - 1)) : 0;
    const std::int64_t high = (std::int64_t{1} << (is_signed ? i.bits - 1 : i.bits)) - 1;
    return std::clamp(x, low, high);
}

std::int64_t wrapped(std::int64_t x, ElemType type) {
    const ElemInfo& i = info(type);
    if (i.bits >= 64) return x;
    const int unused = 64 - i.bits;
    const auto up = static_cast<std::uint64_t>(x) << unused;
    return i.kind == ElemClass::signed_integer ? static_cast<std::int64_t>(up) >> unused : static_cast<std::int64_t>(up >> unused);
}

float round_f16(float x) {
    const float a = std::fabs(x);
    if (!(a < 65520.0f)) return std::isnan(x) ? x : std::copysign(std::numeric_limits<float>::infinity(), x);
    if (a < 0x1p-14f) return std::nearbyint(x * 0x1p24f) * 0x1p-24f;  // subnormal: a fixed quantum
    std::uint32_t u = std::bit_cast<std::uint32_t>(x);
    u += 0xfffu + ((u >> 13) & 1u);
    return std::bit_cast<float>(u & ~0x1fffu);
}

float round_bf16(float x) {
    if (std::isnan(x)) return x;
    std::uint32_t u = std::bit_cast<std::uint32_t>(x);
    u += 0x7fffu + ((u >> 16) & 1u);
    return std::bit_cast<float>(u & ~0xffffu);
}

Lanes::Lanes(const Dims& dims, std::int64_t axis) {
    for (std::size_t d = 0; d < dims.size(); ++d) {
        const auto at = static_cast<std::int64_t>(d);
        (at < axis ? outer : at == axis ? n : inner) *= dims[d];
    }
}

Tensor materialised(const Tensor& t, Dims dims, const Dims& strides, std::int64_t offset) {
    Tensor out{t.type, std::move(dims), {}};
    stored(t, [&](auto tag) {
        using T = decltype(tag);
        std::vector<T> v(static_cast<std::size_t>(count(out.dims)));
        const T* from = data<T>(t) + offset;
        T* to = v.data();
        each_row<1>(out.dims, {strides}, [&](auto at, std::int64_t n, auto step) {
            const T* p = from + at[0];
            if (step[0] == 1)
                std::copy_n(p, n, to);
            else
                for (std::int64_t j = 0; j < n; ++j) to[j] = p[j * step[0]];
            to += n;
        });
        out.data = std::move(v);
    });
    return out;
}

Tensor reshaped(Tensor t, Dims dims) {
    isa::check(t.size() == count(dims), "a reshape changes the number of elements");
    t.dims = std::move(dims);
    return t;
}

Tensor transposed(const Tensor& t, const Dims& perm) {
    const Dims own = strides_of(t.dims);
    Dims dims, strides;
    for (const std::int64_t p : perm) {
        dims.push_back(t.dims[static_cast<std::size_t>(p)]);
        strides.push_back(own[static_cast<std::size_t>(p)]);
    }
    return materialised(t, std::move(dims), strides);
}

Tensor concatenated(const EvalContext& c, const std::vector<TensorPtr>& parts, std::int64_t axis) {
    require(c, !parts.empty(), "nothing to concatenate");
    const Tensor& first = *parts[0];
    axis = axis_of(c, axis, first.rank());
    Dims dims = first.dims;
    const auto a = static_cast<std::size_t>(axis);
    dims[a] = 0;
    for (const TensorPtr& p : parts) {
        Dims expected = p->dims;
        if (expected.size() == dims.size()) expected[a] = first.dims[a];
        if (expected != first.dims || p->type != first.type || p->data.index() != first.data.index())
            c.fail("cannot concatenate " + std::string(name(first.type)) + text(first.dims) + " and " + std::string(name(p->type)) + text(p->dims) + " along axis " +
                   std::to_string(axis));
        dims[a] += p->dims[a];
    }
    Tensor out{first.type, dims, {}};
    const Lanes lanes(dims, axis);
    stored(first, [&](auto tag) {
        using T = decltype(tag);
        std::vector<T> v(static_cast<std::size_t>(count(dims)));
        T* to = v.data();
        for (std::int64_t o = 0; o < lanes.outer; ++o)
            for (const TensorPtr& p : parts) {
                const std::int64_t chunk = p->dims[a] * lanes.inner;
                to = std::copy_n(data<T>(*p) + o * chunk, chunk, to);
            }
        out.data = std::move(v);
    });
    return out;
}

Tensor stacked(const EvalContext& c, const std::vector<TensorPtr>& parts, std::int64_t axis) {
    require(c, !parts.empty(), "nothing to stack");
    axis = axis_of(c, axis, parts[0]->rank() + 1);
    std::vector<TensorPtr> grown;
    for (const TensorPtr& p : parts) {
        Dims dims = p->dims;
        dims.insert(dims.begin() + std::min<std::int64_t>(axis, p->rank()), 1);
        grown.push_back(std::make_shared<const Tensor>(reshaped(*p, std::move(dims))));
    }
    return concatenated(c, grown, axis);
}

}  // namespace sfumato::fusion
