// SPDX-License-Identifier: Apache-2.0
// Transfers, ports, L2 and HBM, on chips small enough to count by hand.
#include <catch2/catch.hpp>

#include "tests/support/program_builder.h"
#include "tests/support/test_chip.h"

using namespace sfumato;
using namespace sfumato::isa;
using namespace sfumato::testing;

namespace {

// Every core reads `bytes` of its own part of a tensor `times` times over in one-row transfers of `chunk` bytes.
Program reader(int cores, std::int64_t bytes, std::int64_t chunk, int times = 1, Cache cache = Cache::normal, bool same = false) {
    ProgramBuilder b("reader");
    const int x = b.tensor("x", DType::f32, {cores * bytes / 4});
    b.section(CoreKind::aiv, [&] {
        const int u = b.buffer("u", Space::ub, chunk);
        b.loop(times, [&](Expr) {
            b.loop(bytes / chunk, [&](Expr i) {
                auto& e = b.p.exprs;
                const Expr mine = same ? b.num(0) : e.mul(b.block_id(), b.num(bytes));
                b.copy(Op::mov_gm_ub, b.at(u), b.gm(x, e.add(mine, e.mul(i, b.num(chunk)))), 1, chunk / 4, DType::f32, 0, 0, cache);
            });
        });
    });
    return b.build(cores);
}

Program writer(int cores, std::int64_t bytes, std::int64_t chunk, int times = 1, Cache cache = Cache::normal) {
    ProgramBuilder b("writer");
    const int x = b.tensor("x", DType::f32, {cores * bytes / 4}, Role::out);
    b.section(CoreKind::aiv, [&] {
        const int u = b.buffer("u", Space::ub, chunk);
        b.loop(times, [&](Expr) {
            b.loop(bytes / chunk, [&](Expr i) {
                auto& e = b.p.exprs;
                b.copy(Op::mov_ub_gm, b.gm(x, e.add(e.mul(b.block_id(), b.num(bytes)), e.mul(i, b.num(chunk)))), b.at(u), 1, chunk / 4, DType::f32, 0,
                       0, cache);
            });
        });
    });
    return b.build(cores);
}

/// One core that reads and writes 64,000 bytes at the same time.
Program reader_beside_writer() {
    ProgramBuilder b;
    const int x = b.tensor("x", DType::f32, {1 << 16}), y = b.tensor("y", DType::f32, {1 << 16}, Role::out);
    b.section(CoreKind::aiv, [&] {
        const int u = b.buffer("u", Space::ub, 65536), v = b.buffer("v", Space::ub, 65536);
        b.copy(Op::mov_gm_ub, b.at(u), b.gm(x), 1, 16000, DType::f32);
        b.copy(Op::mov_ub_gm, b.gm(y), b.at(v), 1, 16000, DType::f32, 0, 0, Cache::bypass);
    });
    return b.build();
}

}  // namespace

TEST_CASE("one transfer takes its start, the latency of what it hits and its bytes at the port's rate") {
    Chip chip = plain_chip();
    for (auto& p : chip.paths) p.start = 30;
    chip.l2.read_latency = 107;
    chip.hbm.latency = 200;
    chip.gm.in_flight = 1000;
    CHECK(time_of(chip, reader(1, 65536, 65536)).makespan == 30 + 107 + 200 + 65536 / 64);
    chip.l2.capacity = 1 << 20;
    sim::RunOptions warm{.mode = sim::Mode::time, .warm_l2 = true, .hazards = false};
    CHECK(time_of(chip, reader(1, 65536, 65536), warm).makespan == 30 + 107 + 65536 / 64);
}

TEST_CASE("requests in flight times their size over the latency bound a core's rate") {
    Chip chip = plain_chip();
    chip.hbm.latency = 640;
    chip.gm.in_flight = 32;
    // 128 requests of 512 B, 20 cycles each, behind the first latency
    CHECK(time_of(chip, reader(1, 65536, 65536)).makespan == 640 + 128 * 640 / 32);
}

