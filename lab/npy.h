// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arrays in NumPy's .npy files, the way own data goes in and results come out. bf16 has no NumPy type: it is stored as its 16 bits in uint16.
#include <cstddef>
#include <string>
#include <vector>

#include "isa/types.h"

namespace sfumato::lab {

struct Array {
    isa::DType dtype = isa::DType::f32;
    std::vector<std::int64_t> shape;
    std::vector<std::byte> bytes;  ///< row-major, little-endian
};

/// Reads an array of exactly this type and shape; throws InputError naming the file, what it holds and what was expected.
Array read_npy(const std::string& path, isa::DType dtype, const std::vector<std::int64_t>& shape);
/// Writes the file whole or not at all.
void write_npy(const std::string& path, const Array&);

}  // namespace sfumato::lab
