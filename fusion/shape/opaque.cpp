// SPDX-License-Identifier: Apache-2.0
// Operators that no fusion looks into: sequences, optionals, signals, text, random numbers. Types always, shapes where they are cheap to tell.
#include <algorithm>

#include "fusion/rules.h"
#include "fusion/shape/rules.h"

namespace sfumato::fusion {

namespace {

ElemType dtype(const ShapeContext& c, const char* attribute, ElemType fallback) {
    const std::int64_t t = c.node().integer(attribute, static_cast<std::int64_t>(fallback));
    if (t < 1 || t >= kElemTypeCount) c.fail("its attribute " + std::string(attribute) + " is " + std::to_string(t) + ", no element type that is supported");
    return static_cast<ElemType>(t);
}

void same_elements(ShapeContext& c, ValueKind kind, std::size_t from = 0) {
    c.set_kind(0, kind);
    copy_type(c, from);
}

void sequences(ShapeContext& c) {
    switch (c.node().op) {
        case Op::SequenceEmpty:
            c.set_kind(0, ValueKind::sequence);
            return c.set_type(0, dtype(c, "dtype", ElemType::f32));
        case Op::SequenceLength:
            c.set_type(0, ElemType::i64);
            return c.set_shape(0, {});
        case Op::SequenceAt: return same_elements(c, ValueKind::tensor);
        case Op::ConcatFromSequence: return same_elements(c, ValueKind::tensor);
        default: return same_elements(c, ValueKind::sequence);  // construct, insert, erase, split
    }
}

void optionals(ShapeContext& c) {
    if (c.node().op == Op::OptionalHasElement) {
        c.set_type(0, ElemType::boolean);
        return c.set_shape(0, {});
    }
    if (c.node().op == Op::Optional) {
        c.set_kind(0, ValueKind::optional);
        if (!c.input(0)) return;
        copy_type(c);
        if (const Shape* s = c.shape(0)) c.set_shape(0, *s);
        return;
    }
    copy_type(c);  // OptionalGetElement: the element itself, a tensor unless the file declares a sequence
    if (c.input(0)->kind == ValueKind::sequence) return c.set_kind(0, ValueKind::sequence);
    if (const Shape* s = c.shape(0)) c.set_shape(0, *s);
}

void random(ShapeContext& c) {
    if (c.node().op == Op::Multinomial) {
        c.set_type(0, dtype(c, "dtype", ElemType::i32));
        if (const Shape* s = c.shape(0); s && !s->empty()) c.set_shape(0, {(*s)[0], c.node().integer("sample_size", 1)});
        return;
    }
    c.set_type(0, dtype(c, "dtype", ElemType::f32));
    const auto shape = c.node().integers("shape");
    if (!shape) c.fail("has no shape");
    c.set_shape(0, Shape(shape->begin(), shape->end()));
}

void window(ShapeContext& c) {
    c.set_type(0, dtype(c, "output_datatype", ElemType::f32));
    const auto size = c.content(0);
    c.set_shape(0, {size && size->size() == 1 ? (*size)[0] : c.fresh_data()});
}

void fourier(ShapeContext& c) {
    copy_type(c);
    const Shape* in = c.shape(0);
    if (!in || in->size() < 2) return;
    Symbols& s = c.symbols();
    if (c.node().op == Op::STFT) {
        const auto step = c.content(1), length = c.content(3);
        const Shape* shape = c.shape(2);
        Extent frame = length && length->size() == 1 ? (*length)[0] : shape && shape->size() == 1 ? (*shape)[0] : c.fresh_data();
        const bool known = step && step->size() == 1 && (*step)[0].constant().value_or(0) > 0;
        const Extent frames = known ? s.floor_div((*in)[1] - frame, (*step)[0]) + Extent(1) : c.fresh_data();
        return c.set_shape(0, {(*in)[0], frames, c.node().integer("onesided", 1) != 0 ? s.floor_div(frame, 2) + Extent(1) : frame, 2});
    }
    Shape out = *in;
    const auto length = c.content(1);
    std::int64_t axis = c.node().integer("axis", 1);
    if (c.node().version >= 20) {  // the axis became an input, and counts from the end by default
        const auto given = c.content(2);
        if (c.node().has_input(2) && !(given && given->size() == 1 && (*given)[0].constant())) return;
        axis = given ? *(*given)[0].constant() : -2;
    }
    Extent& e = out[axis_of(c, axis, in->size())];
    if (c.node().has_input(1)) e = length && length->size() == 1 ? (*length)[0] : c.fresh_data();
    if (c.node().integer("onesided", 0) != 0) e = s.floor_div(e, 2) + Extent(1);
    out.back() = 2;
    c.set_shape(0, std::move(out));
}

void regions(ShapeContext& c) {
    copy_type(c);
    const Shape *in = c.shape(0), *rois = c.shape(1);
    if (!in || in->size() != 4 || !rois || rois->empty()) return;
    std::vector<std::int64_t> size{c.node().integer("output_height", 1), c.node().integer("output_width", 1)};
    if (c.node().op == Op::MaxRoiPool) size = c.node().integers("pooled_shape").value_or(size);
    if (size.size() != 2) c.fail("its pooled_shape must have 2 entries");
    c.set_shape(0, {(*rois)[0], (*in)[1], size[0], size[1]});
}

/// MaxUnpool, AffineGrid, CenterCropPad, Col2Im: a size that is an input, in front of it what stays.
void sized(ShapeContext& c) {
    copy_type(c);
    const Shape* in = c.shape(0);
    if (!in) return;
    const Op op = c.node().op;
    const std::size_t from = op == Op::MaxUnpool ? 2 : 1;
    if (op == Op::MaxUnpool && c.node().has_input(2))
        if (const auto size = c.content(from)) return c.set_shape(0, *size);
    if (op == Op::CenterCropPad || op == Op::MaxUnpool) return c.set_shape(0, unknown_shape(c, in->size()));
    const Shape* length = c.shape(1);
    const auto n = length && length->size() == 1 ? (*length)[0].constant() : std::nullopt;
    if (op == Op::AffineGrid && n && *n >= 0) c.set_shape(0, unknown_shape(c, static_cast<std::size_t>(std::min<std::int64_t>(*n, 64))));
    if (op == Op::Col2Im && n && *n >= 0) c.set_shape(0, unknown_shape(c, 2 + static_cast<std::size_t>(std::min<std::int64_t>(*n, 32))));
}

void text(ShapeContext& c) {
    const Shape* in = c.shape(0);
    if (c.node().op == Op::StringNormalizer) {
        c.set_type(0, ElemType::string);
        if (in) c.set_shape(0, unknown_shape(c, in->size()));
        return;
    }
    c.set_type(0, ElemType::f32);
    if (!in) return;
    Shape out(*in);
    const auto indexes = c.node().integers("ngram_indexes");
    const Extent width = indexes && !indexes->empty() ? Extent(*std::max_element(indexes->begin(), indexes->end())) + Extent(1) : c.symbols().fresh("unk");
    if (out.empty()) out.push_back(width);
    out.back() = width;
    c.set_shape(0, std::move(out));
}

}  // namespace

void shape_opaque(ShapeContext& c) {
    switch (c.node().op) {
        case Op::SequenceAt:
        case Op::SequenceConstruct:
        case Op::SequenceEmpty:
        case Op::SequenceErase:
        case Op::SequenceInsert:
        case Op::SequenceLength:
        case Op::SplitToSequence:
        case Op::ConcatFromSequence: return sequences(c);
        case Op::SequenceMap:
            for (std::size_t i = 0; i < c.node().outputs.size(); ++i) c.set_kind(i, ValueKind::sequence);
            return;
        case Op::Optional:
        case Op::OptionalGetElement:
        case Op::OptionalHasElement: return optionals(c);
        case Op::RandomNormal:
        case Op::RandomUniform:
        case Op::Multinomial: return random(c);
        case Op::BlackmanWindow:
        case Op::HammingWindow:
        case Op::HannWindow: return window(c);
        case Op::DFT:
        case Op::STFT: return fourier(c);
        case Op::RoiAlign:
        case Op::MaxRoiPool: return regions(c);
        case Op::MaxUnpool:
        case Op::AffineGrid:
        case Op::CenterCropPad:
        case Op::Col2Im: return sized(c);
        case Op::StringNormalizer:
        case Op::TfIdfVectorizer: return text(c);
        case Op::Det:
            copy_type(c);
            if (const Shape* s = c.shape(0); s && s->size() >= 2) c.set_shape(0, Shape(s->begin(), s->end() - 2));
            return;
        case Op::MelWeightMatrix: {
            c.set_type(0, dtype(c, "output_datatype", ElemType::f32));
            const auto bins = c.content(0), length = c.content(1);
            const bool known = bins && length && bins->size() == 1 && length->size() == 1;
            return c.set_shape(0, known ? Shape{c.symbols().floor_div((*length)[0], 2) + Extent(1), (*bins)[0]} : Shape{c.fresh_data(), c.fresh_data()});
        }
        default: c.fail("has no shape rule");
    }
}

}  // namespace sfumato::fusion
