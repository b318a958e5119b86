// SPDX-License-Identifier: Apache-2.0
// The tutorial's programs run, and print what the page says.
#include <catch2/catch.hpp>
#include <cctype>
#include <iostream>
#include <map>

#include "page.h"

std::vector<std::pair<std::string, int (*)()>> tutorial_programs();  // generated from the page

namespace {

constexpr const char* kPage = "docs/writing-a-kernel.md";

std::string output_of(int (*program)()) {
    std::ostringstream out;
    std::streambuf* const before = std::cout.rdbuf(out.rdbuf());
    try {
        program();
    } catch (const std::exception& e) {
        out << e.what() << "\n";
    }
    std::cout.rdbuf(before);
    return out.str();
}

/// One blank between words; unless `exact`, every number is "#".
std::string normal(const std::string& line, bool exact) {
    std::string out;
    bool blank = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const auto c = static_cast<unsigned char>(line[i]);
        if (std::isspace(c)) {
            blank = !out.empty();
            continue;
        }
        if (blank) out += ' ';
        blank = false;
        const auto before = static_cast<unsigned char>(i > 0 ? line[i - 1] : ' ');
        const bool number = std::isdigit(c) && !std::isalnum(before) && before != '_';
        if (exact || !number) {
            out += line[i];
            continue;
        }
        out += '#';
        while (i + 1 < line.size() && (std::isalnum(static_cast<unsigned char>(line[i + 1])) ||
                                       ((line[i + 1] == '.' || line[i + 1] == ',' || line[i + 1] == '-') && i + 2 < line.size() &&
                                        std::isdigit(static_cast<unsigned char>(line[i + 2])))))
            ++i;
    }
    return out;
}

std::vector<std::string> lines(const std::string& text, bool exact) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        if (const std::string n = normal(line, exact); !n.empty()) out.push_back(n);
    return out;
}

/// Lines in order; "..." is any number of lines.
bool matches(const std::vector<std::string>& shown, std::size_t s, const std::vector<std::string>& real, std::size_t r) {
    for (; s < shown.size(); ++s, ++r) {
        if (shown[s] == "...") {
            for (std::size_t skip = r; skip <= real.size(); ++skip)
                if (matches(shown, s + 1, real, skip)) return true;
            return false;
        }
        if (r >= real.size() || shown[s] != real[r]) return false;
    }
    return r == real.size();
}

}  // namespace

TEST_CASE("Every program of the tutorial prints what the page shows") {
    std::map<std::string, std::string> printed;
    for (const auto& [name, program] : tutorial_programs()) printed[name] = output_of(program);
    CHECK(printed.size() >= 8);
    std::map<std::string, int> shown;
    for (const page::Block& b : page::read(kPage)) {
        if (b.language != "text" || b.name.empty()) continue;
        REQUIRE(printed.count(b.name) == 1);
        ++shown[b.name];
        INFO(kPage << ":" << b.line << " shows output of '" << b.name << "', which now is\n" << printed[b.name]);
        CHECK(matches(lines(b.text, b.exact), 0, lines(printed[b.name], b.exact), 0));
    }
    for (const auto& [name, text] : printed) {
        INFO("the page shows no output of '" << name << "', which is\n" << text);
        CHECK(shown[name] > 0);
    }
}

TEST_CASE("Comparison of outputs forgives numbers and spacing, nothing else") {
    CHECK(normal("  core 14.70 us  (26,457 cycles)", false) == "core # us (# cycles)");
    CHECK(normal("f16 [64,128] x 2   L1", false) == "f16 [#] x # L1");
    CHECK(normal("a  1", true) == "a 1");
    CHECK(matches(lines("a\n...\nd\n", true), 0, lines("a\nb\nc\nd\n", true), 0));
    CHECK_FALSE(matches(lines("a\n...\nd\n", true), 0, lines("a\nb\n", true), 0));
    CHECK_FALSE(matches(lines("a\nb\n", true), 0, lines("a\nc\n", true), 0));
}
