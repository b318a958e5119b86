// SPDX-License-Identifier: Apache-2.0
// Vector instructions of the explicit level: the author names destination and sources, the legaliser writes the instructions.
#include "dsl/motion.h"
#include "dsl/vector.h"

namespace sfumato::dsl {

namespace {

void append(Trace& t, isa::Block block) {
    for (isa::Stmt& s : block) {
        if (auto* i = std::get_if<isa::Instr>(&s.node)) {
            i->hand = t.hand;
            t.add(tile::Node{std::move(*i)});
        }
        auto* l = std::get_if<isa::Loop>(&s.node);
        if (!l) continue;
        tile::Region r;
        r.kind = tile::Region::Kind::loop;
        r.counter = l->counter;
        r.extent = l->trips;
        r.source = l->source;
        t.open(std::move(r));
        append(t, std::move(l->body));
        t.close();
    }
}

UbTile ub_tile(const BufferRef& b, isa::Expr rows, isa::Expr cols, isa::Expr pitch) {
    Trace& t = Trace::current();
    const std::int64_t unit = std::max<std::int64_t>(t.pitch_unit(), isa::fractal_cols(b.info().dtype));
    return {b.operand(), b.info().dtype, b.max_rows == 1 ? t.num(1) : rows, cols, pitch, b.max_rows, isa::round_up(b.max_cols, unit)};
}

void check_kind(const BufferRef& dst, const BufferRef& src, isa::Op op, std::source_location at) {
    Trace& t = Trace::current(at);
    const std::string who(isa::desc(op).name);
    if (src.info().space != isa::Space::ub)
        t.fail(at, isa::Code::space,
               who + " of buffer " + src.info().name + " in " + std::string(isa::name(src.info().space)) + "; vector instructions work in UB");
    if (src.info().dtype != dst.info().dtype && op != isa::Op::vconv)
        t.fail(
            at, isa::Code::dtype,
            who + " of " + std::string(isa::name(src.info().dtype)) + " into " + std::string(isa::name(dst.info().dtype)) + "; use vconv to convert");
}

void check_source(const BufferRef& dst, const BufferRef& src, isa::Op op, std::source_location at) {
    check_kind(dst, src, op, at);
    Trace& t = Trace::current(at);
    const std::string who(isa::desc(op).name);
    const bool rows_fit = src.max_rows == dst.max_rows || src.max_rows == 1;
    if (!rows_fit || src.max_cols != dst.max_cols)
        t.fail(at, isa::Code::shape,
               who + ": a source of " + std::to_string(src.max_rows) + " x " + std::to_string(src.max_cols) + " for a destination of " +
                   std::to_string(dst.max_rows) + " x " + std::to_string(dst.max_cols) + "; extents are equal, or the source has one row");
}

/// vcadd, vcmax, vcmin: one element for each row of the source, side by side in a destination of one row.
void row_reduction(isa::Op op, const BufferRef& dst, const BufferRef& src, std::source_location at) {
    Trace& t = Trace::current(at);
    const std::string who(isa::desc(op).name), rows = std::to_string(src.max_rows);
    check_kind(dst, src, op, at);
    const std::int64_t lanes = isa::kRepeatBytes / isa::bytes_of(src.info().dtype);
    if (src.max_cols > lanes)
        t.fail(at, isa::Code::shape,
               who + ": a row of " + std::to_string(src.max_cols) + " columns takes more than one repeat, which is " + std::to_string(lanes) +
                   " elements; combine columns first, or write row_sum or row_max of the maths-like level");
    if (dst.max_rows != 1 || dst.max_cols < src.max_rows)
        t.fail(at, isa::Code::shape,
               who + " gives one element for each of " + rows + " rows, side by side: the destination is one row of at least " + rows +
                   " elements, found " + std::to_string(dst.max_rows) + " x " + std::to_string(dst.max_cols));
    const isa::Expr count = src.rows();
    if (dst.whole) {
        BufferContent& c = t.content(dst.buffer);
        c.rows = t.num(1);
        c.cols = count;
    }
    isa::Block out;
    Emitter emit(t.frame(), out);
    const UbTile from = ub_tile(src, src.rows(), src.cols(), src.pitch());
    reduce_each_row(emit, op, ub_tile(dst, t.num(1), count, dst.pitch()), t.num(1), from, t.source(at));
    append(t, std::move(out));
}

}  // namespace

void vector_instruction(isa::Op op, const BufferRef& dst, const VectorSource& a, const VectorSource& b, std::source_location at) {
    Trace& t = Trace::current(at);
    const isa::InstrDesc& d = isa::desc(op);
    const std::string who(d.name);
    const VectorSource* sources[] = {&a, &b};
    const int tiles = (a.tile ? 1 : 0) + (b.tile ? 1 : 0), scalars = (a.scalar ? 1 : 0) + (b.scalar ? 1 : 0);
    if (tiles != tile_sources(op) || scalars != (takes_scalar(op) ? 1 : 0))
        t.fail(at, isa::Code::trace,
               who + " takes " + std::to_string(tile_sources(op)) + " buffer(s) and " + (takes_scalar(op) ? "one number" : "no number") + ", found " +
                   std::to_string(tiles) + " and " + std::to_string(scalars));
    if (dst.info().space != isa::Space::ub)
        t.fail(at, isa::Code::space,
               who + " into buffer " + dst.info().name + " in " + std::string(isa::name(dst.info().space)) + "; vector instructions work in UB");
    const isa::DType type = tiles ? a.tile->info().dtype : dst.info().dtype;
    if (!(d.types & isa::type_bit(type)))
        t.fail(at, isa::Code::dtype, who + " has no form for " + std::string(isa::name(type)) + "; convert with vconv to f32 first");
    if (d.timing == isa::TimingClass::v_cadd || d.timing == isa::TimingClass::v_cmax) return row_reduction(op, dst, *a.tile, at);
    if (isa::writes_densely(op) || op == isa::Op::vbrcb || op == isa::Op::vtrans)
        t.fail(at, isa::Code::unsupported,
               who + " gives a tile of other extents than its source, which the explicit level does not follow; vcadd, vcmax and vcmin reduce rows");
    isa::Expr rows = dst.rows(), cols = dst.cols(), pitch = dst.pitch();
    double scalar = 0;
    const BufferRef* shaped = nullptr;  // the source whose extents the result has
    for (const VectorSource* s : sources) {
        if (s->scalar) scalar = *s->scalar;
        if (!s->tile) continue;
        check_source(dst, *s->tile, op, at);
        if (!shaped || s->tile->max_rows > shaped->max_rows) shaped = &*s->tile;
    }
    if (shaped) {
        rows = shaped->rows();
        cols = shaped->cols();
        pitch = shaped->pitch();
    }
    if (dst.whole) {
        BufferContent& c = t.content(dst.buffer);
        c.rows = rows;
        c.cols = cols;
    }
    const isa::SourceId source = t.source(at);
    const UbTile to = ub_tile(dst, rows, cols, pitch);
    isa::Block out;
    Emitter emit(t.frame(), out);
    if (tiles == 0) {
        vector_fill(emit, to, scalar, source);
    } else if (tiles == 1) {
        vector_unary(emit, op, to, ub_tile(*a.tile, rows, cols, pitch), scalar, source);
    } else {
        const bool swapped = a.tile->max_rows < dst.max_rows;  // the source of one row is spread
        const bool spread = swapped || b.tile->max_rows < dst.max_rows;
        const UbTile x = ub_tile(*a.tile, rows, cols, pitch), y = ub_tile(*b.tile, rows, cols, pitch);
        vector_binary(emit, op, to, swapped ? y : x, swapped ? x : y, spread ? Spread::row : Spread::none, swapped, nullptr, source);
    }
    append(t, std::move(out));
}

}  // namespace sfumato::dsl
