// SPDX-License-Identifier: Apache-2.0
#include "dsl/passes/check.h"

#include <catch2/catch.hpp>
#include <random>

#include "isa/diagnostic.h"
#include "tests/support/sync_programs.h"

using namespace sfumato;
using namespace sfumato::isa;
using namespace sfumato::testing;

namespace {

std::vector<Diagnostic> check(const Program& p, std::vector<std::map<std::string, std::int64_t>> launches = {}, bool hints = false) {
    dsl::CheckOptions o;
    o.launches = std::move(launches);
    o.hints = hints;
    return dsl::check_sync(p, b2(), o);
}

}  // namespace

TEST_CASE("H3: the expert matmul is ordered for one to three K1 steps of one or two K0 steps") {
    const Program p = nested_matmul(Order::expert);
    for (const std::int64_t k : {16, 32, 48, 64, 80, 96})
        for (const std::int64_t m : {16, 32, 48}) CHECK(to_text(check(p, {{{"M", m}, {"K", k}}})) == "");
    CHECK(to_text(check(p)) == "");
}

TEST_CASE("H3: without the event that frees the bias table there is a race when K fits one L0 step, and only then") {
    const Program p = nested_matmul(Order::without_bt_free);
    CHECK(check(p, {{{"M", 32}, {"K", 32}}}).empty());
    CHECK(check(p, {{{"M", 48}, {"K", 96}}}).empty());
    const std::vector<Diagnostic> d = check(p, {{{"M", 32}, {"K", 16}}});
    INFO(to_text(d));
    REQUIRE(d.size() == 1);
    CHECK(d[0].code == Code::race);
    CHECK(d[0].message == "MTE1 may overwrite bt while M still reads it");
}

TEST_CASE("H3: the derived launches find the shape, bound it and say what would order it") {
    const std::vector<Diagnostic> d = check(nested_matmul(Order::without_bt_free));
    INFO(to_text(d));
    REQUIRE(d.size() == 1);
    const std::string text = to_text(d[0]);
    CHECK_THAT(text, Catch::Contains("read  by M  mmad  built.cpp:"));
    CHECK_THAT(text, Catch::Contains("write by MTE1  mov_l1_bt  built.cpp:"));
    CHECK_THAT(text, Catch::Contains("when  K <= 16, M >= 17, for example K = 1, M = 17"));
    CHECK_THAT(text, Catch::Contains("an event M >> MTE1, primed once: set after built.cpp:"));
}

TEST_CASE("the checker finds nothing in what insert_sync made, and something in every loop without flags") {
    for (Program p : {vector_add(2), in_place_add(), matmul_k_loop(2), nested_matmul(Order::none)}) {
        CHECK(!check(p).empty());
        dsl::insert_sync(p, b2());
        CHECK(to_text(check(p)) == "");
    }
}

TEST_CASE("hints name the flag that nothing needs") {
    Program p = vector_add(1);
    dsl::insert_sync(p, b2());
    CHECK(check(p, {}, true).empty());
    ProgramBuilder b;
    const int in = b.tensor("in", DType::f32, {64});
    const int x = b.buffer("x", Space::ub, 256), y = b.buffer("y", Space::ub, 256);
    b.section(CoreKind::aiv, [&] {
        b.copy(Op::mov_gm_ub, b.at(x), b.gm(in), 1, 64, DType::f32);
        b.set(Pipe::mte2, Pipe::v);
        b.wait(Pipe::mte2, Pipe::v);
        b.vector(Op::vadds, b.at(y), b.at(x), {}, 64);
        b.set(Pipe::v, Pipe::mte2);
        b.wait(Pipe::v, Pipe::mte2);
    });
    const auto d = check(b.build(), {}, true);
    REQUIRE(d.size() == 1);
    CHECK(d[0].code == Code::hint);
    CHECK_THAT(d[0].message, Catch::Contains("V >> MTE2 can be dropped"));
}

TEST_CASE("B19: a flag set twice before a wait is an error with both lines") {
    const auto d = check(flag_set_twice());
    REQUIRE(!d.empty());
    CHECK(d[0].code == Code::event_id);
    CHECK(d[0].message == "flag M >> MTE1 id 0 may be set twice before a wait");
    CHECK(d[0].line == 2);
    CHECK_THAT(to_text(d[0]), Catch::Contains("built.cpp:1"));
}

TEST_CASE("B19: a set that may overtake the wait before it is found although one schedule would work") {
    ProgramBuilder b;
    b.section(CoreKind::aiv, [&] {
        b.loop(b.param("n"), [&](Expr) {
            b.set(Pipe::mte2, Pipe::v);
            b.wait(Pipe::mte2, Pipe::v);
        });
    });
    const auto d = check(b.build());
    REQUIRE(d.size() == 1);
    CHECK(d[0].message == "flag MTE2 >> V id 0 may be set twice before a wait");
    CHECK_THAT(to_text(d[0]), Catch::Contains("a flag back from V to MTE2"));
}

