// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where chip files lie and what identifies their content; shared by the parser and the loader by name.
#include <string>
#include <vector>

#include "isa/chip.h"

namespace sfumato::isa {

/// Chip folders in the order of search: `chip_dir` alone if given, else the installed and the source tree's folder, found from the
/// place of the running executable, then the folder of the installed package the program was built with.
std::vector<std::string> chip_folders(const std::string& chip_dir = "");

/// Whole text of a chip file; throws InputError when it cannot be read.
std::string read_chip_file(const std::string& path);

/// The file `name` beside `origin`, else in a chip folder; empty when there is none.
std::string sibling_file(const std::string& origin, const std::string& name);

/// Hash of all resolved values, hexadecimal: equal hashes mean equal predictions.
std::string hash_of(const Chip&);

}  // namespace sfumato::isa
