// SPDX-License-Identifier: Apache-2.0
// When instructions start and end inside one core, against closed forms.
#include <catch2/catch.hpp>

#include "tests/support/program_builder.h"
#include "tests/support/test_chip.h"

using namespace sfumato;
using namespace sfumato::isa;
using namespace sfumato::testing;

namespace {

constexpr std::int64_t kRepeat = 64;  // f32 elements of a repeat

const sim::PipeStats& pipe(const sim::RunResult& r, Pipe p, std::size_t core = 0) { return r.cores.at(core).pipes[static_cast<std::size_t>(p)]; }

void check_accounts(const sim::RunResult& r) {
    REQUIRE(!r.cores.empty());
    for (const sim::CoreStats& c : r.cores)
        for (const sim::PipeStats& p : c.pipes) {
            CHECK(p.busy + p.stalled + p.idle == c.end - c.begin);
            CHECK(std::min({p.busy, p.stalled, p.idle}) >= 0);
        }
}

// load -> compute -> store over `tiles` tiles with two slots each; durations in ticks on plain_chip().
Program three_pipes(int tiles, std::int64_t load, std::int64_t compute, std::int64_t store, int slots = 2) {
    ProgramBuilder b("three_pipes");
    const std::int64_t most = std::max(load, store) * 64;
    const int x = b.tensor("x", DType::f32, {load * 16}), y = b.tensor("y", DType::f32, {store * 16}, Role::out);
    b.section(CoreKind::aiv, [&] {
        const int in = b.buffer("in", Space::ub, most + compute * 256, slots), out = b.buffer("out", Space::ub, most + compute * 256, slots);
        for (int i = 0; i < slots; ++i) {
            b.set(Pipe::v, Pipe::mte2, i);
            b.set(Pipe::mte3, Pipe::v, i);
        }
        b.loop(tiles, [&](Expr i) {
            const Expr s = b.p.exprs.mod(i, b.num(slots));
            b.wait(Pipe::v, Pipe::mte2, s);
            b.copy(Op::mov_gm_ub, b.at(in, b.num(0), s), b.gm(x, b.num(0)), 1, load * 16, DType::f32);
            b.set(Pipe::mte2, Pipe::v, s);
            b.wait(Pipe::mte2, Pipe::v, s);
            b.wait(Pipe::mte3, Pipe::v, s);
            b.vector(Op::vabs, b.at(out, b.num(0), s), b.at(in, b.num(0), s), {}, compute * kRepeat);
            b.set(Pipe::v, Pipe::mte2, s);
            b.set(Pipe::v, Pipe::mte3, s);
            b.wait(Pipe::v, Pipe::mte3, s);
            b.copy(Op::mov_ub_gm, b.gm(y, b.num(0)), b.at(out, b.num(0), s), 1, store * 16, DType::f32);
            b.set(Pipe::mte3, Pipe::v, s);
        });
        for (int i = 0; i < slots; ++i) {
            b.wait(Pipe::v, Pipe::mte2, i);
            b.wait(Pipe::mte3, Pipe::v, i);
        }
    });
    return b.build();
}

}  // namespace

TEST_CASE("a double-buffered loop costs its slowest stage per tile plus fill and drain") {
    const Chip chip = plain_chip();
    for (const auto& [load, compute, store] : {std::tuple{37, 21, 30}, {20, 50, 10}, {16, 24, 64}, {32, 32, 32}, {5, 90, 70}})
        for (int tiles : {1, 2, 3, 40}) {
            const sim::RunResult r = time_of(chip, three_pipes(tiles, load, compute, store));
            REQUIRE(r.status == sim::Status::ok);
            const std::int64_t slowest = std::max({load, compute, store});
            CHECK(r.makespan == load + compute + store + (tiles - 1) * slowest);
            CHECK(pipe(r, Pipe::mte2).busy == tiles * load);
            CHECK(pipe(r, Pipe::v).busy == tiles * compute);
            CHECK(pipe(r, Pipe::mte3).busy == tiles * store);
            check_accounts(r);
        }
}

TEST_CASE("with one slot the stages that share a buffer take turns") {
    const Chip chip = plain_chip();
    const int tiles = 10, load = 37, compute = 21, store = 30;
    const sim::RunResult r = time_of(chip, three_pipes(tiles, load, compute, store, 1));
    // load and compute share a slot, compute and store another: the slower pair sets the pace
    CHECK(r.makespan == load + compute + store + (tiles - 1) * std::max(load + compute, compute + store));
    check_accounts(r);
}

