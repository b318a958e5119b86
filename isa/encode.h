// SPDX-License-Identifier: Apache-2.0
#pragma once
// The binary form of a program: a magic number, a version and the program's tables with variable-length integers. Smaller and faster to read
// than text, and what tools exchange. Decoding trusts nothing: malformed bytes are an InputError that names the byte offset.
#include <cstddef>
#include <span>
#include <vector>

#include "isa/program.h"

namespace sfumato::isa {

inline constexpr std::uint32_t kEncodingVersion = 1;

std::vector<std::byte> encode(const Program&);
/// Instructions come out numbered. Allocates no more than a fixed multiple of the input's size.
Program decode(std::span<const std::byte>);

}  // namespace sfumato::isa
