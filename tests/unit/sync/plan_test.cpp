// SPDX-License-Identifier: Apache-2.0
#include "dsl/passes/plan.h"

#include <catch2/catch.hpp>
#include <random>

#include "dsl/passes/placement.h"
#include "isa/diagnostic.h"

using namespace sfumato;
using namespace sfumato::isa;

namespace {

const Chip& b2() {
    static const Chip chip = load_chip("Ascend910B2");
    return chip;
}

struct Plan {
    Program p;
    int buffer(const std::string& name, Space space, DType t, std::vector<std::int64_t> shape, int slots = 1, const std::string& why = "") {
        std::int64_t bytes = bytes_of(t);
        for (auto e : shape) bytes *= e;
        const SourceId source = p.add_source({"kernel.cpp", 10 + static_cast<int>(p.buffers.size()), 5});
        p.buffers.push_back({name, space, t, shape, bytes, slots, {}, why, source});
        return static_cast<int>(p.buffers.size()) - 1;
    }
    Operand at(int b) { return {p.buffers[static_cast<std::size_t>(b)].space, b, {}, p.constant(0)}; }
    Stmt add(int dst, int src0, int src1) {
        Vector v;
        v.dst = at(dst);
        v.src0 = at(src0);
        v.src1 = at(src1);
        v.count = p.constant(64);
        return {Instr{Op::vadd, v}};
    }
    Stmt fill(int dst) {
        Vector v;
        v.dst = at(dst);
        v.count = p.constant(64);
        return {Instr{Op::vdup, v}};
    }
    Stmt loop(Block body) {
        const SymbolId i = p.add_symbol("i" + std::to_string(p.symbols.size()), SymbolKind::loop);
        return {Loop{i, p.constant(4), std::move(body)}};
    }
    void section(Block body) { p.sections.push_back({CoreKind::aiv, std::move(body)}); }
};

// The buffers of the flagship matmul (table H4): two slots, bias table.
Plan matmul(std::int64_t m, std::int64_t n, std::int64_t k) {
    Plan f;
    f.buffer("a1", Space::l1, DType::f16, {m, k}, 2);
    f.buffer("b1", Space::l1, DType::f16, {k, n}, 2);
    f.buffer("a0", Space::l0a, DType::f16, {m, k}, 2);
    f.buffer("b0", Space::l0b, DType::f16, {k, n}, 2);
    f.buffer("c0", Space::l0c, DType::f32, {m, n});
    f.buffer("bt", Space::bt, DType::f32, {1, n});
    return f;
}

std::vector<Diagnostic> refused(Program& p, const Chip& chip) {
    try {
        dsl::plan_buffers(p, chip);
    } catch (const Rejected& r) {
        return r.diagnostics;
    }
    return {};
}

}  // namespace

TEST_CASE("H4: the matmul tiling uses exactly the bytes of the table, full memories included") {
    Plan f = matmul(128, 256, 64);
    const dsl::CapacityReport r = dsl::plan_buffers(f.p, b2());
    const std::vector<std::pair<Space, std::int64_t>> wanted{
        {Space::l1, 98304}, {Space::l0a, 32768}, {Space::l0b, 65536}, {Space::l0c, 131072}, {Space::bt, 1024}};
    REQUIRE(r.spaces.size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        CHECK(r.spaces[i].space == wanted[i].first);
        CHECK(r.spaces[i].used == wanted[i].second);
    }
    CHECK(f.p.buffers[1].base == 32768);
    const std::string text = dsl::to_text(r, f.p);
    CHECK_THAT(text, Catch::Contains("65,536 B (100 %) of 65,536 B"));
    CHECK_THAT(text, Catch::Contains("f16 [64,256] x 2"));
    CHECK_THAT(text, Catch::Contains("kernel.cpp:13"));
}

TEST_CASE("H4: n = 272 breaks three memories and one report says so in bytes") {
    Plan f = matmul(128, 272, 64);
    const std::vector<Diagnostic> d = refused(f.p, b2());
    REQUIRE(d.size() == 3);
    for (const Diagnostic& e : d) CHECK(e.code == Code::capacity);
    CHECK_THAT(d[0].message, Catch::Contains("L0B needs 69,632 B of 65,536 B, over by 4,096 B"));
    CHECK_THAT(d[1].message, Catch::Contains("L0C needs 139,264 B of 131,072 B, over by 8,192 B"));
    CHECK_THAT(d[2].message, Catch::Contains("BT needs 1,088 B of 1,024 B, over by 64 B"));
}

