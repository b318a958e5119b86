// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "one_instr.h"

using namespace sfumato;
using namespace sfumato::testing;

namespace {

isa::CopyT<I> copy(isa::BoundOperand dst, isa::BoundOperand src, DType t, I rows, I cols, I dst_pitch, I src_pitch) {
    return {.dst = dst, .src = src, .dtype = t, .rows = rows, .cols = cols, .dst_pitch = dst_pitch, .src_pitch = src_pitch};
}
void fill_gm(Bench& b, int tensor, DType t, const std::vector<double>& v) {
    for (std::size_t i = 0; i < v.size(); ++i) put(t, b.gm(tensor) + static_cast<I>(i) * isa::bytes_of(t), v[i]);
}
double gm_value(Bench& b, int tensor, DType t, I i) { return get(t, b.gm(tensor) + i * isa::bytes_of(t)); }

/// Where element (r, c) of an NZ matrix lies, from operands.h.
I nz(I r, I c, I pitch, I c0) { return ((c / c0) * pitch + r) * c0 + c % c0; }

}  // namespace

TEST_CASE("row copies move rows x cols between two pitches and touch nothing else; pad fills with zero up to the pitch") {
    for (const DType t : {DType::f16, DType::f32, DType::i8})
        for (const bool pad : {false, true}) {
            Bench b({4096});
            const auto x = some_values(700, 3, 1);
            fill_gm(b, 0, t, x);
            b.fill(Space::ub, t, 0, std::vector<double>(512, 99));
            auto c = copy(in(Space::ub), in(Space::gm, 10 * isa::bytes_of(t), 0), t, 5, 13, 32, 100);
            c.pad = pad;
            b.run(Op::mov_gm_ub, c);
            const auto out = b.read(Space::ub, t, 0, 512);
            for (I i = 0; i < 512; ++i) {
                const I r = i / 32, k = i % 32;
                const double want = r >= 5 ? 99 : k < 13 ? x[static_cast<std::size_t>(10 + r * 100 + k)] : pad ? 0 : 99;
                CHECK(out[static_cast<std::size_t>(i)] == want);
            }
        }
}

TEST_CASE("a store with atomic add adds to what GM holds, rounded to the type") {
    for (const DType t : {DType::f16, DType::f32, DType::i32}) {
        Bench b({1024});
        const auto x = some_values(64, 3, 1), y = some_values(64, 5, 1);
        fill_gm(b, 0, t, x);
        b.fill(Space::ub, t, 0, y);
        auto c = copy(in(Space::gm, 0, 0), in(Space::ub), t, 2, 20, 30, 32);
        c.atomic = isa::Atomic::add;
        b.run(Op::mov_ub_gm, c);
        for (I i = 0; i < 64; ++i) {
            const I r = i / 30, k = i % 30;
            const double before = x[static_cast<std::size_t>(i)];
            CHECK(gm_value(b, 0, t, i) == (r < 2 && k < 20 ? before + y[static_cast<std::size_t>(r * 32 + k)] : before));
        }
    }
}

TEST_CASE("an ND matrix reaches L1 in NZ order with the last fractal column filled with zero") {
    for (const DType t : {DType::f16, DType::f32, DType::i8, DType::bf16})
        for (const I cols : {1, 8, 16, 37, 64}) {
            Bench b({8192});
            const I rows = 21, pitch = 32, src_pitch = 70, c0 = 32 / isa::bytes_of(t);
            const auto x = some_values(rows * src_pitch, 7, 1);
            fill_gm(b, 0, t, x);
            b.fill(Space::l1, t, 0, std::vector<double>(4096, 99));
            b.run(Op::mov_gm_l1_nz, copy(in(Space::l1), in(Space::gm, 0, 0), t, rows, cols, pitch, src_pitch));
            const I columns = (cols + c0 - 1) / c0 * c0;
            for (I r = 0; r < pitch; ++r)
                for (I k = 0; k < columns; ++k) {
                    const double want = r >= rows ? 99 : k < cols ? x[static_cast<std::size_t>(r * src_pitch + k)] : 0;
                    CHECK(get(t, b.at(Space::l1, nz(r, k, pitch, c0) * isa::bytes_of(t))) == want);
                }
        }
}

