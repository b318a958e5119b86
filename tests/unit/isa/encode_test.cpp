// SPDX-License-Identifier: Apache-2.0
#include "isa/encode.h"

#include <catch2/catch.hpp>

#include "isa/diagnostic.h"
#include "isa/text.h"
#include "tests/support/random_program.h"

using namespace sfumato::isa;

namespace {
std::string error_of(std::span<const std::byte> bytes) {
    try {
        decode(bytes);
    } catch (const InputError& e) {
        return e.what();
    }
    return "no error";
}
std::vector<std::byte> bytes_of_text(std::initializer_list<int> list) {
    std::vector<std::byte> out;
    for (int b : list) out.push_back(static_cast<std::byte>(b));
    return out;
}
}  // namespace

TEST_CASE("encoding, decoding and encoding again gives the same bytes and the same text for random programs") {
    for (std::uint64_t seed = 100; seed < 160; ++seed) {
        const Program p = sfumato::tests::random_program(seed);
        const auto bytes = encode(p);
        const Program q = decode(bytes);
        REQUIRE(encode(q) == bytes);
        REQUIRE(print_program(q) == print_program(p));
    }
}

TEST_CASE("every truncation of an encoding is refused with a byte offset") {
    const auto bytes = encode(sfumato::tests::random_program(1));
    REQUIRE(bytes.size() > 1000);
    for (std::size_t n = 0; n < bytes.size(); n += n < 200 ? 1 : 37) {
        const std::string e = error_of(std::span(bytes).first(n));
        INFO(n << ": " << e);
        REQUIRE(e.find("program encoding, byte ") == 0);
    }
}

TEST_CASE("a flipped byte yields a program or an input error, never anything else") {
    const auto bytes = encode(sfumato::tests::random_program(2));
    sfumato::tests::Random random(7);
    int refused = 0;
    for (int i = 0; i < 400; ++i) {
        auto copy = bytes;
        copy[static_cast<std::size_t>(random.below(static_cast<int>(copy.size())))] ^= static_cast<std::byte>(1 + random.below(255));
        try {
            const Program p = decode(copy);
            REQUIRE(encode(p).size() <= copy.size() + 64);
        } catch (const InputError&) {
            ++refused;
        }
    }
    CHECK(refused > 50);
}

TEST_CASE("magic, version, counts and trailing bytes are checked") {
    CHECK_THAT(error_of(bytes_of_text({'E', 'L', 'F', 'x', 1})), Catch::Contains("does not begin with SFMB"));
    CHECK_THAT(error_of(bytes_of_text({'S', 'F', 'M', 'B', 9})), Catch::Contains("version 9, this build reads version 1"));
    // a name of 127 bytes in a file of none
    CHECK_THAT(error_of(bytes_of_text({'S', 'F', 'M', 'B', 1, 127})), Catch::Contains("127 elements announced, 0 bytes left"));
    CHECK_THAT(error_of(bytes_of_text({'S', 'F', 'M', 'B', 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})),
               Catch::Contains("more than 64 bits"));
    auto bytes = encode(Program{});
    CHECK(error_of(bytes) == "no error");
    bytes.push_back(std::byte{0});
    CHECK_THAT(error_of(bytes), Catch::Contains("bytes follow the end"));
}

TEST_CASE("an expression store that is not in normal form or explodes as a tree is refused") {
    // name "", no symbols, two equal constants
    CHECK_THAT(error_of(bytes_of_text({'S', 'F', 'M', 'B', 1, 0, 0, 2, 0, 2, 0, 2, 0, 0, 0, 0, 0})), Catch::Contains("not in normal form"));
    Program p;
    Expr e = p.symbol(p.add_symbol("m", SymbolKind::param));
    for (int i = 0; i < 40; ++i) e = p.exprs.mul(e, e);  // 2**40 leaves
    CHECK_THAT(error_of(encode(p)), Catch::Contains("larger than 65536 nodes"));
}
