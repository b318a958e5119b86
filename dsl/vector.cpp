// SPDX-License-Identifier: Apache-2.0
#include "dsl/vector.h"

#include <algorithm>

#include "isa/diagnostic.h"
#include "isa/limits.h"

namespace sfumato::dsl {

namespace {

constexpr std::int64_t kBlocks = isa::kRepeatBytes / isa::kBlockBytes;

/// One column chunk of a broadcast: `lanes` columns of every row, a repeat for each row.
struct Chunk {
    Expr first_col;
    std::int64_t lanes;
};

class Broadcast {
public:
    Broadcast(Emitter& e, isa::Op op, const UbTile& dst, const UbTile& a, const UbTile& b, Spread spread, bool swapped, isa::SourceId source)
        : emit_(e), op_(op), dst_(dst), a_(a), b_(b), spread_(spread), swapped_(swapped), source_(source) {}

    void run() {
        isa::ExprPool& x = emit_.exprs();
        const std::int64_t lanes = isa::kRepeatBytes / isa::bytes_of(dst_.dtype), block = isa::kBlockBytes / isa::bytes_of(dst_.dtype);
        const Expr whole = x.floor_div(dst_.pitch, emit_.constant(lanes));
        if (dst_.max_pitch >= lanes) loop("c", whole, dst_.max_pitch / lanes, [&](Expr c) { rows({x.mul(c, emit_.constant(lanes)), lanes}); });
        if (x.is_constant(dst_.pitch) && dst_.max_pitch % lanes == 0) return;
        // what is left, a 32-byte block at a time
        const Expr done = x.mul(whole, emit_.constant(lanes)), rest = x.floor_div(x.sub(dst_.pitch, done), emit_.constant(block));
        loop("c", rest, lanes / block - 1, [&](Expr c) { rows({x.add(done, x.mul(c, emit_.constant(block))), block}); });
    }

private:
    template <class F>
    void loop(const char* stem, Expr trips, std::int64_t most, F&& body) {
        if (emit_.exprs().is_constant(trips, 1)) return body(emit_.constant(0));
        if (most <= 0 || emit_.exprs().is_constant(trips, 0)) return;
        const isa::SymbolId s = emit_.new_loop_symbol(stem);
        emit_.open_loop(s, trips, 1, source_);
        body(emit_.program().symbol(s));
        emit_.close();
    }
    void rows(Chunk c) {
        isa::ExprPool& x = emit_.exprs();
        if (dst_.max_rows <= isa::kMaxRepeats) return instr(c, emit_.constant(0), dst_.rows);
        constexpr std::int64_t kStep = 240;
        loop("r", x.ceil_div(dst_.rows, kStep), isa::ceil_div(dst_.max_rows, kStep), [&](Expr r) {
            const Expr first = x.mul(r, emit_.constant(kStep));
            instr(c, first, x.min(x.sub(dst_.rows, first), emit_.constant(kStep)));
        });
    }
    void instr(Chunk c, Expr first_row, Expr count) {
        isa::ExprPool& x = emit_.exprs();
        isa::Vector v = vector_operands(emit_, dst_, swapped_ ? &b_ : &a_, swapped_ ? &a_ : &b_, 0);
        const std::int64_t block = isa::kBlockBytes / isa::bytes_of(dst_.dtype);
        v.mode = isa::MaskMode::normal;
        v.repeats = count;
        v.mask_lo = c.lanes >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << c.lanes) - 1;
        v.mask_hi = c.lanes > 64 ? (c.lanes >= 128 ? ~std::uint64_t{0} : (std::uint64_t{1} << (c.lanes - 64)) - 1) : 0;
        const auto tile = [&](const UbTile& t, isa::Operand& o, Expr& repeat) {
            o = moved(emit_, t.at, x.add(x.mul(first_row, t.pitch), c.first_col), t.dtype);
            repeat = x.floor_div(t.pitch, emit_.constant(block));
        };
        tile(dst_, v.dst, v.dst_repeat);
        tile(a_, swapped_ ? v.src1 : v.src0, swapped_ ? v.src1_repeat : v.src0_repeat);
        isa::Operand& o = swapped_ ? v.src0 : v.src1;
        if (spread_ == Spread::row) {
            o = moved(emit_, b_.at, c.first_col, b_.dtype);
            (swapped_ ? v.src0_repeat : v.src1_repeat) = emit_.constant(0);
        } else {  // one block a row, read again for every block of the repeat
            o = moved(emit_, b_.at, x.mul(first_row, emit_.constant(block)), b_.dtype);
            (swapped_ ? v.src0_repeat : v.src1_repeat) = emit_.constant(1);
            (swapped_ ? v.src0_block : v.src1_block) = emit_.constant(0);
        }
        emit_.instr(op_, v, source_);
    }

