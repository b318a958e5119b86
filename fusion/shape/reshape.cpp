// SPDX-License-Identifier: Apache-2.0
// Reshape: the target is followed element by element, so -1 comes out as an extent of the input's symbols.
#include <algorithm>

#include "fusion/rules.h"
#include "fusion/shape/rules.h"

namespace sfumato::fusion {

namespace {

/// Drops extents that stand on both sides: [batch, seq, 768] against [batch, seq, 12, _] leaves 768 and 12.
void cancel(Shape& a, Shape& b) {
    for (std::size_t i = 0; i < a.size();) {
        const auto it = std::find(b.begin(), b.end(), a[i]);
        if (it == b.end()) {
            ++i;
            continue;
        }
        b.erase(it);
        a.erase(a.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

Extent rest(const ShapeContext& c, const Shape& in, const Shape& target, Shape left, Shape right) {
    cancel(left, right);
    const Extent have = volume(left), want = volume(right);
    Symbols& s = c.symbols();
    const auto refuse = [&] { c.fail("cannot reshape " + shape_text(s, in) + " to " + shape_text(s, target) + ": -1 stands for " + s.to_text(have) + " / " + s.to_text(want)); };
    if (want == Extent(0)) {
        if (have != Extent(0)) refuse();
        return 0;
    }
    if (have.constant() && want.constant() && *have.constant() % *want.constant() != 0) refuse();
    const Extent q = s.floor_div(have, want);
    if (q * want != have && !(have.constant() && want.constant())) c.assume(s.to_text(have) + " is a multiple of " + s.to_text(want));
    return q;
}

/// A target without -1 must hold as many elements. Where that fixes a symbol (exporters bake the traced batch in), a range that the user gave
/// for it is contradicted.
void check_volume(const ShapeContext& c, const Shape& in, const Shape& target) {
    Shape left = in, right = target;
    cancel(left, right);
    const Extent have = volume(left), want = volume(right);
    if (have == want) return;
    Symbols& s = c.symbols();
    const std::string both = shape_text(s, in) + " to " + shape_text(s, target);
    if (have.constant() && want.constant()) c.fail("cannot reshape " + both + ": " + std::to_string(*have.constant()) + " elements against " + std::to_string(*want.constant()));
    const Range r = s.range(have - want);
    if (r.low > 0 || r.high < 0) c.fail("cannot reshape " + both + ": " + s.to_text(have) + " is never " + s.to_text(want));
    const auto names = s.names_in(have);
    if (want.constant() && names.size() == 1 && s.range(names[0]) != Range{} && s.range(names[0]).low != s.range(names[0]).high)
        c.fail("reshapes " + both + ", which fixes " + s.to_text(have) + " to " + s.to_text(want) + " although a range is given for " + names[0] + "; export the target shape with -1 or from the input's shape");
    c.assume(s.to_text(have) + " = " + s.to_text(want));
}

}  // namespace

void shape_reshape(ShapeContext& c) {
    copy_type(c);
    const Shape* in = c.shape(0);
    const auto target = c.content(1);
    if (!target) {
        const Shape* length = c.shape(1);
        const auto n = length && length->size() == 1 ? (*length)[0].constant() : std::nullopt;
        if (!n || *n < 0 || *n > static_cast<std::int64_t>(kMostDims)) return;
        Shape out;
        for (std::int64_t i = 0; i < *n; ++i) out.push_back(c.fresh_data());
        return c.set_shape(0, std::move(out));
    }
    const bool zero_is_zero = c.node().integer("allowzero", 0) != 0;
    Shape out, known;
    std::optional<std::size_t> open;
    for (std::size_t i = 0; i < target->size(); ++i) {
        Extent e = (*target)[i];
        const auto v = e.constant();
        if (v && *v < -1) c.fail("its target holds " + std::to_string(*v));
        if (v == -1) {
            if (open) c.fail("its target holds -1 twice");
            open = i;
        }
        if (v == 0 && !zero_is_zero) {
            if (in && i >= in->size()) c.fail("entry " + std::to_string(i) + " of its target keeps an extent of " + shape_text(c.symbols(), *in) + ", which has fewer dimensions");
            e = in ? (*in)[i] : c.symbols().fresh("unk");
        }
        if (v != -1) known.push_back(e);
        out.push_back(v == -1 ? Extent(0) : e);
    }
    if (in && open) {
        Shape shown = out;
        shown[*open] = -1;
        out[*open] = rest(c, *in, shown, *in, known);
    } else if (in) {
        check_volume(c, *in, out);
    } else if (open) {
        out[*open] = c.symbols().fresh("unk");
    }
    const bool follow = out.size() <= 1;
    c.set_shape(0, std::move(out));
    if (auto content = c.content(0); follow && content) c.set_content(0, std::move(*content));
}

}  // namespace sfumato::fusion
