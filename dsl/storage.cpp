// SPDX-License-Identifier: Apache-2.0
#include "dsl/storage.h"

#include "isa/limits.h"

namespace sfumato::dsl {

namespace {
std::string lower(std::string_view s) {
    std::string out(s);
    for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return out;
}
std::int64_t slot_bytes(isa::DType t, isa::Space s, Extents e, std::int64_t pitch_unit) {
    const std::int64_t size = isa::bytes_of(t), c0 = isa::fractal_cols(t), box = isa::kFractalRows;
    switch (s) {
        case isa::Space::ub:
            return e.rows * isa::round_up(e.cols, std::max(pitch_unit, c0)) * size;
        case isa::Space::l1:
            return (e.rows == 1 ? 1 : isa::round_up(e.rows, box)) * isa::round_up(e.cols, c0) * size;
        case isa::Space::l0a:
            return isa::round_up(e.rows, box) * isa::round_up(e.cols, c0) * size;
        case isa::Space::l0b:
            return isa::ceil_div(e.rows, c0) * isa::ceil_div(e.cols, box) * isa::kFractalBytes;
        case isa::Space::l0c:
            return isa::round_up(e.rows, box) * isa::round_up(e.cols, box) * size;
        default:
            return e.rows * e.cols * size;
    }
}
Index content_or(isa::Expr e, std::int64_t physical) { return e ? Index(e) : Index(physical); }
}  // namespace

const isa::Buffer& BufferRef::info() const { return Trace::current().frame().buffers[static_cast<std::size_t>(buffer)]; }

isa::Expr BufferRef::rows() const { return whole ? content_or(Trace::current().content(buffer).rows, max_rows).expr() : block_rows; }
isa::Expr BufferRef::cols() const { return whole ? content_or(Trace::current().content(buffer).cols, max_cols).expr() : block_cols; }
isa::Expr BufferRef::pitch() const {
    if (block_pitch) return block_pitch;
    Trace& t = Trace::current();
    const isa::Buffer& b = info();
    if (b.space == isa::Space::ub) return t.exprs().round_up(cols(), std::max<std::int64_t>(t.pitch_unit(), isa::fractal_cols(b.dtype)));
    return t.num(isa::round_up(b.shape[0], isa::kFractalRows));
}
isa::Operand BufferRef::operand() const { return {info().space, buffer, slot, offset}; }

BufferRef BufferRef::from(Index elements, std::source_location where) const {
    Trace& t = Trace::current(where);
    const isa::Buffer& b = info();
    const isa::Expr bytes = (elements * Index(isa::bytes_of(b.dtype))).expr();
    const std::int64_t align = std::max<std::int64_t>(t.chip().align(b.space), 1);
    if (t.exprs().is_constant(bytes) && t.exprs().node(bytes).value % align != 0)
        t.fail(where, isa::Code::alignment,
               "element " + std::to_string(t.exprs().node(elements.expr()).value) + " of buffer " + b.name + " lies at byte " +
                   std::to_string(t.exprs().node(bytes).value) + "; operands in " + std::string(isa::name(b.space)) + " start at multiples of " +
                   std::to_string(align) + " bytes (" + std::to_string(align / isa::bytes_of(b.dtype)) + " elements)");
    BufferRef out = *this;
    out.offset = t.exprs().add(offset, bytes);
    out.at = where;
    return out;
}

BufferRef Buffer::operator[](SlotIndex s) const {
    Trace& t = Trace::current(s.at);
    const isa::Buffer& b = t.frame().buffers[static_cast<std::size_t>(id_)];
    BufferRef out;
    out.buffer = id_;
    out.slot = b.slots == 1 ? t.num(0) : (s.index % Index(b.slots)).expr();
    out.offset = t.num(0);
    out.max_rows = b.shape[0];
    out.max_cols = b.shape[1];
    out.at = s.at;
    return out;
}

Buffer::operator BufferRef() const { return (*this)[SlotIndex(0, at_)]; }
BufferRef Buffer::at(Index offset, std::source_location where) const { return (*this)[SlotIndex(0, where)].from(offset, where); }

Buffer& Buffer::named(std::string name) {
    Trace& t = Trace::current();
    t.frame().buffers[static_cast<std::size_t>(id_)].name = std::move(name);
    t.content(id_).named = true;
    return *this;
}

Buffer make_buffer(isa::DType type, isa::Space s, Extents e, Slots n, std::source_location at) {
    Trace& t = Trace::current(at);
    if (e.rows < 1 || e.cols < 1 || n.count < 1)
        t.fail(at, isa::Code::shape,
               "a buffer of " + std::to_string(e.rows) + " x " + std::to_string(e.cols) + " elements in " + std::to_string(n.count) +
                   " slots; each must be at least 1");
    if (t.chip().bytes(s) == 0)
        t.fail(at, isa::Code::space, t.chip().name + " has no memory " + std::string(isa::name(s)) + "; keep the data in UB on this chip");
    isa::Buffer b;
    b.space = s;
    b.dtype = type;
    b.shape = {e.rows, e.cols};
    b.slot_bytes = slot_bytes(type, s, e, t.pitch_unit());
    b.slots = static_cast<std::int32_t>(n.count);
    b.source = t.source(at);
    b.name = lower(isa::name(s)) + "_" + std::to_string(t.frame().buffers.size());
    if (n.count > 1) b.why = "slots(" + std::to_string(n.count) + ")";
    BufferContent c;
    c.vector = e.rows == 1;
    return Buffer(t.add_buffer(std::move(b), std::move(c)), at);
}

namespace {
/// Block along one axis: where it starts and how much of it is valid.
struct Part {
    Index start, valid;
};
Part part(isa::Expr extent, Index i, std::int64_t n) {
    const Index start = i * Index(n);
    return {start, max(min(Index(extent) - start, Index(n)), Index(0))};
}
void need_multiple(std::int64_t n, std::int64_t of, const char* what, const isa::Buffer& b, std::source_location at) {
    if (n % of == 0) return;
    Trace::current().fail(at, isa::Code::alignment,
                          std::string(what) + " of buffer " + b.name + " in steps of " + std::to_string(n) + " start inside a fractal; " +
                              std::string(isa::name(b.space)) + " is cut in multiples of " + std::to_string(of));
}
}  // namespace

BufferRef columns(const BufferRef& b, Index i, std::int64_t n, std::source_location at) {
    Trace& t = Trace::current(at);
    const isa::Buffer& info = b.info();
    if (info.space != isa::Space::l1 || info.shape[0] == 1)
        t.fail(at, isa::Code::unsupported,
               "columns() of buffer " + info.name + " in " + std::string(isa::name(info.space)) +
                   "; only a matrix in L1 is cut into columns, load a narrower tile instead");
    need_multiple(n, isa::fractal_cols(info.dtype), "columns", info, at);
    const Part p = part(b.cols(), i, n);
    BufferRef out = b;
    out.block_pitch = b.pitch();
    out.offset = (Index(b.offset) + p.start * Index(b.pitch()) * Index(isa::bytes_of(info.dtype))).expr();
    out.block_rows = b.rows();
    out.block_cols = p.valid.expr();
    out.max_cols = n;
    out.whole = false;
    out.at = at;
    return out;
}

BufferRef rows(const BufferRef& b, Index i, std::int64_t n, std::source_location at) {
    Trace& t = Trace::current(at);
    const isa::Buffer& info = b.info();
    const bool in_ub = info.space == isa::Space::ub;
    if (!in_ub && (info.space != isa::Space::l1 || info.shape[0] == 1))
        t.fail(at, isa::Code::unsupported,
               "rows() of buffer " + info.name + " in " + std::string(isa::name(info.space)) +
                   "; only tiles in UB and matrices in L1 are cut into rows");
    if (!in_ub) need_multiple(n, isa::kFractalRows, "rows", info, at);
    const Part p = part(b.rows(), i, n);
    BufferRef out = b;
    out.block_pitch = b.pitch();
    const Index row_bytes = in_ub ? Index(b.pitch()) * Index(isa::bytes_of(info.dtype)) : Index(isa::kBlockBytes);
    out.offset = (Index(b.offset) + p.start * row_bytes).expr();
    out.block_rows = p.valid.expr();
    out.block_cols = b.cols();
    out.max_rows = n;
    out.whole = false;
    out.at = at;
    return out;
}

BufferRef transpose(BufferRef b) {
    b.transposed = !b.transposed;
    return b;
}

namespace {
void flag(isa::Op op, isa::Pipe src, isa::Pipe dst, isa::Expr id, std::source_location at) {
    Trace& t = Trace::current(at);
    isa::Sync s;
    s.src = src;
    s.dst = dst;
    s.id = id;
    t.instr(op, s, t.source(at));
}
void by_hand_only(const char* what, std::source_location at) {
    Trace& t = Trace::current(at);
    if (!t.hand)
        t.fail(at, isa::Code::trace,
               std::string("event.") + what +
                   "() outside hand_synchronised(); the compiler orders this code itself, so either drop the event or put the "
                   "whole region into hand_synchronised([&] { ... })");
}
tile::Node wait_node(isa::Pipe src, isa::Pipe dst, isa::Expr id, isa::SourceId source) {
    isa::Sync s;
    s.src = src;
    s.dst = dst;
    s.id = id;
    isa::Instr i;
    i.op = isa::Op::wait_flag;
    i.operands = s;
    i.source = source;
    i.hand = true;
    return {std::move(i)};
}
}  // namespace

void EventRef::set(std::source_location at) const {
    by_hand_only("set", at);
    flag(isa::Op::set_flag, src_, dst_, id_, at);
}
void EventRef::wait(std::source_location at) const {
    by_hand_only("wait", at);
    flag(isa::Op::wait_flag, src_, dst_, id_, at);
}

EventRef Event::operator[](SlotIndex s) const {
    const Index id = count_ == 1 ? Index(first_) : Index(first_) + s.index % Index(count_);
    return {src_, dst_, id.expr()};
}

Event Event::primed(std::source_location at) const {
    Trace& t = Trace::current(at);
    HandRegion hand;
    for (std::int64_t i = 0; i < count_; ++i) {
        flag(isa::Op::set_flag, src_, dst_, t.num(first_ + i), at);
        t.at_close(wait_node(src_, dst_, t.num(first_ + i), t.source(at)));
    }
    return *this;
}

Event event(pipe::PipePair p, std::int64_t n, std::source_location at) {
    Trace& t = Trace::current(at);
    if (p.src == p.dst || p.src == isa::Pipe::all || p.dst == isa::Pipe::all)
        t.fail(at, isa::Code::event_id,
               "an event orders two different pipes, this one names " + std::string(isa::name(p.src)) + " >> " + std::string(isa::name(p.dst)) +
                   "; barrier(" + std::string(isa::name(p.src)) + ") orders a pipe with itself");
    if (n < 1) t.fail(at, isa::Code::range, "an event of " + std::to_string(n) + " flags; at least 1 is needed");
    return {p.src, p.dst, t.take_event_ids(p.src, p.dst, n, t.source(at)), n};
}

void barrier(pipe::PipeName p, std::source_location at) {
    Trace& t = Trace::current(at);
    HandRegion hand;
    isa::Sync s;
    s.src = s.dst = p.pipe;
    t.instr(isa::Op::barrier, s, t.source(at));
}

}  // namespace sfumato::dsl
