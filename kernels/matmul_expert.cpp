// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul.h"

namespace sfumato::kernels {

using namespace dsl;

namespace {

/// Both operands on their way from GM through L1 to the matrix unit, two slots at each station, and the flags that hand the slots over.
template <class T>
struct Operands {
    Operands(In<T> A, In<T> B, const MatMulTile& tile)
        : t(tile),
          a(tiles(A, t.m, t.k1)),
          b(tiles(B, t.k1, t.n)),
          a1(buffer<T>(L1, {t.m, t.k1}, slots(2))),
          b1(buffer<T>(L1, {t.k1, t.n}, slots(2))),
          a0(buffer<T>(L0A, {t.m, t.k0}, slots(2))),
          b0(buffer<T>(L0B, {t.k0, t.n}, slots(2))),
          l1_full(event(MTE2 >> MTE1, 2)),
          l1_free(event(MTE1 >> MTE2, 2).primed()),
          l0_full(event(MTE1 >> M, 2)),
          l0_free(event(M >> MTE1, 2).primed()) {}

    /// One output tile: multiply(first, left, right) for every L0 step. `beside_l1` and `beside_l0` copy what travels with the operands, given the
    /// L1 slot and whether this is the first transfer or step.
    template <class BesideL1, class BesideL0, class Multiply>
    void each_step(Index m, Index n, BesideL1 beside_l1, BesideL0 beside_l0, Multiply multiply) {
        for (auto k : loop(a.cols())) {
            auto s1 = outer.next();
            l1_free[s1].wait();
            copy(a1[s1], a(m, k));
            copy(b1[s1], b(k, n));
            beside_l1(k == 0, s1);
            l1_full[s1].set();

            l1_full[s1].wait();
            for (auto kk : loop(ceil_div(depth(a1[s1]), t.k0))) {
                auto s0 = inner.next();
                auto first = k == 0 && kk == 0;
                l0_free[s0].wait();
                beside_l0(first, s1);
                copy(a0[s0], columns(a1[s1], kk, t.k0));
                copy(b0[s0], rows(b1[s1], kk, t.k0));
                l0_full[s0].set();

                l0_full[s0].wait();
                multiply(first, a0[s0], b0[s0]);
                l0_free[s0].set();
            }
            l1_free[s1].set();
        }
    }

    MatMulTile t;
    TileView a, b;
    Buffer a1, b1, a0, b0;
    Event l1_full, l1_free, l0_full, l0_free;
    Counter outer, inner;
};

}  // namespace

template <class T>
void matmul_bias_relu_expert(In<T> A, In<T> B, In<f32> bias, Out<T> C, MatMulTile t) {
    Operands<T> operands(A, B, t);
    auto r = tiles(bias, t.n);
    auto c = tiles(C, t.m, t.n);

    auto r1 = buffer<f32>(L1, {1, t.n}, slots(2));
    auto c0 = buffer<f32>(L0C, {t.m, t.n});
    auto bt = buffer<f32>(BT, {1, t.n});

    auto bt_free = event(M >> MTE1).primed();
    auto acc_full = event(M >> FIX);
    auto acc_free = event(FIX >> M).primed();

    hand_synchronised([&] {
        for (auto [m, n] : cores(c.rows(), c.cols())) {
            operands.each_step(
                m, n, [&](Index first, Index s1) { when(first, [&] { copy(r1[s1], r(n)); }); },
                [&](Index first, Index s1) {
                    when(first, [&] {
                        bt_free.wait();
                        copy(bt, r1[s1]);
                    });
                },
                [&](Index first, const BufferRef& left, const BufferRef& right) {
                    when(first, [&] { acc_free.wait(); });
                    mmad(c0, left, right, {.bias = bt, .init = first});
                    when(first, [&] { bt_free.set(); });
                });
            acc_full.set();
            acc_full.wait();
            fixpipe(c(m, n), c0, {.relu = true});
            acc_free.set();
        }
    });
}

template <class T>
void matmul_bias_relu_expert_merged(In<T> A, In<T> B, In<f32> bias, Out<T> C, MatMulTile t) {
    Operands<T> operands(A, B, t);
    auto r = tiles(bias, t.n);
    auto c = tiles(C, t.m, t.n);

    auto c0 = buffer<f32>(L0C, {t.m, t.n});
    auto ru = buffer<f32>(UB, {1, t.n});
    auto sum = buffer<f32>(UB, {t.m, t.n});
    auto out = buffer<T>(UB, {t.m, t.n});

    auto acc_full = event(M >> V);
    auto acc_free = event(V >> M).primed();
    auto bias_full = event(MTE2 >> V);
    auto bias_free = event(V >> MTE2).primed();
    auto out_full = event(V >> MTE3);
    auto out_free = event(MTE3 >> V).primed();

    const auto nothing = [](Index, Index) {};
    hand_synchronised([&] {
        for (auto [m, n] : cores(c.rows(), c.cols())) {
            bias_free.wait();
            copy(ru, r(n));
            bias_full.set();
            operands.each_step(m, n, nothing, nothing, [&](Index first, const BufferRef& left, const BufferRef& right) {
                when(first, [&] { acc_free.wait(); });
                mmad(c0, left, right, {.init = first});
            });
            acc_full.set();
            acc_full.wait();
            copy(sum, c0);
            acc_free.set();
            barrier(V);
            bias_full.wait();
            vadd(sum, sum, ru);
            bias_free.set();
            barrier(V);
            vrelu(sum, sum);
            barrier(V);
            out_free.wait();
            vconv(out, sum);
            barrier(V);
            out_full.set();
            out_full.wait();
            copy(c(m, n), out);
            out_free.set();
        }
    });
}

template void matmul_bias_relu_expert<f16>(In<f16>, In<f16>, In<f32>, Out<f16>, MatMulTile);
template void matmul_bias_relu_expert<bf16>(In<bf16>, In<bf16>, In<f32>, Out<bf16>, MatMulTile);
template void matmul_bias_relu_expert<f32>(In<f32>, In<f32>, In<f32>, Out<f32>, MatMulTile);
template void matmul_bias_relu_expert_merged<f16>(In<f16>, In<f16>, In<f32>, Out<f16>, MatMulTile);

}  // namespace sfumato::kernels
