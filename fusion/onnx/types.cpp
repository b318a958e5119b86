// SPDX-License-Identifier: Apache-2.0
// Types of values: tensors, and sequences and optionals of them. Dimensions are constants, named symbols, or sums and products of those.
#include <onnx/onnx_pb.h>

#include "fusion/onnx/onnx_io.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion::onnx_io {

using isa::InputError;

namespace {

std::optional<Shape> read_shape(const onnx::TypeProto::Tensor& t, Symbols& symbols, const std::string& what) {
    if (!t.has_shape()) return std::nullopt;
    if (t.shape().dim_size() > 64) throw InputError(what + ": " + std::to_string(t.shape().dim_size()) + " dimensions, at most 64 are read");
    Shape shape;
    for (const auto& d : t.shape().dim()) {
        if (d.has_dim_value() && d.dim_value() < -1) throw InputError(what + ": dimension " + std::to_string(d.dim_value()) + " is negative");
        if (d.has_dim_value() && d.dim_value() >= 0) shape.emplace_back(d.dim_value());
        else if (d.has_dim_param() && !d.dim_param().empty()) shape.push_back(parse_extent(symbols, d.dim_param()));
        else shape.push_back(symbols.fresh("unk"));  // no value, or -1 as some exporters write it: any size
    }
    return shape;
}

const onnx::TypeProto* element(const onnx::TypeProto& t) {
    if (t.has_sequence_type()) return &t.sequence_type().elem_type();
    if (t.has_optional_type()) return &t.optional_type().elem_type();
    return nullptr;
}

}  // namespace

ValueType read_type(const onnx::TypeProto& t, Symbols& symbols, const std::string& what) {
    ValueType out;
    if (t.has_map_type()) throw InputError(what + ": maps are not supported; only tensors, sequences and optionals of tensors are");
    if (t.has_sparse_tensor_type()) throw InputError(what + ": sparse tensors are not supported; store the tensor densely");
    out.kind = t.has_sequence_type() ? ValueKind::sequence : t.has_optional_type() ? ValueKind::optional : ValueKind::tensor;
    const onnx::TypeProto* inner = &t;
    for (const onnx::TypeProto* e = element(t); e; e = element(*e)) inner = e;
    if (!inner->has_tensor_type()) {
        if (inner->has_map_type() || inner->has_sparse_tensor_type()) throw InputError(what + ": only tensors, sequences and optionals of tensors are supported");
        return out;
    }
    if (inner->tensor_type().elem_type() != 0) out.type = elem_type(inner->tensor_type().elem_type(), what);
    out.shape = read_shape(inner->tensor_type(), symbols, what);
    return out;
}

void write_type(const Value& v, const Symbols& symbols, onnx::TypeProto& out) {
    onnx::TypeProto* t = &out;
    if (v.kind == ValueKind::sequence) t = t->mutable_sequence_type()->mutable_elem_type();
    if (v.kind == ValueKind::optional) t = t->mutable_optional_type()->mutable_elem_type();
    t->mutable_tensor_type()->set_elem_type(static_cast<int>(v.type));
    if (!v.shape) return;
    auto* shape = t->mutable_tensor_type()->mutable_shape();
    for (const Extent& e : *v.shape) {
        auto* d = shape->add_dim();
        if (const auto c = e.constant()) d->set_dim_value(*c);
        else d->set_dim_param(symbols.to_text(e));
    }
}

std::string type_text(const onnx::TypeProto& t, const std::string& what) {
    if (t.has_tensor_type()) return "tensor(" + std::string(name(elem_type(t.tensor_type().elem_type(), what))) + ")";
    if (t.has_sequence_type()) return "seq(" + type_text(t.sequence_type().elem_type(), what) + ")";
    if (t.has_optional_type()) return "optional(" + type_text(t.optional_type().elem_type(), what) + ")";
    throw InputError(what + ": only types of tensors, sequences and optionals are supported");
}

bool parse_type(std::string_view text, onnx::TypeProto& out) {
    const auto inside = [&](std::string_view head) -> std::optional<std::string_view> {
        if (!text.starts_with(head) || !text.ends_with(")")) return std::nullopt;
        return text.substr(head.size(), text.size() - head.size() - 1);
    };
    if (const auto t = inside("tensor(")) {
        const auto type = parse_elem_type(*t);
        if (type) out.mutable_tensor_type()->set_elem_type(static_cast<int>(*type));
        return type.has_value();
    }
    if (const auto t = inside("seq(")) return parse_type(*t, *out.mutable_sequence_type()->mutable_elem_type());
    if (const auto t = inside("optional(")) return parse_type(*t, *out.mutable_optional_type()->mutable_elem_type());
    return false;
}

}  // namespace sfumato::fusion::onnx_io