TEST_CASE("A01: the report names the buffer, its line, the two slots and who asked, and remedies that fit") {
    Plan f;
    f.buffer("block", Space::ub, DType::f32, {48000}, 2, "pipelined(n, 2)");
    const std::vector<Diagnostic> d = refused(f.p, b2());
    REQUIRE(d.size() == 1);
    const std::string text = to_text(d[0]);
    CHECK_THAT(text, Catch::Contains("kernel.cpp:10:5: error[capacity]: UB needs 384,000 B of 196,608 B, over by 187,392 B"));
    CHECK_THAT(text, Catch::Contains("block  f32 [48000] x 2  384,000   kernel.cpp:10  pipelined(n, 2)"));
    CHECK_THAT(text, Catch::Contains("fits if  block slots(1)  192,000 B (97 %)  kernel.cpp:10"));
    CHECK_THAT(text, Catch::Contains("fits if  extent 48,000 <= 24,576 (block)  196,608 B (100 %)"));
}

TEST_CASE("H4: attention with partial depth 2 is over by 1,536 bytes, and depth 1 is offered with its bytes") {
    Plan f;
    f.buffer("scores", Space::ub, DType::f32, {64, 128}, 2, "depth(ahead) = 2");
    f.buffer("weights", Space::ub, DType::f16, {64, 128}, 2, "depth(ahead) = 2");
    f.buffer("partial", Space::ub, DType::f32, {64, 128}, 2, "depth(2)");
    f.buffer("y", Space::ub, DType::f32, {64, 128});
    f.buffer("columns", Space::ub, DType::f32, {64, 1}, 6, "m, l, m_new, alpha x 3");
    const std::string text = to_text(refused(f.p, b2()));
    CHECK_THAT(text, Catch::Contains("UB needs 198,144 B of 196,608 B, over by 1,536 B"));
    CHECK_THAT(text, Catch::Contains("fits if  partial slots(1)  165,376 B (84 %)  kernel.cpp:12"));
    CHECK_THAT(text, Catch::Contains("columns  f32 [64,1] x 6     1,536   kernel.cpp:14  m, l, m_new, alpha x 3"));
}

TEST_CASE("A12: one error for an explicit L0B tile that is too large, with the extent that fits") {
    Plan f;
    f.buffer("w", Space::l0b, DType::f16, {256, 256});
    const std::vector<Diagnostic> d = refused(f.p, b2());
    REQUIRE(d.size() == 1);
    CHECK_THAT(to_text(d[0]), Catch::Contains("L0B needs 131,072 B of 65,536 B"));
    CHECK_THAT(to_text(d[0]), Catch::Contains("w  f16 [256,256]"));
    CHECK_THAT(to_text(d[0]), Catch::Contains("fits if  extent 256 <= "));
}

TEST_CASE("A05: nothing is placed when one memory overflows") {
    Plan f;
    f.buffer("a", Space::l1, DType::f16, {128, 128});
    f.buffer("x", Space::ub, DType::f32, {65536});
    CHECK(refused(f.p, b2()).size() == 1);
    CHECK(!f.p.buffers[0].base);
}

TEST_CASE("A20: slots the author asked for are kept; the plan is refused rather than reduced") {
    Plan f;
    f.buffer("b0", Space::l0b, DType::f16, {64, 128}, 8, "slots(8)");
    CHECK_THAT(to_text(refused(f.p, b2())), Catch::Contains("x 8") && Catch::Contains("slots(4)"));
    CHECK(f.p.buffers[0].slots == 8);
}

TEST_CASE("buffers with disjoint lives share bytes only when the sum does not fit") {
    for (const std::int64_t elements : {8192, 20480}) {
        Plan f;
        const int a = f.buffer("a", Space::ub, DType::f32, {elements}), b = f.buffer("b", Space::ub, DType::f32, {elements}),
                  c = f.buffer("c", Space::ub, DType::f32, {elements});
        f.section({f.fill(a), f.add(b, a, a), f.add(c, b, b)});
        const dsl::CapacityReport r = dsl::plan_buffers(f.p, b2());
        const bool small = elements == 8192;
        CHECK(r.spaces[0].sum == 3 * 4 * elements);
        CHECK(r.spaces[0].used == (small ? 3 : 2) * 4 * elements);
        if (!small) CHECK(*f.p.buffers[0].base == *f.p.buffers[2].base);
    }
}

