// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fenced blocks of a Markdown page that are code or output. "```cpp NAME" belongs to program NAME, "```cpp NAME uses OTHER" sees the names of
// program OTHER too, "```text NAME" is what NAME prints (numbers may differ; "```text NAME exact": they may not). A line "..." stands for any lines.
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace page {

struct Block {
    std::string language, name, uses, text;
    bool exact = false;
    int line = 0;  ///< of the opening fence
};

inline std::vector<Block> read(const std::string& path) {
    std::ifstream in(path);
    if (!in) throw std::runtime_error("cannot read " + path);
    std::vector<Block> out;
    bool inside = false;
    int number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        if (line.rfind("```", 0) != 0) {
            if (inside) out.back().text += line + "\n";
            continue;
        }
        inside = !inside;
        if (!inside) continue;
        Block b;
        b.line = number;
        std::istringstream words(line.substr(3));
        words >> b.language >> b.name;
        for (std::string word; words >> word;) {
            if (word == "exact") b.exact = true;
            if (word == "uses") words >> b.uses;
        }
        out.push_back(b);
    }
    return out;
}

}  // namespace page
