// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <fstream>
#include <iterator>

#include "isa/chip_fields.h"
#include "isa/chip_page.h"

using namespace sfumato::isa;

TEST_CASE("docs/chips.md is what the chip files say") {
    std::ifstream in("docs/chips.md", std::ios::binary);
    const std::string page{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    INFO("regenerate with: sfumato chips --page > docs/chips.md");
    CHECK((page == chips_page("isa/chips")));
}

TEST_CASE("the page prints every number of every chip with its source") {
    const std::string page = chips_page("isa/chips");
    for (const std::string& name : chip_names("isa/chips")) {
        CHECK(page.find("| " + name + " |") != std::string::npos);
        for (const FieldValue& v : describe(load_chip(name, {}, "isa/chips"))) CHECK(page.find("`" + v.path + "`") != std::string::npos);
    }
}
