// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels of others that were measured on silicon, written down instruction by instruction as their sources do it (loop order, buffers, flags),
// so that a published time can be compared with the time of the same work. Parameters are the shapes and tilings that tables print.
#include <cstdint>
#include <string>

#include "isa/program.h"

namespace sfumato::lab::silicon {

using I = std::int64_t;

/// asc-devkit data_copy: each core reads its rows of an m x n matrix, tile by tile, into one buffer and does nothing with them.
struct ReadPlan {
    bool to_l1 = false;  ///< cube cores, ND to NZ; else vector cores, GM to UB
    I m = 0, n = 0, cores = 1, tile_m = 1, tile_n = 1;
    I repeat = 1;               ///< the whole share again and again
    I splits = 1;               ///< column splits, each repeated before the next
    bool everyone_all = false;  ///< every core reads the whole matrix, past the L2
    bool stagger = true;        ///< then: starting at its own share; else all in the same order
};
isa::Program read_kernel(const ReadPlan&);

/// asc-devkit add_high_performance: z = x + y over m x n f16, rows dealt to the cores, `chunk` elements at a time.
struct AddPlan {
    I m = 0, n = 0, cores = 1, chunk = 4096;
    bool double_buffer = false, bypass = false, spread_banks = false;
};
isa::Program add_kernel(const AddPlan&);

/// Framework moves and fills: `bytes` dealt to the cores in chunks; loads and stores take turns (profiles show shares that sum to one); `read` false:
/// a constant, or one row written again and again.
struct MovePlan {
    I bytes = 0, cores = 1, chunk_bytes = 65536, buffers = 1;
    I setup = 0;  ///< scalar cycles before the first transfer (tiling data, addresses)
    bool read = true;
    bool value = false;     ///< the constant is read from a tensor first
    I broadcast_bytes = 0;  ///< length of the row that is read once and written again and again
};
isa::Program move_kernel(const MovePlan&);

/// asc-devkit bank_conflict_ub: `times` independent f32 Adds of 64 repeats on buffers at given UB addresses.
struct BankPlan {
    I x = 0, y = 0, z = 0, times = 1000, src0_block = 1, src0_repeat = 8;
};
isa::Program bank_kernel(const BankPlan&);

/// asc-devkit bank_conflict_nd2nz: ND to NZ through UB with one vector copy per 8 columns of blocks.
struct Nd2NzPlan {
    I m = 0, n = 0, tile_m = 144, tile_n = 128, stride = 145, row_splits = 6, col_splits = 8;
};
isa::Program nd2nz_kernel(const Nd2NzPlan&);

/// The matmul templates of the vendor's library and of PTO: base block, steps of K a load brings, L1 buffers, share of a core.
struct MatmulPlan {
    I m = 0, n = 0, k = 0, cores = 24;
    I base_m = 128, base_n = 256, base_k = 64;
    I step_a = 1, step_b = 1;      ///< K steps per load of A and of B
    I buffers = 2;                 ///< L1 buffers of each operand; 1: load and use take turns
    I single_m = 0, single_n = 0;  ///< a core's share; 0: tiles dealt one by one in row order
    I passes = 1;                  ///< the rows are done in this many passes (L2 split)
    bool rows_first = false;       ///< a core finishes a column of blocks before the next one
    bool a_stays = false;          ///< L1 holds all of K of A's block of rows while the columns pass by
    I out_bytes = 2;
    bool f32_out = false, unit_flag = false;
    I setup = 0, per_tile = 0, per_step = 0;  ///< scalar cycles before the first load, per base block and per K step: the template's bookkeeping
};
isa::Program matmul_kernel(const MatmulPlan&);

}  // namespace sfumato::lab::silicon
