// SPDX-License-Identifier: Apache-2.0
#pragma once
// The builder of isa under the name tests use.
#include "isa/program_builder.h"

namespace sfumato::testing {
using isa::ProgramBuilder;
}  // namespace sfumato::testing
