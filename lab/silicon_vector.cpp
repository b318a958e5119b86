// SPDX-License-Identifier: Apache-2.0
// Measured kernels of vector cores and plain reads.
#include "lab/silicon.h"
#include "lab/silicon_expr.h"

namespace sfumato::lab::silicon {

using isa::DType;
using isa::Op;
using isa::Pipe;

namespace {

/// Share of `total` items that core `id` of `cores` gets: the first `total % cores` get one more.
struct Share {
    X first, count;
};
Share share(isa::ProgramBuilder& b, I total, I cores) {
    const X id = lift(b, b.block_id());
    const I base = total / cores, extra = total % cores;
    return {id * base + least(id, lift(b, extra)), lift(b, base) + most(lift(b, 0), least(lift(b, 1), extra - id))};
}

void vector(isa::ProgramBuilder& b, Op op, isa::Operand dst, isa::Operand src0, isa::Operand src1, isa::Amount count, DType t) {
    isa::Vector v;
    v.dst = dst;
    v.src0 = src0;
    v.src1 = src1;
    v.dtype = v.dst_dtype = t;
    v.count = b.num(count);
    v.repeats = b.num(0);
    v.dst_block = v.src0_block = v.src1_block = b.num(1);
    v.dst_repeat = v.src0_repeat = v.src1_repeat = b.num(8);
    b.instr(op, v);
}

}  // namespace

isa::Program read_kernel(const ReadPlan& p) {
    isa::ProgramBuilder b("read");
    const int src = b.tensor("src", DType::f16, {p.m, p.n});
    const int buffer = b.buffer("tile", p.to_l1 ? isa::Space::l1 : isa::Space::ub, p.tile_m * isa::round_up(p.tile_n, 16) * 2);
    const I share_m = p.m / p.cores, split_n = p.n / p.splits;
    const auto tiles = [&](X row, I first_col, I cols) {
        const I loops = isa::ceil_div(cols, p.tile_n);
        b.loop(share_m / p.tile_m, [&](isa::Expr i) {
            b.loop(loops, [&](isa::Expr j) {
                const X at = lift(b, j) * p.tile_n;
                const X width = least(lift(b, p.tile_n), cols - at);
                const X offset = ((row + lift(b, i) * p.tile_m) * p.n + at + first_col) * 2;
                b.copy(p.to_l1 ? Op::mov_gm_l1_nz : Op::mov_gm_ub, b.at(buffer), b.gm(src, offset), p.tile_m, width, DType::f16,
                       p.to_l1 ? isa::Amount(p.tile_m) : isa::Amount(p.tile_n), p.n, p.everyone_all ? isa::Cache::bypass : isa::Cache::normal);
            });
        });
    };
    b.section(p.to_l1 ? isa::CoreKind::aic : isa::CoreKind::aiv, [&] {
        const X id = lift(b, b.block_id());
        if (p.everyone_all) {
            b.loop(p.cores, [&](isa::Expr s) { tiles((p.stagger ? (lift(b, s) + id) % p.cores : lift(b, s)) * share_m, 0, p.n); });
            return;
        }
        for (I split = 0; split < p.splits; ++split) {
            if (p.repeat == 1)
                tiles(id * share_m, split * split_n, split_n);
            else
                b.loop(p.repeat, [&](isa::Expr) { tiles(id * share_m, split * split_n, split_n); });
        }
    });
    return b.build(p.cores);
}

isa::Program add_kernel(const AddPlan& p) {
    isa::ProgramBuilder b("add");
    const int x = b.tensor("x", DType::f16, {p.m, p.n}), y = b.tensor("y", DType::f16, {p.m, p.n}),
              z = b.tensor("z", DType::f16, {p.m, p.n}, isa::Role::out);
    constexpr I kSlot = 32768;  // the source's buffers hold 16384 elements whatever the chunk
    const I slots = p.double_buffer ? 2 : 1;
    const int ub = b.buffer("ub", isa::Space::ub, kSlot * 3 * slots);
    const I y_at = p.spread_banks ? kSlot - 256 : kSlot;  // 16256 elements instead of 16384: sources in different bank groups
    b.section(isa::CoreKind::aiv, [&] {
        const Share rows = share(b, p.m, p.cores);
        const X total = rows.count * p.n;
        if (p.double_buffer) {
            for (int s = 0; s < 2; ++s) b.set(Pipe::v, Pipe::mte2, s), b.set(Pipe::mte3, Pipe::v, s);
        } else {
            b.set(Pipe::v, Pipe::mte2), b.set(Pipe::mte3, Pipe::v);
        }
        b.loop(ceil_div(total, p.chunk), [&](isa::Expr i) {
            const X slot = lift(b, i) % slots, first = lift(b, i) * p.chunk, count = least(lift(b, p.chunk), total - first);
            const X at = (rows.first * p.n + first) * 2;
            const isa::Cache cache = p.bypass ? isa::Cache::bypass : isa::Cache::normal;
            const isa::Operand xs = b.at(ub, slot * (kSlot * 2)), ys = b.at(ub, slot * (kSlot * 2) + y_at);
            const isa::Operand zs = b.at(ub, slot * kSlot + kSlot * 2 * slots);
            b.wait(Pipe::v, Pipe::mte2, slot.e);
            b.copy(Op::mov_gm_ub, xs, b.gm(x, at), 1, count, DType::f16, 0, 0, cache);
            b.copy(Op::mov_gm_ub, ys, b.gm(y, at), 1, count, DType::f16, 0, 0, cache);
            b.set(Pipe::mte2, Pipe::v, slot.e);
            b.wait(Pipe::mte2, Pipe::v, slot.e);
            b.wait(Pipe::mte3, Pipe::v, slot.e);
            vector(b, Op::vadd, zs, xs, ys, count, DType::f16);
            b.set(Pipe::v, Pipe::mte2, slot.e);
            b.set(Pipe::v, Pipe::mte3, slot.e);
            b.wait(Pipe::v, Pipe::mte3, slot.e);
            b.copy(Op::mov_ub_gm, b.gm(z, at), zs, 1, count, DType::f16);
            b.set(Pipe::mte3, Pipe::v, slot.e);
        });
        for (int s = 0; s < static_cast<int>(slots); ++s) b.wait(Pipe::v, Pipe::mte2, s), b.wait(Pipe::mte3, Pipe::v, s);
    });
    return b.build(p.cores);
}

isa::Program move_kernel(const MovePlan& p) {
    isa::ProgramBuilder b("move");
    const I read_bytes = p.read ? p.bytes : p.broadcast_bytes, slots = p.read ? p.buffers : 1;
    const int src = b.tensor("src", DType::i8, {std::max<I>(read_bytes, 32)}), dst = b.tensor("dst", DType::i8, {p.bytes}, isa::Role::out);
    const int ub = b.buffer("ub", isa::Space::ub, p.chunk_bytes, static_cast<int>(slots));
    b.section(isa::CoreKind::aiv, [&] {
        if (p.setup > 0) b.scalar(p.setup);
        const I block = p.bytes < 32 * p.cores ? 1 : 32;  // shares are whole blocks where there are enough
        const Share own = share(b, isa::ceil_div(p.bytes, block), p.cores);
        const X first = own.first * block, total = least(own.count * block, p.bytes - first);
        if (p.read) {
            for (int s = 0; s < static_cast<int>(slots); ++s) b.set(Pipe::mte3, Pipe::mte2, s);
        } else if (p.broadcast_bytes > 0) {
            b.copy(Op::mov_gm_ub, b.at(ub), b.gm(src), 1, std::min(p.broadcast_bytes, p.chunk_bytes), DType::i8);
            b.set(Pipe::mte2, Pipe::mte3);
            b.wait(Pipe::mte2, Pipe::mte3);
        } else {
            if (p.value) {
                b.copy(Op::mov_gm_ub, b.at(ub), b.gm(src), 1, 32, DType::i8);
                b.set(Pipe::mte2, Pipe::v);
                b.wait(Pipe::mte2, Pipe::v);
            }
            isa::Vector v;  // a constant fills one chunk
            v.dst = b.at(ub);
            v.dtype = v.dst_dtype = DType::f32;
            v.count = least(lift(b, p.chunk_bytes / 4), ceil_div(total, 4));
            v.repeats = b.num(0);
            v.dst_block = v.src0_block = v.src1_block = b.num(1);
            v.dst_repeat = v.src0_repeat = v.src1_repeat = b.num(8);
            b.instr(Op::vdup, v);
            b.set(Pipe::v, Pipe::mte3);
            b.wait(Pipe::v, Pipe::mte3);
        }
        b.loop(ceil_div(total, p.chunk_bytes), [&](isa::Expr i) {
            const X at = lift(b, i) * p.chunk_bytes, count = least(lift(b, p.chunk_bytes), total - at), slot = lift(b, i) % slots;
            if (p.read) {
                b.wait(Pipe::mte3, Pipe::mte2, slot.e);
                b.copy(Op::mov_gm_ub, b.at(ub, {}, slot), b.gm(src, first + at), 1, count, DType::i8);
                b.set(Pipe::mte2, Pipe::mte3, slot.e);
                b.wait(Pipe::mte2, Pipe::mte3, slot.e);
            }
            b.copy(Op::mov_ub_gm, b.gm(dst, first + at), p.read ? b.at(ub, {}, slot) : b.at(ub), 1, count, DType::i8);
            if (p.read) b.set(Pipe::mte3, Pipe::mte2, slot.e);
        });
        if (p.read)
            for (int s = 0; s < static_cast<int>(slots); ++s) b.wait(Pipe::mte3, Pipe::mte2, s);
    });
    return b.build(p.cores);
}

isa::Program bank_kernel(const BankPlan& p) {
    isa::ProgramBuilder b("bank");
    const int ub = b.buffer("ub", isa::Space::ub, 196608);
    b.section(isa::CoreKind::aiv, [&] {
        b.loop(p.times, [&](isa::Expr) {
            isa::Vector v;
            v.dst = b.at(ub, b.num(p.z));
            v.src0 = b.at(ub, b.num(p.x));
            v.src1 = b.at(ub, b.num(p.y));
            v.mode = isa::MaskMode::normal;
            v.mask_lo = ~std::uint64_t{0};
            v.count = b.num(0);
            v.repeats = b.num(64);
            v.dst_block = v.src1_block = b.num(1);
            v.src0_block = b.num(p.src0_block);
            v.dst_repeat = v.src1_repeat = b.num(8);
            v.src0_repeat = b.num(p.src0_repeat);
            b.instr(Op::vadd, v);
            b.barrier(Pipe::v);  // each Add of the API sets its mask, which waits for the vector unit
        });
    });
    return b.build(1);
}

isa::Program nd2nz_kernel(const Nd2NzPlan& p) {
    isa::ProgramBuilder b("nd2nz");
    constexpr I kC0 = 16;
    const int src = b.tensor("x", DType::f16, {p.m, p.n}), dst = b.tensor("z", DType::f16, {p.n / kC0, p.m * kC0}, isa::Role::out);
    const I columns = p.tile_n / kC0, nz_bytes = ((p.tile_m - 1) + (columns - 1) * p.stride + 2) * 32;
    const int nd = b.buffer("nd", isa::Space::ub, p.tile_m * p.tile_n * 2, 2), nz = b.buffer("nz", isa::Space::ub, isa::round_up(nz_bytes, 32), 2);
    const I row_tiles = isa::ceil_div(p.m, p.tile_m), col_tiles = p.n / p.tile_n / p.col_splits;
    const I base = row_tiles / p.row_splits, extra = row_tiles % p.row_splits;
    b.section(isa::CoreKind::aiv, [&] {
        const X id = lift(b, b.block_id()), row_split = id / p.col_splits, col_split = id % p.col_splits;
        const X first = row_split * base + least(row_split, lift(b, extra));
        const X count = lift(b, base) + most(lift(b, 0), least(lift(b, 1), extra - row_split));
        for (int s = 0; s < 2; ++s) b.set(Pipe::v, Pipe::mte2, s), b.set(Pipe::mte3, Pipe::v, s);
        b.loop(count * col_tiles, [&](isa::Expr i) {
            const X slot = lift(b, i) % 2, row = (first + lift(b, i) / col_tiles) * p.tile_m,
                    col = (col_split * col_tiles + lift(b, i) % col_tiles) * p.tile_n;
            const X height = least(lift(b, p.tile_m), p.m - row);
            b.wait(Pipe::v, Pipe::mte2, slot.e);
            b.copy(Op::mov_gm_ub, b.at(nd, {}, slot), b.gm(src, (row * p.n + col) * 2), height, p.tile_n, DType::f16, 0, p.n);
            b.set(Pipe::mte2, Pipe::v, slot.e);
            b.wait(Pipe::mte2, Pipe::v, slot.e);
            b.wait(Pipe::mte3, Pipe::v, slot.e);
            isa::Vector v;
            v.dst = b.at(nz, {}, slot);
            v.src0 = b.at(nd, {}, slot);
            v.dtype = v.dst_dtype = DType::u16;
            v.mode = isa::MaskMode::normal;
            v.mask_lo = v.mask_hi = ~std::uint64_t{0};
            v.count = b.num(0);
            v.repeats = height;
            v.dst_block = b.num(p.stride);
            v.src0_block = v.src1_block = b.num(1);
            v.dst_repeat = b.num(1);
            v.src0_repeat = v.src1_repeat = b.num(columns);
            b.instr(Op::vcopy, v);
            b.set(Pipe::v, Pipe::mte2, slot.e);
            b.set(Pipe::v, Pipe::mte3, slot.e);
            b.wait(Pipe::v, Pipe::mte3, slot.e);
            b.copy(Op::mov_ub_gm, b.gm(dst, (row + col / kC0 * p.m) * 32), b.at(nz, {}, slot), columns, height * kC0, DType::f16, p.m * kC0,
                   p.stride * kC0);
            b.set(Pipe::mte3, Pipe::v, slot.e);
        });
        for (int s = 0; s < 2; ++s) b.wait(Pipe::v, Pipe::mte2, s), b.wait(Pipe::mte3, Pipe::v, s);
    });
    return b.build(p.row_splits * p.col_splits);
}

}  // namespace sfumato::lab::silicon
