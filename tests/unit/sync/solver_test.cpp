// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <ctime>
#include <random>

#include "dsl/passes/check.h"
#include "dsl/passes/plan.h"
#include "isa/diagnostic.h"
#include "tests/support/race_oracle.h"
#include "tests/support/sync_programs.h"

using namespace sfumato;
using namespace sfumato::isa;
using namespace sfumato::testing;

namespace {

int flags_of(const dsl::SyncReport& r) { return static_cast<int>(r.flags.size()) - r.barriers(); }

void ordered(const Program& p, const std::map<std::string, std::int64_t>& params) {
    for (const Section& s : p.sections) {
        const OracleResult r = brute_force(p, s, b2(), params);
        CHECK(r.races == std::vector<std::string>{});
        CHECK(r.faults == std::vector<std::string>{});
    }
}

// Without any one flag (or barrier) some trip count shows a race or a fault.
int removable(const Program& p, const dsl::SyncReport& r, const std::vector<std::int64_t>& trips) {
    int out = 0;
    for (const dsl::FlagInfo& f : r.flags) {
        if (f.barrier) continue;
        bool needed = false;
        for (const std::int64_t n : trips)
            needed = needed || !brute_force(p, p.sections[0], b2(), {{"n", n}}, [&](const Instr& i, std::int64_t id) {
                                    const Sync& s = std::get<Sync>(i.operands);
                                    if (i.op == Op::barrier || s.src != f.src || s.dst != f.dst || id < f.base || id >= f.base + f.ids) return false;
                                    return f.distance > 0 || i.source == (i.op == Op::set_flag ? f.set_after : f.wait_before);  // ids may be shared
                                }).races.empty();
        out += !needed;
    }
    return out;
}

/// A load, a store, a move from L1 or an addition over any of the tiles.
template <class Pick, class Any, class From, class To>
void random_op(ProgramBuilder& b, Pick pick, Any any, From from, To to, int l1) {
    switch (pick(4)) {
        case 0:
            b.copy(Op::mov_gm_ub, any(), from(), 1, 64, DType::f32);
            break;
        case 1:
            b.copy(Op::mov_ub_gm, to(), any(), 1, 64, DType::f32);
            break;
        case 2:
            b.copy(Op::mov_l1_ub, any(), b.at(l1), 1, 64, DType::f32);
            break;
        default:
            b.vector(Op::vadd, any(), any(), any(), 64);
    }
}

struct PairIds {
    Pipe src, dst;
    int ids;
};
/// The solver finds so many conflicts and orders them with so many flags, with these ids, without barriers, for every number of iterations.
void keeps(Program p, int pairs, const std::vector<PairIds>& ids, int flags) {
    const dsl::SyncReport r = dsl::insert_sync(p, b2());
    CHECK(r.pairs == pairs);
    CHECK(flags_of(r) == flags);
    CHECK(r.barriers() == 0);
    for (const PairIds& want : ids) CHECK(r.ids(want.src, want.dst) == want.ids);
    for (const std::int64_t n : {0, 1, 2, 3, 4, 9}) ordered(p, {{"n", n}});
}

}  // namespace

TEST_CASE("H2: a vector add of s slots has 9 conflicts and keeps 4 flags of s ids") {
    for (const int s : {1, 2, 3})
        keeps(vector_add(s), 9, {{Pipe::mte2, Pipe::v, s}, {Pipe::v, Pipe::mte2, s}, {Pipe::v, Pipe::mte3, s}, {Pipe::mte3, Pipe::v, s}}, 4);
}

TEST_CASE("B09: (x + z) + 1 in place with three slots has 18 conflicts, 3 flags of 3 ids and no barrier of all pipes") {
    Program p = in_place_add();
    const dsl::SyncReport r = dsl::insert_sync(p, b2());
    CHECK(r.pairs == 18);
    CHECK(flags_of(r) == 3);
    CHECK(r.ids(Pipe::mte2, Pipe::v) == 3);
    CHECK(r.ids(Pipe::v, Pipe::mte3) == 3);
    CHECK(r.ids(Pipe::mte3, Pipe::mte2) == 3);
    // the second vector instruction reads what the first wrote: one barrier of the vector pipe, none of all pipes
    REQUIRE(r.barriers() == 1);
    for (const auto& f : r.flags)
        if (f.barrier) CHECK(f.src == Pipe::v);
    for (const std::int64_t n : {0, 1, 2, 3, 4, 10}) ordered(p, {{"n", n}});
    CHECK(removable(p, r, {9}) == 0);
}

TEST_CASE("H2: a matmul K loop of s slots has 12 conflicts and keeps 6 flags of 2s, 2s, s and s ids") {
    for (const int s : {1, 2, 3})
        keeps(matmul_k_loop(s), 12,
              {{Pipe::mte2, Pipe::mte1, 2 * s}, {Pipe::mte1, Pipe::mte2, 2 * s}, {Pipe::mte1, Pipe::m, s}, {Pipe::m, Pipe::mte1, s}}, 6);
}

