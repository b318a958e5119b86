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

/// Reads every tile into slots that a consumer pipe hands back at once, as a queue of buffers would: only transfers take time.
void read(const TileView& x, Buffer slots, pipe::PipePair handed_over, const CopyTile& t) {
    auto full = event(handed_over, t.slots);
    auto free = event(PipeName{handed_over.dst} >> PipeName{handed_over.src}, t.slots).primed();
    Counter turn;
    hand_synchronised([&] {
        sweep(x, t, [&](Index i, Index j) {
            auto s = turn.next();
            free[s].wait();
            copy(slots[s], x(i, j), cache(t));
            full[s].set();
            full[s].wait();
            free[s].set();
        });
    });
}

}  // namespace

template <class T>
void gm_to_ub(In<T> X, CopyTile t) {
    read(tiles(X, t.rows, t.cols), buffer<T>(UB, {t.rows, t.cols}, slots(t.slots)), MTE2 >> V, t);
}

template <class T>
void gm_to_l1_nz(In<T> X, CopyTile t) {
    read(tiles(X, t.rows, t.cols), buffer<T>(L1, {t.rows, t.cols}, slots(t.slots)), MTE2 >> MTE1, t);
}

template <class T>
void ub_to_gm(Out<T> Y, CopyTile t) {
    auto y = tiles(Y, t.rows, t.cols);
    auto ub = buffer<T>(UB, {t.rows, t.cols});
    vdup(ub, 0.0);
    sweep(y, t, [&](Index i, Index j) { copy(y(i, j), ub, cache(t)); });
}

#define SFUMATO_COPIES(T)                          \
    template void gm_to_ub<T>(In<T>, CopyTile);    \
    template void gm_to_l1_nz<T>(In<T>, CopyTile); \
    template void ub_to_gm<T>(Out<T>, CopyTile);
SFUMATO_COPIES(f16)
SFUMATO_COPIES(bf16)
SFUMATO_COPIES(f32)
#undef SFUMATO_COPIES

}  // namespace sfumato::kernels