TEST_CASE("more transfers in flight hide latency, and bytes of one port still move one after the other") {
    Chip chip = plain_chip();
    chip.hbm.latency = 300;
    chip.gm.in_flight = 1000;
    const std::int64_t move = 8192 / 64;
    CHECK(time_of(chip, reader(1, 16 * 8192, 8192)).makespan == 16 * (300 + move));
    for (auto& p : chip.paths) p.outstanding = 64;
    CHECK(time_of(chip, reader(1, 16 * 8192, 8192)).makespan == 300 + 16 * move);
    for (auto& p : chip.paths) p.outstanding = 2;
    // pairs overlap: the next latency starts when the oldest of two is done
    CHECK(time_of(chip, reader(1, 2 * 8192, 8192)).makespan == 300 + 2 * move);
}

TEST_CASE("a server is shared in equal parts and never moves more than its rate") {
    Chip chip = plain_chip();
    chip.hbm.total_rate = 128;
    // eight ports of 64 B/cycle share 128
    const sim::RunResult r = time_of(chip, reader(8, 65536, 65536));
    CHECK(r.makespan == 8 * 65536 / 128);
    for (const sim::CoreStats& c : r.cores) CHECK(c.end == r.makespan);
    CHECK(r.memory.hbm_read_bytes == 8 * 65536);
    CHECK(r.memory.hbm_read_bytes <= 128 * r.makespan);
}

TEST_CASE("a transfer that wants less than its share leaves the rest to the others") {
    Chip chip = plain_chip();
    chip.hbm.total_rate = 96;
    chip.paths[static_cast<std::size_t>(Path::ub_gm)].rate = 16;
    const sim::RunResult r = time_of(chip, reader_beside_writer());
    CHECK(r.cores[0].pipes[static_cast<std::size_t>(Pipe::mte2)].busy == 1000);  // 64 B/cycle: its port, since the other leaves 80
    CHECK(r.cores[0].pipes[static_cast<std::size_t>(Pipe::mte3)].busy == 4000);
}

TEST_CASE("reads and writes that mix lose the turnaround share of HBM") {
    Chip chip = plain_chip();
    chip.hbm.total_rate = 100;
    chip.hbm.turnaround = 0.2;
    CHECK(time_of(chip, reader_beside_writer()).makespan == 2 * 64000 / 80);
}

TEST_CASE("L2 counts hits and misses by line and forgets the least used when it is full") {
    Chip chip = plain_chip();
    chip.l2.capacity = 64 * 512;
    const auto memory = [&](std::int64_t lines, int times, Cache cache = Cache::normal) {
        return time_of(chip, reader(1, lines * 512, 512, times, cache)).memory;
    };
    // fits: one miss a line, hits afterwards
    CHECK(memory(64, 3).l2_misses == 64);
    CHECK(memory(64, 3).l2_hits == 2 * 64);
    CHECK(memory(64, 3).hbm_read_bytes == 64 * 512);
    CHECK(memory(64, 3).l2_evictions == 0);
    // twice the capacity in a cycle: nothing survives until it is asked for again
    CHECK(memory(128, 2).l2_hits == 0);
    CHECK(memory(128, 2).l2_evictions == 2 * 128 - 64);
    // around L2: nothing is kept
    CHECK(memory(64, 3, Cache::bypass).l2_misses == 3 * 64);
    CHECK(memory(64, 3, Cache::bypass).l2_evictions == 0);
}

TEST_CASE("written lines leave for HBM only when they are replaced") {
    Chip chip = plain_chip();
    chip.l2.capacity = 64 * 512;
    CHECK(time_of(chip, writer(1, 64 * 512, 512, 4)).memory.hbm_write_bytes == 0);
    const sim::MemoryStats m = time_of(chip, writer(1, 256 * 512, 512)).memory;
    CHECK(m.hbm_write_bytes == (256 - 64) * 512);
    CHECK(m.l2_write_misses == 256);
    CHECK(m.hbm_read_bytes == 0);
    CHECK(time_of(chip, writer(1, 256 * 512, 512, 1, Cache::bypass)).memory.hbm_write_bytes == 256 * 512);
}

TEST_CASE("a stream of writes larger than L2 runs at the write rate of HBM") {
    Chip chip = plain_chip();
    chip.l2.capacity = 64 * 512;
    chip.hbm.total_rate = 32;
    chip.hbm.write_efficiency = 0.5;
    const std::int64_t lines = 1024;
    const sim::RunResult r = time_of(chip, writer(1, lines * 512, 512));
    CHECK(r.makespan == 64 * 512 / 64 + (lines - 64) * 512 / 16);
}