TEST_CASE("the nested matmul has no barrier and no more flags than the expert text, for every small shape") {
    Program p = nested_matmul(Order::none);
    const dsl::SyncReport r = dsl::insert_sync(p, b2());
    INFO(dsl::to_text(r, p, true));
    CHECK(r.barriers() == 0);
    CHECK(flags_of(r) <= 7);
    for (const std::int64_t m : {0, 16, 32, 48})
        for (const std::int64_t k : {0, 16, 32, 48, 64, 96}) ordered(p, {{"M", m}, {"K", k}});
}

TEST_CASE("random loop bodies: no race, no fault, and no flag that could be left out") {
    std::mt19937 random(20240607);
    const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    int conflicts = 0, flags = 0, spare = 0;
    for (int round = 0; round < 400; ++round) {
        ProgramBuilder b("random");
        const int slots = 1 + pick(3), buffers = 1 + pick(5), ops = 2 + pick(6);
        const int in = b.tensor("in", DType::f32, {1 << 20}), out = b.tensor("out", DType::f32, {1 << 20}, Role::out);
        const int l1 = b.buffer("l1", Space::l1, 256);
        std::vector<int> t;
        for (int i = 0; i < buffers; ++i) t.push_back(b.buffer("t" + std::to_string(i), Space::ub, 256, slots));
        b.section(CoreKind::aiv, [&] {
            b.loop(b.param("n"), [&](Expr i) {
                const Expr s = b.p.exprs.mod(i, b.num(slots));
                const auto any = [&] { return b.at(t[static_cast<std::size_t>(pick(buffers))], {}, s); };
                for (int k = 0; k < ops; ++k) {
                    const auto at = [&](int tensor) { return b.gm(tensor, b.num(256 * k)); };
                    random_op(
                        b, pick, any, [&] { return at(in); }, [&] { return at(out); }, l1);
                }
            });
        });
        Program p = b.build();
        const dsl::SyncReport r = dsl::insert_sync(p, b2());
        conflicts += r.pairs;
        flags += flags_of(r);
        for (const std::int64_t n : {0, 1, 2, 9}) {
            const OracleResult o = brute_force(p, p.sections[0], b2(), {{"n", n}});
            INFO("round " << round << " n " << n << "\n" << dsl::to_text(r, p, true));
            REQUIRE(o.races == std::vector<std::string>{});
            REQUIRE(o.faults == std::vector<std::string>{});
        }
        if (r.notes.empty()) {
            const int extra = removable(p, r, {9});
            INFO("round " << round << "\n" << dsl::to_text(r, p, true));
            CHECK(extra == 0);
            spare += extra;
        }
    }
    CHECK(spare == 0);
    CHECK(conflicts > 3000);
    CHECK(flags > 800);
}

// Nested loops, guards, running counters, several spaces: everything the tree can say, at random.
TEST_CASE("random nests with guards and rotating slots are ordered for every small trip count") {
    std::mt19937 random(99);
    const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    int notes = 0, guarded = 0;
    for (int round = 0; round < 250; ++round) {
        ProgramBuilder b("nest");
        const int in = b.tensor("in", DType::f32, {1 << 20}), out = b.tensor("out", DType::f32, {1 << 20}, Role::inout);
        const int l1 = b.buffer("l1", Space::l1, 256);
        struct Ring {
            int buffer, slots, level;
        };
        std::vector<Ring> rings;
        const int buffers = 2 + pick(4);
        for (int i = 0; i < buffers; ++i) {
            const int slots = 1 + pick(3);
            rings.push_back({b.buffer("t" + std::to_string(i), Space::ub, 256, slots), slots, pick(3)});
        }
        std::vector<Expr> counters;
        const auto any = [&] {
            const Ring& r = rings[static_cast<std::size_t>(pick(buffers))];
            Expr slot;
            if (r.slots > 1 && pick(6) == 0 && !counters.empty())
                slot = b.p.exprs.mod(counters[static_cast<std::size_t>(pick(static_cast<int>(counters.size())))], b.num(r.slots));
            else if (r.slots > 1)
                slot = b.p.exprs.mod(b.p.exprs.add(b.sym("c" + std::to_string(r.level), SymbolKind::counter), b.num(pick(2))), b.num(r.slots));
            return b.at(r.buffer, {}, slot);
        };
        const auto op = [&] {
            const auto at = [&](int tensor) { return b.gm(tensor, b.num(256 * pick(4))); };
            random_op(
                b, pick, any, [&] { return at(pick(5) ? in : out); }, [&] { return at(out); }, l1);
        };
        std::function<void(int)> body = [&](int depth) {
            const int n = 2 + pick(3);
            for (int k = 0; k < n; ++k) {
                const int kind = pick(6);
                if (kind == 0 && depth < 3) {
                    b.loop(b.param(std::string(1, static_cast<char>('p' + depth))), [&](Expr i) {
                        counters.push_back(i);
                        body(depth + 1);
                        counters.pop_back();
                    });
                } else if (kind == 1 && !counters.empty()) {
                    const Expr first =
                        b.p.exprs.binary(ExprOp::eq, counters[static_cast<std::size_t>(pick(static_cast<int>(counters.size())))], b.num(pick(2)));
                    b.when(first, [&] { op(); });
                } else {
                    op();
                }
            }
            if (depth > 0) b.bump("c" + std::to_string(depth - 1));
        };
        b.section(CoreKind::aiv, [&] {
            if (pick(3) == 0) body(0);
            b.loop(b.param("n"), [&](Expr i) {
                counters.push_back(i);
                body(1);
                counters.pop_back();
            });
            if (pick(3) == 0) body(0);
        });
        for (const char* name : {"n", "p", "q", "r"}) b.param(name);
        Program p = b.build();
        const dsl::SyncReport r = dsl::insert_sync(p, b2());
        notes += static_cast<int>(r.notes.size());
        for (const auto& f : r.flags) guarded += f.guarded && f.distance > 0;
        for (const std::int64_t n : {0, 1, 3})
            for (const std::int64_t q : {0, 1, 2, 3}) {
                const OracleResult o = brute_force(p, p.sections[0], b2(), {{"n", n}, {"p", 1}, {"q", q}, {"r", (q + n) % 3}});
                INFO("round " << round << " n " << n << " q " << q << "\n" << dsl::to_text(r, p, true));
                REQUIRE(o.races == std::vector<std::string>{});
                REQUIRE(o.faults == std::vector<std::string>{});
            }
    }
    CHECK(notes > 0);
    CHECK(guarded > 0);
}

