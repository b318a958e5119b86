// SPDX-License-Identifier: Apache-2.0
#include "sim/exec/hazard.h"

#include <catch2/catch.hpp>
#include <set>

#include "isa/pipe_order.h"
#include "one_instr.h"
#include "sim/exec/interpreter.h"
#include "tests/support/program_builder.h"

using namespace sfumato;
using namespace sfumato::testing;

namespace {

struct Outcome {
    sim::RunResult result;
    sim::DeviceMemory memory;
    int count(isa::Code c) const {
        int n = 0;
        for (const auto& d : result.diagnostics) n += d.code == c;
        return n;
    }
};

Outcome run(const isa::Program& p, I tensor_bytes = 4096, bool hazards = true) {
    Outcome out;
    sim::Launch l;
    l.program = &p;
    for (std::size_t i = 0; i < p.tensors.size(); ++i) {
        sim::DeviceTensor t{p.tensors[i].name, tensor_bytes, std::vector<std::byte>(static_cast<std::size_t>(tensor_bytes)), -1};
        for (I e = 0; e < tensor_bytes / 4; ++e) put(DType::f32, t.bytes.data() + 4 * e, static_cast<double>(e % 50));
        out.memory.tensors.push_back(t);
        l.tensors.push_back(static_cast<int>(i));
    }
    sim::RunOptions o;
    o.hazards = hazards;
    out.result = sim::run_values(small_chip(), std::vector{l}, out.memory, o);
    return out;
}

/// y = x + x through one UB tile, twice, so that every pair of pipes must hand the buffers back: load, add, store. `without`: leave out
/// that flag (both its set and its wait), -1: none.
isa::Program round_trip(int without) {
    ProgramBuilder b;
    const int x = b.tensor("x", DType::f32, {1024}), y = b.tensor("y", DType::f32, {1024}, isa::Role::out);
    const int in = b.buffer("in", Space::ub, 256), out = b.buffer("out", Space::ub, 256);
    const auto set = [&](int i, Pipe s, Pipe d) {
        if (i != without) b.set(s, d);
    };
    const auto wait = [&](int i, Pipe s, Pipe d) {
        if (i != without) b.wait(s, d);
    };
    b.section(CoreKind::aiv, [&] {
        set(0, Pipe::v, Pipe::mte2);
        set(1, Pipe::mte3, Pipe::v);
        b.loop(3, [&](isa::Expr i) {
            const isa::Expr offset = b.p.exprs.mul(i, b.num(256));
            wait(0, Pipe::v, Pipe::mte2);
            b.copy(Op::mov_gm_ub, b.at(in), b.gm(x, offset), 1, 64, DType::f32);
            set(2, Pipe::mte2, Pipe::v);
            wait(2, Pipe::mte2, Pipe::v);
            wait(1, Pipe::mte3, Pipe::v);
            b.vector(Op::vadd, b.at(out), b.at(in), b.at(in), 64);
            set(0, Pipe::v, Pipe::mte2);
            set(3, Pipe::v, Pipe::mte3);
            wait(3, Pipe::v, Pipe::mte3);
            b.copy(Op::mov_ub_gm, b.gm(y, offset), b.at(out), 1, 64, DType::f32);
            set(1, Pipe::mte3, Pipe::v);
        });
        wait(0, Pipe::v, Pipe::mte2);
        wait(1, Pipe::mte3, Pipe::v);
    });
    return b.build();
}

}  // namespace

