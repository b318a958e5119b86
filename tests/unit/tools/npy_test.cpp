// SPDX-License-Identifier: Apache-2.0
#include "lab/npy.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "isa/diagnostic.h"
#include "tests/support/command.h"

using namespace sfumato;
using testing::TemporaryFolder;

TEST_CASE("a .npy file is written byte for byte as NumPy 1.0 does") {
    const TemporaryFolder folder;
    lab::write_npy(folder / "a.npy", {isa::DType::i16, {2, 3}, std::vector<std::byte>(12, std::byte{7})});
    const std::string text = testing::read_file(folder / "a.npy");
    CHECK(text.substr(0, 10) == std::string("\x93NUMPY\x01\x00\x76\x00", 10));
    CHECK_THAT(text.substr(10), Catch::StartsWith("{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3, ), }"));
    CHECK(text.size() == 128 + 12);
    CHECK(text[127] == '\n');
}

TEST_CASE("every element type comes back as it was written") {
    const TemporaryFolder folder;
    for (int t = 0; t < isa::kDTypeCount; ++t) {
        const auto type = static_cast<isa::DType>(t);
        lab::Array a{type, {3, 5}, {}};
        for (int i = 0; i < 15 * isa::bytes_of(type); ++i) a.bytes.push_back(static_cast<std::byte>(i * 7));
        lab::write_npy(folder / "a.npy", a);
        CHECK(lab::read_npy(folder / "a.npy", type, {3, 5}).bytes == a.bytes);
        CHECK_THROWS_AS(lab::read_npy(folder / "a.npy", type, {5, 3}), isa::InputError);
    }
}

TEST_CASE("headers that are cut or strange are refused by name") {
    const TemporaryFolder folder;
    lab::write_npy(folder / "a.npy", {isa::DType::f32, {4}, std::vector<std::byte>(16)});
    const std::string whole = testing::read_file(folder / "a.npy");
    for (std::size_t n = 0; n < whole.size(); n += 5)
        CHECK_THROWS_AS(lab::read_npy(folder.file("cut.npy", whole.substr(0, n)), isa::DType::f32, {4}), isa::InputError);
    std::string fortran = whole;
    fortran.replace(fortran.find("False"), 5, "True ");
    CHECK_THROWS_WITH(lab::read_npy(folder.file("f.npy", fortran), isa::DType::f32, {4}), Catch::Contains("Fortran order"));
}
