// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul.h"

namespace sfumato::kernels {

using namespace dsl;

template <class T>
void matmul_bias_relu_expert(In<T> A, In<T> B, In<f32> bias, Out<T> C, MatMulTile t) {
    auto a = tiles(A, t.m, t.k1);
    auto b = tiles(B, t.k1, t.n);
    auto r = tiles(bias, t.n);
    auto c = tiles(C, t.m, t.n);

    auto a1 = buffer<T>(L1, {t.m, t.k1}, slots(2));
    auto b1 = buffer<T>(L1, {t.k1, t.n}, slots(2));
    auto r1 = buffer<f32>(L1, {1, t.n}, slots(2));
    auto a0 = buffer<T>(L0A, {t.m, t.k0}, slots(2));
    auto b0 = buffer<T>(L0B, {t.k0, t.n}, slots(2));
    auto c0 = buffer<f32>(L0C, {t.m, t.n});
    auto bt = buffer<f32>(BT, {1, t.n});

    auto l1_full = event(MTE2 >> MTE1, 2);
    auto l1_free = event(MTE1 >> MTE2, 2).primed();
    auto l0_full = event(MTE1 >> M, 2);
    auto l0_free = event(M >> MTE1, 2).primed();
    auto bt_free = event(M >> MTE1).primed();
    auto acc_full = event(M >> FIX);
    auto acc_free = event(FIX >> M).primed();

    Counter outer, inner;
    hand_synchronised([&] {
        for (auto [m, n] : cores(c.rows(), c.cols())) {
            for (auto k : loop(a.cols())) {
                auto s1 = outer.next();
                l1_free[s1].wait();
                copy(a1[s1], a(m, k));
                copy(b1[s1], b(k, n));
                when(k == 0, [&] { copy(r1[s1], r(n)); });
                l1_full[s1].set();

                l1_full[s1].wait();
                for (auto kk : loop(ceil_div(depth(a1[s1]), t.k0))) {
                    auto s0 = inner.next();
                    auto first = k == 0 && kk == 0;
                    l0_free[s0].wait();
                    when(first, [&] {
                        bt_free.wait();
                        copy(bt, r1[s1]);
                    });
                    copy(a0[s0], columns(a1[s1], kk, t.k0));
                    copy(b0[s0], rows(b1[s1], kk, t.k0));
                    l0_full[s0].set();

                    l0_full[s0].wait();
                    when(first, [&] { acc_free.wait(); });
                    mmad(c0, a0[s0], b0[s0], {.bias = bt, .init = first});
                    when(first, [&] { bt_free.set(); });
                    l0_free[s0].set();
                }
                l1_free[s1].set();
            }
            acc_full.set();
            acc_full.wait();
            fixpipe(c(m, n), c0, {.relu = true});
            acc_free.set();
        }
    });
}

template <class T>
void matmul_bias_relu_expert_merged(In<T> A, In<T> B, In<f32> bias, Out<T> C, MatMulTile t) {
    auto a = tiles(A, t.m, t.k1);
    auto b = tiles(B, t.k1, t.n);
    auto r = tiles(bias, t.n);
    auto c = tiles(C, t.m, t.n);

    auto a1 = buffer<T>(L1, {t.m, t.k1}, slots(2));
    auto b1 = buffer<T>(L1, {t.k1, t.n}, slots(2));
    auto a0 = buffer<T>(L0A, {t.m, t.k0}, slots(2));
    auto b0 = buffer<T>(L0B, {t.k0, t.n}, slots(2));
    auto c0 = buffer<f32>(L0C, {t.m, t.n});
    auto ru = buffer<f32>(UB, {1, t.n});
    auto sum = buffer<f32>(UB, {t.m, t.n});
    auto out = buffer<T>(UB, {t.m, t.n});

    auto l1_full = event(MTE2 >> MTE1, 2);
    auto l1_free = event(MTE1 >> MTE2, 2).primed();
    auto l0_full = event(MTE1 >> M, 2);
    auto l0_free = event(M >> MTE1, 2).primed();
    auto acc_full = event(M >> V);
    auto acc_free = event(V >> M).primed();
    auto bias_full = event(MTE2 >> V);
    auto bias_free = event(V >> MTE2).primed();
    auto out_full = event(V >> MTE3);
    auto out_free = event(MTE3 >> V).primed();

    Counter outer, inner;
    hand_synchronised([&] {
        for (auto [m, n] : cores(c.rows(), c.cols())) {
            bias_free.wait();
            copy(ru, r(n));
            bias_full.set();
            for (auto k : loop(a.cols())) {
                auto s1 = outer.next();
                l1_free[s1].wait();
                copy(a1[s1], a(m, k));
                copy(b1[s1], b(k, n));
                l1_full[s1].set();

                l1_full[s1].wait();
                for (auto kk : loop(ceil_div(depth(a1[s1]), t.k0))) {
                    auto s0 = inner.next();
                    auto first = k == 0 && kk == 0;
                    l0_free[s0].wait();
                    copy(a0[s0], columns(a1[s1], kk, t.k0));
                    copy(b0[s0], rows(b1[s1], kk, t.k0));
                    l0_full[s0].set();

                    l0_full[s0].wait();
                    when(first, [&] { acc_free.wait(); });
                    mmad(c0, a0[s0], b0[s0], {.init = first});
                    l0_free[s0].set();
                }
                l1_free[s1].set();
            }
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