TEST_CASE("a program ordered by flags has no race, and removing any one of its flags is reported with both lines and seen in the values") {
    const auto good = run(round_trip(-1));
    CHECK(isa::to_text(good.result.diagnostics) == "");
    CHECK(good.result.status == sim::Status::ok);
    for (I e = 0; e < 192; ++e) CHECK(get(DType::f32, good.memory.tensors[1].bytes.data() + 4 * e) == 2.0 * static_cast<double>(e % 50));
    for (int flag = 0; flag < 4; ++flag) {
        const auto bad = run(round_trip(flag));
        INFO("without flag " << flag << "\n" << isa::to_text(bad.result.diagnostics));
        REQUIRE(bad.count(isa::Code::race) >= 1);
        CHECK(bad.result.status == sim::Status::fault);
        const auto& d = bad.result.diagnostics.front();
        CHECK(d.file == "built.cpp");
        CHECK(d.line > 0);
        REQUIRE(d.notes.size() == 2);
        CHECK_THAT(d.notes[0], Catch::Contains("built.cpp:") && Catch::Contains("aiv 0"));
        CHECK_THAT(d.message, Catch::Contains("nothing orders them"));
        bool poisoned = false;
        for (I e = 0; e < 192; ++e) poisoned = poisoned || std::isnan(get(DType::f32, bad.memory.tensors[1].bytes.data() + 4 * e));
        CHECK(poisoned);
    }
}

TEST_CASE("a pair of static instructions is reported once however often it races") {
    const auto bad = run(round_trip(2));
    std::set<std::vector<std::string>> pairs;
    for (const auto& d : bad.result.diagnostics) CHECK(pairs.insert(d.notes).second);
    CHECK(pairs.size() == 2);  // load and add; load and the next load, which only the chain through V could order
}

TEST_CASE("without the hazard listener nothing is reported and nothing is poisoned") {
    const auto off = run(round_trip(2), 4096, false);
    CHECK(off.count(isa::Code::race) == 0);
    CHECK(get(DType::f32, off.memory.tensors[1].bytes.data() + 4) == 2);
}

TEST_CASE("B18: a writer is compared with all readers since the last write, not only with the last access") {
    for (const bool v_waits : {true, false}) {
        ProgramBuilder b;
        const int x = b.tensor("x", DType::f32, {64}), y = b.tensor("y", DType::f32, {64}, isa::Role::out);
        const int t = b.buffer("t", Space::ub, 256), u = b.buffer("u", Space::ub, 256);
        b.section(CoreKind::aiv, [&] {
            b.copy(Op::mov_gm_ub, b.at(t), b.gm(x), 1, 64, DType::f32);
            b.set(Pipe::mte2, Pipe::mte3);
            b.wait(Pipe::mte2, Pipe::mte3);
            b.copy(Op::mov_ub_gm, b.gm(y), b.at(t), 1, 64, DType::f32);
            if (v_waits) b.set(Pipe::mte2, Pipe::v), b.wait(Pipe::mte2, Pipe::v);
            b.vector(Op::vadds, b.at(u), b.at(t), {}, 64);
        });
        CHECK(run(b.build()).count(isa::Code::race) == (v_waits ? 0 : 1));
    }
}

TEST_CASE("B01: a barrier inside a branch counts only when the branch ran") {
    for (const I n : {0, 1}) {
        ProgramBuilder b;
        const int a = b.buffer("a", Space::ub, 256), c = b.buffer("b", Space::ub, 256), d = b.buffer("d", Space::ub, 256);
        b.section(CoreKind::aiv, [&] {
            b.vector(Op::vdup, b.at(a), {}, {}, 64);
            b.when(b.num(n), [&] {
                b.vector(Op::vdup, b.at(c), {}, {}, 64);
                b.barrier(Pipe::v);
                b.vector(Op::vadd, b.at(c), b.at(c), b.at(c), 64);
            });
            b.vector(Op::vadd, b.at(d), b.at(a), b.at(a), 64);
        });
        CHECK(run(b.build()).count(isa::Code::race) == (n == 0 ? 1 : 0));
    }
}

TEST_CASE("B02: a wait inside a loop protects what follows only when the loop runs") {
    for (const I trips : {0, 1, 2}) {
        ProgramBuilder b;
        const int x = b.tensor("x", DType::f32, {64});
        const int a = b.buffer("a", Space::ub, 256), d = b.buffer("d", Space::ub, 256);
        b.section(CoreKind::aiv, [&] {
            b.copy(Op::mov_gm_ub, b.at(a), b.gm(x), 1, 64, DType::f32);
            b.loop(trips, [&](isa::Expr) { b.set(Pipe::mte2, Pipe::v), b.wait(Pipe::mte2, Pipe::v); });
            b.vector(Op::vadds, b.at(d), b.at(a), {}, 64);
        });
        CHECK(run(b.build()).count(isa::Code::race) == (trips == 0 ? 1 : 0));
    }
}

