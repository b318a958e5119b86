// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <functional>
#include <map>

#include "one_instr.h"

using namespace sfumato;
using namespace sfumato::testing;

namespace {

/// What each element-wise instruction means, from its row in the table: f(dst, src0, src1, scalar).
using Meaning = std::function<double(double, double, double, double)>;
const std::map<Op, Meaning>& meanings() {
    static const std::map<Op, Meaning> table{
        {Op::vadd, [](double, double a, double b, double) { return a + b; }},
        {Op::vsub, [](double, double a, double b, double) { return a - b; }},
        {Op::vmul, [](double, double a, double b, double) { return a * b; }},
        {Op::vdiv, [](double, double a, double b, double) { return a / b; }},
        {Op::vmax, [](double, double a, double b, double) { return a > b ? a : b; }},
        {Op::vmin, [](double, double a, double b, double) { return a < b ? a : b; }},
        {Op::vmla, [](double d, double a, double b, double) { return d + a * b; }},
        {Op::vadds, [](double, double a, double, double s) { return a + s; }},
        {Op::vmuls, [](double, double a, double, double s) { return a * s; }},
        {Op::vmaxs, [](double, double a, double, double s) { return a > s ? a : s; }},
        {Op::vmins, [](double, double a, double, double s) { return a < s ? a : s; }},
        {Op::vlrelu, [](double, double a, double, double s) { return a > 0 ? a : s * a; }},
        {Op::vaxpy, [](double d, double a, double, double s) { return d + s * a; }},
        {Op::vabs, [](double, double a, double, double) { return a < 0 ? -a : a; }},
        {Op::vrelu, [](double, double a, double, double) { return a > 0 ? a : 0; }},
        {Op::vexp, [](double, double a, double, double) { return std::exp(a); }},
        {Op::vln, [](double, double a, double, double) { return std::log(a); }},
        {Op::vsqrt, [](double, double a, double, double) { return std::sqrt(a); }},
        {Op::vrsqrt, [](double, double a, double, double) { return 1 / std::sqrt(a); }},
        {Op::vrec, [](double, double a, double, double) { return 1 / a; }},
        {Op::vcopy, [](double, double a, double, double) { return a; }},
        {Op::vdup, [](double, double, double, double s) { return s; }},
    };
    return table;
}
bool wants_positive(Op op) { return op == Op::vln || op == Op::vsqrt || op == Op::vrsqrt || op == Op::vrec; }

/// One unit in the last place of the type at v, for operations whose last bit depends on the library (exp, log, 1/sqrt in float).
double ulp(DType t, double v) {
    const int fraction = t == DType::f16 ? 10 : 23, least = t == DType::f16 ? -14 : -126;
    return v == 0 || !std::isfinite(v) ? 0 : std::ldexp(1, std::max(std::ilogb(v), least) - fraction);
}

}  // namespace

TEST_CASE("every element-wise vector instruction computes its definition and rounds once, for ragged counts") {
    for (const auto& [op, f] : meanings())
        for (const DType t : {DType::f16, DType::f32})
            for (const I count : {1, 15, 64, 100, 128, 129, 300}) {
                Bench b;
                auto v = contiguous(t, count);
                v.scalar = 1.5;
                auto x = some_values(count, 3), y = some_values(count, 5), d = some_values(count, 7);
                for (double& e : y) e = e == 0 ? 0.5 : e;
                if (wants_positive(op))
                    for (double& e : x) e = std::fabs(e) + 0.125;
                b.fill(Space::ub, t, kSrc0, x);
                b.fill(Space::ub, t, kSrc1, y);
                b.fill(Space::ub, t, kDst, d);
                put(t, b.at(Space::ub, kDst + count * isa::bytes_of(t)), 42);
                b.run(op, v);
                const auto out = b.read(Space::ub, t, kDst, count);
                INFO(isa::desc(op).name << " " << name(t) << " count " << count);
                for (I i = 0; i < count; ++i) {
                    const auto k = static_cast<std::size_t>(i);
                    const double want = as_type(t, f(d[k], x[k], y[k], 1.5));
                    const bool inexact = op == Op::vexp || op == Op::vln || op == Op::vrsqrt;
                    if (inexact)
                        CHECK(std::fabs(out[k] - want) <= ulp(t, want));
                    else
                        CHECK(out[k] == want);
                }
                CHECK(get(t, b.at(Space::ub, kDst + count * isa::bytes_of(t))) == 42);  // the element after the last one is untouched
            }
}

TEST_CASE("integer arithmetic wraps as two's complement and logic works on bits") {
    Bench b;
    auto v = contiguous(DType::i16, 4);
    b.fill(Space::ub, DType::i16, kSrc0, {32767, -32768, 100, -1});
    b.fill(Space::ub, DType::i16, kSrc1, {1, -1, 23, 0x0ff0});
    b.run(Op::vadd, v);
    CHECK(b.read(Space::ub, DType::i16, kDst, 4) == std::vector<double>{-32768, 32767, 123, 0x0fef});
    b.run(Op::vand, v);
    CHECK(b.read(Space::ub, DType::i16, kDst, 4) == std::vector<double>{1, -32768, 100 & 23, 0x0ff0});
    b.run(Op::vor, v);
    CHECK(b.read(Space::ub, DType::i16, kDst, 4) == std::vector<double>{32767, -1, 100 | 23, -1});
    b.run(Op::vnot, v);
    CHECK(b.read(Space::ub, DType::i16, kDst, 4) == std::vector<double>{-32768, 32767, ~100, 0});
    auto w = contiguous(DType::i32, 2);
    b.fill(Space::ub, DType::i32, kSrc0, {2147483647, -7});
    b.fill(Space::ub, DType::i32, kSrc1, {2, 3});
    b.run(Op::vmul, w);
    CHECK(b.read(Space::ub, DType::i32, kDst, 2) == std::vector<double>{-2, -21});
}