TEST_CASE("L1 to L0 loads give zZ and nZ fractals, plain and transposed, for fractals of 8, 16 and 32 columns") {
    for (const DType t : {DType::f32, DType::f16, DType::i8})
        for (const bool transpose : {false, true})
            for (const bool to_a : {true, false})
                for (const auto& [rows, cols] : std::vector<std::pair<I, I>>{{16, 32}, {5, 9}, {40, 70}}) {
                    Bench b;
                    const I c0 = 32 / isa::bytes_of(t), size = isa::bytes_of(t);
                    const I pitch = (std::max(rows, cols) + 15) / 16 * 16;
                    // logical element (r, c); a transposed source stores the matrix as cols x rows
                    const auto value = [&](I r, I c) { return static_cast<double>((r * 7 + c * 3) % 120 - 60); };
                    b.fill(Space::l1, t, 0, std::vector<double>(16384, 99));
                    for (I r = 0; r < rows; ++r)
                        for (I c = 0; c < cols; ++c)
                            put(t, b.at(Space::l1, (transpose ? nz(c, r, pitch, c0) : nz(r, c, pitch, c0)) * size), value(r, c));
                    const Space l0 = to_a ? Space::l0a : Space::l0b;
                    auto load = copy(in(l0), in(Space::l1), t, rows, cols, 0, pitch);
                    load.transpose = transpose;
                    b.run(to_a ? Op::mov_l1_l0a : Op::mov_l1_l0b, load);
                    // A: fractal (i, j) at i * ceil(cols / C0) + j, 16 rows x C0; B: fractal (k, n) at k * ceil(cols / 16) + n, n-major
                    bool same = true;
                    const I height = to_a ? 16 : c0, width = to_a ? c0 : 16;
                    for (I r = 0; r < (rows + height - 1) / height * height; ++r)
                        for (I c = 0; c < (cols + width - 1) / width * width; ++c) {
                            const I fractal = (r / height) * ((cols + width - 1) / width) + c / width;
                            const I inside = to_a ? (r % 16) * c0 + c % c0 : (c % 16) * c0 + r % c0;
                            const double want = r < rows && c < cols ? value(r, c) : 0;
                            same = same && get(t, b.at(l0, (fractal * 16 * c0 + inside) * size)) == want;
                        }
                    INFO(name(t) << (transpose ? " transposed" : "") << (to_a ? " A " : " B ") << rows << "x" << cols);
                    CHECK(same);
                }
}

TEST_CASE("drains turn NZ accumulators into rows or NZ of another type, with ReLU, conversion and atomic add") {
    for (const DType to : {DType::f16, DType::bf16, DType::f32})
        for (const bool relu : {false, true})
            for (const Op op : {Op::fix_l0c_gm, Op::mov_l0c_ub, Op::fix_l0c_l1}) {
                Bench b({65536});
                const I rows = 19, cols = 41, pitch = 32, dst_pitch = op == Op::fix_l0c_l1 ? 32 : 48, size = isa::bytes_of(to), c0 = 32 / size;
                const auto value = [&](I r, I c) { return (r * 41 + c - 400) * 0.37; };
                for (I r = 0; r < rows; ++r)
                    for (I c = 0; c < cols; ++c) put(DType::f32, b.at(Space::l0c, nz(r, c, pitch, 16) * 4), value(r, c));
                const isa::BoundOperand dst = op == Op::fix_l0c_gm ? in(Space::gm, 0, 0) : in(op == Op::mov_l0c_ub ? Space::ub : Space::l1);
                isa::DrainT<I> d{.dst = dst,
                                 .src = in(Space::l0c),
                                 .dst_dtype = to,
                                 .rows = rows,
                                 .cols = cols,
                                 .dst_pitch = dst_pitch,
                                 .src_pitch = pitch,
                                 .relu = relu};
                b.run(op, d);
                const std::byte* out = op == Op::fix_l0c_gm ? b.gm(0) : b.at(d.dst.space);
                bool same = true;
                for (I r = 0; r < rows; ++r)
                    for (I c = 0; c < cols; ++c) {
                        const double v = as_f32(value(r, c));
                        const I at = op == Op::fix_l0c_l1 ? nz(r, c, dst_pitch, c0) : r * dst_pitch + c;
                        same = same && get(to, out + at * size) == as_type(to, relu && v < 0 ? 0 : v);
                    }
                CHECK(same);
                if (op != Op::fix_l0c_gm) continue;
                d.atomic = isa::Atomic::add;
                b.run(op, d);
                const double v = as_f32(value(18, 40));
                CHECK(get(to, out + (18 * dst_pitch + 40) * size) == as_type(to, 2 * as_type(to, v)));
            }
}

TEST_CASE("integer accumulators keep their value or saturate") {
    Bench b({4096});
    const std::vector<double> x{5, -3, 300, -300, 100000};
    b.fill(Space::l0c, DType::i32, 0, x);
    isa::DrainT<I> d;
    d.src = in(Space::l0c);
    d.dst = in(Space::gm, 0, 0);
    d.dtype = DType::i32;
    d.rows = 1;
    d.cols = 5;
    d.src_pitch = 16;
    d.dst_pitch = 5;
    d.dst_dtype = DType::i32;
    b.run(Op::fix_l0c_gm, d);
    for (I i = 0; i < 5; ++i) CHECK(gm_value(b, 0, DType::i32, i) == x[static_cast<std::size_t>(i)]);
    d.dst_dtype = DType::i8;
    b.run(Op::fix_l0c_gm, d);
    const std::vector<double> want{5, -3, 127, -128, 127};
    for (I i = 0; i < 5; ++i) CHECK(gm_value(b, 0, DType::i8, i) == want[static_cast<std::size_t>(i)]);
}
