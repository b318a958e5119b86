// SPDX-License-Identifier: Apache-2.0
#pragma once
// The copy kernels behind bandwidth tables: nothing but transfers of one direction, with the shape of their bursts as knobs.
#include "dsl/dsl.h"

namespace sfumato::kernels {

/// `rows` rows of `cols` elements a transfer, `slots` of them under way; `repeat` passes over the tensor. `shared` 1: every core moves the whole
/// tensor and core i starts `stagger` * i tiles further on; 0: the cores share the tiles. `bypass` 1: past the L2.
struct CopyTile {
    dsl::Knob rows, cols, slots, repeat, shared, stagger, bypass;
};

/// GM to UB on vector (or merged) cores.
template <class T>
void gm_to_ub(dsl::In<T> X, CopyTile t);
/// GM to L1, turning rows into fractals, on cube (or merged) cores.
template <class T>
void gm_to_l1_nz(dsl::In<T> X, CopyTile t);
/// UB to GM: fills UB with zeros once, then only stores.
template <class T>
void ub_to_gm(dsl::Out<T> Y, CopyTile t);

}  // namespace sfumato::kernels
