// SPDX-License-Identifier: Apache-2.0
#include "dsl/motion.h"

#include <algorithm>

#include "isa/limits.h"

namespace sfumato::dsl {

namespace {

using isa::Space;

std::string of(const BufferRef& b) { return "buffer " + b.info().name + " in " + std::string(isa::name(b.info().space)); }
const tile::View& view_of(const TileRef& t) { return Trace::current().kernel().views[static_cast<std::size_t>(t.view)]; }
std::string of(const TileRef& t) { return "tensor " + view_of(t).name + " in GM"; }
std::string extents(std::int64_t r, std::int64_t c) { return std::to_string(r) + " x " + std::to_string(c); }

isa::Operand gm(const TileRef& t) {
    const tile::View v = view_of(t);
    const Index element = Index(v.base) + Index(t.i) * Index(v.tile_rows) * Index(v.pitch) + Index(t.j) * Index(v.tile_cols);
    return {Space::gm, v.tensor, {}, (element * Index(isa::bytes_of(t.dtype()))).expr()};
}

/// The row of the instruction table that moves data between two memories; fails with the author's place when there is none on this chip.
isa::Op path(isa::Family family, Space dst, Space src, bool matrix, const std::string& what, std::source_location at) {
    Trace& t = Trace::current(at);
    for (const isa::InstrDesc& d : isa::kInstructions) {
        if (d.family != family || d.dst != dst || d.src != src) continue;
        if (d.timing == isa::TimingClass::dma_nz ? !matrix : matrix && src == Space::gm && dst == Space::l1) continue;
        if (t.chip().path(isa::path_of(d.op)).rate > 0) return d.op;
    }
    t.fail(at, isa::Code::space,
           what + ": " + t.chip().name + " has no data path from " + std::string(isa::name(src)) + " to " + std::string(isa::name(dst)));
}

/// Default names say where the data came from.
void fill(const BufferRef& dst, isa::Expr rows, isa::Expr cols, const std::string& root) {
    Trace& t = Trace::current();
    if (!dst.whole) return;
    BufferContent& c = t.content(dst.buffer);
    c.rows = rows;
    c.cols = cols;
    if (!c.root.empty() || c.named || root.empty()) return;
    c.root = root;
    std::vector<isa::Buffer>& all = t.frame().buffers;
    isa::Buffer& b = all[static_cast<std::size_t>(dst.buffer)];
    std::string name = root + "_" + std::string(isa::name(b.space));
    const auto taken = [&] { return std::any_of(all.begin(), all.end(), [&](const isa::Buffer& o) { return o.name == name; }); };
    for (int i = 2; taken(); ++i) name = root + "_" + std::string(isa::name(b.space)) + "_" + std::to_string(i);
    b.name = name;
}
std::string root(const BufferRef& b) { return Trace::current().content(b.buffer).root; }

void same_type(isa::DType a, isa::DType b, const std::string& what, std::source_location at) {
    if (a != b)
        Trace::current().fail(at, isa::Code::dtype,
                              what + ": the element types are " + std::string(isa::name(b)) + " and " + std::string(isa::name(a)) +
                                  "; a copy does not convert, use vconv or the type of the other end");
}
/// A tile fits into a buffer when its physical extents do.
void need_room(const BufferRef& b, std::int64_t rows, std::int64_t cols, const std::string& what, std::source_location at) {
    if (rows > b.max_rows || cols > b.max_cols)
        Trace::current().fail(at, isa::Code::shape,
                              what + ": a tile of " + extents(rows, cols) + " does not fit into " + of(b) + " of " + extents(b.max_rows, b.max_cols));
}

isa::Copy plain_copy(isa::DType type, CopyOptions o, std::source_location at, const std::string& what) {
    if (o.relu) Trace::current().fail(at, isa::Code::unsupported, what + " with relu: only moves out of L0C apply it; use vrelu in UB");
    isa::Copy c;
    c.dtype = type;
    c.cache = o.cache;
    c.atomic = o.atomic;
    return c;
}

}  // namespace

void copy(const BufferRef& dst, const TileRef& src, CopyOptions o, std::source_location at) {
    Trace& t = Trace::current(at);
    const std::string what = "copy from " + of(src) + " to " + of(dst);
    const tile::View v = view_of(src);
    const tile::Shape shape = src.shape();
    const bool in_ub = dst.info().space == Space::ub, vector = dst.info().shape[0] == 1;
    isa::Copy c = plain_copy(src.dtype(), o, at, what);
    const isa::Op op = path(isa::Family::Copy, dst.info().space, Space::gm, !in_ub && !vector, what, at);
    same_type(dst.info().dtype, src.dtype(), what, at);
    need_room(dst, v.tile_rows, v.tile_cols, what, at);
    fill(dst, shape.valid_rows, shape.valid_cols, v.name);
    c.src = gm(src);
    c.dst = dst.operand();
    c.rows = shape.valid_rows;
    c.cols = shape.valid_cols;
    c.src_pitch = v.pitch;
    c.dst_pitch = vector && !in_ub ? c.cols : dst.pitch();
    c.pad = in_ub;
    t.instr(op, c, t.source(at));
}

void copy(const TileRef& dst, const BufferRef& src, CopyOptions o, std::source_location at) {
    Trace& t = Trace::current(at);
    const std::string what = "copy from " + of(src) + " to " + of(dst);
    if (src.info().space == Space::l0c)
        t.fail(at, isa::Code::space, what + ": an accumulator leaves L0C through fixpipe(), or to UB on merged cores");
    const tile::View v = view_of(dst);
    if (t.frame().tensors[static_cast<std::size_t>(v.tensor)].role == isa::Role::in)
        t.fail(at, isa::Code::trace, what + ": the kernel takes " + v.name + " as In; make it Out or InOut to store to it");
    isa::Copy c = plain_copy(dst.dtype(), o, at, what);
    const isa::Op op = path(isa::Family::Copy, Space::gm, src.info().space, false, what, at);
    same_type(src.info().dtype, dst.dtype(), what, at);
    if (v.tile_rows > src.max_rows || v.tile_cols > src.max_cols)
        t.fail(at, isa::Code::shape,
               what + ": the destination tile of " + extents(v.tile_rows, v.tile_cols) + " is larger than the source of " +
                   extents(src.max_rows, src.max_cols));
    const tile::Shape shape = dst.shape();
    c.src = src.operand();
    c.dst = gm(dst);
    c.rows = shape.valid_rows;
    c.cols = shape.valid_cols;
    c.src_pitch = src.pitch();
    c.dst_pitch = v.pitch;
    t.instr(op, c, t.source(at));
}

void copy(const TileRef& dst, const TileRef& src, CopyOptions, std::source_location at) {
    Trace::current(at).fail(at, isa::Code::space,
                            "copy from " + of(src) + " to " + of(dst) +
                                ": both ends are in GM, and data only moves through a core; copy to a buffer in UB and from there");
}

namespace {
void drain(const isa::Operand& dst, isa::DType dst_type, isa::Expr rows, isa::Expr cols, isa::Expr pitch, const BufferRef& c0, isa::Op op,
           FixpipeOptions o, const std::string& what, std::source_location at) {
    Trace& t = Trace::current(at);
    const isa::DType acc = c0.info().dtype;
    if (!(isa::drain_types(acc) & isa::type_bit(dst_type)))
        t.fail(at, isa::Code::dtype,
               what + ": an accumulator of " + std::string(isa::name(acc)) + " cannot become " + std::string(isa::name(dst_type)) +
                   " on its way out of L0C");
    isa::Drain d;
    d.dst = dst;
    d.src = c0.operand();
    d.dtype = acc;
    d.dst_dtype = dst_type;
    d.rows = rows;
    d.cols = cols;
    d.dst_pitch = pitch;
    d.src_pitch = t.exprs().round_up(c0.rows(), isa::kFractalRows);
    d.relu = o.relu;
    d.unit_flag = o.unit_flag;
    d.cache = o.cache;
    d.atomic = o.atomic;
    t.instr(op, d, t.source(at));
}
void need_accumulator(const BufferRef& c0, const std::string& what, std::source_location at) {
    if (c0.info().space != Space::l0c) Trace::current().fail(at, isa::Code::space, what + ": the source of fixpipe is an accumulator in L0C");
}
}  // namespace

void copy(const BufferRef& dst, const BufferRef& src, CopyOptions o, std::source_location at) {
    Trace& t = Trace::current(at);
    const std::string what = "copy from " + of(src) + " to " + of(dst);
    const Space to = dst.info().space, from = src.info().space;
    if (from == Space::l0c) {
        const isa::Op op = path(isa::Family::Drain, to, from, false, what, at);
        need_room(dst, src.max_rows, src.max_cols, what, at);
        const isa::Expr rows = src.rows(), cols = src.cols();
        fill(dst, rows, cols, root(src));
        // whole rows of the tile, so that vector work on rows x pitch elements finds every element written (the accumulator has whole fractals)
        const isa::Expr written = to == Space::ub ? t.exprs().min(dst.pitch(), t.exprs().round_up(cols, isa::kFractalRows)) : cols;
        return drain(dst.operand(), dst.info().dtype, rows, written, dst.pitch(), src, op, {o.relu, false, o.cache, o.atomic}, what, at);
    }
    isa::Copy c = plain_copy(src.info().dtype, o, at, what);
    const isa::Op op = path(isa::Family::Copy, to, from, false, what, at);
    same_type(dst.info().dtype, src.info().dtype, what, at);
    const bool turned = src.transposed, fractals = to == Space::l0a || to == Space::l0b;
    if (turned && !fractals) t.fail(at, isa::Code::unsupported, what + ": only loads to L0A and L0B transpose");
    if (fractals && src.info().shape[0] == 1)
        t.fail(at, isa::Code::shape, what + ": the source has one physical row; a matrix in L1 needs a buffer of at least 16 rows");
    need_room(dst, turned ? src.max_cols : src.max_rows, turned ? src.max_rows : src.max_cols, what, at);
    c.transpose = turned;
    c.rows = turned ? src.cols() : src.rows();
    c.cols = turned ? src.rows() : src.cols();
    fill(dst, c.rows, c.cols, root(src));
    c.src = src.operand();
    c.dst = dst.operand();
    const bool vector = src.info().shape[0] == 1 && from == Space::l1;
    c.src_pitch = vector ? c.cols : src.pitch();
    c.dst_pitch = to == Space::ub ? dst.pitch() : c.cols;
    t.instr(op, c, t.source(at));
}

void mmad(const BufferRef& c0, const BufferRef& a0, const BufferRef& b0, const MmadOptions& o, std::source_location at) {
    Trace& t = Trace::current(at);
    const std::string what = "mmad of " + of(a0) + " and " + of(b0) + " into " + of(c0);
    if (a0.info().space != Space::l0a || b0.info().space != Space::l0b || c0.info().space != Space::l0c)
        t.fail(at, isa::Code::space, what + ": the operands lie in L0A and L0B, the accumulator in L0C");
    same_type(a0.info().dtype, b0.info().dtype, what, at);
    if (!t.chip().cube.per_fractal[static_cast<std::size_t>(a0.info().dtype)])
        t.fail(at, isa::Code::dtype, what + ": " + t.chip().name + " has no matrix unit for " + std::string(isa::name(a0.info().dtype)));
    if (a0.max_cols != b0.max_rows)
        t.fail(at, isa::Code::shape, what + ": " + std::to_string(a0.max_cols) + " columns meet " + std::to_string(b0.max_rows) + " rows");
    need_room(c0, a0.max_rows, b0.max_cols, what, at);
    isa::Cube c;
    c.a = a0.operand();
    c.b = b0.operand();
    c.dst = c0.operand();
    c.dtype = a0.info().dtype;
    c.m = a0.rows();
    c.k = a0.cols();
    c.n = b0.cols();
    c.init = o.init.expr();
    c.unit_flag = o.unit_flag;
    if (o.bias) {
        if (o.bias->info().space != Space::bt) t.fail(at, isa::Code::space, what + ": the bias is taken from BT, this is " + of(*o.bias));
        c.bias = o.bias->operand();
    }
    fill(c0, c.m, c.n, "acc");
    t.instr(isa::Op::mmad, c, t.source(at));
}

void fixpipe(const TileRef& dst, const BufferRef& c0, FixpipeOptions o, std::source_location at) {
    const std::string what = "fixpipe from " + of(c0) + " to " + of(dst);
    need_accumulator(c0, what, at);
    const isa::Op op = path(isa::Family::Drain, Space::gm, Space::l0c, false, what, at);
    const tile::View v = view_of(dst);
    if (v.tile_rows > c0.max_rows || v.tile_cols > c0.max_cols)
        Trace::current().fail(at, isa::Code::shape,
                              what + ": the destination tile of " + extents(v.tile_rows, v.tile_cols) + " is larger than the accumulator of " +
                                  extents(c0.max_rows, c0.max_cols));
    const tile::Shape shape = dst.shape();
    drain(gm(dst), dst.dtype(), shape.valid_rows, shape.valid_cols, v.pitch, c0, op, o, what, at);
}

void fixpipe(const BufferRef& dst, const BufferRef& c0, FixpipeOptions o, std::source_location at) {
    const std::string what = "fixpipe from " + of(c0) + " to " + of(dst);
    need_accumulator(c0, what, at);
    const isa::Op op = path(isa::Family::Drain, dst.info().space, Space::l0c, false, what, at);
    need_room(dst, c0.max_rows, c0.max_cols, what, at);
    const isa::Expr rows = c0.rows(), cols = c0.cols();
    fill(dst, rows, cols, "acc");
    drain(dst.operand(), dst.info().dtype, rows, cols, dst.pitch(), c0, op, o, what, at);
}

}  // namespace sfumato::dsl
