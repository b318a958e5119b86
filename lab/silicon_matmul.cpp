// SPDX-License-Identifier: Apache-2.0
// The matmul templates of the vendor's library and of PTO: A is m x k, B is stored n x k (transposed), C is m x n.
#include <algorithm>

#include "lab/silicon.h"
#include "lab/silicon_expr.h"

namespace sfumato::lab::silicon {

using isa::DType;
using isa::Op;
using isa::Pipe;

namespace {

constexpr I kBytes = 2;  // inputs are f16

/// What the pieces of one kernel share.
struct Matmul {
    const MatmulPlan& p;
    isa::ProgramBuilder b{"matmul"};
    int a = -1, bt = -1, c = -1;  // tensors
    int a1 = -1, b1 = -1, l0a = -1, l0b = -1, l0c = -1;
    X a_load, b_load, step;  // running counters: loads of A and B so far, K steps so far

    explicit Matmul(const MatmulPlan& plan) : p(plan) {}
    X counter(const char* name) { return lift(b, b.sym(name, isa::SymbolKind::counter)); }
    void bump(X counter) { b.bump(b.p.exprs.node(counter.e).value); }
};

// Flags: MTE1 -> MTE2 "L1 slot is free" and MTE2 -> MTE1 "L1 slot is full": ids 0, 1 for A and 2, 3 for B; M <-> MTE1 ids 0, 1 for the L0 halves.
constexpr int kIdsOfB = 2;

/// A base block of C: its place, its size, and whether its column is the first or the last of a core (A that stays is loaded in the first and given
/// back in the last).
struct Block {
    X row, col, rows, cols;
    isa::Expr first_col, last_col;
};

/// Loads of A that one block of rows needs.
I a_loads(const MatmulPlan& p) { return isa::ceil_div(isa::ceil_div(p.k, p.base_k), p.step_a); }

/// Where the next load of an operand goes. A that stays has a slot for each load of a row of blocks.
X slot_of(const Matmul& k, bool of_a) {
    if (!of_a) return k.b_load % k.p.buffers;
    return k.a_load % (k.p.a_stays ? a_loads(k.p) : k.p.buffers);
}
X id_of(const Matmul& k, bool of_a) { return of_a ? k.a_load % k.p.buffers : k.b_load % k.p.buffers + kIdsOfB; }

void load(Matmul& k, bool of_a, X row, X first_k, X rows) {
    const MatmulPlan& p = k.p;
    const X slot = slot_of(k, of_a), id = id_of(k, of_a);
    const I cols = p.base_k * (of_a ? p.step_a : p.step_b), physical = of_a ? p.base_m : p.base_n;
    k.b.wait(Pipe::mte1, Pipe::mte2, id.e);
    k.b.copy(Op::mov_gm_l1_nz, k.b.at(of_a ? k.a1 : k.b1, {}, slot), k.b.gm(of_a ? k.a : k.bt, (row * p.k + first_k) * kBytes), rows,
             least(lift(k.b, cols), p.k - first_k), DType::f16, physical, p.k);
    k.b.set(Pipe::mte2, Pipe::mte1, id.e);
}

// One K step: both operands to L0, multiply. `kk`: step inside the group.
void multiply(Matmul& k, X kk, X group, const Block& t) {
    const MatmulPlan& p = k.p;
    isa::ProgramBuilder& b = k.b;
    const X half = k.step % 2;
    const auto when = [&](isa::Expr condition, const std::function<void()>& f) { b.when(condition, f); };
    b.wait(Pipe::m, Pipe::mte1, half.e);
    const auto extract = [&](bool of_a) {
        const I steps = of_a ? p.step_a : p.step_b;
        const X slot = slot_of(k, of_a), id = id_of(k, of_a);
        const I physical = of_a ? p.base_m : p.base_n;
        const X inside = kk % steps;
        const auto when_first = [&](const std::function<void()>& f) {
            if (steps == 1)
                f();
            else
                when(is_zero(inside), f);
        };
        when_first([&] {
            const auto wait = [&] { b.wait(Pipe::mte2, Pipe::mte1, id.e); };
            if (of_a && p.a_stays)
                when(t.first_col, wait);
            else
                wait();
        });
        const isa::Operand src = b.at(of_a ? k.a1 : k.b1, inside * (p.base_k * physical * kBytes), slot);
        if (of_a)
            b.copy(Op::mov_l1_l0a, b.at(k.l0a, {}, half), src, t.rows, p.base_k, DType::f16, 0, physical);
        else {
            isa::Copy c;
            c.dst = b.at(k.l0b, {}, half);
            c.src = src;
            c.rows = b.num(p.base_k);
            c.cols = t.cols;
            c.dst_pitch = t.cols;
            c.src_pitch = b.num(physical);
            c.transpose = true;  // L1 holds B as n x k
            b.instr(Op::mov_l1_l0b, c);
        }
    };
    const auto release = [&](bool of_a) {
        const I steps = of_a ? p.step_a : p.step_b;
        const auto f = [&] {
            const X id = id_of(k, of_a);
            const auto set = [&] { b.set(Pipe::mte1, Pipe::mte2, id.e); };
            if (of_a && p.a_stays) {
                // Loads of the first column follow each other freely; the last of them are answered when the last column has read A, so that the
                // next rows do not overwrite it.
                const X at = k.a_load % a_loads(p), free = at - (a_loads(p) - p.buffers);
                const isa::Expr early = is_negative(free);
                when(early, [&] { when(t.first_col, set); });
                when(is_zero(lift(b, early)), [&] { when(t.last_col, set); });
            } else {
                set();
            }
            k.bump(of_a ? k.a_load : k.b_load);
        };
        if (steps == 1)
            f();
        else
            b.when(is_zero((kk + 1) % steps), f);
    };
    extract(true);
    extract(false);
    release(true);  // both buffers are given back when both operands have left
    release(false);
    b.set(Pipe::mte1, Pipe::m, half.e);
    b.wait(Pipe::mte1, Pipe::m, half.e);
    isa::Cube c;
    c.dst = b.at(k.l0c);
    c.a = b.at(k.l0a, {}, half);
    c.b = b.at(k.l0b, {}, half);
    c.dtype = DType::f16;
    c.m = t.rows;
    c.k = b.num(p.base_k);
    c.n = t.cols;
    c.init = is_zero(group + kk);
    c.unit_flag = p.unit_flag;
    b.instr(Op::mmad, c);
    b.set(Pipe::m, Pipe::mte1, half.e);
    k.bump(k.step);
    if (p.per_step > 0) b.scalar(p.per_step);
}

// One base block of C, all of K.
void tile(Matmul& k, const Block& t) {
    const MatmulPlan& p = k.p;
    isa::ProgramBuilder& b = k.b;
    const I group = std::max(p.step_a, p.step_b), steps = isa::ceil_div(p.k, p.base_k);
    if (p.per_tile > 0) b.scalar(p.per_tile);
    if (!p.unit_flag) b.wait(Pipe::fix, Pipe::m);
    // Loads of a group are asked for as its steps need them: the larger operand first, the other when its buffer's turn comes.
    b.loop(isa::ceil_div(steps, group), [&](isa::Expr g) {
        const X first = lift(b, g) * group;
        const X count = least(lift(b, group), steps - first);
        const auto body = [&](X kk) {
            for (const bool of_a : {true, false}) {
                const I s = of_a ? p.step_a : p.step_b;
                const auto f = [&] {
                    const auto now = [&] { load(k, of_a, of_a ? t.row : t.col, (first + kk) * p.base_k, of_a ? t.rows : t.cols); };
                    if (of_a && p.a_stays)
                        b.when(t.first_col, now);
                    else
                        now();
                };
                if (s == 1)
                    f();
                else
                    b.when(is_zero(kk % s), f);
            }
            multiply(k, kk, first, t);
        };
        if (group == 1)
            body(lift(b, 0));
        else
            b.loop(count, [&](isa::Expr kk) { body(lift(b, kk)); });
    });
    b.set(Pipe::m, Pipe::fix);
    b.wait(Pipe::m, Pipe::fix);
    isa::Drain d;
    d.dst = b.gm(k.c, (t.row * p.n + t.col) * p.out_bytes);
    d.src = b.at(k.l0c);
    d.dst_dtype = p.f32_out ? DType::f32 : DType::f16;
    d.rows = t.rows;
    d.cols = t.cols;
    d.dst_pitch = b.num(p.n);
    d.src_pitch = b.num(p.base_m);
    d.unit_flag = p.unit_flag;
    b.instr(Op::fix_l0c_gm, d);
    if (!p.unit_flag) b.set(Pipe::fix, Pipe::m);
}

}  // namespace

isa::Program matmul_kernel(const MatmulPlan& p) {
    Matmul k(p);
    isa::ProgramBuilder& b = k.b;
    k.a = b.tensor("a", DType::f16, {p.m, p.k});
    k.bt = b.tensor("b", DType::f16, {p.n, p.k});
    k.c = b.tensor("c", p.f32_out ? DType::f32 : DType::f16, {p.m, p.n}, isa::Role::out);
    k.a1 = b.buffer("a1", isa::Space::l1, p.base_m * p.base_k * p.step_a * kBytes, static_cast<int>(p.a_stays ? a_loads(p) : p.buffers));
    k.b1 = b.buffer("b1", isa::Space::l1, p.base_n * p.base_k * p.step_b * kBytes, static_cast<int>(p.buffers));
    k.l0a = b.buffer("a0", isa::Space::l0a, p.base_m * p.base_k * kBytes, 2);
    k.l0b = b.buffer("b0", isa::Space::l0b, p.base_k * p.base_n * kBytes, 2);
    k.l0c = b.buffer("c0", isa::Space::l0c, p.base_m * p.base_n * 4);
    b.section(isa::CoreKind::aic, [&] {
        k.a_load = k.counter("a_loads");
        k.b_load = k.counter("b_loads");
        k.step = k.counter("steps");
        if (p.setup > 0) b.scalar(p.setup);
        for (int s = 0; s < static_cast<int>(p.buffers); ++s) b.set(Pipe::mte1, Pipe::mte2, s), b.set(Pipe::mte1, Pipe::mte2, s + kIdsOfB);
        for (int s = 0; s < 2; ++s) b.set(Pipe::m, Pipe::mte1, s);
        if (!p.unit_flag) b.set(Pipe::fix, Pipe::m);
        const X id = lift(b, b.block_id());
        const auto clipped = [&](X row, X col, X row_end, X col_end, X column, X columns) {
            tile(k, {row, col, least(lift(b, p.base_m), row_end - row), least(lift(b, p.base_n), col_end - col), is_zero(column),
                     is_zero(columns - column - 1)});
        };
        if (p.single_m == 0) {  // tiles in row order, one core after the other
            const I across = isa::ceil_div(p.n, p.base_n), tiles = isa::ceil_div(p.m, p.base_m) * across;
            b.loop(ceil_div(tiles - id, p.cores), [&](isa::Expr t) {
                const X index = lift(b, t) * p.cores + id;
                clipped(index / across * p.base_m, index % across * p.base_n, lift(b, p.m), lift(b, p.n), lift(b, 0), lift(b, 1));
            });
        } else {
            const I pass_m = p.m / p.passes, down = isa::ceil_div(pass_m, p.single_m);
            const X m_core = id % down, n_core = id / down;
            const X col_first = n_core * p.single_n, col_end = least(lift(b, p.n), col_first + p.single_n);
            b.loop(p.passes, [&](isa::Expr pass) {
                const X row_first = lift(b, pass) * pass_m + m_core * p.single_m;
                const X row_end = least((lift(b, pass) + 1) * pass_m, row_first + p.single_m);
                const X rows = ceil_div(row_end - row_first, p.base_m), cols = ceil_div(col_end - col_first, p.base_n);
                b.loop(p.rows_first ? cols : rows, [&](isa::Expr outer) {
                    b.loop(p.rows_first ? rows : cols, [&](isa::Expr inner) {
                        const X i = lift(b, p.rows_first ? inner : outer), j = lift(b, p.rows_first ? outer : inner);
                        clipped(row_first + i * p.base_m, col_first + j * p.base_n, row_end, col_end, j, cols);
                    });
                });
            });
        }
        for (int s = 0; s < static_cast<int>(p.buffers); ++s) b.wait(Pipe::mte1, Pipe::mte2, s), b.wait(Pipe::mte1, Pipe::mte2, s + kIdsOfB);
        for (int s = 0; s < 2; ++s) b.wait(Pipe::m, Pipe::mte1, s);
        if (!p.unit_flag) b.wait(Pipe::fix, Pipe::m);
    });
    return b.build(p.cores);
}

}  // namespace sfumato::lab::silicon