TEST_CASE("a vector instruction alone costs its repeats plus its head, a stream costs its repeats") {
    Chip chip = plain_chip();
    for (auto& widths : chip.vector) widths.fill({1, 3, 24});
    const auto run = [&](int count, std::int64_t repeats, bool barriers) {
        ProgramBuilder b;
        b.section(CoreKind::aiv, [&] {
            const int x = b.buffer("x", Space::ub, 65536), y = b.buffer("y", Space::ub, 65536);
            b.loop(count, [&](Expr) {
                b.vector(Op::vabs, b.at(y), b.at(x), {}, repeats * kRepeat);
                if (barriers) b.barrier(Pipe::v);
            });
        });
        return time_of(chip, b.build()).makespan;
    };
    CHECK(run(1, 64, false) == 64 + 24);
    CHECK(run(100, 64, false) == 100 * 64 + 24);
    CHECK(run(100, 64, true) == 100 * (64 + 24));
    CHECK(run(100, 1, false) == 99 * 3 + 1 + 24);  // starts are an interval apart, the last one ends after its repeat and head
    chip.flags.barrier = 18;
    CHECK(run(2, 64, true) == 2 * (64 + 24) + 18);  // nothing waits behind the last barrier
}

TEST_CASE("a matrix instruction alone costs 23 plus its fractal steps, a stream 2 plus its steps") {
    Chip chip = plain_chip();
    chip.cube.interval = 2;
    chip.cube.head = 21;
    const auto run = [&](int count) {
        ProgramBuilder b;
        b.section(CoreKind::aic, [&] {
            const int a = b.buffer("a", Space::l0a, 65536), w = b.buffer("w", Space::l0b, 65536), c = b.buffer("c", Space::l0c, 131072);
            b.loop(count, [&](Expr) { b.mmad(b.at(c), b.at(a), b.at(w), 128, 64, 256, b.num(1)); });
        });
        return time_of(chip, b.build()).makespan;
    };
    const std::int64_t steps = 8 * 4 * 16;
    CHECK(run(1) == 23 + steps);
    CHECK(run(10) == 10 * (2 + steps) + 21);
}

TEST_CASE("a flag reaches the waiting pipe after its latency") {
    Chip chip = plain_chip();
    chip.flags.latency = 20;
    ProgramBuilder b;
    b.section(CoreKind::aiv, [&] {
        const int x = b.buffer("x", Space::ub, 65536);
        const int l1 = b.tensor("t", DType::f32, {1024}, Role::out);
        b.vector(Op::vabs, b.at(x), b.at(x), {}, 10 * kRepeat);
        b.set(Pipe::v, Pipe::mte3);
        b.wait(Pipe::v, Pipe::mte3);
        b.copy(Op::mov_ub_gm, b.gm(l1), b.at(x), 1, 1024, DType::f32);
    });
    const sim::RunResult r = time_of(chip, b.build());
    CHECK(r.makespan == 10 + 20 + 4096 / 64);
    CHECK(pipe(r, Pipe::mte3).stalled == 10 + 20);
    check_accounts(r);
}

TEST_CASE("a set does not hold up the work behind it on its own pipe") {
    const Chip chip = plain_chip();
    ProgramBuilder b;
    b.section(CoreKind::aiv, [&] {
        const int x = b.buffer("x", Space::ub, 65536);
        for (int i = 0; i < 4; ++i) {
            b.vector(Op::vabs, b.at(x), b.at(x), {}, 10 * kRepeat);
            b.set(Pipe::v, Pipe::mte3, i);
        }
        for (int i = 0; i < 4; ++i) b.wait(Pipe::v, Pipe::mte3, i);
    });
    CHECK(time_of(chip, b.build()).makespan == 40);
}

