// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compares the values of a run with a reference and says where the first difference lies: tensor, coordinates, tile and the line that stored it.
#include "lab/lab.h"
#include "lab/tensors.h"

namespace sfumato::lab {

/// With the kernel's mathematical definition in double. `before` holds the memory as it was before the run, `after` as it is now.
traces::ValueCheck check_against_reference(const Prepared&, const std::vector<HostTensor>&, const sim::DeviceMemory& before, const sim::DeviceMemory& after);

/// Bit for bit with another execution of the same program.
traces::ValueCheck check_equal(const Prepared&, const std::vector<HostTensor>&, const sim::DeviceMemory& expected, const sim::DeviceMemory& after,
                               const std::string& rule);

}  // namespace sfumato::lab
