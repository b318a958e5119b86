// SPDX-License-Identifier: Apache-2.0
// Cases of kernel authors that need the whole line from text to cycles.
#include <catch2/catch.hpp>

#include <algorithm>

#include "dsl/dsl.h"
#include "isa/chip.h"
#include "sim/simulator.h"

using namespace sfumato;
using namespace sfumato::dsl;

namespace {

struct Line {
    Knob cols;
};

/// y = (x + z) + 1 in place, three slots in rotation: 24 KiB of UB with 1,024 columns.
void b09(In<f32> X, In<f32> Z, Out<f32> Y, Line t) {
    auto x = tiles(X, 1, t.cols), z = tiles(Z, 1, t.cols), y = tiles(Y, 1, t.cols);
    auto xs = buffer<f32>(UB, {1, t.cols}, slots(3)), zs = buffer<f32>(UB, {1, t.cols}, slots(3));
    Counter turn;
    for (auto i : loop(x.cols())) {
        auto s = turn.next();
        copy(xs[s], x(0, i));
        copy(zs[s], z(0, i));
        vadd(xs[s], xs[s], zs[s]);
        vadds(xs[s], xs[s], 1.0);
        copy(y(0, i), xs[s]);
    }
}

void b09_by_hand(In<f32> X, In<f32> Z, Out<f32> Y, Line t) {
    auto x = tiles(X, 1, t.cols), z = tiles(Z, 1, t.cols), y = tiles(Y, 1, t.cols);
    auto xs = buffer<f32>(UB, {1, t.cols}, slots(3)), zs = buffer<f32>(UB, {1, t.cols}, slots(3));
    auto loaded = event(MTE2 >> V, 3), added = event(V >> MTE3, 3), stored = event(MTE3 >> MTE2, 3).primed();
    Counter turn;
    hand_synchronised([&] {
        for (auto i : loop(x.cols())) {
            auto s = turn.next();
            stored[s].wait();
            copy(xs[s], x(0, i));
            copy(zs[s], z(0, i));
            loaded[s].set();
            loaded[s].wait();
            vadd(xs[s], xs[s], zs[s]);
            barrier(V);
            vadds(xs[s], xs[s], 1.0);
            added[s].set();
            added[s].wait();
            copy(y(0, i), xs[s]);
            stored[s].set();
        }
    });
}

/// The same with the hand-over from the loads to the vector unit forgotten.
void b09_without_load_event(In<f32> X, In<f32> Z, Out<f32> Y, Line t) {
    auto x = tiles(X, 1, t.cols), z = tiles(Z, 1, t.cols), y = tiles(Y, 1, t.cols);
    auto xs = buffer<f32>(UB, {1, t.cols}), zs = buffer<f32>(UB, {1, t.cols});
    auto added = event(V >> MTE3), stored = event(MTE3 >> MTE2).primed();
    hand_synchronised([&] {
        for (auto i : loop(x.cols())) {
            stored.wait();
            copy(xs, x(0, i));
            copy(zs, z(0, i));
            vadd(xs, xs, zs);
            added.set();
            added.wait();
            copy(y(0, i), xs);
            stored.set();
        }
    });
}

const isa::Chip& chip() {
    static const isa::Chip c = isa::load_chip("Ascend910B1", {}, "isa/chips");
    return c;
}
using KernelFunction = void (*)(In<f32>, In<f32>, Out<f32>, Line);
Compiled compiled(KernelFunction f) { return compile(f, chip(), Line{1024}, {.name = "b09", .tensors = {"X", "Z", "Y"}}); }

/// Pipes of the barriers of a program.
std::vector<isa::Pipe> barriers(const isa::Program& p) {
    std::vector<isa::Pipe> out;
    for (const isa::Section& s : p.sections)
        isa::for_each_instr(s.body, [&](const isa::Instr& i) {
            if (i.op == isa::Op::barrier) out.push_back(std::get<isa::Sync>(i.operands).src);
        });
    return out;
}
sim::RunResult timed(const Compiled& c, std::int64_t n) {
    sim::DeviceMemory memory;
    sim::Launch launch;
    launch.program = &c.program;
    for (const char* name : {"X", "Z", "Y"}) {
        memory.tensors.push_back({name, n * 4, {}, -1});
        launch.tensors.push_back(static_cast<int>(launch.tensors.size()));
        launch.params[std::string(name) + ".0"] = 1;
        launch.params[std::string(name) + ".1"] = n;
    }
    sim::RunOptions options;
    options.mode = sim::Mode::time;
    return sim::run(chip(), std::span(&launch, 1), memory, options);
}

}  // namespace

TEST_CASE(
    "B09: three rotating slots need three flags of three ids and no barrier but the vector unit's own; cycles are those of the hand-written form") {
    const Compiled automatic = compiled(&b09), by_hand = compiled(&b09_by_hand);
    int flags = 0;
    for (const FlagInfo& f : automatic.sync.flags) {
        if (f.barrier) continue;
        ++flags;
        CHECK(f.ids == 3);
    }
    CHECK(flags == 3);
    // The case counts barriers that make pipes wait for each other: there is none. y + 1 reads what x + z wrote, and a dependence inside the vector
    // unit needs barrier(V) on this generation (same_pipe_needs_barrier); the hand-written form has the same one.
    CHECK(barriers(automatic.program) == std::vector{isa::Pipe::v});
    CHECK(barriers(by_hand.program) == std::vector{isa::Pipe::v});
    const sim::RunResult a = timed(automatic, 100 * 1024), h = timed(by_hand, 100 * 1024);
    CHECK(a.diagnostics.empty());
    CHECK(h.diagnostics.empty());
    CHECK(a.makespan <= h.makespan * 102 / 100);
}

TEST_CASE("B28: nothing is added to a hand-synchronised region") {
    const Compiled by_hand = compiled(&b09_by_hand);
    CHECK(by_hand.sync.flags.empty());
}

TEST_CASE("A forgotten event in a hand-synchronised region is a race with both lines") {
    try {
        compiled(&b09_without_load_event);
        FAIL("the race was not found");
    } catch (const isa::Rejected& r) {
        // the vector unit may also run ahead of the stores and set its flag twice; that is reported beside the race
        const auto race =
            std::find_if(r.diagnostics.begin(), r.diagnostics.end(), [](const isa::Diagnostic& d) { return d.code == isa::Code::race; });
        REQUIRE(race != r.diagnostics.end());
        CHECK(race->file == __FILE__);
        CHECK_FALSE(race->notes.empty());
    }
}
