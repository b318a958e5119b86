// SPDX-License-Identifier: Apache-2.0
#include "sim/exec/interpreter.h"

#include <catch2/catch.hpp>

#include "isa/diagnostic.h"
#include "one_instr.h"
#include "sim/cross_flags.h"
#include "tests/support/program_builder.h"

using namespace sfumato;
using namespace sfumato::testing;

namespace {

isa::Chip chip_with(I aic, I aiv) {
    isa::Chip c = small_chip();
    c.cores.aic = aic;
    c.cores.aiv = aiv;
    return c;
}
sim::RunResult run(const isa::Program& p, sim::DeviceMemory& memory, const isa::Chip& chip = small_chip(), std::map<std::string, I> params = {}) {
    sim::Launch l;
    l.program = &p;
    l.params = std::move(params);
    for (std::size_t i = 0; i < p.tensors.size(); ++i) l.tensors.push_back(static_cast<int>(i));
    return sim::run_values(chip, std::vector{l}, memory);
}
isa::Diagnostic only(const sim::RunResult& r) {
    INFO(isa::to_text(r.diagnostics));
    REQUIRE(r.diagnostics.size() == 1);
    return r.diagnostics[0];
}

/// Where the cores of a launch of two blocks stand that use a cube core and its vector cores.
auto two_mixed_blocks(const isa::Chip& chip) {
    ProgramBuilder b;
    b.section(CoreKind::aic, [] {});
    b.section(CoreKind::aiv, [] {});
    const isa::Program p = b.build(2);
    sim::Launch l;
    l.program = &p;
    return sim::place(chip, l, {});
}

}  // namespace

TEST_CASE("cores stand in hardware order and a mixed launch pairs a cube core with its vector cores") {
    const isa::Chip chip = chip_with(3, 6);
    const auto cores = sim::hardware_cores(chip);
    REQUIRE(cores.size() == 9);
    CHECK(cores[0].kind == CoreKind::aic);
    CHECK(cores[4].kind == CoreKind::aiv);
    CHECK(cores[4].index == 2);
    CHECK(cores[4].ordinal == 4);
    const auto placed = two_mixed_blocks(chip);
    REQUIRE(placed.size() == 6);
    CHECK(placed[5].core.index == 3);
    CHECK(placed[5].context.block_id == 1);
    CHECK(placed[5].context.sub_block == 1);
    CHECK(placed[5].context.block_num == 2);
    ProgramBuilder v;
    v.section(CoreKind::aiv, [] {});
    const auto q = v.build(100);
    sim::Launch l;
    l.program = &q;
    CHECK(sim::place(chip, l, {}).size() == 6);  // folded over the cores there are
    l.blocks = 7;
    CHECK_THROWS_WITH(sim::place(chip, l, {}), Catch::Contains("asks for 7 blocks") && Catch::Contains("has 6 cores"));
    l.blocks = 2;
    CHECK(sim::place(chip, l, {}).size() == 2);
}

TEST_CASE("a launch that does not fit the program is refused by name") {
    ProgramBuilder b("copy");
    b.tensor("x", DType::f32, {4});
    b.param("n");
    b.section(CoreKind::aiv, [] {});
    const auto p = b.build();
    sim::DeviceMemory memory;
    sim::Launch l;
    l.program = &p;
    l.params = {{"n", 1}};
    CHECK_THROWS_WITH(sim::place(small_chip(), l, memory), Catch::Contains("gives 0 tensors, the program has 1"));
    l.tensors = {2};
    CHECK_THROWS_WITH(sim::place(small_chip(), l, memory), Catch::Contains("'x'") && Catch::Contains("device tensor 2"));
    memory.tensors.resize(3);
    l.params.clear();
    CHECK_THROWS_WITH(sim::place(small_chip(), l, memory), Catch::Contains("'n'"));
    l.params = {{"n", 1}};
    CHECK_THROWS_WITH(sim::place(chip_with(1, 0), l, memory), Catch::Contains("aiv cores"));
}