TEST_CASE("dependent vector instructions need barrier(V) on dav-c220 and older; an all-pipe barrier orders everything") {
    CHECK(isa::same_pipe_needs_barrier(small_chip(), Pipe::v, Space::ub));
    CHECK_FALSE(isa::same_pipe_needs_barrier(small_chip(), Pipe::m, Space::l0c));
    CHECK(isa::same_pipe_needs_barrier(small_chip(), Pipe::mte2, Space::l1));
    CHECK_FALSE(isa::same_pipe_needs_barrier(small_chip(), Pipe::mte3, Space::gm));
    const auto races = [](int kind) {
        ProgramBuilder b;
        const int a = b.buffer("a", Space::ub, 256), d = b.buffer("d", Space::ub, 256);
        b.section(CoreKind::aiv, [&] {
            b.vector(Op::vdup, b.at(a), {}, {}, 64);
            if (kind == 1) b.barrier(Pipe::v);
            if (kind == 2) b.barrier(Pipe::all);
            if (kind == 3) b.set(Pipe::v, Pipe::mte3), b.wait(Pipe::v, Pipe::mte3), b.set(Pipe::mte3, Pipe::v), b.wait(Pipe::mte3, Pipe::v);
            if (kind == 4) b.barrier(Pipe::mte2);
            b.vector(Op::vadds, b.at(d), b.at(a), {}, 64);
        });
        return run(b.build()).count(isa::Code::race);
    };
    CHECK(races(0) == 1);
    CHECK(races(1) == 0);
    CHECK(races(2) == 0);
    CHECK(races(3) == 0);  // the way through another pipe orders as well
    CHECK(races(4) == 1);
}

TEST_CASE("disjoint halves and interleaved rows do not race, a shared row does") {
    const auto races = [](I offset, I pitch) {
        ProgramBuilder b;
        const int x = b.tensor("x", DType::f32, {1024}), y = b.tensor("y", DType::f32, {1024}, isa::Role::out);
        const int a = b.buffer("a", Space::ub, 8192);
        b.section(CoreKind::aiv, [&] {
            b.copy(Op::mov_gm_ub, b.at(a, b.num(4096)), b.gm(x), 1, 256, DType::f32);
            b.set(Pipe::mte2, Pipe::mte3);
            b.wait(Pipe::mte2, Pipe::mte3);
            b.copy(Op::mov_gm_ub, b.at(a), b.gm(x), 4, 8, DType::f32, 16);  // bytes 0..32, 64..96, ...
            b.copy(Op::mov_ub_gm, b.gm(y), b.at(a, b.num(offset)), 4, 8, DType::f32, 8, pitch);
        });
        return run(b.build()).count(isa::Code::race);
    };
    CHECK(races(4096, 16) == 0);
    CHECK(races(32, 16) == 0);
    CHECK(races(0, 16) == 1);
    CHECK(races(32, 8) == 1);
}

