// SPDX-License-Identifier: Apache-2.0
#include "kernels/copies.h"

namespace sfumato::kernels {

using namespace dsl;

namespace {

CopyOptions cache(const CopyTile& t) { return {.cache = t.bypass ? isa::Cache::bypass : isa::Cache::normal}; }

/// Runs `body(i, j)` over every tile of the view, `repeat` times.
template <class F>
void sweep(const TileView& v, const CopyTile& t, F&& body) {
    const Index total = v.rows() * v.cols();
    const auto at = [&](Index tile) { body(tile / v.cols(), tile % v.cols()); };
    for ([[maybe_unused]] auto pass : loop(t.repeat)) {
        if (t.shared) {
            const Index first = every_core() * t.stagger;
            for (auto i : loop(total)) at((first + i) % total);
        } else {
            for (auto i : cores(total)) at(i);
        }
    }
}

}  // namespace

template <class T>
void gm_to_ub(In<T> X, CopyTile t) {
    auto x = tiles(X, t.rows, t.cols);
    auto ub = buffer<T>(UB, {t.rows, t.cols}, slots(t.slots));
    Counter turn;
    sweep(x, t, [&](Index i, Index j) { copy(ub[turn.next()], x(i, j), cache(t)); });
}

template <class T>
void gm_to_l1_nz(In<T> X, CopyTile t) {
    auto x = tiles(X, t.rows, t.cols);
    auto l1 = buffer<T>(L1, {t.rows, t.cols}, slots(t.slots));
    Counter turn;
    sweep(x, t, [&](Index i, Index j) { copy(l1[turn.next()], x(i, j), cache(t)); });
}

template <class T>
void ub_to_gm(Out<T> Y, CopyTile t) {
    auto y = tiles(Y, t.rows, t.cols);
    auto ub = buffer<T>(UB, {t.rows, t.cols});
    vdup(ub, 0.0);
    sweep(y, t, [&](Index i, Index j) { copy(y(i, j), ub, cache(t)); });
}

#define SFUMATO_COPIES(T)                             \
    template void gm_to_ub<T>(In<T>, CopyTile);       \
    template void gm_to_l1_nz<T>(In<T>, CopyTile);    \
    template void ub_to_gm<T>(Out<T>, CopyTile);
SFUMATO_COPIES(f16)
SFUMATO_COPIES(bf16)
SFUMATO_COPIES(f32)
#undef SFUMATO_COPIES

}  // namespace sfumato::kernels
