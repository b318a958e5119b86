// SPDX-License-Identifier: Apache-2.0
#pragma once
// Default tilings. Every legal tiling is priced with a roofline over the chip's data: per tile the slowest of loading, moving to L0, multiplying,
// issuing and draining, times the rounds the slowest core works, plus fill. The best wins and the runner-up is kept for the record.
#include <cstdint>
#include <map>
#include <string>

#include "isa/chip.h"

namespace sfumato::kernels {

using Sizes = std::map<std::string, std::int64_t>;  ///< "m" -> 1000, or "k0" -> 64

/// A tiling with what the analytic model says about it.
struct Choice {
    Sizes tile;
    double cycles = 0;  ///< predicted for the slowest core
    Sizes runner_up;    ///< empty: nothing else was legal
    double runner_up_cycles = 0;
    std::string why;  ///< "load-bound: ..."
};

struct MatMulProblem {
    std::int64_t m = 1, n = 1, k = 1;
    isa::DType dtype = isa::DType::f16;
    bool bias = false;
};
/// Knobs m, n, k1, k0. Throws InputError when nothing fits with the knobs that are fixed.
Choice choose_matmul(const isa::Chip&, const MatMulProblem&, const Sizes& fixed);

struct VectorProblem {
    std::int64_t rows = 1, cols = 1;
    int inputs = 1;  ///< tensors read, one written
    isa::DType dtype = isa::DType::f16;
    int wide_tiles = 0;  ///< f32 tiles alive at once
    int passes = 1;      ///< vector instructions over a tile
};
/// Knobs rows, cols.
Choice choose_vector(const isa::Chip&, const VectorProblem&, const Sizes& fixed);

/// Knobs of the copy kernels: tiles of full bursts, two slots, one pass.
Choice choose_copy(const isa::Chip&, std::int64_t rows, std::int64_t cols, isa::DType, isa::Space, const Sizes& fixed);

}  // namespace sfumato::kernels
