// SPDX-License-Identifier: Apache-2.0
#pragma once
// The text form of a program (`.sfa`): one statement a line, written and read through the operand families' field lists, so that printing,
// parsing and printing again gives the same text. A parse error names the place, what was found and what was expected.
#include <string>
#include <string_view>
#include <vector>

#include "isa/program.h"

namespace sfumato::isa {

/// Names that are not identifiers or not unique are made so; fields at their default value are left out.
std::string print_program(const Program&);

/// The printed line of every instruction without its source place, by instruction id; for traces, reports and messages.
std::vector<std::string> instruction_texts(const Program&);

/// Reads what print_program writes. Instructions come out numbered. Throws InputError "file:line:column: ...".
Program parse_program(std::string_view text, const std::string& file);

/// One expression over the symbols of `program`, which `print` writes; for options and tests. Throws InputError.
Expr parse_expr(std::string_view text, Program& program, const std::string& file);

}  // namespace sfumato::isa
