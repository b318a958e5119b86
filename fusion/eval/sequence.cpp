// SPDX-License-Identifier: Apache-2.0
// Sequences of tensors and optional values.
#include "fusion/eval/loops.h"
#include "fusion/rules.h"

namespace sfumato::fusion {

namespace {

using Sequence = std::vector<TensorPtr>;

const Sequence& sequence_in(const EvalContext& c, std::size_t i) {
    const auto* s = c.has(i) ? std::get_if<Sequence>(&c.datum(i)) : nullptr;
    if (!s) c.fail("input " + std::to_string(i) + " is no sequence");
    return *s;
}

/// A position among n elements, or behind the last when `insert`.
std::ptrdiff_t position(const EvalContext& c, std::size_t input, std::size_t n, bool insert) {
    const auto size = static_cast<std::int64_t>(n);
    if (!c.has(input)) return insert ? size : size - 1;
    const std::int64_t i = integer_of(c, input), last = insert ? size : size - 1;
    if (i < -size || i > last) c.fail("position " + std::to_string(i) + " lies outside a sequence of " + std::to_string(n) + " elements");
    return i < 0 ? i + size : i;
}

Sequence split(const EvalContext& c) {
    const Tensor& x = c.in(0);
    const std::int64_t axis = axis_of(c, c.node.integer("axis", 0), x.rank());
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t n = x.dims[a];
    Dims sizes;
    bool drop = false;
    if (!c.has(1)) {
        sizes.assign(static_cast<std::size_t>(n), 1);
        drop = c.node.integer("keepdims", 1) == 0;
    } else if (c.in(1).rank() == 0) {
        const std::int64_t each = integer_of(c, 1);
        require(c, each > 0, "split is " + std::to_string(each) + ", it must be positive");
        for (std::int64_t at = 0; at < n; at += each) sizes.push_back(std::min(each, n - at));
    } else {
        sizes = ints_of(c, 1);
    }
    std::int64_t at = 0;
    Sequence parts;
    for (const std::int64_t size : sizes) {
        require(c, size >= 0 && at + size <= n, "split " + text(sizes) + " does not divide axis " + std::to_string(axis) + " of " + text(x.dims));
        Dims dims = x.dims;
        dims[a] = size;
        const Dims strides = strides_of(x.dims);
        Tensor part = materialised(x, dims, strides, count(dims) == 0 ? 0 : at * strides[a]);
        if (drop) part.dims.erase(part.dims.begin() + axis);
        parts.push_back(std::make_shared<const Tensor>(std::move(part)));
        at += size;
    }
    require(c, at == n, "split " + text(sizes) + " does not cover axis " + std::to_string(axis) + " of " + text(x.dims));
    return parts;
}

}  // namespace

void eval_sequence(EvalContext& c) {
    switch (c.node.op) {
        case Op::SequenceAt: {
            const Sequence& s = sequence_in(c, 0);
            c.outputs[0] = s[static_cast<std::size_t>(position(c, 1, s.size(), false))];
            return;
        }
        case Op::SequenceConstruct: {
            Sequence s;
            for (std::size_t i = 0; i < c.input_count(); ++i) s.push_back(c.in_ptr(i));
            c.outputs[0] = std::move(s);
            return;
        }
        case Op::SequenceEmpty: c.outputs[0] = Sequence{}; return;
        case Op::SequenceErase: {
            Sequence s = sequence_in(c, 0);
            require(c, !s.empty(), "erases from an empty sequence");
            s.erase(s.begin() + position(c, 1, s.size(), false));
            c.outputs[0] = std::move(s);
            return;
        }
        case Op::SequenceInsert: {
            Sequence s = sequence_in(c, 0);
            s.insert(s.begin() + position(c, 2, s.size(), true), c.in_ptr(1));
            c.outputs[0] = std::move(s);
            return;
        }
        case Op::SequenceLength: return c.set(0, int_tensor({static_cast<std::int64_t>(sequence_in(c, 0).size())}, {}));
        case Op::SplitToSequence: c.outputs[0] = split(c); return;
        default: {
            const std::int64_t axis = c.node.integer("axis", 0);
            return c.set(0, c.node.integer("new_axis", 0) != 0 ? stacked(c, sequence_in(c, 0), axis) : concatenated(c, sequence_in(c, 0), axis));
        }
    }
}

void eval_optional(EvalContext& c) {
    if (c.node.op == Op::OptionalHasElement) return c.set(0, int_tensor({c.has(0)}, {}, ElemType::boolean));
    if (c.node.op == Op::OptionalGetElement) require(c, c.has(0), "its optional input is empty");
    c.outputs[0] = c.has(0) ? c.datum(0) : Datum{};
}

}  // namespace sfumato::fusion
