// SPDX-License-Identifier: Apache-2.0
#include "sim/exec/checks.h"

#include <catch2/catch.hpp>

#include "one_instr.h"
#include "sim/exec/interpreter.h"
#include "tests/support/program_builder.h"

using namespace sfumato;
using namespace sfumato::testing;

namespace {

sim::RunResult run(const isa::Program& p, std::vector<I> bytes, std::map<std::string, I> params = {}) {
    sim::DeviceMemory memory;
    sim::Launch l;
    l.program = &p;
    l.params = std::move(params);
    for (const I size : bytes) {
        l.tensors.push_back(static_cast<int>(l.tensors.size()));
        memory.tensors.push_back({"t", size, std::vector<std::byte>(static_cast<std::size_t>(size)), -1});
    }
    return sim::run_values(small_chip(), std::vector{l}, memory);
}
void check_only(const sim::RunResult& r, isa::Code code, const std::string& says) {
    INFO(isa::to_text(r.diagnostics));
    REQUIRE(r.diagnostics.size() == 1);
    CHECK(r.status == sim::Status::fault);
    CHECK(r.diagnostics[0].code == code);
    CHECK_THAT(r.diagnostics[0].message, Catch::Contains(says));
    CHECK(r.diagnostics[0].file == "built.cpp");
}

}  // namespace

TEST_CASE("an access beyond its tensor or its space faults with bytes, limit and line") {
    {
        ProgramBuilder b;
        const int x = b.tensor("x", DType::f32, {100}), u = b.buffer("u", Space::ub, 512);
        b.section(CoreKind::aiv, [&] { b.copy(Op::mov_gm_ub, b.at(u), b.gm(x, b.num(8)), 1, 99, DType::f32); });
        check_only(run(b.build(), {400}), isa::Code::out_of_bounds, "reads bytes 8 to 404 (excluded) of tensor 'x', which has 400 bytes");
    }
    {
        ProgramBuilder b;
        const int x = b.tensor("x", DType::f32, {100}), u = b.buffer("u", Space::ub, 512);
        b.section(CoreKind::aiv, [&] { b.copy(Op::mov_gm_ub, b.at(u), b.gm(x, b.num(-4)), 1, 8, DType::f32); });
        check_only(run(b.build(), {400}), isa::Code::out_of_bounds, "reads bytes -4 to 28");
    }
}

TEST_CASE("A24: an operand one past the space faults although there is no work") {
    for (const bool counter : {true, false}) {
        ProgramBuilder b;
        isa::Vector v;
        v.dst = {Space::ub, -1, {}, b.num(196608)};
        v.mode = counter ? isa::MaskMode::counter : isa::MaskMode::normal;
        v.count = b.num(0);
        v.repeats = b.num(0);
        v.dst_block = v.src0_block = v.src1_block = b.num(1);
        v.dst_repeat = v.src0_repeat = v.src1_repeat = b.num(8);
        b.section(CoreKind::aiv, [&] { b.instr(Op::vdup, v); });
        check_only(run(b.build(), {}), isa::Code::out_of_bounds, "196608");
    }
}

TEST_CASE("D16: empty work at the end of a tensor is legal") {
    ProgramBuilder b;
    const int x = b.tensor("x", DType::f32, {100}), u = b.buffer("u", Space::ub, 512);
    b.section(CoreKind::aiv, [&] { b.copy(Op::mov_gm_ub, b.at(u), b.gm(x, b.num(400)), 0, 8, DType::f32); });
    CHECK(isa::to_text(run(b.build(), {400}).diagnostics) == "");
}

TEST_CASE("D15: a size that becomes negative in the last iteration faults with its line") {
    // 8,192 + 383 in steps of 384: the last block starts at 8,448 of 8,192
    ProgramBuilder b;
    const int x = b.tensor("x", DType::f32, {8192}), u = b.buffer("u", Space::ub, 1536);
    b.section(CoreKind::aiv, [&] {
        b.loop(23, [&](isa::Expr i) {
            isa::Copy c;
            const isa::Expr start = b.p.exprs.mul(i, b.num(384));
            c.dst = b.at(u);
            c.src = b.gm(x, b.p.exprs.mul(start, b.num(4)));
            c.dtype = DType::f32;
            c.rows = b.num(1);
            c.cols = b.p.exprs.min(b.num(384), b.p.exprs.sub(b.num(8192), start));
            c.dst_pitch = c.src_pitch = b.num(384);
            b.instr(Op::mov_gm_ub, c);
            b.barrier(Pipe::mte2);
        });
    });
    const auto r = run(b.build(), {32768});
    INFO(isa::to_text(r.diagnostics));
    REQUIRE(r.diagnostics.size() == 1);
    CHECK(r.status == sim::Status::fault);
    CHECK_THAT(r.diagnostics[0].message, Catch::Contains("-256"));
    CHECK(r.diagnostics[0].line > 0);
}

