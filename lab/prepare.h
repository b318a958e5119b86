// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reading a program in text form, for those who prepare a run.
#include <string>

#include "isa/program.h"

namespace sfumato::lab {

/// Throws InputError for an unreadable file, and with file, line and column for text that is not a program.
isa::Program read_program(const std::string& file);

}  // namespace sfumato::lab
