// SPDX-License-Identifier: Apache-2.0
#include "dsl/tile_builder.h"

namespace sfumato::dsl::tile {

std::string describe(const Value& v) {
    return std::string(isa::name(v.dtype)) + "[" + std::to_string(v.shape.rows) + " x " + std::to_string(v.shape.cols) + "]";
}

void Builder::refuse(SourceId source, isa::Code code, std::string message, std::vector<std::string> notes) const {
    throw isa::Rejected({diagnose(kernel_.frame, source, code, std::move(message), std::move(notes))});
}

std::int32_t Builder::view(View v) {
    kernel_.views.push_back(std::move(v));
    return static_cast<std::int32_t>(kernel_.views.size() - 1);
}

ValueId Builder::emit(Op op, DType dtype, Shape shape) {
    kernel_.values.push_back({dtype, shape, op.source});
    const ValueId result = op.result = static_cast<ValueId>(kernel_.values.size() - 1);
    append(std::move(op));
    return result;
}

ValueId Builder::load(std::int32_t view, Expr i, Expr j, SourceId source) {
    const View v = kernel_.views[static_cast<std::size_t>(view)];
    Op op{.kind = OpKind::load, .view = view, .i = i, .j = j, .source = source};
    return emit(std::move(op), kernel_.frame.tensors[static_cast<std::size_t>(v.tensor)].dtype, tile_shape(kernel_, v, i, j));
}

void Builder::store(std::int32_t view, Expr i, Expr j, ValueId x, SourceId source) {
    const View& v = kernel_.views[static_cast<std::size_t>(view)];
    const isa::Tensor& t = kernel_.frame.tensors[static_cast<std::size_t>(v.tensor)];
    if (t.role == isa::Role::in)
        refuse(source, isa::Code::trace, "tensor " + t.name + " is an input and cannot be assigned; declare it Out or InOut");
    if (value(x).dtype != t.dtype)
        refuse(source, isa::Code::dtype,
               "a tile of " + std::string(isa::name(value(x).dtype)) + " is assigned to " + t.name + ", which holds " +
                   std::string(isa::name(t.dtype)) + "; write cast<" + std::string(isa::name(t.dtype)) + ">(...)");
    if (value(x).shape.rows != v.tile_rows || value(x).shape.cols != v.tile_cols)
        refuse(source, isa::Code::shape,
               "a tile of " + std::to_string(value(x).shape.rows) + " x " + std::to_string(value(x).shape.cols) + " is assigned to " + v.name +
                   ", whose tiles are " + std::to_string(v.tile_rows) + " x " + std::to_string(v.tile_cols));
    append(Op{.kind = OpKind::store, .args = {x}, .view = view, .i = i, .j = j, .source = source});
}

ValueId Builder::full(DType t, Shape shape, double scalar, SourceId source) {
    return emit({.kind = OpKind::full, .scalar = scalar, .source = source}, t, shape);
}

namespace {
bool integers_too(OpKind k) {
    switch (k) {
        case OpKind::add_scalar:
        case OpKind::mul_scalar:
        case OpKind::max_scalar:
        case OpKind::min_scalar:
        case OpKind::add:
        case OpKind::sub:
        case OpKind::mul:
        case OpKind::max:
        case OpKind::min:
            return true;
        default:
            return false;
    }
}
bool is_float(DType t) { return t == DType::f16 || t == DType::bf16 || t == DType::f32; }
bool is_vector_integer(DType t) { return t == DType::i16 || t == DType::i32; }
}  // namespace

ValueId Builder::unary(OpKind k, ValueId a, SourceId source, double scalar) {
    const Value x = value(a);
    if (!is_float(x.dtype) && !(integers_too(k) && is_vector_integer(x.dtype)))
        refuse(source, isa::Code::dtype, std::string(name(k)) + " of " + describe(x) + "; it takes f16, bf16 or f32, so cast first");
    return emit({.kind = k, .args = {a}, .scalar = scalar, .source = source}, x.dtype, x.shape);
}

ValueId Builder::binary(OpKind k, ValueId a, ValueId b, SourceId source) {
    const Value x = value(a), y = value(b);
    if (x.dtype != y.dtype)
        refuse(source, isa::Code::dtype,
               std::string(name(k)) + " of " + describe(x) + " and " + describe(y) + ": element types differ; cast one of them, for example cast<" +
                   std::string(isa::name(isa::bytes_of(x.dtype) >= isa::bytes_of(y.dtype) ? x.dtype : y.dtype)) + ">(...)");
    if (!is_float(x.dtype) && !(integers_too(k) && is_vector_integer(x.dtype)))
        refuse(source, isa::Code::dtype, std::string(name(k)) + " of " + describe(x) + "; cast to f32 first");
    const auto fits = [](std::int64_t p, std::int64_t q) { return p == q || p == 1 || q == 1; };
    if (!fits(x.shape.rows, y.shape.rows) || !fits(x.shape.cols, y.shape.cols))
        refuse(source, isa::Code::shape,
               std::string(name(k)) + " of " + describe(x) + " and " + describe(y) + ": extents must be equal, or 1 to broadcast",
               {"left from " + isa::where(kernel_.frame, x.source), "right from " + isa::where(kernel_.frame, y.source)});
    const Shape& rows = x.shape.rows >= y.shape.rows ? x.shape : y.shape;
    const Shape& cols = x.shape.cols >= y.shape.cols ? x.shape : y.shape;
    return emit({.kind = k, .args = {a, b}, .source = source}, x.dtype,
                {rows.rows, cols.cols, rows.valid_rows, cols.valid_cols, rows.of_rows, cols.of_cols});
}

ValueId Builder::cast(ValueId a, DType t, SourceId source) {
    const Value x = value(a);
    if (x.dtype == t) return a;
    return emit({.kind = OpKind::cast, .args = {a}, .source = source}, t, x.shape);
}

ValueId Builder::transpose(ValueId a, SourceId source) {
    const Value x = value(a);
    const Shape& s = x.shape;
    return emit({.kind = OpKind::transpose, .args = {a}, .source = source}, x.dtype,
                {s.cols, s.rows, s.valid_cols, s.valid_rows, s.of_cols, s.of_rows});
}

ValueId Builder::row_reduction(OpKind k, ValueId a, SourceId source) {
    const Value x = value(a);
    if (!is_float(x.dtype))
        refuse(source, isa::Code::dtype, std::string(name(k)) + " of " + describe(x) + "; it takes f16, bf16 or f32, so cast first");
    const Expr one = kernel_.frame.constant(1);
    return emit({.kind = k, .args = {a}, .source = source}, x.dtype, {x.shape.rows, 1, x.shape.valid_rows, one, x.shape.of_rows, one});
}

ValueId Builder::dot(ValueId a, ValueId b, SourceId source) {
    const Value x = value(a), y = value(b);
    if (x.dtype != y.dtype) refuse(source, isa::Code::dtype, "dot of " + describe(x) + " and " + describe(y) + ": element types differ");
    if (!(isa::kMatrixType & isa::type_bit(x.dtype)))
        refuse(source, isa::Code::dtype, "dot of " + describe(x) + "; the matrix unit takes f16, bf16, f32 and i8");
    if (x.shape.cols != y.shape.rows)
        refuse(source, isa::Code::shape,
               "dot of " + describe(x) + " and " + describe(y) + ": columns of the left (" + std::to_string(x.shape.cols) +
                   ") must equal rows of the right (" + std::to_string(y.shape.rows) + ")",
               {"left from " + isa::where(kernel_.frame, x.source), "right from " + isa::where(kernel_.frame, y.source)});
    return emit({.kind = OpKind::dot, .args = {a, b}, .source = source}, x.dtype == DType::i8 ? DType::i32 : DType::f32,
                {x.shape.rows, y.shape.cols, x.shape.valid_rows, y.shape.valid_cols, x.shape.of_rows, y.shape.of_cols});
}

CellId Builder::cell(ValueId init, SourceId source) {
    kernel_.cells.push_back({value(init).dtype, value(init).shape, "", source});
    const auto c = static_cast<CellId>(kernel_.cells.size() - 1);
    append(Op{.kind = OpKind::set, .args = {init}, .cell = c, .source = source});
    return c;
}

ValueId Builder::get(CellId c, SourceId source) {
    const Cell& cell = kernel_.cells[static_cast<std::size_t>(c)];
    return emit({.kind = OpKind::get, .cell = c, .source = source}, cell.dtype, cell.shape);
}

void Builder::set(CellId c, ValueId v, SourceId source) {
    const Cell& cell = kernel_.cells[static_cast<std::size_t>(c)];
    const Value& x = value(v);
    if (cell.dtype != x.dtype || cell.shape.rows != x.shape.rows || cell.shape.cols != x.shape.cols)
        refuse(source, cell.dtype != x.dtype ? isa::Code::dtype : isa::Code::shape,
               "a tile variable of " + describe({cell.dtype, cell.shape, -1}) + " is assigned " + describe(x) +
                   "; a variable keeps its type and extents",
               {"variable from " + isa::where(kernel_.frame, cell.source)});
    append(Op{.kind = OpKind::set, .args = {v}, .cell = c, .source = source});
}

}  // namespace sfumato::dsl::tile
