// SPDX-License-Identifier: Apache-2.0
#pragma once
// Golden mode: the operations of a kernel, as recorded, evaluated in double without tiles, buffers or rounding. What a compiled kernel is compared
// with when it has no reference of its own.
#include "dsl/tile_ir.h"

namespace sfumato::dsl {

/// Evaluates a maths-like kernel (recorded, not necessarily in SSA form) as one core would. `tensors`: values in the order of the kernel's tensors,
/// changed in place; `params`: extents by name, e.g. "A.0". Throws InputError for a missing parameter, a tensor of the wrong size, or a kernel
/// that holds instructions of the explicit level.
void golden(tile::Kernel, const std::map<std::string, std::int64_t>& params, std::vector<std::vector<double>>& tensors);

}  // namespace sfumato::dsl