TEST_CASE("G and C04: the 16th set of a cross-core flag without a wait faults, id 16 does not exist") {
    const auto outcome = [](int sets, int id) {
        ProgramBuilder b;
        b.section(CoreKind::aic, [&] { b.loop(sets, [&](isa::Expr) { b.cross_set(Pipe::fix, id, 2); }); });
        b.section(CoreKind::aiv, [&] {
            b.cross_set(Pipe::mte3, 1, 2);
            b.loop(sets, [&](isa::Expr) { b.cross_wait(Pipe::mte2, id, 2); });
        });
        // the cube core runs first, so all its sets come before the first wait
        sim::DeviceMemory memory;
        auto p = b.build();
        p.sections[0].body.push_back({isa::Instr{Op::cross_wait, isa::Sync{Pipe::mte2, Pipe::mte2, p.constant(1), 2}, -1, -1}});
        isa::number_instructions(p);
        return run(p, memory);
    };
    CHECK(isa::to_text(outcome(15, 0).diagnostics) == "");
    const auto d = only(outcome(16, 0));
    CHECK(d.code == isa::Code::flag_balance);
    CHECK_THAT(d.message, Catch::Contains("counts 16") && Catch::Contains("15"));
    CHECK(d.file == "built.cpp");
    CHECK(outcome(1, 16).diagnostics.size() == 1);
}

TEST_CASE("cross-core flags rise for all cores of a kind, for the vector cores of a pair, or across the pair") {
    const isa::Chip chip = chip_with(2, 4);
    const auto placed = two_mixed_blocks(chip);  // ordinals: AIC 0 and 3, AIV 1 2 and 4 5
    sim::CrossFlags f(chip, placed);
    using V = std::vector<int>;
    CHECK(f.set(0, 3, 2) == V{1, 2});
    CHECK(f.set(4, 3, 2).empty());
    CHECK(f.set(5, 3, 2) == V{3});
    CHECK(f.set(1, 4, 1).empty());
    CHECK(f.set(2, 4, 1) == V{1, 2});
    CHECK(f.set(0, 5, 0).empty());
    CHECK(f.set(0, 5, 0).empty());  // ahead by one round
    CHECK(f.set(3, 5, 0) == V{0, 3});
    CHECK(f.set(3, 5, 0) == V{0, 3});
    CHECK_FALSE(f.ready(1, 3));
    CHECK_FALSE(f.raise(1, 3));
    CHECK(f.ready(1, 3));
    CHECK(f.left_over() == std::vector<std::tuple<int, I, I>>{{1, 3, 1}});
    f.take(1, 3);
    CHECK_FALSE(f.ready(1, 3));
    CHECK(f.left_over().empty());
}

TEST_CASE("B19: a flag set twice before a wait stops with both lines") {
    sim::DeviceMemory memory;
    const auto d = only(run(flag_set_twice(), memory));
    CHECK(d.code == isa::Code::flag_balance);
    CHECK(d.line == 2);
    REQUIRE(d.notes.size() == 1);
    CHECK_THAT(d.notes[0], Catch::Contains("built.cpp:1"));
}

TEST_CASE("B20: waiting for a flag that only another pair sets is a deadlock with every waiting pipe named") {
    ProgramBuilder b;
    int line = 0;
    b.section(CoreKind::aiv, [&] {
        b.set(Pipe::s, Pipe::mte3, 1);
        line = b.wait(Pipe::mte3, Pipe::v, 1);
    });
    sim::DeviceMemory memory;
    const auto r = run(b.build(), memory);
    CHECK(r.status == sim::Status::deadlock);
    const auto d = only(r);
    CHECK(d.code == isa::Code::deadlock);
    CHECK(d.line == line);
    REQUIRE(d.notes.size() == 1);
    CHECK_THAT(d.notes[0], Catch::Contains("aiv 0: pipe V waits for flag 1 of MTE3 to V"));
}

TEST_CASE("B07: a flag that is still set at the end of a core is reported") {
    ProgramBuilder b;
    b.section(CoreKind::aiv, [&] { b.set(Pipe::v, Pipe::mte3, 2); });
    sim::DeviceMemory memory;
    const auto d = only(run(b.build(), memory));
    CHECK(d.code == isa::Code::flag_balance);
    CHECK_THAT(d.message, Catch::Contains("flag 2 of V to MTE3 is still set when aiv 0 ends"));
}