namespace {
/// mmad then drain; `unit` gives both the unit flag, `flag` an ordinary flag M to FIX.
int drain_races(bool unit, bool flag) {
    ProgramBuilder b;
    const int x = b.tensor("x", DType::f16, {1024}), y = b.tensor("y", DType::f16, {1024}, isa::Role::out);
    const int l1 = b.buffer("l1", Space::l1, 512), a = b.buffer("a", Space::l0a, 512), w = b.buffer("w", Space::l0b, 512),
              c = b.buffer("c", Space::l0c, 1024);
    b.section(CoreKind::aic, [&] {
        b.copy(Op::mov_gm_l1_nz, b.at(l1), b.gm(x), 16, 16, DType::f16, 16);
        b.set(Pipe::mte2, Pipe::mte1);
        b.wait(Pipe::mte2, Pipe::mte1);
        b.copy(Op::mov_l1_l0a, b.at(a), b.at(l1), 16, 16, DType::f16, 16);
        b.copy(Op::mov_l1_l0b, b.at(w), b.at(l1), 16, 16, DType::f16, 16);
        b.set(Pipe::mte1, Pipe::m);
        b.wait(Pipe::mte1, Pipe::m);
        b.mmad(b.at(c), b.at(a), b.at(w), 16, 16, 16, b.num(1), unit);
        b.mmad(b.at(c), b.at(a), b.at(w), 16, 16, 16, b.num(0), unit);
        if (flag) b.set(Pipe::m, Pipe::fix), b.wait(Pipe::m, Pipe::fix);
        b.fix(b.gm(y), b.at(c), 16, 16, 16, unit);
    });
    return run(b.build()).count(isa::Code::race);
}
}  // namespace

TEST_CASE("the unit flag orders mmad and drain, mmads on one accumulator are ordered by their pipe") {
    CHECK(drain_races(false, true) == 0);
    CHECK(drain_races(true, false) == 0);
    CHECK(drain_races(false, false) == 1);  // the later mmad stands for the earlier one, whose result it covers
}

namespace {
/// AIC drains to a workspace, the vector cores read it. `flag`: cross-core flag in mode 2; `back`: the vector cores hand the workspace back.
isa::Program handover(bool flag, bool back) {
    ProgramBuilder b;
    const int x = b.tensor("x", DType::f16, {1024}), w = b.tensor("w", DType::f16, {1024}, isa::Role::workspace);
    const int l1 = b.buffer("l1", Space::l1, 512), u = b.buffer("u", Space::ub, 512);
    b.section(CoreKind::aic, [&] {
        b.copy(Op::mov_gm_l1, b.at(l1), b.gm(x), 1, 256);
        b.set(Pipe::mte2, Pipe::mte3);
        b.wait(Pipe::mte2, Pipe::mte3);
        b.loop(2, [&](isa::Expr) {
            if (back) b.cross_wait(Pipe::mte3, 1, 2);
            b.copy(Op::mov_l1_gm, b.gm(w), b.at(l1), 1, 256);
            if (flag) b.cross_set(Pipe::mte3, 0, 2);
        });
        if (back) b.cross_wait(Pipe::mte3, 1, 2);
    });
    b.section(CoreKind::aiv, [&] {
        if (back) b.cross_set(Pipe::mte2, 1, 2);
        b.loop(2, [&](isa::Expr) {
            if (flag) b.cross_wait(Pipe::mte2, 0, 2);
            b.copy(Op::mov_gm_ub, b.at(u), b.gm(w, b.p.exprs.mul(b.sub_block(), b.num(256))), 1, 128);
            b.barrier(Pipe::mte2);
            if (back) b.cross_set(Pipe::mte2, 1, 2);
        });
    });
    return b.build();
}
}  // namespace

TEST_CASE("cross-core flags order what cores do to GM, in both directions") {
    const auto good = run(handover(true, true));
    INFO(isa::to_text(good.result.diagnostics));
    CHECK(good.count(isa::Code::race) == 0);
    CHECK(run(handover(false, true)).count(isa::Code::race) >= 1);
    CHECK(run(handover(true, false)).count(isa::Code::race) >= 1);  // the second write meets readers of the first
}

TEST_CASE("two cores that store to the same bytes race, atomic adds do not") {
    for (const bool atomic : {false, true}) {
        ProgramBuilder b;
        const int y = b.tensor("y", DType::f32, {64}, isa::Role::inout);
        const int u = b.buffer("u", Space::ub, 256);
        b.section(CoreKind::aiv, [&] {
            b.vector(Op::vdup, b.at(u), {}, {}, 64);
            b.set(Pipe::v, Pipe::mte3);
            b.wait(Pipe::v, Pipe::mte3);
            isa::Copy c;
            c.dst = b.gm(y);
            c.src = b.at(u);
            c.dtype = DType::f32;
            c.rows = b.num(1);
            c.cols = c.dst_pitch = c.src_pitch = b.num(64);
            c.atomic = atomic ? isa::Atomic::add : isa::Atomic::none;
            b.instr(Op::mov_ub_gm, c);
        });
        CHECK(run(b.build(2)).count(isa::Code::race) == (atomic ? 0 : 1));
    }
}

