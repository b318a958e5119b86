// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where an installed Sfumato keeps its chip files. A program built elsewhere against it cannot find them beside itself, so the installed CMake
// package compiles a definition of this function into such programs; it takes the place of the library's own (installed_chips.cpp), which knows no
// folder.
namespace sfumato::isa {

/// The folder, or "" in programs of this source tree.
const char* installed_chips();

}  // namespace sfumato::isa
