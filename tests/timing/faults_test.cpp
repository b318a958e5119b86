// SPDX-License-Identifier: Apache-2.0
// Protocol errors of flags and queues: every one ends with a report that names the place, none hangs.
#include <catch2/catch.hpp>

#include "tests/support/program_builder.h"
#include "tests/support/test_chip.h"

using namespace sfumato;
using namespace sfumato::isa;
using namespace sfumato::testing;
using Catch::Contains;

TEST_CASE("a wait that nobody serves is a deadlock naming cycle, core, pipe, flag and line") {
    ProgramBuilder b;
    int line = 0;
    b.section(CoreKind::aiv, [&] {
        b.scalar(25);
        line = b.wait(Pipe::mte2, Pipe::v, 3);
    });
    const sim::RunResult r = time_of(plain_chip(), b.build());
    REQUIRE(r.status == sim::Status::deadlock);
    REQUIRE(r.diagnostics.size() == 1);
    CHECK(r.diagnostics[0].code == Code::deadlock);
    CHECK(r.diagnostics[0].line == line);
    CHECK_THAT(r.diagnostics[0].message, Contains("cycle 25") && Contains("aiv 0") && Contains("pipe V") && Contains("wait_flag MTE2 -> V, id 3"));
}

TEST_CASE("a deadlock lists every pipe that is stuck, on every core, and the scalar unit behind a full queue") {
    Chip chip = plain_chip();
    chip.issue.depth[static_cast<std::size_t>(Pipe::v)] = 2;
    ProgramBuilder b;
    b.section(CoreKind::aiv, [&] {
        const int x = b.buffer("x", Space::ub, 4096);
        b.wait(Pipe::v, Pipe::mte3);
        b.wait(Pipe::mte3, Pipe::v);
        for (int i = 0; i < 3; ++i) b.vector(Op::vabs, b.at(x), b.at(x), {}, 64);
        b.set(Pipe::v, Pipe::mte3);
        b.set(Pipe::mte3, Pipe::v);
    });
    const sim::RunResult r = time_of(chip, b.build(2));
    REQUIRE(r.status == sim::Status::deadlock);
    REQUIRE(r.diagnostics.size() == 2 * 3);
    std::string all;
    for (const auto& d : r.diagnostics) all += d.message + "\n";
    CHECK_THAT(all, Contains("pipe S never gets past vabs: it waits for a place in the queue of V") && Contains("wait_flag V -> MTE3, id 0") &&
                        Contains("wait_flag MTE3 -> V, id 0") && Contains("aiv 1"));
    for (const sim::CoreStats& c : r.cores)
        for (const sim::PipeStats& p : c.pipes) CHECK(p.busy + p.stalled + p.idle == c.end - c.begin);
}

TEST_CASE("B19: a flag set twice before a wait stops the run with both source lines") {
    const sim::RunResult r = time_of(plain_chip(), flag_set_twice());
    REQUIRE(r.status == sim::Status::fault);
    REQUIRE(r.diagnostics.size() == 1);
    CHECK(r.diagnostics[0].line == 2);
    CHECK_THAT(r.diagnostics[0].message, Contains("flag M -> MTE1, id 0 is set twice") && Contains("built.cpp:1"));
}

TEST_CASE("B07: flags that are still set when the kernel ends are reported with the line that set them") {
    ProgramBuilder b;
    int line = 0;
    b.section(CoreKind::aiv, [&] {
        b.set(Pipe::v, Pipe::mte2, 1);
        line = b.set(Pipe::mte3, Pipe::v, 2);
        b.wait(Pipe::v, Pipe::mte2, 1);
    });
    const sim::RunResult r = time_of(plain_chip(), b.build());
    CHECK(r.status == sim::Status::fault);
    REQUIRE(r.diagnostics.size() == 1);
    CHECK(r.diagnostics[0].code == Code::flag_balance);
    CHECK(r.diagnostics[0].line == line);
    CHECK_THAT(r.diagnostics[0].message, Contains("MTE3 -> V, id 2 is still set"));
}