TEST_CASE("E04: a scalar operand is rounded to the element type: 1.5, -0 and the largest value") {
    for (const DType t : {DType::f16, DType::bf16, DType::f32}) {
        const double largest =
            t == DType::f16 ? 65504 : as_f32(t == DType::bf16 ? std::ldexp(255.0 / 128, 127) : std::ldexp(2 - std::ldexp(1, -23), 127));
        for (const double s : {1.5, -0.0, largest}) {
            Bench b;
            auto v = contiguous(t, 20);
            v.scalar = s;
            b.run(Op::vdup, v);
            const auto out = b.read(Space::ub, t, kDst, 20);
            for (const double e : out) CHECK((e == s && std::signbit(e) == std::signbit(s)));
        }
    }
    Bench b;
    auto v = contiguous(DType::i32, 3);
    v.scalar = -7;
    b.run(Op::vdup, v);
    CHECK(b.read(Space::ub, DType::i32, kDst, 3) == std::vector<double>{-7, -7, -7});
}

TEST_CASE("mask bits enable lanes of every repeat, block and repeat strides place them") {
    for (const DType t : {DType::f16, DType::f32}) {
        const I size = isa::bytes_of(t), full = 256 / size, per_block = 32 / size;
        Bench b;
        auto v = contiguous(t, 0);
        v.mode = isa::MaskMode::normal;
        v.repeats = 3;
        v.mask_lo = 0x00f0f000ff00a5a5ull;
        v.mask_hi = t == DType::f16 ? 0x8000000000000003ull : 0;
        v.dst_block = 2;
        v.dst_repeat = 20;
        v.src0_block = 3;
        v.src0_repeat = 1;
        v.src1_block = 0;  // re-reads one block
        v.src1_repeat = 2;
        const auto x = some_values(8192 / size, 11), y = some_values(8192 / size, 13);
        b.fill(Space::ub, t, kSrc0, x);
        b.fill(Space::ub, t, kSrc1, y);
        b.fill(Space::ub, t, kDst, std::vector<double>(static_cast<std::size_t>(8192 / size), 77));
        b.run(Op::vadd, v);
        std::vector<double> want(static_cast<std::size_t>(8192 / size), 77);
        for (I r = 0; r < 3; ++r)
            for (I l = 0; l < full; ++l) {
                const bool on = l < 64 ? (v.mask_lo >> l) & 1 : (v.mask_hi >> (l - 64)) & 1;
                if (!on) continue;
                const auto index = [&](I block, I repeat) {
                    return static_cast<std::size_t>((r * repeat + l / per_block * block) * per_block + l % per_block);
                };
                want[index(2, 20)] = as_type(t, x[index(3, 1)] + y[index(0, 2)]);
            }
        CHECK(b.read(Space::ub, t, kDst, 8192 / size) == want);
    }
}

TEST_CASE("repeats take effect in order: repeat stride 0 folds into the destination") {
    Bench b;
    auto v = contiguous(DType::f32, 4 * 64);
    v.dst_repeat = 0;
    v.src0 = v.dst;
    v.src0_repeat = 0;
    const auto y = some_values(256, 17);
    b.fill(Space::ub, DType::f32, kSrc1, y);
    b.run(Op::vadd, v);
    const auto out = b.read(Space::ub, DType::f32, kDst, 64);
    for (std::size_t l = 0; l < 64; ++l) CHECK(out[l] == y[l] + y[64 + l] + y[128 + l] + y[192 + l]);
}

TEST_CASE("D16: empty work does nothing") {
    Bench b;
    auto v = contiguous(DType::f32, 0);
    v.scalar = 3;
    b.fill(Space::ub, DType::f32, kDst, {5});
    for (const Op op : {Op::vadd, Op::vdup, Op::vcadd, Op::vcgmax, Op::vcmp, Op::vbrcb, Op::vtrans, Op::vconv}) b.run(op, v);
    v.mode = isa::MaskMode::normal;
    v.repeats = 4;  // no lane enabled
    for (const Op op : {Op::vadd, Op::vdup, Op::vcadd, Op::vcgmax, Op::vcmp, Op::vbrcb, Op::vtrans}) b.run(op, v);
    CHECK(b.read(Space::ub, DType::f32, kDst, 1)[0] == 5);
}

TEST_CASE("a conversion counts repeats in its wider type and rounds to nearest even") {
    for (const auto& [from, to] : std::vector<std::pair<DType, DType>>{{DType::f32, DType::f16},
                                                                       {DType::f16, DType::f32},
                                                                       {DType::f32, DType::bf16},
                                                                       {DType::bf16, DType::f32},
                                                                       {DType::f16, DType::i8},
                                                                       {DType::i32, DType::f32}}) {
        Bench b;
        auto v = contiguous(from, 100);
        v.dst_dtype = to;
        const I wide = std::max(isa::bytes_of(from), isa::bytes_of(to)), lanes = 256 / wide;
        v.src0_repeat = lanes * isa::bytes_of(from) / 32;
        v.dst_repeat = lanes * isa::bytes_of(to) / 32;
        const auto x = some_values(100, 19, from == DType::i32 ? 1 : 1.0 / 8);
        b.fill(Space::ub, from, kSrc0, x);
        b.run(Op::vconv, v);
        const auto out = b.read(Space::ub, to, kDst, 100);
        for (std::size_t i = 0; i < x.size(); ++i) CHECK(out[i] == as_type(to, x[i]));
    }
}
