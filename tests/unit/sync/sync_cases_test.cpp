// SPDX-License-Identifier: Apache-2.0
// Cases of users of other tools (section B of the case list), as small programs: what insert_sync adds must order them on every path.
#include <catch2/catch.hpp>

#include "dsl/passes/check.h"
#include "dsl/passes/plan.h"
#include "isa/diagnostic.h"
#include "tests/support/race_oracle.h"
#include "tests/support/sync_programs.h"

using namespace sfumato;
using namespace sfumato::isa;
using namespace sfumato::testing;

namespace {

void ordered(const Program& p, const std::map<std::string, std::int64_t>& params, const Chip& chip = b2()) {
    for (const Section& s : p.sections) {
        const OracleResult r = brute_force(p, s, chip, params);
        CHECK(r.races == std::vector<std::string>{});
        CHECK(r.faults == std::vector<std::string>{});
    }
}
int flags_of(const dsl::SyncReport& r) { return static_cast<int>(r.flags.size()) - r.barriers(); }
const dsl::FlagInfo* find(const dsl::SyncReport& r, Pipe src, Pipe dst) {
    for (const auto& f : r.flags)
        if (!f.barrier && f.src == src && f.dst == dst) return &f;
    return nullptr;
}

struct Ub : ProgramBuilder {
    int in = tensor("in", DType::f32, {1 << 20}), out = tensor("out", DType::f32, {1 << 20}, Role::out);
    int ub(const std::string& name, int slots = 1) { return buffer(name, Space::ub, 256, slots); }
    void load(Operand o) { copy(Op::mov_gm_ub, o, gm(in), 1, 64, DType::f32); }
    void store(Operand o) { copy(Op::mov_ub_gm, gm(out), o, 1, 64, DType::f32); }
    void plus(Operand d, Operand a, Operand b) { vector(Op::vadd, d, a, b, 64); }
    void fill(Operand d) { vector(Op::vdup, d, {}, {}, 64); }
    /// n iterations over two slots.
    template <class Body>
    void alternating(Body body) {
        section(CoreKind::aiv, [&] { loop(param("n"), [&](Expr i) { body(i, p.exprs.mod(i, num(2))); }); });
    }
    Expr positive(const char* n) { return p.exprs.binary(ExprOp::lt, num(0), param(n)); }
};

}  // namespace

TEST_CASE("B01: a barrier inside a branch does not count behind it") {
    Ub b;
    const int a = b.ub("a"), bb = b.ub("b"), c = b.ub("c"), d = b.ub("d");
    b.section(CoreKind::aiv, [&] {
        b.fill(b.at(a));
        b.when(b.positive("n"), [&] {
            b.fill(b.at(bb));
            b.plus(b.at(c), b.at(bb), b.at(bb));
        });
        b.plus(b.at(d), b.at(a), b.at(a));
    });
    Program p = b.build();
    dsl::insert_sync(p, b2());
    ordered(p, {{"n", 0}});
    ordered(p, {{"n", 1}});
}

TEST_CASE("B02: loads before a loop that may run zero times are ordered before the use behind it") {
    Ub b;
    const int q = b.ub("q"), k = b.ub("k"), v = b.ub("v"), y = b.ub("y");
    b.section(CoreKind::aiv, [&] {
        b.load(b.at(q));
        b.load(b.at(k));
        b.load(b.at(v));
        b.loop(b.param("n"), [&](Expr) { b.plus(b.at(y), b.at(q), b.at(k)); });
        b.vector(Op::vdiv, b.at(y), b.at(q), b.at(v), 64);
        b.store(b.at(y));
    });
    Program p = b.build();
    dsl::insert_sync(p, b2());
    for (const std::int64_t n : {0, 1, 2}) ordered(p, {{"n", n}});
}

TEST_CASE("B05: the id of a flag is base + slot in every iteration") {
    Program p = vector_add(2);
    const dsl::SyncReport r = dsl::insert_sync(p, b2());
    const dsl::FlagInfo* full = find(r, Pipe::mte2, Pipe::v);
    REQUIRE(full);
    CHECK(full->ids == 2);
    std::vector<std::int64_t> sets, slots;
    Walker w(p, p.sections[0], {{{"n", 5}}, 0, 1, 0});
    for (Step s = w.next(); s.kind != StepKind::end; s = w.next()) {
        if (s.kind != StepKind::instr) continue;
        const Instr& i = *s.instr->instr;
        if (i.op == Op::vadd) slots.push_back(std::get<VectorT<std::int64_t>>(s.instr->operands).src1.slot);
        if (const auto* f = std::get_if<SyncT<std::int64_t>>(&s.instr->operands))
            if (i.op == Op::set_flag && f->src == Pipe::mte2) sets.push_back(f->id);
    }
    CHECK(slots == std::vector<std::int64_t>{0, 1, 0, 1, 0});
    CHECK(sets == std::vector<std::int64_t>{0, 1, 0, 1, 0});
}

