// SPDX-License-Identifier: Apache-2.0
// extract PAGE.md OUT.cpp FUNCTION: the programs of a page as one translation unit. Each stands in a namespace of its name and keeps its own line
// numbers, so that diagnostics speak of NAME.cpp as the page does. FUNCTION() lists those with a main.
#include <iostream>

#include "page.h"

namespace {

std::string without_includes(const std::string& text, std::string& includes) {
    std::istringstream in(text);
    std::string out;
    for (std::string line; std::getline(in, line);) {
        const bool include = line.rfind("#include", 0) == 0;
        if (include) includes += line + "\n";
        out += (include ? "" : line) + "\n";
    }
    return out;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 4) throw std::runtime_error("usage: extract PAGE.md OUT.cpp FUNCTION");
    std::string includes, body, list;
    std::vector<std::pair<std::string, std::string>> programs;  // name, text; a name's blocks follow each other
    std::vector<std::string> uses;
    for (const page::Block& b : page::read(argv[1])) {
        if (b.language != "cpp") continue;
        if (b.name.empty())
            throw std::runtime_error(std::string(argv[1]) + ":" + std::to_string(b.line) + ": a block of C++ without a name is not tested");
        if (programs.empty() || programs.back().first != b.name) {
            programs.emplace_back(b.name, "");
            uses.push_back(b.uses);
        }
        programs.back().second += b.text;
    }
    for (std::size_t i = 0; i < programs.size(); ++i) {
        const auto& [name, text] = programs[i];
        const std::string code = without_includes(text, includes);
        body += "namespace " + name + " {\n" + (uses[i].empty() ? "" : "using namespace " + uses[i] + ";\n") + "#line 1 \"" + name + ".cpp\"\n" +
                code + "}  // namespace " + name + "\n";
        if (code.find("int main()") != std::string::npos) list += "    {\"" + name + "\", &" + name + "::main},\n";
    }
    std::ofstream out(argv[2]);
    out << includes << "#include <string>\n#include <utility>\n#include <vector>\n"
        << body << "std::vector<std::pair<std::string, int (*)()>> " << argv[3] << "() {\n    return {\n"
        << list << "    };\n}\n";
    return out ? 0 : 1;
} catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
}
