// SPDX-License-Identifier: Apache-2.0
// Values computed at completion: equal to program order for programs without races, visibly wrong and reported for those with one.
#include <catch2/catch.hpp>

#include <cstring>

#include "tests/support/program_builder.h"
#include "tests/support/test_chip.h"

using namespace sfumato;
using namespace sfumato::isa;
using namespace sfumato::testing;

namespace {

constexpr std::int64_t kTile = 512;  // elements

// y = exp(-|x|)... tile by tile in `slots` slots on `cores` cores; `drop` leaves out one kind of flag.
enum class Drop { nothing, loaded, consumed };
Program chain(std::int64_t tiles, int slots, int cores, Drop drop = Drop::nothing) {
    ProgramBuilder b("chain");
    const int x = b.tensor("x", DType::f32, {cores * tiles * kTile}), y = b.tensor("y", DType::f32, {cores * tiles * kTile}, Role::out);
    b.section(CoreKind::aiv, [&] {
        const int in = b.buffer("in", Space::ub, kTile * 4, slots), out = b.buffer("out", Space::ub, kTile * 4, slots);
        const auto prime = [&](bool set) {
            for (int i = 0; i < slots; ++i) {
                if (drop != Drop::consumed) set ? b.set(Pipe::v, Pipe::mte2, i) : b.wait(Pipe::v, Pipe::mte2, i);
                set ? b.set(Pipe::mte3, Pipe::v, i) : b.wait(Pipe::mte3, Pipe::v, i);
            }
        };
        prime(true);
        b.loop(tiles, [&](Expr i) {
            auto& e = b.p.exprs;
            const Expr s = e.mod(i, b.num(slots));
            const Expr at = e.mul(e.add(e.mul(b.block_id(), b.num(tiles)), i), b.num(kTile * 4));
            if (drop != Drop::consumed) b.wait(Pipe::v, Pipe::mte2, s);
            b.copy(Op::mov_gm_ub, b.at(in, {}, s), b.gm(x, at), 1, kTile, DType::f32);
            if (drop != Drop::loaded) {
                b.set(Pipe::mte2, Pipe::v, s);
                b.wait(Pipe::mte2, Pipe::v, s);
            }
            b.wait(Pipe::mte3, Pipe::v, s);
            b.vector(Op::vabs, b.at(out, {}, s), b.at(in, {}, s), {}, kTile);
            if (drop != Drop::consumed) b.set(Pipe::v, Pipe::mte2, s);
            b.set(Pipe::v, Pipe::mte3, s);
            b.wait(Pipe::v, Pipe::mte3, s);
            b.copy(Op::mov_ub_gm, b.gm(y, at), b.at(out, {}, s), 1, kTile, DType::f32);
            b.set(Pipe::mte3, Pipe::v, s);
        });
        prime(false);
    });
    return b.build(cores);
}

struct Outcome {
    sim::RunResult result;
    std::vector<float> y;
};

Outcome run(const Program& p, sim::Mode mode) {
    sim::DeviceMemory m = memory_for(p);
    std::vector<float> x(static_cast<std::size_t>(m.tensors[0].size) / 4);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i % 1000) - 500);
    m.tensors[0].bytes.resize(x.size() * 4);
    std::memcpy(m.tensors[0].bytes.data(), x.data(), x.size() * 4);
    const sim::Launch l = launch_of(p);
    Chip chip = plain_chip();
    chip.flags.latency = 9;
    chip.hbm.latency = 100;
    for (auto& path : chip.paths) path.outstanding = 2;
    Outcome out;
    out.result = sim::run(chip, std::span(&l, 1), m, {.mode = mode});
    if (!m.tensors[1].bytes.empty()) {
        out.y.resize(x.size());
        std::memcpy(out.y.data(), m.tensors[1].bytes.data(), x.size() * 4);
    }
    return out;
}

}  // namespace

TEST_CASE("values with time are those of program order and of the definition") {
    for (int slots : {1, 2, 3}) {
        const Program p = chain(7, slots, 3);
        const Outcome timed = run(p, sim::Mode::both), ordered = run(p, sim::Mode::values);
        REQUIRE(timed.result.diagnostics.empty());
        REQUIRE(ordered.result.diagnostics.empty());
        REQUIRE(timed.y.size() == 3 * 7 * kTile);
        CHECK(timed.y == ordered.y);
        for (std::size_t i = 0; i < timed.y.size(); ++i) REQUIRE(timed.y[i] == static_cast<float>(std::abs(static_cast<int>(i % 1000) - 500)));
        CHECK(run(p, sim::Mode::time).result.makespan == timed.result.makespan);
    }
}

TEST_CASE("a missing flag is a race with both instructions in every mode, and its values are poisoned") {
    for (Drop drop : {Drop::loaded, Drop::consumed}) {
        const Program p = chain(6, 2, 2, drop);
        for (sim::Mode mode : {sim::Mode::both, sim::Mode::time, sim::Mode::values}) {
            const Outcome o = run(p, mode);
            REQUIRE(o.result.status == sim::Status::fault);
            REQUIRE_FALSE(o.result.diagnostics.empty());
            CHECK(o.result.diagnostics[0].code == Code::race);
            CHECK(o.result.diagnostics[0].line > 0);
            if (mode != sim::Mode::time) CHECK(std::any_of(o.y.begin(), o.y.end(), [](float v) { return v != v; }));
        }
    }
}

TEST_CASE("bytes that nothing has written are reported once for each instruction that reads them") {
    ProgramBuilder b;
    const int y = b.tensor("y", DType::f32, {kTile}, Role::out);
    int line = 0;
    b.section(CoreKind::aiv, [&] {
        const int u = b.buffer("u", Space::ub, kTile * 4);
        b.loop(3, [&](Expr) {
            line = b.copy(Op::mov_ub_gm, b.gm(y), b.at(u), 1, kTile, DType::f32);
            b.barrier(Pipe::mte3);
        });
    });
    const Program p = b.build();
    sim::DeviceMemory m = memory_for(p);
    const sim::Launch l = launch_of(p);
    const sim::RunResult r = sim::run(plain_chip(), std::span(&l, 1), m, {});
    REQUIRE(r.diagnostics.size() == 1);
    CHECK(r.diagnostics[0].code == Code::uninitialised);
    CHECK(r.diagnostics[0].line == line);
    CHECK(r.status == sim::Status::fault);
}

TEST_CASE("a control load steers the program and is read when the scalar unit gets there") {
    ProgramBuilder b;
    const int n = b.tensor("n", DType::i32, {4});
    b.section(CoreKind::aiv, [&] {
        const Expr trips = b.load(n, b.num(2));
        b.loop(trips, [&](Expr) { b.scalar(10); });
    });
    const Program p = b.build();
    Chip chip = plain_chip();
    chip.issue.load = 200;
    for (sim::Mode mode : {sim::Mode::both, sim::Mode::time}) {
        sim::DeviceMemory m = memory_for(p);
        const std::int32_t values[4] = {1, 2, 7, 3};
        m.tensors[0].bytes.resize(sizeof values);
        std::memcpy(m.tensors[0].bytes.data(), values, sizeof values);
        const sim::Launch l = launch_of(p);
        const sim::RunResult r = sim::run(chip, std::span(&l, 1), m, {.mode = mode});
        CHECK(r.makespan == 200 + 7 * 10);
    }
}
