// SPDX-License-Identifier: Apache-2.0
#include "dsl/vector.h"

#include <algorithm>

#include "isa/limits.h"

namespace sfumato::dsl {

namespace {

using isa::Expr;

class Legaliser {
public:
    Legaliser(isa::Program& p, const VectorWork& w) : p_(p), e_(p.exprs), w_(w) {}

    void run(isa::Block& out) {
        if (broadcast(w_.src0) || broadcast(w_.src1)) return spread_rows(out);
        isa::Vector v = contiguous(w_.dst.at, w_.src0.at, w_.src1.at);
        v.count = e_.mul(w_.dst.rows, w_.dst.pitch);
        out.push_back(instr(v));
    }

private:
    Expr num(std::int64_t v) { return e_.constant(v); }
    bool broadcast(const UbTile& t) const { return t.present() && t.max_rows == 1 && w_.dst.max_rows > 1; }
    std::int64_t lanes() const { return isa::kRepeatBytes / std::max(isa::bytes_of(w_.dst.dtype), isa::bytes_of(type())); }
    isa::DType type() const { return w_.src0.present() ? w_.src0.dtype : w_.dst.dtype; }
    std::int64_t repeat_blocks(const UbTile& t) const { return lanes() * isa::bytes_of(t.dtype) / isa::kBlockBytes; }

    isa::Stmt instr(const isa::Vector& v) {
        isa::Instr i;
        i.op = w_.op;
        i.operands = v;
        i.source = w_.source;
        i.hand = w_.hand;
        return {std::move(i)};
    }
    isa::Vector contiguous(isa::Operand dst, isa::Operand src0, isa::Operand src1) {
        isa::Vector v;
        v.dst = dst;
        v.src0 = src0;
        v.src1 = src1;
        v.dtype = type();
        v.dst_dtype = w_.dst.dtype;
        v.scalar = w_.scalar;
        v.count = v.repeats = num(0);
        v.dst_block = num(1);
        v.dst_repeat = num(repeat_blocks(w_.dst));
        v.src0_block = v.src0_repeat = v.src1_block = v.src1_repeat = num(0);
        if (w_.src0.present()) {
            v.src0_block = num(1);
            v.src0_repeat = num(repeat_blocks(w_.src0));
        }
        if (w_.src1.present()) {
            v.src1_block = num(1);
            v.src1_repeat = num(repeat_blocks(w_.src1));
        }
        return v;
    }
    /// Operand of a tile, `row` rows down and `elements` across; a broadcast source stays in its row.
    isa::Operand moved(const UbTile& t, Expr row, Expr elements) {
        isa::Operand o = t.at;
        if (!t.present()) return o;
        const Expr down = broadcast(t) ? num(0) : e_.mul(row, w_.dst.pitch);
        const Expr bytes = e_.mul(e_.add(down, elements), num(isa::bytes_of(t.dtype)));
        o.offset = o.offset ? e_.add(o.offset, bytes) : bytes;
        return o;
    }
    isa::Vector at(Expr row, Expr elements) {
        return contiguous(moved(w_.dst, row, elements), moved(w_.src0, row, elements), moved(w_.src1, row, elements));
    }
    template <class F>
    void loop(isa::Block& out, Expr trips, F&& body) {
        if (e_.is_constant(trips) && e_.node(trips).value <= 0) return;
        if (e_.is_constant(trips, 1)) return body(out, num(0));
        isa::Loop l;
        l.counter = p_.add_symbol("v" + std::to_string(p_.symbols.size()), isa::SymbolKind::loop);
        l.trips = trips;
        l.source = w_.source;
        body(l.body, p_.symbol(l.counter));
        out.push_back({std::move(l)});
    }

    /// Whole repeats go down the rows with a source that does not move; what is left of each row is one counter-mode instruction a row.
    void spread_rows(isa::Block& out) {
        const std::int64_t row_blocks = isa::ceil_div(w_.dst.max_pitch * isa::bytes_of(w_.dst.dtype), isa::kBlockBytes);
        const bool strides_fit = row_blocks <= isa::kMaxRepeatStrideBinary && w_.op != isa::Op::vconv;
        const Expr full = strides_fit ? e_.floor_div(w_.dst.pitch, num(lanes())) : num(0);
        const Expr left = strides_fit ? e_.mod(w_.dst.pitch, num(lanes())) : w_.dst.pitch;
        const std::int64_t groups = isa::ceil_div(w_.dst.max_rows, isa::kMaxRepeats);
        loop(out, full, [&](isa::Block& body, Expr chunk) {
            for (std::int64_t g = 0; g < groups; ++g) body.push_back(instr(down_rows(num(g * isa::kMaxRepeats), e_.mul(chunk, num(lanes())))));
        });
        const Expr some = strides_fit ? e_.min(left, num(1)) : num(1);
        loop(out, e_.mul(some, w_.dst.rows), [&](isa::Block& body, Expr row) {
            isa::Vector v = at(row, e_.mul(full, num(lanes())));
            v.count = left;
            body.push_back(instr(v));
        });
    }
    isa::Vector down_rows(Expr first_row, Expr elements) {
        isa::Vector v = at(first_row, elements);
        const Expr stride = e_.floor_div(w_.dst.pitch, num(isa::kBlockBytes / isa::bytes_of(w_.dst.dtype)));
        v.mode = isa::MaskMode::normal;
        v.mask_lo = ~std::uint64_t{0};
        v.mask_hi = lanes() > 64 ? ~std::uint64_t{0} : 0;
        v.repeats = e_.max(e_.min(e_.sub(w_.dst.rows, first_row), num(isa::kMaxRepeats)), num(0));
        v.dst_repeat = stride;
        if (w_.src0.present()) v.src0_repeat = broadcast(w_.src0) ? num(0) : stride;
        if (w_.src1.present()) v.src1_repeat = broadcast(w_.src1) ? num(0) : stride;
        return v;
    }

    isa::Program& p_;
    isa::ExprPool& e_;
    const VectorWork& w_;
};

}  // namespace

void legalise(isa::Program& p, isa::Block& out, const VectorWork& work) { Legaliser(p, work).run(out); }

}  // namespace sfumato::dsl