TEST_CASE("B20: a wait on another pair than the set names both pairs") {
    ProgramBuilder b;
    b.section(CoreKind::aiv, [&] {
        b.set(Pipe::s, Pipe::mte3, 1);
        b.wait(Pipe::mte3, Pipe::mte1, 1);
    });
    const auto d = check(b.build());
    REQUIRE(!d.empty());
    CHECK(d[0].code == Code::deadlock);
    CHECK(d[0].message == "nothing sets flag MTE3 >> MTE1 id 1; id 1 is set on the pair S >> MTE3");
}

TEST_CASE("B21: event ids come from the chip: 8 is too high on a 910B, 4 on a first-generation part") {
    for (const auto& [chip, id, ok] :
         {std::tuple{"Ascend910B2", 7, true}, {"Ascend910B2", 8, false}, {"Ascend910A", 3, true}, {"Ascend910A", 4, false}}) {
        ProgramBuilder b;
        b.section(CoreKind::aiv, [&, id = id] {
            b.set(Pipe::mte2, Pipe::v, id);
            b.wait(Pipe::mte2, Pipe::v, id);
        });
        const auto d = dsl::check_sync(b.build(), load_chip(chip));
        CHECK(d.empty() == ok);
        if (!ok) CHECK_THAT(d[0].message, Catch::Contains("event id " + std::to_string(id)) && Catch::Contains("ids 0 to " + std::to_string(id - 1)));
    }
}

TEST_CASE("B06, B13: flags outside of the branch that holds the work unbalance one path") {
    ProgramBuilder b;
    b.section(CoreKind::aiv, [&] {
        b.when(b.p.exprs.binary(ExprOp::lt, b.num(0), b.param("n")), [&] { b.set(Pipe::mte2, Pipe::v); });
        b.wait(Pipe::mte2, Pipe::v);
    });
    const Program p = b.build();
    CHECK(check(p, {{{"n", 1}}}).empty());
    const auto d = check(p);
    REQUIRE(d.size() == 1);
    CHECK(d[0].code == Code::flag_balance);
    CHECK_THAT(d[0].message, Catch::Contains("more waits than sets"));
    CHECK_THAT(to_text(d[0]), Catch::Contains("n = 0"));
}

TEST_CASE("B07: a loop-carried wait that nobody primes, and a flag left set at the end") {
    for (const bool primed : {false, true}) {
        ProgramBuilder b;
        b.section(CoreKind::aiv, [&] {
            if (primed) b.set(Pipe::v, Pipe::mte2);
            b.loop(b.param("n"), [&](Expr) {
                b.wait(Pipe::v, Pipe::mte2);
                b.set(Pipe::mte2, Pipe::v);
                b.wait(Pipe::mte2, Pipe::v);
                b.set(Pipe::v, Pipe::mte2);
            });
        });
        const auto d = check(b.build());
        REQUIRE(!d.empty());
        CHECK(d[0].code == (primed ? Code::flag_balance : Code::deadlock));
        CHECK_THAT(d[0].message, Catch::Contains(primed ? "still set when the kernel ends" : "nobody primes flag V >> MTE2 id 0"));
    }
}

TEST_CASE("B01: the read behind a branch is unprotected when the branch is not taken") {
    ProgramBuilder b;
    const int a = b.buffer("a", Space::ub, 256), bb = b.buffer("b", Space::ub, 256), c = b.buffer("c", Space::ub, 256),
              d = b.buffer("d", Space::ub, 256);
    b.section(CoreKind::aiv, [&] {
        b.vector(Op::vdup, b.at(a), {}, {}, 64);
        b.when(b.p.exprs.binary(ExprOp::lt, b.num(0), b.param("n")), [&] {
            b.vector(Op::vdup, b.at(bb), {}, {}, 64);
            b.barrier(Pipe::v);
            b.vector(Op::vadd, b.at(c), b.at(bb), b.at(bb), 64);
        });
        b.vector(Op::vadd, b.at(d), b.at(a), b.at(a), 64);
    });
    const Program p = b.build();
    CHECK(check(p, {{{"n", 1}}}).empty());
    CHECK(check(p, {{{"n", 0}}}).size() == 1);
    CHECK(check(p).size() == 1);
}

TEST_CASE("two transfers of one pipe into the same bytes need a barrier of that pipe") {
    ProgramBuilder b;
    const int in = b.tensor("in", DType::f32, {64}), x = b.buffer("x", Space::ub, 256);
    b.section(CoreKind::aiv, [&] {
        b.copy(Op::mov_gm_ub, b.at(x), b.gm(in), 1, 64, DType::f32);
        b.copy(Op::mov_gm_ub, b.at(x), b.gm(in), 1, 64, DType::f32);
    });
    const auto d = check(b.build());
    REQUIRE(d.size() == 1);
    CHECK_THAT(to_text(d[0]), Catch::Contains("barrier(MTE2) between built.cpp:1 and built.cpp:2"));
}