TEST_CASE("a flag to the scalar unit orders what is issued after its wait") {
    for (const bool waits : {true, false}) {
        ProgramBuilder b;
        const int x = b.tensor("x", DType::f32, {64});
        const int a = b.buffer("a", Space::ub, 256), d = b.buffer("d", Space::ub, 256);
        b.section(CoreKind::aiv, [&] {
            b.copy(Op::mov_gm_ub, b.at(a), b.gm(x), 1, 64, DType::f32);
            if (waits) b.set(Pipe::mte2, Pipe::s), b.wait(Pipe::mte2, Pipe::s);
            b.vector(Op::vadds, b.at(d), b.at(a), {}, 64);
        });
        CHECK(run(b.build()).count(isa::Code::race) == (waits ? 0 : 1));
    }
}

TEST_CASE("H3: without the flag that frees the bias table there is a race when K fits one step and none when it takes two") {
    // with two slots of operand tiles and two steps a tile, the flag that frees slot 0 also says that the bias was read
    for (const int steps : {1, 2}) {
        ProgramBuilder b;
        const int x = b.tensor("x", DType::f32, {4096});
        const int l1 = b.buffer("l1", Space::l1, 4096), bt = b.buffer("bt", Space::bt, 64), a = b.buffer("a", Space::l0a, 512, 2),
                  w = b.buffer("w", Space::l0b, 512, 2), c = b.buffer("c", Space::l0c, 1024);
        b.section(CoreKind::aic, [&] {
            b.copy(Op::mov_gm_l1, b.at(l1), b.gm(x), 1, 1024, DType::f32);
            b.set(Pipe::mte2, Pipe::mte1);
            b.wait(Pipe::mte2, Pipe::mte1);
            b.set(Pipe::m, Pipe::mte1, 0), b.set(Pipe::m, Pipe::mte1, 1);
            int slot = 0;
            for (int tile = 0; tile < 2; ++tile) {
                for (int k = 0; k < steps; ++k, slot ^= 1) {
                    b.wait(Pipe::m, Pipe::mte1, slot);
                    b.copy(Op::mov_l1_l0a, b.at(a, {}, b.num(slot)), b.at(l1), 16, 8, DType::f32, 16, 16);
                    b.copy(Op::mov_l1_l0b, b.at(w, {}, b.num(slot)), b.at(l1), 8, 16, DType::f32, 16, 16);
                    if (k == 0) b.copy(Op::mov_l1_bt, b.at(bt), b.at(l1), 1, 16, DType::f32);
                    b.set(Pipe::mte1, Pipe::m, slot);
                    b.wait(Pipe::mte1, Pipe::m, slot);
                    isa::Cube m;
                    m.dst = b.at(c);
                    m.a = b.at(a, {}, b.num(slot));
                    m.b = b.at(w, {}, b.num(slot));
                    m.bias = b.at(bt);
                    m.dtype = DType::f32;
                    m.m = m.n = b.num(16);
                    m.k = b.num(8);
                    m.init = b.num(k == 0);
                    b.instr(Op::mmad, m);
                    b.set(Pipe::m, Pipe::mte1, slot);
                }
            }
            b.wait(Pipe::m, Pipe::mte1, 0), b.wait(Pipe::m, Pipe::mte1, 1);
        });
        const auto out = run(b.build(), 16384);
        int on_bias = 0;
        for (const auto& d : out.result.diagnostics)
            on_bias += d.code == isa::Code::race && d.message.find("'bt'") != std::string::npos && d.message.find("mmad reads") != std::string::npos;
        INFO(isa::to_text(out.result.diagnostics));
        CHECK(on_bias == (steps == 1 ? 1 : 0));
    }
}