    Emitter& emit_;
    isa::Op op_;
    const UbTile &dst_, &a_, &b_;
    Spread spread_;
    bool swapped_;
    isa::SourceId source_;
};

}  // namespace

isa::Vector vector_operands(Emitter& e, const UbTile& dst, const UbTile* a, const UbTile* b, double scalar) {
    isa::Vector v;
    v.dst = dst.at;
    v.dst_dtype = dst.dtype;
    v.dtype = a ? a->dtype : dst.dtype;
    v.scalar = scalar;
    const isa::Operand absent{isa::Space::none, -1, e.constant(0), e.constant(0)};
    v.src0 = a ? a->at : absent;
    v.src1 = b ? b->at : absent;
    // blocks an operand takes of each repeat; the wider type of a conversion fills all eight
    const int width = std::max(isa::bytes_of(v.dtype), isa::bytes_of(v.dst_dtype));
    const auto repeat = [&](isa::DType t) { return e.constant(kBlocks * isa::bytes_of(t) / width); };
    v.count = v.repeats = e.constant(0);
    v.dst_block = v.src0_block = v.src1_block = e.constant(1);
    v.dst_repeat = repeat(v.dst_dtype);
    v.src0_repeat = a ? repeat(v.dtype) : e.constant(0);
    v.src1_repeat = b ? repeat(v.dtype) : e.constant(0);
    if (!a) v.src0_block = e.constant(0);
    if (!b) v.src1_block = e.constant(0);
    return v;
}

isa::Operand moved(Emitter& e, isa::Operand o, Expr elements, isa::DType t) {
    const Expr bytes = e.exprs().mul(elements, e.constant(isa::bytes_of(t)));
    o.offset = o.offset ? e.exprs().add(o.offset, bytes) : bytes;
    return o;
}

Expr run_length(Emitter& e, const UbTile& t) { return t.max_rows == 1 ? t.pitch : e.exprs().mul(t.rows, t.pitch); }

void vector_unary(Emitter& e, isa::Op op, const UbTile& dst, const UbTile& a, double scalar, isa::SourceId source) {
    isa::Vector v = vector_operands(e, dst, &a, nullptr, scalar);
    v.count = run_length(e, dst);
    e.instr(op, v, source);
}

void vector_fill(Emitter& e, const UbTile& dst, double scalar, isa::SourceId source) {
    isa::Vector v = vector_operands(e, dst, nullptr, nullptr, scalar);
    v.count = run_length(e, dst);
    e.instr(isa::Op::vdup, v, source);
}

void vector_binary(Emitter& e, isa::Op op, const UbTile& dst, const UbTile& a, const UbTile& b, Spread spread, bool swapped, const UbTile* scratch,
                   isa::SourceId source) {
    if (spread == Spread::none || (spread == Spread::row && dst.max_rows == 1)) {
        isa::Vector v = vector_operands(e, dst, swapped ? &b : &a, swapped ? &a : &b, 0);
        v.count = run_length(e, dst);
        return e.instr(op, v, source);
    }
    if (spread == Spread::row) return Broadcast(e, op, dst, a, b, spread, swapped, source).run();
    isa::check(scratch != nullptr, "a column broadcast needs scratch");
    isa::Vector v = vector_operands(e, *scratch, &b, nullptr, 0);
    v.mode = isa::MaskMode::normal;
    v.mask_lo = ~std::uint64_t{0};
    v.mask_hi = isa::bytes_of(b.dtype) == 2 ? ~std::uint64_t{0} : 0;
    v.repeats = e.exprs().ceil_div(dst.rows, 8);
    v.dst_repeat = e.constant(kBlocks);
    v.src0_repeat = e.constant(1);
    e.instr(isa::Op::vbrcb, v, source);
    if (dst.max_rows > 1) return Broadcast(e, op, dst, a, *scratch, spread, swapped, source).run();
    isa::Vector one = vector_operands(e, dst, swapped ? scratch : &a, swapped ? &a : scratch, 0);  // one block for the whole row
    (swapped ? one.src0_block : one.src1_block) = (swapped ? one.src0_repeat : one.src1_repeat) = e.constant(0);
    one.count = run_length(e, dst);
    e.instr(op, one, source);
}

}  // namespace sfumato::dsl
