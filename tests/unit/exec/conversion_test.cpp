// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "one_instr.h"

using namespace sfumato;
using namespace sfumato::testing;

namespace {

double convert(DType from, DType to, double value) {
    Bench b;
    isa::VectorT<I> v;
    v.dst = in(Space::ub, 1024);
    v.src0 = in(Space::ub, 0);
    v.dtype = from;
    v.dst_dtype = to;
    v.count = 1;
    v.dst_block = v.src0_block = 1;
    v.dst_repeat = v.src0_repeat = 8;
    b.fill(Space::ub, from, 0, {value});
    b.run(Op::vconv, v);
    return b.read(Space::ub, to, 1024, 1)[0];
}

}  // namespace

TEST_CASE("f32 to f16 follows IEEE 754: ties to even, denormals, largest value, infinity") {
    CHECK(convert(DType::f32, DType::f16, 2049) == 2048);  // a tie, even below
    CHECK(convert(DType::f32, DType::f16, 2051) == 2052);  // a tie, even above
    CHECK(convert(DType::f32, DType::f16, 65504) == 65504);
    CHECK(convert(DType::f32, DType::f16, 65519) == 65504);
    CHECK(convert(DType::f32, DType::f16, 65520) == INFINITY);
    CHECK(convert(DType::f32, DType::f16, -1e30) == -INFINITY);
    CHECK(convert(DType::f32, DType::f16, INFINITY) == INFINITY);
    CHECK(std::isnan(convert(DType::f32, DType::f16, NAN)));
    CHECK(convert(DType::f32, DType::f16, std::ldexp(1, -24)) == std::ldexp(1, -24));     // the least denormal
    CHECK(convert(DType::f32, DType::f16, std::ldexp(1, -25)) == 0);                      // a tie with zero
    CHECK(convert(DType::f32, DType::f16, std::ldexp(3, -26)) == std::ldexp(1, -24));     // above the tie
    CHECK(convert(DType::f32, DType::f16, std::ldexp(3, -25)) == std::ldexp(1, -23));     // a tie between denormals, to even
    CHECK(convert(DType::f32, DType::f16, std::ldexp(2047, -25)) == std::ldexp(1, -14));  // rounds up into the normals
    CHECK(std::signbit(convert(DType::f32, DType::f16, -0.0)));
}

TEST_CASE("every f16 and bf16 value survives the way to f32 and back") {
    for (const DType t : {DType::f16, DType::bf16}) {
        const int exponent = t == DType::f16 ? 5 : 8;
        Bench b;
        isa::VectorT<I> v;
        v.dtype = t;
        v.dst_dtype = DType::f32;
        v.dst = in(Space::ub, 8192);
        v.count = 2048;
        v.src0_block = v.dst_block = 1;
        v.src0_repeat = 4;
        v.dst_repeat = 8;
        isa::VectorT<I> back = v;
        back.dtype = DType::f32;
        back.dst_dtype = t;
        back.src0 = v.dst;
        back.dst = in(Space::ub, 32768);
        back.src0_repeat = 8;
        back.dst_repeat = 4;
        v.src0 = in(Space::ub, 0);
        bool same = true;
        for (std::uint32_t base = 0; base < 65536; base += 2048) {
            for (std::uint32_t i = 0; i < 2048; ++i) {
                const auto bits = static_cast<std::uint16_t>(base + i);
                std::memcpy(b.at(Space::ub, 2 * i), &bits, 2);
            }
            b.run(Op::vconv, v);
            b.run(Op::vconv, back);
            for (std::uint32_t i = 0; i < 2048; ++i) {
                const double want = decode_bits(base + i, exponent, 15 - exponent);
                const double wide = get(DType::f32, b.at(Space::ub, 8192 + 4 * i)), round = get(t, b.at(Space::ub, 32768 + 2 * i));
                if (std::isnan(want))
                    same = same && std::isnan(wide) && std::isnan(round);
                else
                    same = same && wide == want && round == want;
            }
        }
        CHECK(same);
    }
}

TEST_CASE("f32 to bf16 rounds to nearest even and f32 to integers saturates") {
    CHECK(convert(DType::f32, DType::bf16, 257) == 256);
    CHECK(convert(DType::f32, DType::bf16, 259) == 260);
    CHECK(convert(DType::f32, DType::bf16, 1 + std::ldexp(1, -8)) == 1);
    CHECK(convert(DType::f32, DType::bf16, std::ldexp(2 - std::ldexp(1, -23), 127)) == INFINITY);
    CHECK(convert(DType::f32, DType::i32, 2.5) == 2);
    CHECK(convert(DType::f32, DType::i32, 3.5) == 4);
    CHECK(convert(DType::f32, DType::i32, -2.5) == -2);
    CHECK(convert(DType::f32, DType::i32, 3e9) == 2147483647);
    CHECK(convert(DType::f32, DType::i8, -200) == -128);
    CHECK(convert(DType::f32, DType::u8, 300) == 255);
    CHECK(convert(DType::i32, DType::i16, 70000) == 32767);
    CHECK(convert(DType::i32, DType::f16, 2049) == 2048);
}