TEST_CASE("B06, B13: every path through a guarded transfer balances its flags") {
    Ub b;
    const int x = b.ub("x", 2), y = b.ub("y", 2);
    b.alternating([&](Expr i, Expr s) {
        const Expr guard = b.p.exprs.binary(ExprOp::lt, i, b.param("remaining"));
        b.when(guard, [&] { b.load(b.at(x, {}, s)); });
        b.plus(b.at(y, {}, s), b.at(x, {}, s), b.at(x, {}, s));
        b.when(guard, [&] { b.store(b.at(y, {}, s)); });
    });
    Program p = b.build();
    dsl::insert_sync(p, b2());
    for (const std::int64_t n : {0, 1, 2, 5})
        for (const std::int64_t remaining : {0, 1, 2, 5}) ordered(p, {{"n", n}, {"remaining", remaining}});
}

TEST_CASE("B07: loop-carried flags are primed before the loop and drained behind it") {
    Program p = vector_add(2);
    dsl::insert_sync(p, b2());
    int primes = 0, drains = 0, loops = 0;
    for (const Stmt& s : p.sections[0].body) {
        if (std::holds_alternative<Loop>(s.node)) ++loops;
        const Instr* i = std::get_if<Instr>(&s.node);
        primes += i && i->op == Op::set_flag && loops == 0;
        drains += i && i->op == Op::wait_flag && loops == 1;
    }
    CHECK(primes == 4);  // two flags of distance 2
    CHECK(drains == 4);
    for (const std::int64_t n : {0, 1, 7}) ordered(p, {{"n", n}});
}

TEST_CASE("B10: primes of a loop inside a branch stay inside the branch") {
    Ub b;
    const int x = b.ub("x", 2);
    b.section(CoreKind::aiv, [&] {
        b.when(b.positive("on"), [&] {
            b.loop(b.param("n"), [&](Expr i) {
                const Expr s = b.p.exprs.mod(i, b.num(2));
                b.load(b.at(x, {}, s));
                b.store(b.at(x, {}, s));
            });
        });
    });
    Program p = b.build();
    dsl::insert_sync(p, b2());
    CHECK(p.sections[0].body.size() == 1);
    for (const std::int64_t on : {0, 1})
        for (const std::int64_t n : {0, 1, 2, 3}) ordered(p, {{"n", n}, {"on", on}});
}

TEST_CASE("B16: more buffers than ids merge flags, never barriers, and each merge is reported") {
    Ub b;
    std::vector<int> t;
    for (int i = 0; i < 12; ++i) t.push_back(b.ub("t" + std::to_string(i), 2));
    const int y = b.ub("y", 2);
    b.alternating([&](Expr, Expr s) {
        for (int x : t) {
            b.load(b.at(x, {}, s));
            b.plus(b.at(y, {}, s), b.at(x, {}, s), b.at(x, {}, s));
        }
        b.store(b.at(y, {}, s));
    });
    Program p = b.build();
    const dsl::SyncReport r = dsl::insert_sync(p, b2());
    for (const auto& f : r.flags)
        if (f.barrier) CHECK(f.src == Pipe::v);
    CHECK(r.ids(Pipe::mte2, Pipe::v) <= 8);
    CHECK(r.ids(Pipe::v, Pipe::mte2) <= 8);
    REQUIRE(!r.notes.empty());
    CHECK_THAT(r.notes[0], Catch::Contains("merged two flags") && Catch::Contains("8 event ids"));
    for (const std::int64_t n : {0, 1, 2, 3, 6}) ordered(p, {{"n", n}});
}

TEST_CASE("B16: with two ids a pair, three slots run ahead by fewer iterations and the report says so") {
    Program p = in_place_add();
    dsl::SyncOptions o;
    o.only_ids = 2;
    const dsl::SyncReport r = dsl::insert_sync(p, b2(), o);
    CHECK(r.ids(Pipe::mte2, Pipe::v) == 2);
    REQUIRE(!r.notes.empty());
    CHECK_THAT(r.notes[0], Catch::Contains("2 iterations run ahead instead of 3"));
    for (const std::int64_t n : {0, 1, 2, 3, 7}) ordered(p, {{"n", n}});
}

