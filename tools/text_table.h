// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tables of the terminal and of pages: rows of cells, the first row is the head.
#include <string>
#include <vector>

namespace sfumato::tools {

using Rows = std::vector<std::vector<std::string>>;

/// Columns as wide as their widest cell, the last one open.
std::string table(const Rows&);
std::string markdown(const Rows&);
/// {"key": [{head: cell, ...}, ...]}
std::string objects(const char* key, const Rows&);
/// "a, b, c"
std::string joined(const std::vector<std::string>&);
/// Whole text to stdout.
void print(const std::string&);

}  // namespace sfumato::tools
