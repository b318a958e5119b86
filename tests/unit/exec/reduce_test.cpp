// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "one_instr.h"

using namespace sfumato;
using namespace sfumato::testing;

namespace {

double fold(Op op, double a, double b) {
    if (op == Op::vcadd || op == Op::vcgadd) return a + b;
    const bool max = op == Op::vcmax || op == Op::vcgmax;
    return (a > b) == max ? a : b;
}

}  // namespace

TEST_CASE("reductions fold each repeat or each 32-byte block, tails included") {
    for (const Op op : {Op::vcadd, Op::vcmax, Op::vcmin, Op::vcgadd, Op::vcgmax, Op::vcgmin})
        for (const DType t : {DType::f16, DType::f32})
            for (const I count : {1, 7, 8, 64, 100, 256, 300}) {
                Bench b;
                const I size = isa::bytes_of(t), full = 256 / size;
                const bool blocks = op == Op::vcgadd || op == Op::vcgmax || op == Op::vcgmin;
                const I group = blocks ? 32 / size : full;
                const auto x = some_values(count, 23);
                b.fill(Space::ub, t, kSrc0, x);
                b.fill(Space::ub, t, kSrc0 + count * size, std::vector<double>(200, 1000));  // beyond the count
                b.fill(Space::ub, t, kDst, std::vector<double>(64, -77));
                b.run(op, contiguous(t, count));
                const auto out = b.read(Space::ub, t, kDst, 64);
                INFO(isa::desc(op).name << " " << name(t) << " count " << count);
                const I results = (count + group - 1) / group;
                for (I g = 0; g < results; ++g) {
                    double want = x[static_cast<std::size_t>(g * group)];
                    for (I i = g * group + 1; i < std::min(count, (g + 1) * group); ++i) want = fold(op, want, x[static_cast<std::size_t>(i)]);
                    CHECK(out[static_cast<std::size_t>(g)] == as_type(t, want));  // sums of eighths below 2^14 are exact in float
                }
                CHECK(out[static_cast<std::size_t>(results)] == -77);
            }
}

TEST_CASE("E01: a row sum of f16 is accumulated in f32 and rounded once") {
    Bench b;
    // in f16, 2048 + 1 stays 2048 however often 1 is added
    std::vector<double> x(128, 1.0);
    x[0] = 2048;
    b.fill(Space::ub, DType::f16, kSrc0, x);
    b.run(Op::vcadd, contiguous(DType::f16, 128));
    CHECK(b.read(Space::ub, DType::f16, kDst, 1)[0] == as_f16(2048 + 127));
    const auto random = some_values(128, 29, 1.0 / 64);
    double sum = 0;
    for (const double v : random) sum += v;
    b.fill(Space::ub, DType::f16, kSrc0, random);
    b.run(Op::vcadd, contiguous(DType::f16, 128));
    CHECK(b.read(Space::ub, DType::f16, kDst, 1)[0] == as_f16(sum));
}

TEST_CASE("a masked reduction looks at enabled lanes only") {
    Bench b;
    auto v = contiguous(DType::f32, 0);
    v.mode = isa::MaskMode::normal;
    v.repeats = 2;
    v.mask_lo = 0x8000000000000f0full;
    v.src0_repeat = 9;
    const auto x = some_values(256, 31);
    b.fill(Space::ub, DType::f32, kSrc0, x);
    b.run(Op::vcadd, v);
    const auto out = b.read(Space::ub, DType::f32, kDst, 2);
    for (std::size_t r = 0; r < 2; ++r) {
        double want = 0;
        for (std::size_t l = 0; l < 64; ++l)
            if ((v.mask_lo >> l) & 1) want += x[r * 72 + l];
        CHECK(out[r] == want);
    }
}

TEST_CASE("NaN passes through max, min and ReLU, so that poison stays visible") {
    for (const Op op : {Op::vmax, Op::vmin, Op::vmaxs, Op::vmins, Op::vrelu, Op::vcmax, Op::vcmin}) {
        for (const bool second : {false, true}) {
            Bench b;
            b.fill(Space::ub, DType::f32, kSrc0, {second ? 1.0 : NAN, second && (op == Op::vcmax || op == Op::vcmin) ? NAN : 1.0});
            b.fill(Space::ub, DType::f32, kSrc1, {second ? NAN : 1.0, 1});
            b.run(op, contiguous(DType::f32, 2));
            INFO(isa::desc(op).name << (second ? " second" : " first"));
            const bool one_source = op == Op::vmaxs || op == Op::vmins || op == Op::vrelu;
            if (!(second && one_source)) CHECK(std::isnan(b.read(Space::ub, DType::f32, kDst, 1)[0]));
        }
    }
}

TEST_CASE("vcmp writes one bit a lane and vsel selects by the bits of the last compare") {
    for (const DType t : {DType::f16, DType::f32}) {
        Bench b;
        const auto x = some_values(150, 37), y = some_values(150, 41);
        b.fill(Space::ub, t, kSrc0, x);
        b.fill(Space::ub, t, kSrc1, y);
        b.run(Op::vcmp, contiguous(t, 150));
        for (std::size_t i = 0; i < 150; ++i)
            CHECK(((static_cast<unsigned>(b.at(Space::ub, kDst)[i / 8]) >> (i % 8)) & 1) == (x[i] < y[i] ? 1u : 0u));
        b.run(Op::vsel, contiguous(t, 150));
        const auto out = b.read(Space::ub, t, kDst, 150);
        for (std::size_t i = 0; i < 150; ++i) CHECK(out[i] == (x[i] < y[i] ? x[i] : y[i]));
    }
}

TEST_CASE("vbrcb fills a block with each of eight elements, vtrans turns 16 rows into columns") {
    Bench b;
    const auto x = some_values(16, 43);
    b.fill(Space::ub, DType::f32, kSrc0, x);
    auto v = contiguous(DType::f32, 0);
    v.mode = isa::MaskMode::normal;
    v.mask_lo = ~0ull;
    v.repeats = 2;
    b.run(Op::vbrcb, v);
    const auto out = b.read(Space::ub, DType::f32, kDst, 128);
    for (std::size_t i = 0; i < 128; ++i) CHECK(out[i] == x[i / 8]);

    for (const DType t : {DType::f16, DType::f32}) {
        const std::size_t columns = static_cast<std::size_t>(32 / isa::bytes_of(t));
        const auto m = some_values(static_cast<I>(16 * columns), 47);
        b.fill(Space::ub, t, kSrc0, m);
        auto w = contiguous(t, 0);
        w.mode = isa::MaskMode::normal;
        w.mask_lo = w.mask_hi = ~0ull;
        w.repeats = 1;
        b.run(Op::vtrans, w);
        const auto turned = b.read(Space::ub, t, kDst, static_cast<I>(16 * columns));
        for (std::size_t r = 0; r < 16; ++r)
            for (std::size_t c = 0; c < columns; ++c) CHECK(turned[c * 16 + r] == m[r * columns + c]);
    }
}
