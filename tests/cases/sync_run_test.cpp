// SPDX-License-Identifier: Apache-2.0
// Cases of section B that need the model: what insert_sync made is run, its values are compared with the closed form and its cycles with
// hand-written flags. Cycles are the model's.
#include <catch2/catch.hpp>
#include <cstring>

#include "isa/diagnostic.h"
#include "sim/simulator.h"
#include "tests/support/sync_programs.h"

using namespace sfumato;
using namespace sfumato::isa;
using namespace sfumato::testing;

namespace {

constexpr int kTile = 1024;  // elements of in_place_add

struct Run {
    sim::RunResult result;
    std::vector<float> y;
};
// x[i] = i % 251, z[i] = i % 127 as f32 in, y out; n iterations of 1024 elements.
Run run(const Program& p, std::int64_t n, bool hazards = true) {
    sim::DeviceMemory memory;
    for (const char* name : {"x", "z", "y"}) memory.tensors.push_back({name, 4 << 20, std::vector<std::byte>(4 << 20), -1});
    for (std::size_t i = 0; i < (1u << 20); ++i) {
        const float x = static_cast<float>(i % 251), z = static_cast<float>(i % 127);
        std::memcpy(&memory.tensors[0].bytes[4 * i], &x, 4);
        std::memcpy(&memory.tensors[1].bytes[4 * i], &z, 4);
    }
    sim::Launch launch;
    launch.program = &p;
    launch.params = {{"n", n}};
    launch.tensors = {0, 1, 2};
    sim::RunOptions options;
    options.hazards = hazards;
    Run out;
    out.result = sim::run(b2(), std::span(&launch, 1), memory, options);
    out.y.resize(static_cast<std::size_t>(n * kTile));
    std::memcpy(out.y.data(), memory.tensors[2].bytes.data(), out.y.size() * 4);
    return out;
}
void right(const Run& r) {
    INFO(to_text(r.result.diagnostics));
    CHECK(r.result.status == sim::Status::ok);
    CHECK(r.result.diagnostics.empty());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < r.y.size(); ++i) wrong += r.y[i] != static_cast<float>(i % 251) + static_cast<float>(i % 127) + 1;
    CHECK(wrong == 0);
}

enum class Style { flags, barriers };
// (x + z) + 1 in place with three slots as an expert writes it, or with barriers of all pipes.
Program by_hand(Style style) {
    ProgramBuilder b("in_place_by_hand");
    const int gx = b.tensor("x", DType::f32, {1 << 20}), gz = b.tensor("z", DType::f32, {1 << 20}),
              gy = b.tensor("y", DType::f32, {1 << 20}, Role::out);
    const int x = b.buffer("x", Space::ub, 4096, 3), z = b.buffer("z", Space::ub, 4096, 3);
    const bool flags = style == Style::flags;
    b.section(CoreKind::aiv, [&] {
        if (flags)
            for (int i = 0; i < 3; ++i) b.set(Pipe::mte3, Pipe::mte2, i);
        b.loop(b.param("n"), [&](Expr i) {
            const Expr s = b.p.exprs.mod(i, b.num(3)), at = b.p.exprs.mul(i, b.num(4096));
            if (flags) b.wait(Pipe::mte3, Pipe::mte2, s);
            b.copy(Op::mov_gm_ub, b.at(x, {}, s), b.gm(gx, at), 1, kTile, DType::f32);
            b.copy(Op::mov_gm_ub, b.at(z, {}, s), b.gm(gz, at), 1, kTile, DType::f32);
            if (flags) {
                b.set(Pipe::mte2, Pipe::v, s);
                b.wait(Pipe::mte2, Pipe::v, s);
            } else {
                b.barrier(Pipe::all);
            }
            b.vector(Op::vadd, b.at(x, {}, s), b.at(x, {}, s), b.at(z, {}, s), kTile);
            b.barrier(Pipe::v);
            b.vector(Op::vadds, b.at(x, {}, s), b.at(x, {}, s), {}, kTile);
            if (flags) {
                b.set(Pipe::v, Pipe::mte3, s);
                b.wait(Pipe::v, Pipe::mte3, s);
            } else {
                b.barrier(Pipe::all);
            }
            b.copy(Op::mov_ub_gm, b.gm(gy, at), b.at(x, {}, s), 1, kTile, DType::f32);
            if (flags) b.set(Pipe::mte3, Pipe::mte2, s);
        });
        if (flags)
            for (int i = 0; i < 3; ++i) b.wait(Pipe::mte3, Pipe::mte2, i);
    });
    return add_one(b.build());
}

}  // namespace

TEST_CASE("B09: compiled flags run within 2 % of the hand-written ones, barriers of all pipes take at least half as long again") {
    Program compiled = in_place_add(3);
    dsl::insert_sync(compiled, b2());
    const Run ours = run(compiled, 128), hand = run(by_hand(Style::flags), 128), barriers = run(by_hand(Style::barriers), 128);
    right(ours);
    right(hand);
    const double a = static_cast<double>(ours.result.makespan), b = static_cast<double>(hand.result.makespan);
    INFO("compiled " << a << ", by hand " << b << ", with barriers " << barriers.result.makespan);
    CHECK(a <= 1.02 * b);
    CHECK(static_cast<double>(barriers.result.makespan) >= 1.5 * a);
}

TEST_CASE("B23: the pipelined result equals the closed form with one, two and three slots") {
    for (const int slots : {1, 2, 3}) {
        Program p = in_place_add(slots);
        dsl::insert_sync(p, b2());
        for (const std::int64_t n : {1, 2, 3, 7}) right(run(p, n));
    }
}

TEST_CASE("the model agrees with the checker: without flags the hazard listener reports the race") {
    const Run r = run(in_place_add(2), 4);
    bool race = false;
    for (const Diagnostic& d : r.result.diagnostics) race = race || d.code == Code::race;
    CHECK(race);
}

TEST_CASE("more slots never make the loop slower") {
    sim::Tick last = 0;
    for (const int slots : {3, 2, 1}) {
        Program p = in_place_add(slots);
        dsl::insert_sync(p, b2());
        const sim::Tick now = run(p, 64).result.makespan;
        CHECK(now >= last);
        last = now;
    }
}