TEST_CASE("C04: the sixteenth set of a cross-core flag without a wait is a fault") {
    const auto run = [](int sets) {
        ProgramBuilder b;
        b.section(CoreKind::aic, [&] {
            for (int i = 0; i < sets; ++i) b.cross_set(Pipe::fix, 3, 2);
        });
        b.section(CoreKind::aiv, [&] {
            b.scalar(1000);
            for (int i = 0; i < sets; ++i) b.cross_wait(Pipe::v, 3, 2);
        });
        return time_of(plain_chip(), b.build());
    };
    CHECK(run(15).status == sim::Status::ok);
    const sim::RunResult r = run(16);
    REQUIRE(r.status == sim::Status::fault);
    CHECK_THAT(r.diagnostics.at(0).message, Contains("15"));
    CHECK(r.diagnostics[0].line == 16);
}

TEST_CASE("cross-core flags carry order between a cube core and its vector cores after their latency") {
    Chip chip = plain_chip();
    chip.cross.latency = 500;
    ProgramBuilder b;
    b.section(CoreKind::aic, [&] {
        b.scalar(100);
        b.cross_set(Pipe::fix, 0, 2);
        b.cross_wait(Pipe::mte2, 1, 2);
    });
    b.section(CoreKind::aiv, [&] {
        b.cross_wait(Pipe::v, 0, 2);
        b.cross_set(Pipe::v, 1, 2);
    });
    const sim::RunResult r = time_of(chip, b.build(2));
    CHECK(r.status == sim::Status::ok);
    CHECK(r.cores.size() == 6);
    CHECK(r.makespan == 100 + 500 + 500);
}

TEST_CASE("a transfer outside its tensor is a fault naming tensor, bytes and line, in time-only mode too") {
    ProgramBuilder b;
    int line = 0;
    const int x = b.tensor("weights", DType::f32, {100});
    b.section(CoreKind::aiv, [&] { line = b.copy(Op::mov_gm_ub, b.at(b.buffer("u", Space::ub, 4096)), b.gm(x, b.num(64)), 1, 100, DType::f32); });
    const sim::RunResult r = time_of(plain_chip(), b.build());
    REQUIRE(r.status == sim::Status::fault);
    CHECK(r.diagnostics.at(0).code == Code::out_of_bounds);
    CHECK(r.diagnostics[0].line == line);
    CHECK_THAT(r.diagnostics[0].message, Contains("weights") && Contains("464") && Contains("400"));
}

TEST_CASE("a flag id the chip does not have is a fault") {
    ProgramBuilder b;
    b.section(CoreKind::aiv, [&] { b.set(Pipe::v, Pipe::mte2, 8); });
    const sim::RunResult r = time_of(plain_chip(), b.build());
    REQUIRE(r.status == sim::Status::fault);
    CHECK_THAT(r.diagnostics.at(0).message, Contains("id 8") && Contains("0 to 7"));
}

TEST_CASE("a loop that never lets time pass is stopped") {
    ProgramBuilder b;
    b.section(CoreKind::aiv, [&] { b.loop(std::int64_t{1} << 60, [&](Expr) { b.scalar(0); }); });
    const sim::RunResult r = time_of(plain_chip(), b.build());
    REQUIRE(r.status == sim::Status::fault);
    CHECK(r.diagnostics.at(0).code == Code::deadlock);
    CHECK_THAT(r.diagnostics[0].message, Contains("scalar unit"));
}

TEST_CASE("a launch that does not fit its program is refused before anything runs") {
    ProgramBuilder b("needs");
    b.tensor("x", DType::f32, {16});
    const Expr n = b.param("n");
    b.section(CoreKind::merged, [&] { b.loop(n, [&](Expr) { b.scalar(1); }); });
    const Program p = b.build();
    sim::DeviceMemory m = memory_for(p);
    sim::Launch l = launch_of(p);
    CHECK_THROWS_AS(sim::run(plain_chip(), std::span(&l, 1), m), InputError);  // no merged cores, no n
    l.tensors.clear();
    CHECK_THROWS_AS(sim::run(plain_chip(), std::span(&l, 1), m), InputError);
}

TEST_CASE("a launch of zero blocks ends at once and the next one runs") {
    ProgramBuilder b;
    b.section(CoreKind::aiv, [&] { b.scalar(10); });
    const Program none = b.build(0), one = b.build(1);
    sim::DeviceMemory m;
    const std::vector<sim::Launch> launches{launch_of(none), launch_of(one)};
    const sim::RunResult r = sim::run(plain_chip(), launches, m, {.mode = sim::Mode::time, .hazards = false});
    CHECK(r.status == sim::Status::ok);
    REQUIRE(r.launches.size() == 2);
    CHECK(r.launches[0].cores == 0);
    CHECK(r.makespan == 10);
}
