// SPDX-License-Identifier: Apache-2.0
#include "dsl/math.h"

#include "dsl/tile_builder.h"

namespace sfumato::dsl {

using tile::OpKind;
using tile::ValueId;

namespace {

/// The running trace and the place in the author's file, as every operation needs them.
struct Recorder {
    explicit Recorder(std::source_location l) : trace(Trace::current(l)), at(l), source(trace.source(l)), build(trace.kernel(), trace.region()) {}
    Trace& trace;
    std::source_location at;
    isa::SourceId source;
    tile::Builder build;
};

ValueId tile_value(Recorder& r, const TileArg& a, const char* who) {
    if (a.is_number()) r.trace.fail(r.at, isa::Code::trace, std::string(who) + " of a number; it takes a tile");
    return a.value;
}

Tile unary(OpKind k, const TileArg& a) {
    Recorder r(a.at);
    const ValueId v = tile_value(r, a, tile::name(k).data());
    return {r.build.unary(k, v, r.source), a.at};
}
Tile with_number(OpKind k, const TileArg& a, double scalar) {
    Recorder r(a.at);
    return {r.build.unary(k, a.value, r.source, scalar), a.at};
}
/// Two tiles, or (for an operation that commutes) a tile and a number in either order.
Tile two(OpKind k, OpKind scalar_form, const TileArg& a, const TileArg& b) {
    if (b.is_number() && !a.is_number()) return with_number(scalar_form, a, b.scalar);
    if (a.is_number() && !b.is_number()) return with_number(scalar_form, b, a.scalar);
    Recorder r(a.at);
    const ValueId x = tile_value(r, a, tile::name(k).data());
    return {r.build.binary(k, x, b.value, r.source), a.at};
}

}  // namespace

TileArg::TileArg(const Tile& t, std::source_location l) : at(l) {
    Recorder r(l);
    value = r.build.get(t.cell(), r.source);
}
TileArg::TileArg(const TileRef& t, std::source_location l) : at(l) {
    Recorder r(t.at);
    value = r.build.load(t.view, t.i, t.j, r.source);
}

Tile::Tile(ValueId v, std::source_location at) {
    Recorder r(at);
    cell_ = r.build.cell(v, r.source);
}
Tile::Tile(const TileRef& t) : Tile(TileArg(t).value, t.at) {}
Tile::Tile(const Tile& o) {
    Trace& t = Trace::current();
    const isa::SourceId source = t.kernel().cells[static_cast<std::size_t>(o.cell_)].source;
    tile::Builder build(t.kernel(), t.region());
    cell_ = build.cell(build.get(o.cell_, source), source);
}
Tile& Tile::operator=(const TileArg& a) {
    Recorder r(a.at);
    r.build.set(cell_, tile_value(r, a, "assignment"), r.source);
    return *this;
}
Tile& Tile::operator=(const Tile& o) {
    Trace& t = Trace::current();
    // no line of its own: the value's is where it was made
    const isa::SourceId source = t.kernel().cells[static_cast<std::size_t>(o.cell_)].source;
    tile::Builder build(t.kernel(), t.region());
    build.set(cell_, build.get(o.cell_, source), source);
    return *this;
}
Tile& Tile::operator=(const TileRef& o) { return *this = TileArg(o, o.at); }
Tile& Tile::operator+=(const TileArg& a) { return *this = TileArg(TileArg(*this, a.at) + a, a.at); }
Tile& Tile::operator-=(const TileArg& a) { return *this = TileArg(TileArg(*this, a.at) - a, a.at); }
Tile& Tile::operator*=(const TileArg& a) { return *this = TileArg(TileArg(*this, a.at) * a, a.at); }
Tile& Tile::operator/=(const TileArg& a) { return *this = TileArg(TileArg(*this, a.at) / a, a.at); }

const tile::Shape& Tile::shape() const { return Trace::current().kernel().cells[static_cast<std::size_t>(cell_)].shape; }
isa::DType Tile::dtype() const { return Trace::current().kernel().cells[static_cast<std::size_t>(cell_)].dtype; }

Tile operator+(const TileArg& a, const TileArg& b) { return two(OpKind::add, OpKind::add_scalar, a, b); }
Tile operator*(const TileArg& a, const TileArg& b) { return two(OpKind::mul, OpKind::mul_scalar, a, b); }
Tile max(const TileArg& a, const TileArg& b) { return two(OpKind::max, OpKind::max_scalar, a, b); }
Tile min(const TileArg& a, const TileArg& b) { return two(OpKind::min, OpKind::min_scalar, a, b); }
Tile operator-(const TileArg& a) {
    if (a.is_number()) return unary(OpKind::mul_scalar, a);
    return with_number(OpKind::mul_scalar, a, -1);
}
Tile operator-(const TileArg& a, const TileArg& b) {
    if (b.is_number() && !a.is_number()) return with_number(OpKind::add_scalar, a, -b.scalar);
    if (a.is_number() && !b.is_number()) return with_number(OpKind::add_scalar, TileArg(-b, b.at), a.scalar);
    return two(OpKind::sub, OpKind::sub, a, b);
}
Tile operator/(const TileArg& a, const TileArg& b) {
    if (b.is_number() && !a.is_number()) return with_number(OpKind::mul_scalar, a, 1 / b.scalar);
    if (a.is_number() && !b.is_number()) return with_number(OpKind::rdiv_scalar, b, a.scalar);
    return two(OpKind::div, OpKind::div, a, b);
}

Tile exp(const TileArg& a) { return unary(OpKind::exp, a); }
Tile log(const TileArg& a) { return unary(OpKind::log, a); }
Tile sqrt(const TileArg& a) { return unary(OpKind::sqrt, a); }
Tile rsqrt(const TileArg& a) { return unary(OpKind::rsqrt, a); }
Tile abs(const TileArg& a) { return unary(OpKind::abs, a); }
Tile relu(const TileArg& a) { return unary(OpKind::relu, a); }
Tile sigmoid(const TileArg& a) { return unary(OpKind::sigmoid, a); }
Tile silu(const TileArg& a) { return unary(OpKind::silu, a); }
Tile gelu(const TileArg& a) { return unary(OpKind::gelu, a); }
Tile tanh(const TileArg& a) { return unary(OpKind::tanh, a); }

Tile dot(const TileArg& a, const TileArg& b) {
    Recorder r(a.at);
    return {r.build.dot(tile_value(r, a, "dot"), tile_value(r, b, "dot"), r.source), a.at};
}
Tile transpose(const TileArg& a) {
    Recorder r(a.at);
    return {r.build.transpose(tile_value(r, a, "transpose"), r.source), a.at};
}
Tile row_sum(const TileArg& a) {
    Recorder r(a.at);
    return {r.build.row_reduction(OpKind::row_sum, tile_value(r, a, "row_sum"), r.source), a.at};
}
Tile row_max(const TileArg& a) {
    Recorder r(a.at);
    return {r.build.row_reduction(OpKind::row_max, tile_value(r, a, "row_max"), r.source), a.at};
}
tile::Shape column(const TileRef& t) {
    tile::Shape s = t.shape();
    s.cols = 1;
    s.valid_cols = s.of_cols = Trace::current(t.at).num(1);
    return s;
}
Tile cast(isa::DType t, const TileArg& a) {
    Recorder r(a.at);
    return {r.build.cast(tile_value(r, a, "cast"), t, r.source), a.at};
}
Tile full(isa::DType t, const tile::Shape& shape, double value, std::source_location at) {
    Recorder r(at);
    return {r.build.full(t, shape, value, r.source), at};
}

const TileRef& TileRef::operator=(const Tile& t) const {
    Recorder r(at);
    const ValueId v = r.build.get(t.cell(), r.source);
    r.build.store(view, i, j, v, r.source);
    return *this;
}
const TileRef& TileRef::operator=(const TileRef& o) const { return *this = Tile(o); }

}  // namespace sfumato::dsl
