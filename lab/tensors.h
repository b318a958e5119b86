// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tensors of a launch: how large they are, what is in them before the run, and what the result should be compared with.
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "isa/chip.h"
#include "isa/program.h"
#include "sim/simulator.h"

namespace sfumato::lab {

struct HostTensor {
    std::string name;
    isa::DType dtype = isa::DType::f16;
    isa::Role role = isa::Role::in;
    std::vector<std::int64_t> shape;
    std::int64_t elements = 1;
    std::int64_t bytes() const { return elements * isa::bytes_of(dtype); }
};

/// Largest size an option may give; what lies above would overflow byte counts and fits no device.
inline constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;

/// Name, type and extents of a program's tensors for the given parameters. Throws InputError for an extent below 1 and when together they need
/// more than the chip's device memory.
std::vector<HostTensor> host_tensors(const isa::Program&, const std::map<std::string, std::int64_t>& params, const isa::Chip&);
/// The size check alone, on tensors from elsewhere.
void check_device_memory(const std::vector<HostTensor>&, const isa::Chip&);

/// A tensor of the device: inputs are seeded random numbers in [-1, 1) (whole numbers -8 to 8 for integers), outputs full of NaN bits, so that a
/// missed store shows. `fill` false: its size only.
sim::DeviceTensor device_tensor(const HostTensor&, std::uint64_t seed, bool fill);
/// Tensors that control loads read; they need values in every mode.
std::set<std::size_t> control_tensors(const isa::Program&);

/// Seeded random elements, as device_tensor has them.
std::vector<std::byte> random_bytes(const HostTensor&, std::uint64_t seed);
/// Coordinates of an element counted in row-major order.
std::vector<std::int64_t> coordinates(const std::vector<std::int64_t>& shape, std::int64_t element);

/// Elements as double.
std::vector<double> to_doubles(isa::DType, std::span<const std::byte>);

}  // namespace sfumato::lab
