// SPDX-License-Identifier: Apache-2.0
#pragma once
// The builder of isa under the name tests use, and the smallest programs that several layers must judge alike.
#include "isa/program_builder.h"

namespace sfumato::testing {

using isa::ProgramBuilder;

/// Case B19: M sets its flag to MTE1 on lines 1 and 2 and waits on line 4.
inline isa::Program flag_set_twice() {
    ProgramBuilder b;
    b.section(isa::CoreKind::aic, [&] {
        b.set(isa::Pipe::m, isa::Pipe::mte1);
        b.set(isa::Pipe::m, isa::Pipe::mte1);
        b.barrier(isa::Pipe::all);
        b.wait(isa::Pipe::m, isa::Pipe::mte1);
    });
    return b.build();
}

}  // namespace sfumato::testing