TEST_CASE("C07: a cross-core flag that still counts at the end is reported, a missing partner is a deadlock") {
    ProgramBuilder b;
    b.section(CoreKind::aic, [&] { b.cross_set(Pipe::fix, 3, 2); });
    b.section(CoreKind::aiv, [&] {});
    sim::DeviceMemory memory;
    const auto r = run(b.build(), memory);
    REQUIRE(r.diagnostics.size() == 2);
    CHECK_THAT(r.diagnostics[0].message, Catch::Contains("cross-core flag 3 of aiv 0 still counts 1"));
    ProgramBuilder c;
    c.section(CoreKind::aic, [&] {});
    c.section(CoreKind::aiv, [&] { c.cross_wait(Pipe::mte2, 3, 2); });
    const auto stuck = run(c.build(), memory);
    CHECK(stuck.status == sim::Status::deadlock);
    CHECK(only(stuck).notes.size() == 2);
}

TEST_CASE("a pipe may wait for a flag that is set later in the text") {
    ProgramBuilder b;
    const int x = b.tensor("x", DType::f32, {64}), y = b.tensor("y", DType::f32, {64}, isa::Role::out);
    const int u = b.buffer("u", Space::ub, 256), d = b.buffer("d", Space::ub, 256);
    b.section(CoreKind::aiv, [&] {
        b.wait(Pipe::v, Pipe::mte3);
        b.copy(Op::mov_ub_gm, b.gm(y), b.at(d), 1, 64, DType::f32);
        b.wait(Pipe::mte2, Pipe::v);
        b.vector(Op::vadd, b.at(d), b.at(u), b.at(u), 64);
        b.set(Pipe::v, Pipe::mte3);
        b.copy(Op::mov_gm_ub, b.at(u), b.gm(x), 1, 64, DType::f32);
        b.set(Pipe::mte2, Pipe::v);
    });
    sim::DeviceMemory memory;
    memory.tensors = {{"x", 256, std::vector<std::byte>(256), -1}, {"y", 256, {}, -1}};
    for (I i = 0; i < 64; ++i) put(DType::f32, memory.tensors[0].bytes.data() + 4 * i, static_cast<double>(i));
    const auto r = run(b.build(), memory);
    CHECK(isa::to_text(r.diagnostics) == "");
    for (I i = 0; i < 64; ++i) CHECK(get(DType::f32, memory.tensors[1].bytes.data() + 4 * i) == 2.0 * static_cast<double>(i));
}

TEST_CASE("control loads steer loops, blocks fold over cores, launches follow each other on one memory") {
    ProgramBuilder b("twice");
    const int n = b.tensor("n", DType::i32, {4}), x = b.tensor("x", DType::f32, {64}, isa::Role::inout);
    const int u = b.buffer("u", Space::ub, 64);
    b.section(CoreKind::aiv, [&] {
        const isa::Expr trips = b.load(n, b.block_id());
        const isa::Expr place = b.p.exprs.mul(b.block_id(), b.num(64));
        b.loop(trips, [&](isa::Expr) {
            b.copy(Op::mov_gm_ub, b.at(u), b.gm(x, place), 1, 16, DType::f32);
            b.set(Pipe::mte2, Pipe::v), b.wait(Pipe::mte2, Pipe::v);
            b.vector(Op::vadd, b.at(u), b.at(u), b.at(u), 16);
            b.set(Pipe::v, Pipe::mte3), b.wait(Pipe::v, Pipe::mte3);
            b.copy(Op::mov_ub_gm, b.gm(x, place), b.at(u), 1, 16, DType::f32);
            b.set(Pipe::mte3, Pipe::mte2), b.wait(Pipe::mte3, Pipe::mte2);
        });
    });
    const auto p = b.build(4);
    sim::DeviceMemory memory;
    memory.tensors = {{"n", 16, std::vector<std::byte>(16), -1}, {"x", 256, std::vector<std::byte>(256), -1}};
    for (I i = 0; i < 4; ++i) put(DType::i32, memory.tensors[0].bytes.data() + 4 * i, static_cast<double>(i));
    for (I i = 0; i < 64; ++i) put(DType::f32, memory.tensors[1].bytes.data() + 4 * i, 1);
    sim::Launch l;
    l.program = &p;
    l.tensors = {0, 1};
    const auto r = sim::run_values(chip_with(2, 4), std::vector{l, l}, memory);
    CHECK(isa::to_text(r.diagnostics) == "");
    CHECK(r.launches.size() == 2);
    for (I i = 0; i < 64; ++i) CHECK(get(DType::f32, memory.tensors[1].bytes.data() + 4 * i) == std::pow(4.0, static_cast<double>(i / 16)));
}