TEST_CASE("B16: without any id left a barrier of all pipes orders the loop and is reported") {
    Program p = vector_add(1);
    dsl::SyncOptions o;
    o.reserved_ids = 8;
    const dsl::SyncReport r = dsl::insert_sync(p, b2(), o);
    CHECK(flags_of(r) == 0);
    CHECK(r.barriers() > 0);
    CHECK_THAT(r.notes.back(), Catch::Contains("barrier of all pipes instead of flag"));
    for (const std::int64_t n : {0, 1, 2, 3}) ordered(p, {{"n", n}});
}

TEST_CASE("B18: the last writer and all readers since are kept") {
    Ub b;
    const int t = b.ub("t"), y = b.ub("y");
    b.section(CoreKind::aiv, [&] {
        b.load(b.at(t));
        b.store(b.at(t));
        b.plus(b.at(y), b.at(t), b.at(t));
    });
    Program p = b.build();
    const dsl::SyncReport r = dsl::insert_sync(p, b2());
    CHECK(find(r, Pipe::mte2, Pipe::mte3));
    CHECK(find(r, Pipe::mte2, Pipe::v));
    ordered(p, {});
}

TEST_CASE("B21: insert_sync refuses to be told more ids than the chip has") {
    Program p = vector_add(1);
    dsl::SyncOptions o;
    o.only_ids = 8;
    CHECK_THROWS_WITH(dsl::insert_sync(p, load_chip("Ascend910A"), o), Catch::Contains("8 event ids") && Catch::Contains("has 4"));
}

TEST_CASE("B21: on a first-generation part the same loops keep to ids 0 to 3") {
    const Chip chip = load_chip("Ascend910A");
    for (Program p : {vector_add(3), in_place_add(3), matmul_k_loop(3)}) {
        dsl::insert_sync(p, chip);
        for (const std::int64_t n : {0, 1, 2, 3, 4, 9}) ordered(p, {{"n", n}}, chip);
    }
}

TEST_CASE("B23: a tile that is read and then overwritten in the same iteration stays in order") {
    Ub b;
    const int x = b.ub("x", 2), y = b.ub("y", 2);
    b.alternating([&](Expr, Expr s) {
        b.load(b.at(x, {}, s));
        b.plus(b.at(y, {}, s), b.at(x, {}, s), b.at(x, {}, s));
        b.load(b.at(x, {}, s));
        b.plus(b.at(y, {}, s), b.at(y, {}, s), b.at(x, {}, s));
        b.store(b.at(y, {}, s));
    });
    Program p = b.build();
    dsl::insert_sync(p, b2());
    for (const std::int64_t n : {0, 1, 2, 3, 5}) ordered(p, {{"n", n}});
}

TEST_CASE("B28: between hand-ordered instructions nothing is added, around them everything that is needed") {
    Ub b;
    const int x = b.ub("x"), y = b.ub("y"), z = b.ub("z");
    b.section(CoreKind::aiv, [&] {
        b.load(b.at(x));
        b.set(Pipe::mte2, Pipe::v);
        b.wait(Pipe::mte2, Pipe::v);
        b.plus(b.at(y), b.at(x), b.at(x));
        b.plus(b.at(z), b.at(y), b.at(y));
        b.store(b.at(z));
    });
    Program p = b.build();
    int n = 0;
    for_each_instr(p.sections[0].body, [&](Instr& i) { i.hand = n++ < 4; });
    const dsl::SyncReport r = dsl::insert_sync(p, b2());
    CHECK(flags_of(r) == 1);  // V > MTE3
    CHECK(r.barriers() == 1);
    ordered(p, {});
    int before = 0;
    for (const Stmt& s : p.sections[0].body) {
        const Instr& i = std::get<Instr>(s.node);
        if (!i.hand) break;
        ++before;
    }
    CHECK(before == 4);
}