TEST_CASE("L2 state survives the launches of a run") {
    Chip chip = plain_chip();
    chip.l2.capacity = 1 << 20;
    const Program p = reader(1, 65536, 4096);
    sim::DeviceMemory m = memory_for(p);
    const std::vector<sim::Launch> twice{launch_of(p), launch_of(p)};
    const sim::RunResult r = sim::run(chip, twice, m, {.mode = sim::Mode::time, .hazards = false});
    CHECK(r.memory.l2_misses == 128);
    CHECK(r.memory.l2_hits == 128);
}

TEST_CASE("a hit on a line that is still being filled completes no earlier than the fill") {
    Chip chip = plain_chip();
    chip.l2.capacity = 1 << 20;
    chip.hbm.total_rate = 16;  // slow fill
    const sim::RunResult r = time_of(chip, reader(4, 16384, 16384, 1, Cache::normal, true));
    CHECK(r.memory.hbm_read_bytes == 16384);
    CHECK(r.memory.l2_hits == 3 * 32);
    for (const sim::CoreStats& c : r.cores) CHECK(c.end == 16384 / 16);
}

TEST_CASE("cores that read the same lines at the same time take turns at each line") {
    Chip chip = plain_chip();
    chip.l2.capacity = 1 << 20;
    chip.l2.same_line = 4;
    sim::RunOptions warm{.mode = sim::Mode::time, .warm_l2 = true, .hazards = false};
    const std::int64_t lines = 32;
    // a line takes 8 cycles on the port; the fourth core waits 4 x 4
    const sim::RunResult together = time_of(chip, reader(4, lines * 512, lines * 512, 1, Cache::normal, true), warm);
    CHECK(together.makespan == lines * 16);
    CHECK(time_of(chip, reader(4, lines * 512, lines * 512), warm).makespan == lines * 8);
    // once a line is known to be shared, every one of its readers waits for all: the first core takes as long as the last
    const sim::RunResult again = time_of(chip, reader(4, lines * 512, lines * 512, 3, Cache::normal, true), warm);
    const auto core_time = [&](std::size_t core) { return again.cores[core].end - again.cores[core].begin; };
    CHECK(core_time(0) >= 2 * lines * 16);
    CHECK(again.makespan == 3 * lines * 16);
}

TEST_CASE("cores that read the same bytes past the L2 take turns as well") {
    Chip chip = plain_chip();
    chip.l2.capacity = 1 << 20;
    chip.l2.same_line = 4;
    const std::int64_t lines = 32;
    const sim::RunOptions cold{.mode = sim::Mode::time, .hazards = false};
    const auto time = [&](bool same) { return time_of(chip, reader(4, lines * 512, lines * 512, 1, Cache::bypass, same), cold); };
    CHECK(time(true).makespan > time(false).makespan);
    CHECK(time(true).memory.l2_hits == 0);
}

TEST_CASE("the reads of all cores together stay within the L2's read rate, reads and writes within its total") {
    Chip chip = plain_chip();
    chip.l2.capacity = 1 << 22;
    chip.l2.read_rate = 200;
    chip.l2.write_rate = 200;
    chip.l2.total_rate = 250;
    sim::RunOptions warm{.mode = sim::Mode::time, .warm_l2 = true, .hazards = false};
    CHECK(time_of(chip, reader(8, 65536, 65536), warm).makespan == (8 * 65536 + 199) / 200);
    ProgramBuilder b;
    const int x = b.tensor("x", DType::f32, {8 * 16384}), y = b.tensor("y", DType::f32, {8 * 16384}, Role::out);
    b.section(CoreKind::aiv, [&] {
        const int u = b.buffer("u", Space::ub, 65536), v = b.buffer("v", Space::ub, 65536);
        const Expr mine = b.p.exprs.mul(b.block_id(), b.num(65536));
        b.copy(Op::mov_gm_ub, b.at(u), b.gm(x, mine), 1, 16384, DType::f32);
        b.copy(Op::mov_ub_gm, b.gm(y, mine), b.at(v), 1, 16384, DType::f32);
    });
    const sim::RunResult r = time_of(chip, b.build(8), warm);
    CHECK(r.makespan >= 2 * 8 * 65536 / 250);
    CHECK(r.makespan <= 2 * 8 * 65536 / 250 + 2);
}