TEST_CASE("a full queue stalls the scalar unit until the pipe takes an instruction") {
    Chip chip = plain_chip();
    const auto queue = static_cast<std::size_t>(Pipe::v);
    const auto run = [&](std::int64_t depth) {
        chip.issue.depth[queue] = depth;
        ProgramBuilder b;
        b.section(CoreKind::aiv, [&] {
            const int x = b.buffer("x", Space::ub, 65536);
            for (int i = 0; i < 4; ++i) b.vector(Op::vabs, b.at(x), b.at(x), {}, 100 * kRepeat);
            b.set(Pipe::s, Pipe::mte3);  // the scalar unit gets here only when all four are queued
            b.wait(Pipe::s, Pipe::mte3);
            b.copy(Op::mov_ub_gm, b.gm(b.tensor("t", DType::f32, {1024}, Role::out)), b.at(x), 1, 1024, DType::f32);
        });
        const sim::RunResult r = time_of(chip, b.build());
        check_accounts(r);
        return r;
    };
    // One runs, `depth` wait: the last of four is queued when the (4 - depth)-th has left the queue.
    CHECK(pipe(run(8), Pipe::s).stalled == 0);
    CHECK(pipe(run(2), Pipe::s).stalled == 100);
    CHECK(pipe(run(1), Pipe::s).stalled == 200);
    CHECK(pipe(run(2), Pipe::mte3).idle == 100 + (400 - 100 - 64));
}

TEST_CASE("issuing costs the scalar unit its cycles and delays the instruction by as much") {
    Chip chip = plain_chip();
    chip.issue.vector = 5;
    chip.issue.loop = 3;
    ProgramBuilder b;
    b.section(CoreKind::aiv, [&] {
        const int x = b.buffer("x", Space::ub, 65536);
        b.loop(10, [&](Expr) { b.vector(Op::vabs, b.at(x), b.at(x), {}, kRepeat); });
        b.scalar(1000);
    });
    const sim::RunResult r = time_of(chip, b.build());
    CHECK(r.makespan == 10 * (5 + 3) + 1000);
    CHECK(pipe(r, Pipe::v).busy == 10);
    CHECK(pipe(r, Pipe::s).busy == 10 * (5 + 3) + 1000);
    check_accounts(r);
}

TEST_CASE("launch head, staggered starts and task time are the chip's numbers") {
    Chip chip = plain_chip();
    chip.launch.head = 300;
    chip.launch.per_block = 16;
    chip.launch.task_us = 0.5;
    chip.launch.task_per_core_us = 0.25;
    ProgramBuilder b;
    b.section(CoreKind::aic, [&] { b.scalar(50); });
    const Program p = b.build(4);
    sim::DeviceMemory m;
    const std::vector<sim::Launch> twice{launch_of(p), launch_of(p)};
    const sim::RunResult r = sim::run(chip, twice, m, {.mode = sim::Mode::time, .hazards = false});
    REQUIRE(r.launches.size() == 2);
    const std::int64_t core = 3 * 16 + 300 + 50;
    CHECK(r.launches[0].end == core);
    CHECK(r.launches[0].cores == 4);
    CHECK(r.launches[0].mean_core_ticks == Approx(350));
    CHECK(r.launches[0].task_us == Approx(core / 1000.0 + 0.5 + 4 * 0.25));
    CHECK(r.launches[1].begin == core + 1500);  // 1.5 us of 1 GHz
    CHECK(r.makespan == core + 1500 + core);
    check_accounts(r);
}

TEST_CASE("the unit flag orders a drain behind the matrix instructions of its accumulator and lets other accumulators run on") {
    Chip chip = plain_chip();
    const std::int64_t steps = 8 * 8;  // 128 x 16 x 128
    const auto run = [&](bool flagged) {
        ProgramBuilder b;
        const int out = b.tensor("c", DType::f16, {128, 128}, Role::out);
        b.section(CoreKind::aic, [&] {
            const int a = b.buffer("a", Space::l0a, 8192), w = b.buffer("w", Space::l0b, 8192), c = b.buffer("c", Space::l0c, 65536, 2);
            for (int i = 0; i < 4; ++i) {
                b.mmad(b.at(c, {}, b.num(i % 2)), b.at(a), b.at(w), 128, 16, 128, b.num(1), flagged);
                b.fix(b.gm(out), b.at(c, {}, b.num(i % 2)), 128, 128, 128, flagged);
            }
        });
        return time_of(chip, b.build()).makespan;
    };
    const std::int64_t drain = 128 * 128 * 2 / 64;
    CHECK(run(true) == steps + 4 * drain);  // drains are slower and run one after the other behind the first tile
    CHECK(run(false) == 4 * drain);         // unordered
}
