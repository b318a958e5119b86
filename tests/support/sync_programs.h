// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loop bodies that the sync tests share, without any flag.
#include "dsl/passes/sync.h"
#include "isa/chip.h"
#include "tests/support/program_builder.h"

namespace sfumato::testing {

inline const isa::Chip& b2() {
    static const isa::Chip chip = isa::load_chip("Ascend910B2");
    return chip;
}

/// n iterations that load tiles of x and z into `slots` slots each and go on with then(x, z, slot, where the tile of the result y belongs).
template <class Then>
isa::Program over_x_and_z(const char* name, int slots, std::int64_t elements, Then then) {
    using namespace isa;
    ProgramBuilder b(name);
    const int gx = b.tensor("x", DType::f32, {1 << 20}), gz = b.tensor("z", DType::f32, {1 << 20}),
              gy = b.tensor("y", DType::f32, {1 << 20}, Role::out);
    const int x = b.buffer("x", Space::ub, 4 * elements, slots), z = b.buffer("z", Space::ub, 4 * elements, slots);
    b.section(CoreKind::aiv, [&] {
        b.loop(b.param("n"), [&](Expr i) {
            const Expr s = b.p.exprs.mod(i, b.num(slots)), at = b.p.exprs.mul(i, b.num(4 * elements));
            b.copy(Op::mov_gm_ub, b.at(x, {}, s), b.gm(gx, at), 1, elements, DType::f32);
            b.copy(Op::mov_gm_ub, b.at(z, {}, s), b.gm(gz, at), 1, elements, DType::f32);
            then(b, b.at(x, {}, s), b.at(z, {}, s), s, b.gm(gy, at));
        });
    });
    return b.build();
}

/// load x, load z, y = x + z, store y; `slots` slots each, `n` iterations.
inline isa::Program vector_add(int slots) {
    using namespace isa;
    return over_x_and_z("vector_add", slots, 256, [&](ProgramBuilder& b, Operand x, Operand z, Expr s, Operand out) {
        const Operand y = b.at(b.buffer("y", Space::ub, 1024, slots), {}, s);
        b.vector(Op::vadd, y, x, z, 256);
        b.copy(Op::mov_ub_gm, out, y, 1, 256, DType::f32);
    });
}

/// Gives every vadds the scalar 1.
inline isa::Program add_one(isa::Program p) {
    for (isa::Section& s : p.sections)
        isa::for_each_instr(s.body, [](isa::Instr& i) {
            if (i.op == isa::Op::vadds) std::get<isa::Vector>(i.operands).scalar = 1;
        });
    return p;
}

/// Case B09: y = (x + z) + 1 in place, three rotating slots.
inline isa::Program in_place_add(int slots = 3) {
    using namespace isa;
    return add_one(over_x_and_z("in_place", slots, 1024, [](ProgramBuilder& b, Operand x, Operand z, Expr, Operand out) {
        b.vector(Op::vadd, x, x, z, 1024);
        b.vector(Op::vadds, x, x, {}, 1024);
        b.copy(Op::mov_ub_gm, out, x, 1, 1024, DType::f32);
    }));
}

/// The K loop of a matmul: two loads, two L1 -> L0 moves, one mmad.
inline isa::Program matmul_k_loop(int slots) {
    using namespace isa;
    ProgramBuilder b("k_loop");
    const int ga = b.tensor("a", DType::f16, {1 << 20}), gb = b.tensor("b", DType::f16, {1 << 20});
    const int a1 = b.buffer("a1", Space::l1, 4096, slots), b1 = b.buffer("b1", Space::l1, 4096, slots), a0 = b.buffer("a0", Space::l0a, 4096, slots),
              b0 = b.buffer("b0", Space::l0b, 4096, slots), c0 = b.buffer("c0", Space::l0c, 4096);
    b.section(CoreKind::aic, [&] {
        b.loop(b.param("n"), [&](Expr i) {
            const Expr s = b.p.exprs.mod(i, b.num(slots)), at = b.p.exprs.mul(i, b.num(4096));
            b.copy(Op::mov_gm_l1_nz, b.at(a1, {}, s), b.gm(ga, at), 32, 64, DType::f16, 32);
            b.copy(Op::mov_gm_l1_nz, b.at(b1, {}, s), b.gm(gb, at), 64, 32, DType::f16, 64);
            b.copy(Op::mov_l1_l0a, b.at(a0, {}, s), b.at(a1, {}, s), 32, 64, DType::f16, 0, 32);
            b.copy(Op::mov_l1_l0b, b.at(b0, {}, s), b.at(b1, {}, s), 64, 32, DType::f16, 0, 64);
            b.mmad(b.at(c0), b.at(a0, {}, s), b.at(b0, {}, s), 32, 64, 32, b.p.exprs.binary(ExprOp::eq, i, b.num(0)));
        });
    });
    return b.build();
}

/// Which parts of the matmul of dsl.md 3.4 the author wrote: no order at all, all of it, or all but the event that frees the bias table.
enum class Order { none, expert, without_bt_free };

/// Tiles x K1 x K0 with bias table and drain; parameters M (tiles of 16 rows) and K; k1 = 32, k0 = 16.
inline isa::Program nested_matmul(Order order) {
    using namespace isa;
    ProgramBuilder b("matmul");
    ExprPool& e = b.p.exprs;
    const int ga = b.tensor("A", DType::f16, {1 << 20}), gb = b.tensor("B", DType::f16, {1 << 20}), gr = b.tensor("bias", DType::f32, {16}),
              gc = b.tensor("C", DType::f16, {1 << 20}, Role::out);
    b.p.tensors[0].dims = {b.param("M"), b.param("K")};
    const int a1 = b.buffer("a1", Space::l1, 1024, 2), b1 = b.buffer("b1", Space::l1, 1024, 2), r1 = b.buffer("r1", Space::l1, 64, 2),
              a0 = b.buffer("a0", Space::l0a, 512, 2), b0 = b.buffer("b0", Space::l0b, 512, 2), c0 = b.buffer("c0", Space::l0c, 1024),
              bt = b.buffer("bt", Space::bt, 64);
    const Expr m = b.param("M"), k = b.param("K");
    const bool hand = order != Order::none, free_bt = order == Order::expert;
    const auto set = [&](bool on, Pipe s, Pipe d, Expr id) {
        if (on) b.set(s, d, id);
    };
    const auto wait = [&](bool on, Pipe s, Pipe d, Expr id) {
        if (on) b.wait(s, d, id);
    };
    const Expr zero = b.num(0), two = b.num(2);
    b.section(CoreKind::aic, [&] {
        const Expr s1 = e.mod(b.sym("outer", SymbolKind::counter), two), s0 = e.mod(b.sym("inner", SymbolKind::counter), two);
        for (int i = 0; i < 2; ++i) {
            set(hand, Pipe::mte1, Pipe::mte2, b.num(i));
            set(hand, Pipe::m, Pipe::mte1, b.num(i));
        }
        set(free_bt, Pipe::m, Pipe::mte1, b.num(2));
        set(hand, Pipe::fix, Pipe::m, zero);
        b.loop(e.ceil_div(m, 16), [&](Expr t) {
            b.loop(e.ceil_div(k, 32), [&](Expr kk1) {
                const Expr depth = e.min(b.num(32), e.sub(k, e.mul(kk1, b.num(32))));
                wait(hand, Pipe::mte1, Pipe::mte2, s1);
                b.copy(Op::mov_gm_l1_nz, b.at(a1, {}, s1), b.gm(ga, e.mul(t, b.num(512))), 16, 32, DType::f16, 16);
                b.copy(Op::mov_gm_l1_nz, b.at(b1, {}, s1), b.gm(gb, e.mul(kk1, b.num(1024))), 32, 16, DType::f16, 32);
                b.when(e.binary(ExprOp::eq, kk1, zero), [&] { b.copy(Op::mov_gm_l1, b.at(r1, {}, s1), b.gm(gr), 1, 16, DType::f32); });
                set(hand, Pipe::mte2, Pipe::mte1, s1);
                wait(hand, Pipe::mte2, Pipe::mte1, s1);
                b.loop(e.ceil_div(depth, 16), [&](Expr kk0) {
                    const Expr first = e.binary(ExprOp::logical_and, e.binary(ExprOp::eq, kk1, zero), e.binary(ExprOp::eq, kk0, zero));
                    wait(hand, Pipe::m, Pipe::mte1, s0);
                    b.when(first, [&] {
                        wait(free_bt, Pipe::m, Pipe::mte1, b.num(2));
                        b.copy(Op::mov_l1_bt, b.at(bt), b.at(r1, {}, s1), 1, 16, DType::f32);
                    });
                    b.copy(Op::mov_l1_l0a, b.at(a0, {}, s0), b.at(a1, e.mul(kk0, b.num(512)), s1), 16, 16, DType::f16, 0, 16);
                    b.copy(Op::mov_l1_l0b, b.at(b0, {}, s0), b.at(b1, e.mul(kk0, b.num(512)), s1), 16, 16, DType::f16, 0, 32);
                    set(hand, Pipe::mte1, Pipe::m, s0);
                    wait(hand, Pipe::mte1, Pipe::m, s0);
                    if (hand) b.when(first, [&] { b.wait(Pipe::fix, Pipe::m, zero); });
                    Cube c;
                    c.dst = b.at(c0);
                    c.a = b.at(a0, {}, s0);
                    c.b = b.at(b0, {}, s0);
                    c.bias = b.at(bt);
                    c.m = c.n = c.k = b.num(16);
                    c.init = first;
                    b.instr(Op::mmad, c);
                    if (free_bt) b.when(first, [&] { b.set(Pipe::m, Pipe::mte1, b.num(2)); });
                    set(hand, Pipe::m, Pipe::mte1, s0);
                    b.bump("inner");
                });
                set(hand, Pipe::mte1, Pipe::mte2, s1);
                b.bump("outer");
            });
            set(hand, Pipe::m, Pipe::fix, zero);
            wait(hand, Pipe::m, Pipe::fix, zero);
            b.fix(b.gm(gc, e.mul(t, b.num(512))), b.at(c0), 16, 16, 16);
            set(hand, Pipe::fix, Pipe::m, zero);
        });
        for (int i = 0; i < 2; ++i) {
            wait(hand, Pipe::mte1, Pipe::mte2, b.num(i));
            wait(hand, Pipe::m, Pipe::mte1, b.num(i));
        }
        wait(free_bt, Pipe::m, Pipe::mte1, b.num(2));
        wait(hand, Pipe::fix, Pipe::m, zero);
    });
    return b.build();
}

}  // namespace sfumato::testing