TEST_CASE("ids of hand-written flags are left alone") {
    Ub b;
    const int x = b.ub("x"), y = b.ub("y");
    b.section(CoreKind::aiv, [&] {
        b.set(Pipe::mte2, Pipe::v, 1);
        b.wait(Pipe::mte2, Pipe::v, 1);
        b.load(b.at(x));
        b.plus(b.at(y), b.at(x), b.at(x));
    });
    Program p = b.build();
    const dsl::SyncReport r = dsl::insert_sync(p, b2());
    REQUIRE(find(r, Pipe::mte2, Pipe::v));
    CHECK(find(r, Pipe::mte2, Pipe::v)->base == 2);
}

TEST_CASE("A19: bytes that the planner gives to a second buffer are ordered after the first one's last use") {
    Ub b;
    const int s = b.ub("stored"), t = b.ub("t"), scratch = b.ub("scratch");
    for (int x : {s, scratch}) b.p.buffers[static_cast<std::size_t>(x)].slot_bytes = 149984;
    for (Buffer& x : b.p.buffers) x.base.reset();
    b.section(CoreKind::aiv, [&] {
        b.fill(b.at(s));
        b.store(b.at(s));
        b.plus(b.at(t), b.at(t), b.at(t));
        b.fill(b.at(scratch));
    });
    Program p = b.build();
    dsl::plan_buffers(p, b2());
    CHECK(*p.buffers[static_cast<std::size_t>(s)].base == *p.buffers[static_cast<std::size_t>(scratch)].base);
    const dsl::SyncReport r = dsl::insert_sync(p, b2());
    CHECK(find(r, Pipe::mte3, Pipe::v));
    ordered(p, {});
}

TEST_CASE("an in-out tensor orders its store after its load, and iterations that are provably apart stay free") {
    ProgramBuilder b;
    const int g = b.tensor("g", DType::f32, {1 << 20}, Role::inout), x = b.buffer("x", Space::ub, 256, 2);
    b.section(CoreKind::aiv, [&] {
        b.loop(b.param("n"), [&](Expr i) {
            const Expr s = b.p.exprs.mod(i, b.num(2)), at = b.p.exprs.mul(i, b.num(256));
            b.copy(Op::mov_gm_ub, b.at(x, {}, s), b.gm(g, at), 1, 64, DType::f32);
            b.vector(Op::vadds, b.at(x, {}, s), b.at(x, {}, s), {}, 64);
            b.copy(Op::mov_ub_gm, b.gm(g, at), b.at(x, {}, s), 1, 64, DType::f32);
        });
    });
    Program p = b.build();
    const dsl::SyncReport r = dsl::insert_sync(p, b2());
    REQUIRE(find(r, Pipe::mte3, Pipe::mte2));
    CHECK(find(r, Pipe::mte3, Pipe::mte2)->distance == 2);  // by the slots of x, not by g
    for (const std::int64_t n : {0, 1, 2, 5}) ordered(p, {{"n", n}});
}

TEST_CASE("the unit flag orders a matrix step and its drain, so no event is spent on them") {
    for (const bool unit : {false, true}) {
        ProgramBuilder b;
        const int c = b.tensor("c", DType::f16, {256}, Role::out);
        const int a0 = b.buffer("a0", Space::l0a, 512), b0 = b.buffer("b0", Space::l0b, 512), c0 = b.buffer("c0", Space::l0c, 1024);
        b.section(CoreKind::aic, [&] {
            b.mmad(b.at(c0), b.at(a0), b.at(b0), 16, 16, 16, b.num(1), unit);
            b.fix(b.gm(c), b.at(c0), 16, 16, 16, unit);
        });
        Program p = b.build();
        CHECK(flags_of(dsl::insert_sync(p, b2())) == (unit ? 0 : 1));
        CHECK(dsl::check_sync(p, b2()).empty());
    }
}

TEST_CASE("the certificate names for every conflict the flags that order it") {
    Program p = vector_add(2);
    const dsl::SyncReport r = dsl::insert_sync(p, b2());
    for (const auto& c : r.conflicts) CHECK(!c.chain.empty());
    const std::string text = dsl::to_text(r, p, true);
    CHECK_THAT(text, Catch::Contains("9 conflicts, 4 flags, 0 barriers"));
    CHECK_THAT(text, Catch::Contains("MTE2 > V  ids 0..1  set after built.cpp:2, wait before built.cpp:3"));
    CHECK_THAT(text, Catch::Contains("vadd at built.cpp:3 reads z after mov_gm_ub at built.cpp:2 wrote it"));
    CHECK_THAT(text, Catch::Contains("WAW x  MTE2 built.cpp:1 -> MTE2 built.cpp:1  distance 2  by ["));
}