TEST_CASE("A16: a value defined before a loop and read inside is live over the whole loop") {
    Plan f;
    const int k = f.buffer("k", Space::ub, DType::f32, {64}), t = f.buffer("t", Space::ub, DType::f32, {64}),
              u = f.buffer("u", Space::ub, DType::f32, {64});
    f.section({f.fill(k), f.loop({f.add(t, k, k), f.add(u, t, t)})});
    const auto live = dsl::live_ranges(f.p);
    CHECK(live[0] == dsl::LiveRange{0, 2});
    CHECK(live[1] == dsl::LiveRange{1, 2});
    CHECK(live[2] == dsl::LiveRange{2, 2});
}

TEST_CASE("A16: a value carried around the back-edge is live over the whole loop") {
    Plan f;
    const int acc = f.buffer("acc", Space::ub, DType::f32, {64}), t = f.buffer("t", Space::ub, DType::f32, {64});
    f.section({f.loop({f.fill(t), f.add(acc, acc, t), f.fill(t)})});
    CHECK(dsl::live_ranges(f.p)[0] == dsl::LiveRange{0, 2});
}

TEST_CASE("A17: a value last read at the end of a nested loop lives to the end of that loop") {
    Plan f;
    const int a = f.buffer("a", Space::ub, DType::f32, {64}), t = f.buffer("t", Space::ub, DType::f32, {64});
    f.section({f.loop({f.fill(a), f.loop({f.add(t, a, a), f.fill(t)}), f.fill(t)})});
    CHECK(dsl::live_ranges(f.p)[0] == dsl::LiveRange{0, 2});
}

TEST_CASE("a buffer of several slots lives over the loop that rotates it") {
    Plan f;
    const int a = f.buffer("a", Space::ub, DType::f32, {64}, 2), t = f.buffer("t", Space::ub, DType::f32, {64});
    f.section({f.loop({f.fill(t), f.fill(a), f.add(t, a, a)})});
    CHECK(dsl::live_ranges(f.p)[0] == dsl::LiveRange{0, 2});
}

TEST_CASE("A04: any request set is planned or refused, and sharing bytes implies disjoint lives") {
    std::mt19937 random(7);
    const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    int planned = 0, refusals = 0;
    for (int round = 0; round < 300; ++round) {
        Plan f;
        const int n = 1 + pick(14);
        for (int i = 0; i < n; ++i) f.buffer("t" + std::to_string(i), Space::ub, DType::f32, {1 + pick(16000)}, 1 + (pick(4) == 0));
        Block body, outer;
        for (int i = 0; i < 12; ++i) body.push_back(pick(3) == 0 ? f.fill(pick(n)) : f.add(pick(n), pick(n), pick(n)));
        for (int i = 0; i < 4; ++i) outer.push_back(f.fill(pick(n)));
        outer.push_back(f.loop(body));
        f.section(outer);
        try {
            const dsl::CapacityReport r = dsl::plan_buffers(f.p, b2());
            ++planned;
            const dsl::SpaceUse& u = r.spaces[0];
            CHECK(u.used <= u.capacity);
            for (const auto& x : u.rows)
                for (const auto& y : u.rows) {
                    CHECK(x.base % 32 == 0);
                    if (x.buffer < y.buffer && x.base < y.base + y.bytes && y.base < x.base + x.bytes) CHECK(!x.live.meets(y.live));
                }
        } catch (const Rejected& e) {
            ++refusals;
            CHECK(e.diagnostics[0].notes.size() >= static_cast<std::size_t>(n));
        }
    }
    CHECK(planned > 30);
    CHECK(refusals > 30);
}

TEST_CASE("A27: the memory map draws addresses over instructions") {
    Plan f;
    const int a = f.buffer("a", Space::ub, DType::f32, {64}), b = f.buffer("b", Space::ub, DType::f32, {64});
    f.section({f.fill(a), f.fill(b)});
    const std::string map = dsl::memory_map(dsl::plan_buffers(f.p, b2()), f.p);
    CHECK_THAT(map, Catch::Contains("0 ..       256  a  |" + std::string(24, '#') + std::string(24, '.') + "|"));
    CHECK_THAT(map, Catch::Contains("256 ..       512  b  |" + std::string(24, '.') + std::string(24, '#') + "|"));
}

TEST_CASE("slots of an odd size start at aligned addresses") {
    Plan f;
    f.buffer("row", Space::ub, DType::f16, {17}, 2);
    dsl::plan_buffers(f.p, b2());
    CHECK(f.p.buffers[0].slot_bytes == 64);
}
