// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "isa/access.h"
#include "isa/fields.h"
#include "isa/rules.h"

namespace sfumato::isa::rules {

namespace {

using I = std::int64_t;

const Buffer* buffer_of(const Program& p, Space space, std::int32_t object) {
    const bool on_chip = space != Space::none && space != Space::gm;
    return on_chip && object >= 0 && static_cast<std::size_t>(object) < p.buffers.size() ? &p.buffers[static_cast<std::size_t>(object)] : nullptr;
}

/// Bytes an operand's address is a multiple of.
I alignment_of(const Context& c, std::string_view operand, Space space, DType t) {
    const InstrDesc& d = desc(c.instr.op);
    if (operand == "dst") {
        if (d.op == Op::mmad) return kMmadAlign;
        if (d.timing == TimingClass::v_cadd || d.timing == TimingClass::v_cmax) return bytes_of(t);
        if (d.timing == TimingClass::v_cg) return kBlockReduceElements * bytes_of(t);
    }
    return c.chip.align(space);
}

void misaligned(const Context& c, const char* operand, Space space, std::int32_t object, DType t, I need, I offset, bool exact) {
    const I size = bytes_of(t);
    const I below = offset - (((offset % need) + need) % need);
    std::string message = std::string(operand) + " ";
    if (exact) {
        message += "starts at element " + std::to_string(offset / size) + " (byte " + std::to_string(offset) + ") of ";
        message += object >= 0 ? "buffer " + object_name(c.program, space, object) : std::string(name(space));
    } else {
        message += "starts " + std::to_string(offset - below) + " bytes after a multiple of " + std::to_string(need) + " bytes in ";
        message += object >= 0 ? "buffer " + object_name(c.program, space, object) : std::string(name(space));
    }
    message += ", whose accesses in " + std::string(name(space)) + " start at multiples of " + std::to_string(need) + " bytes (" +
               std::to_string(std::max<I>(1, need / size)) + " elements of " + std::string(name(t)) + ")";
    if (exact) {
        const I next = below + need;
        message += "; nearest are elements " + std::to_string(below / size) + " and " + std::to_string(next / size);
    } else {
        message += "; move the operand";
    }
    c.fail(Code::alignment, message);
}

void inside_buffers(const Context& c, const BoundOperands& o) {
    if (const auto* v = std::get_if<VectorT<I>>(&o)) {
        // other block strides are described by a covering rectangle, which proves nothing at a buffer's end
        const bool two = reads_two_sources(c.instr.op);
        if (v->dst_block != 1 || v->src0_block != 1 || (two && v->src1_block != 1)) return;
    }
    const BoundInstr b{&c.instr, o};
    for (const Access& a : accesses(b)) {
        const Buffer* buffer = buffer_of(c.program, a.space, a.object);
        if (!buffer || !buffer->base) continue;
        const I start = a.start - *buffer->base, end = a.end() - *buffer->base, size = buffer->slots * buffer->slot_bytes;
        if (start >= 0 && end <= size) continue;
        c.fail(Code::out_of_bounds, std::string(a.write ? "writes" : "reads") + " bytes " + std::to_string(start) + " to " + std::to_string(end) +
                                        " of buffer " + object_name(c.program, a.space, a.object) + " (" + std::string(name(a.space)) +
                                        "), which has " + std::to_string(size) + " bytes; shrink the extents or enlarge the buffer");
        return;
    }
}

// Granules of 32 bytes that one vector operand touches: `blocks` of them in a repeat.
struct Sweep {
    I start, chunk, blocks, block_stride, repeat_stride;
    I end(I repeats) const { return start + (repeats - 1) * repeat_stride + (blocks - 1) * block_stride + chunk; }
    bool operator==(const Sweep&) const = default;
};

Sweep sweep(const BoundOperand& o, I lanes, int size, I block, I repeat) {
    return {o.offset, kBlockBytes, ceil_div(lanes * size, kBlockBytes), block * kBlockBytes, repeat * kBlockBytes};
}

Sweep destination(Op op, const VectorT<I>& v, const VectorShape& s) {
    const int size = bytes_of(v.dst_dtype);
    const auto dense = [&](I bytes) { return Sweep{v.dst.offset, bytes, 1, bytes, bytes}; };
    if (op == Op::vcmp) return dense(ceil_div(s.lanes, 8));
    if (desc(op).timing == TimingClass::v_cg) return dense(ceil_div(s.lanes * bytes_of(v.dtype), kBlockBytes) * size);
    if (is_reduction(op)) return dense(size);
    return sweep(v.dst, op == Op::vbrcb ? kRepeatBytes / size : s.lanes, size, v.dst_block, v.dst_repeat);
}

/// The first rule of in-place work that `src` breaks, or "" when none: granule by granule, in repeat order.
const char* broken_overlap(Op op, const VectorT<I>& v, const Sweep& dst, const Sweep& src, I repeats) {
    constexpr I kMaxGranules = 1 << 16;  // beyond any UB: other rules have spoken
    const I first = dst.start / kBlockBytes, count = (dst.end(repeats) + kBlockBytes - 1) / kBlockBytes - first;
    if (count <= 0 || count > kMaxGranules || repeats > kMaxGranules) return "";
    std::vector<std::int32_t> writer(static_cast<std::size_t>(count), -1);
    const auto visit = [&](const Sweep& w, auto&& f) {
        for (I r = 0; r < repeats; ++r)
            for (I b = 0; b < w.blocks; ++b) {
                const I at = w.start + r * w.repeat_stride + b * w.block_stride;
                for (I g = at / kBlockBytes - first; g <= (at + w.chunk - 1) / kBlockBytes - first; ++g)
                    if (g >= 0 && g < count && !f(static_cast<std::size_t>(g), r)) return false;
            }
        return true;
    };
    visit(dst, [&](std::size_t g, I r) {
        if (writer[g] < 0) writer[g] = static_cast<std::int32_t>(r);
        return true;
    });
    const bool same_start = dst.start == src.start, narrowing = bytes_of(v.dst_dtype) <= bytes_of(v.dtype);
    const bool same_shape = writes_densely(op) || bytes_of(v.dst_dtype) < bytes_of(v.dtype) || dst.block_stride == src.block_stride;
    const char* broken = "";
    visit(src, [&](std::size_t g, I r) {
        if (writer[g] < 0) return true;
        if (!same_start)
            broken = "they overlap in part; in-place work needs equal start addresses";
        else if (!narrowing)
            broken = "the destination type is wider, so that writes overtake reads; convert into another buffer";
        else if (writer[g] < r)
            broken = "a later repeat would read what an earlier repeat wrote";
        else if (!same_shape)
            broken = "block strides differ, so that the overlap is not exact";
        return *broken == 0;
    });
    return broken;
}

void overlap(const Context& c, const VectorT<I>& v, const char* field, const BoundOperand& o, I block, I repeat, const VectorShape& s) {
    if (o.space != Space::ub) return;
    const Op op = c.instr.op;
    Sweep dst = destination(op, v, s);
    Sweep src = sweep(o, s.lanes, bytes_of(v.dtype), block, repeat);
    if (op == Op::vbrcb) src = {o.offset, 8 * bytes_of(v.dtype), 1, 0, 8 * bytes_of(v.dtype)};
    for (Sweep* w : {&dst, &src}) {  // strides nobody takes do not make operands differ
        if (w->blocks == 1) w->block_stride = 0;
        if (s.repeats == 1) w->repeat_stride = 0;
    }
    if (dst == src || dst.end(s.repeats) <= src.start || src.end(s.repeats) <= dst.start) return;
    if (const char* broken = broken_overlap(op, v, dst, src, s.repeats); *broken)
        c.fail(Code::race, "dst (bytes " + std::to_string(dst.start) + " to " + std::to_string(dst.end(s.repeats)) + ") and " + field + " (bytes " +
                               std::to_string(src.start) + " to " + std::to_string(src.end(s.repeats)) + "): " + broken);
}

// What the instruction really touches: covering rectangles would see neighbours as overlaps when the last repeat is partial.
bool may_overlap(const Context& c, VectorT<I> v, bool src0) {
    (src0 ? v.src1 : v.src0).space = Space::none;  // the other source has its own turn
    const BoundInstr b{&c.instr, v};
    const AccessList list = accesses(b);
    for (const Access& w : list)
        for (const Access& r : list)
            if (w.write && !r.write && overlaps(w, r)) return true;
    return false;
}

I mod(I a, I m) { return ((a % m) + m) % m; }

}  // namespace

void vector_overlap(const Context& c, const VectorT<I>& v) {
    const Op op = c.instr.op;
    if (desc(op).src == Space::none || op == Op::vtrans || v.dst.space != Space::ub) return;
    VectorShape s = vector_shape(v);
    if (s.repeats == 1) s.lanes = s.elements;
    if (s.repeats <= 0) return;
    if (may_overlap(c, v, true)) overlap(c, v, "src0", v.src0, v.src0_block, v.src0_repeat, s);
    if (reads_two_sources(op) && may_overlap(c, v, false)) overlap(c, v, "src1", v.src1, v.src1_block, v.src1_repeat, s);
}

void addresses(const Context& c, const BoundOperands& o) {
    std::visit(
        [&](const auto& family) {
            for_each_operand(family, [&](const char* field, const BoundOperand& at, DType t) {
                if (at.space == Space::none || at.space == Space::gm) return;
                const I need = alignment_of(c, field, at.space, t);
                if (need <= 1 || at.offset % need == 0) return;
                const Buffer* b = buffer_of(c.program, at.space, at.object);
                // blame the base in the buffer's own check, here the offset
                const I base = b ? b->base.value_or(0) + at.slot * b->slot_bytes : 0;
                misaligned(c, field, at.space, at.object, t, need, at.offset - base, true);
            });
        },
        o);
    const std::size_t before = c.out.size();
    if (std::holds_alternative<ScalarT<I>>(o) || std::holds_alternative<SyncT<I>>(o)) return;
    inside_buffers(c, o);
    if (const auto* v = std::get_if<VectorT<I>>(&o); v && c.out.size() == before) vector_overlap(c, *v);
}

Congruence congruence(const ExprPool& pool, Expr e) {
    if (!e) return {0, 0};
    const ExprNode& n = pool.node(e);
    if (n.op == ExprOp::constant) return {0, n.value};
    if (n.op != ExprOp::add && n.op != ExprOp::mul) return {};
    const Congruence a = congruence(pool, n.a), b = congruence(pool, n.b);
    // residues are kept small; moduli beyond 2**20 prove nothing about alignments
    const auto reduced = [](I modulus, __int128 residue) -> Congruence {
        if (modulus > (1 << 20)) modulus = std::gcd(modulus, I{1} << 20);
        if (modulus == 0) return residue > -(I{1} << 40) && residue < (I{1} << 40) ? Congruence{0, static_cast<I>(residue)} : Congruence{};
        return {modulus, static_cast<I>(((residue % modulus) + modulus) % modulus)};
    };
    if (n.op == ExprOp::add) return reduced(std::gcd(a.modulus, b.modulus), __int128{a.residue} + b.residue);
    // (r1 + m1 x)(r2 + m2 y) = r1 r2 + multiples of r1 m2, r2 m1 and m1 m2
    const auto bounded = [](I v) { return v > (I{1} << 30) || v < -(I{1} << 30) ? I{1} : v; };
    if (bounded(a.residue) != a.residue || bounded(b.residue) != b.residue) return {};
    return reduced(std::gcd(std::gcd(a.residue * b.modulus, b.residue * a.modulus), a.modulus * b.modulus), __int128{a.residue} * b.residue);
}

void symbolic_alignment(const Context& c) {
    const ExprPool& pool = c.program.exprs;
    std::visit(
        [&](const auto& family) {
            for_each_operand(family, [&](const char* field, const Operand& at, DType t) {
                if (at.space == Space::none || at.space == Space::gm) return;
                const I need = alignment_of(c, field, at.space, t);
                const Buffer* b = buffer_of(c.program, at.space, at.object);
                // slots are aligned by the buffer's own check; only the offset is in question
                if (need <= 1 || (b && b->slots > 1 && b->slot_bytes % need != 0)) return;
                const Congruence offset = congruence(pool, at.offset);
                const I modulus = std::gcd(offset.modulus, need);
                if (mod(offset.residue, modulus) == 0) return;
                const bool exact = offset.modulus == 0;
                misaligned(c, field, at.space, at.object, t, need, exact ? offset.residue : mod(offset.residue, modulus), exact);
            });
        },
        c.instr.operands);
}

}  // namespace sfumato::isa::rules
