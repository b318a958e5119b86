// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "isa/diagnostic.h"
#include "isa/limits.h"
#include "isa/pages.h"
#include "isa/text.h"
#include "isa/verify.h"

using namespace sfumato::isa;

TEST_CASE("docs/isa.md is what the tables say") {
    std::ifstream in("docs/isa.md", std::ios::binary);
    const std::string page{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    INFO("regenerate with: sfumato isa --page > docs/isa.md");
    CHECK((page == isa_page()));
}

TEST_CASE("the page lists every instruction, limit, field and diagnostic") {
    const std::string page = isa_page();
    const auto has = [&](std::string_view word) { return page.find("| `" + std::string(word) + "` |") != std::string::npos; };
    for (const InstrDesc& d : kInstructions) CHECK(has(d.name));
    for (const Limit& l : kLimits) CHECK(has(l.name));
    for (const char* field : {"dst_pitch", "unit_flag", "bias", "src1_repeat", "cycles", "mode"}) CHECK(has(field));
#define X(code, text) CHECK(has(#code));
    SFUMATO_DIAGNOSTICS(X)
#undef X
}

TEST_CASE("the program on the page parses, is well formed and prints stably") {
    const Program p = parse_program(isa_example(), "example.sfa");
    CHECK(to_text(verify(p, load_chip("Ascend910B2"))) == "");
    const std::string text = print_program(p);
    CHECK(print_program(parse_program(text, "printed.sfa")) == text);
}