TEST_CASE("long bodies, inside and outside of loops, use their ids in turn and stay ordered") {
    std::mt19937 random(5);
    const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    int in_turn = 0;
    for (int round = 0; round < 24; ++round) {
        ProgramBuilder b("long");
        const int in = b.tensor("in", DType::f32, {1 << 20}), out = b.tensor("out", DType::f32, {1 << 20}, Role::out);
        const int slots = 1 + round % 3;
        std::vector<int> t;
        for (int i = 0; i < 4 + pick(12); ++i) t.push_back(b.buffer("t" + std::to_string(i), Space::ub, 256, slots));
        const auto body = [&](Expr slot) {
            const auto any = [&] { return b.at(t[static_cast<std::size_t>(pick(static_cast<int>(t.size())))], {}, slot); };
            for (int k = 0; k < 50; ++k) switch (pick(3)) {
                    case 0:
                        b.copy(Op::mov_gm_ub, any(), b.gm(in), 1, 64, DType::f32);
                        break;
                    case 1:
                        b.copy(Op::mov_ub_gm, b.gm(out), any(), 1, 64, DType::f32);
                        break;
                    default:
                        b.vector(Op::vadd, any(), any(), any(), 64);
                }
        };
        b.section(CoreKind::aiv, [&] {
            if (round % 2) body(b.num(0));
            b.loop(b.param("n"), [&](Expr i) { body(b.p.exprs.mod(i, b.num(slots))); });
        });
        Program p = b.build();
        const dsl::SyncReport r = dsl::insert_sync(p, b2());
        int wanted = 0;
        for (const auto& f : r.flags) wanted += f.src == Pipe::mte2 && f.dst == Pipe::v ? f.ids : 0;
        in_turn += wanted > r.ids(Pipe::mte2, Pipe::v);
        for (const std::int64_t n : {0, 1, 3}) {
            const OracleResult o = brute_force(p, p.sections[0], b2(), {{"n", n}});
            INFO("round " << round << "\n" << dsl::to_text(r, p));
            REQUIRE(o.races == std::vector<std::string>{});
            REQUIRE(o.faults == std::vector<std::string>{});
        }
        CHECK(dsl::check_sync(p, b2()).empty());
    }
    CHECK(in_turn > 5);
}

TEST_CASE("B14: two thousand operations are ordered in under a second") {
    ProgramBuilder b("long");
    const int in = b.tensor("in", DType::f32, {1 << 20}), out = b.tensor("out", DType::f32, {1 << 20}, Role::out);
    std::mt19937 random(1);
    std::vector<int> t;
    for (int i = 0; i < 8; ++i) t.push_back(b.buffer("t" + std::to_string(i), Space::ub, 256));
    b.section(CoreKind::aiv, [&] {
        b.loop(b.param("n"), [&](Expr) {
            const auto any = [&] { return b.at(t[random() % 8]); };
            for (int k = 0; k < 2000; ++k)
                if (k % 4 == 0)
                    b.copy(Op::mov_gm_ub, any(), b.gm(in), 1, 64, DType::f32);
                else if (k % 4 == 3)
                    b.copy(Op::mov_ub_gm, b.gm(out), any(), 1, 64, DType::f32);
                else
                    b.vector(Op::vadd, any(), any(), any(), 64);
        });
    });
    Program p = b.build();
    const std::clock_t start = std::clock();  // processor time: the machine may be busy with other tests
    dsl::insert_sync(p, b2());
#ifdef __SANITIZE_ADDRESS__
    constexpr double kLimit = 8.0;
#else
    constexpr double kLimit = 1.0;
#endif
    CHECK(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC < kLimit);
}