TEST_CASE("D06: an offset that becomes misaligned at run time faults") {
    for (const I n : {8, 1}) {
        ProgramBuilder b;
        const int u = b.buffer("u", Space::ub, 1024);
        const isa::Expr element = b.param("n");
        b.section(CoreKind::aiv, [&] { b.vector(Op::vdup, b.at(u, b.p.exprs.mul(element, b.num(4))), {}, {}, 64); });
        const auto r = run(b.build(), {}, {{"n", n}});
        if (n == 8)
            CHECK(isa::to_text(r.diagnostics) == "");
        else
            check_only(r, isa::Code::alignment, "dst");
    }
}

TEST_CASE("D18: masked lanes issue no access, lanes that work are checked against the space") {
    const auto outcome = [](std::uint64_t mask) {
        ProgramBuilder b;
        isa::Vector v;
        v.dst = {Space::ub, -1, {}, b.num(196608 - 128)};
        v.mode = isa::MaskMode::normal;
        v.mask_lo = mask;
        v.repeats = b.num(1);
        v.count = b.num(0);
        v.dst_block = v.src0_block = v.src1_block = b.num(1);
        v.dst_repeat = v.src0_repeat = v.src1_repeat = b.num(8);
        b.section(CoreKind::aiv, [&] { b.instr(Op::vdup, v); });
        return run(b.build(), {});
    };
    CHECK(isa::to_text(outcome(0xffffffff).diagnostics) == "");  // 32 lanes are the 128 bytes left
    check_only(outcome(0x1ffffffff), isa::Code::out_of_bounds, "196612");
}

TEST_CASE("bytes that nothing has written are reported where they are read") {
    ProgramBuilder b;
    const int x = b.tensor("x", DType::f32, {64}), w = b.tensor("w", DType::f32, {64}, isa::Role::workspace);
    const int u = b.buffer("u", Space::ub, 512), d = b.buffer("d", Space::ub, 512);
    b.section(CoreKind::aiv, [&] {
        b.copy(Op::mov_gm_ub, b.at(u), b.gm(x), 1, 60, DType::f32);
        b.set(Pipe::mte2, Pipe::v);
        b.wait(Pipe::mte2, Pipe::v);
        b.vector(Op::vadds, b.at(d), b.at(u), {}, 60);
        b.vector(Op::vadds, b.at(d, b.num(256)), b.at(u), {}, 61);
    });
    check_only(run(b.build(), {256, 256}), isa::Code::uninitialised, "reads byte 240 of UB (buffer 'u')");

    ProgramBuilder c;
    const int y = c.tensor("y", DType::f32, {64}, isa::Role::workspace), t = c.buffer("t", Space::ub, 256);
    c.section(CoreKind::aiv, [&] { c.copy(Op::mov_gm_ub, c.at(t), c.gm(y), 1, 64, DType::f32); });
    check_only(run(c.build(), {256}), isa::Code::uninitialised, "tensor 'y'");
    (void)w;
}

TEST_CASE("lanes and blocks that a strided or masked instruction skips stay unwritten, and may stay unread") {
    for (const bool read_gap : {false, true}) {
        ProgramBuilder b;
        const int u = b.buffer("u", Space::ub, 4096), d = b.buffer("d", Space::ub, 4096);
        b.section(CoreKind::aiv, [&] {
            isa::Vector v;
            v.dst = b.at(u);
            v.count = b.num(64);
            v.repeats = b.num(0);
            v.dst_block = b.num(2);  // every other block
            v.dst_repeat = b.num(16);
            v.src0_block = v.src1_block = b.num(1);
            v.src0_repeat = v.src1_repeat = b.num(8);
            b.instr(Op::vdup, v);
            b.barrier(Pipe::v);
            v.dst = b.at(d);
            v.dst_block = b.num(1);
            v.src0 = b.at(u);
            v.src0_block = b.num(read_gap ? 1 : 2);
            b.instr(Op::vabs, v);
            b.barrier(Pipe::v);
            v.src0 = b.at(d);
            v.src0_block = b.num(1);
            v.dst = b.at(d, b.num(2048));
            v.mode = isa::MaskMode::normal;
            v.mask_lo = 0x5;
            v.repeats = b.num(1);
            b.instr(Op::vabs, v);
        });
        const auto r = run(b.build(), {});
        if (read_gap)
            check_only(r, isa::Code::uninitialised, "reads byte 32 of UB");
        else
            CHECK(isa::to_text(r.diagnostics) == "");
    }
}

TEST_CASE("a control load outside its tensor faults") {
    ProgramBuilder b;
    const int x = b.tensor("lengths", DType::i32, {4});
    b.section(CoreKind::aiv, [&] { b.load(x, b.num(4)); });
    check_only(run(b.build(), {16}), isa::Code::out_of_bounds, "element 4 of tensor 'lengths', which has 4 elements");
}

TEST_CASE("an instance is seen once, whatever its place in GM") {
    sim::SeenInstances seen;
    isa::Instr i{Op::mov_gm_ub, isa::Copy{}, -1, 3};
    isa::CopyT<I> c;
    c.dst = in(Space::ub, 64, 0);
    c.src = in(Space::gm, 0, 0);
    c.rows = 1;
    CHECK(seen.first({&i, c}));
    c.src.offset = 4096;
    CHECK_FALSE(seen.first({&i, c}));
    c.dst.offset = 128;
    CHECK(seen.first({&i, c}));
    c.rows = 2;
    CHECK(seen.first({&i, c}));
}
