// SPDX-License-Identifier: Apache-2.0
#include "isa/walker.h"

#include <catch2/catch.hpp>

#include "isa/access.h"
#include "isa/diagnostic.h"

using namespace sfumato::isa;

namespace {
// loop i < n { mov a[counter % 2] <- x + 64*i ; bump counter ; when i == 0 { barrier } }
Program sample() {
    Program p;
    p.name = "sample";
    const SymbolId n = p.add_symbol("n", SymbolKind::param), i = p.add_symbol("i", SymbolKind::loop), c = p.add_symbol("c", SymbolKind::counter);
    p.tensors.push_back({"x", DType::f32, {p.symbol(n)}, Role::in});
    Buffer a;
    a.name = "a";
    a.slot_bytes = 64;
    a.slots = 2;
    a.base = 1024;
    p.buffers.push_back(a);
    Copy copy;
    copy.dst = {Space::ub, 0, p.exprs.mod(p.symbol(c), p.constant(2)), p.constant(0)};
    copy.src = {Space::gm, 0, {}, p.exprs.mul(p.symbol(i), p.constant(64))};
    copy.dtype = DType::f32;
    copy.rows = p.constant(1);
    copy.cols = copy.dst_pitch = copy.src_pitch = p.constant(16);
    Loop loop{i, p.symbol(n), {}, 1, -1};
    loop.body.push_back({Instr{Op::mov_gm_ub, copy, -1, -1}});
    loop.body.push_back({Bump{c}});
    Block guarded;
    guarded.push_back({Instr{Op::barrier, Sync{Pipe::v, Pipe::v, {}, 0}, -1, -1}});
    loop.body.push_back({When{p.exprs.binary(ExprOp::eq, p.symbol(i), p.constant(0)), guarded, -1}});
    Section s{CoreKind::aiv, {}};
    s.body.push_back({loop});
    p.sections.push_back(s);
    number_instructions(p);
    return p;
}
}  // namespace

TEST_CASE("a walk yields instances in program order with slots, offsets and guards evaluated") {
    const Program p = sample();
    Walker w(p, p.sections[0], {{{"n", 3}}, 0, 1, 0});
    std::vector<std::int64_t> dst, src;
    int barriers = 0, iterations = 0;
    for (Step s = w.next(); s.kind != StepKind::end; s = w.next()) {
        if (s.kind == StepKind::loop_iteration) ++iterations;
        if (s.kind != StepKind::instr) continue;
        if (s.instr->instr->op == Op::barrier) {
            ++barriers;
            continue;
        }
        const auto& c = std::get<CopyT<std::int64_t>>(s.instr->operands);
        dst.push_back(c.dst.offset);
        src.push_back(c.src.offset);
        CHECK(c.cols == 16);
        CHECK(w.loop_vector() == std::vector<std::int64_t>{static_cast<std::int64_t>(dst.size()) - 1});
    }
    CHECK(dst == std::vector<std::int64_t>{1024, 1088, 1024});
    CHECK(src == std::vector<std::int64_t>{0, 64, 128});
    CHECK(barriers == 1);
    CHECK(iterations == 3);
}

TEST_CASE("a loop of zero or negative trips runs not at all") {
    const Program p = sample();
    for (std::int64_t n : {0, -4}) {
        Walker w(p, p.sections[0], {{{"n", n}}, 0, 1, 0});
        CHECK(w.next().kind == StepKind::end);
    }
}

TEST_CASE("a launch without a value for a parameter is refused by name") {
    const Program p = sample();
    CHECK_THROWS_WITH(Walker(p, p.sections[0], {}), Catch::Contains("'n'"));
}

TEST_CASE("rectangles overlap exactly when they share a byte") {
    const auto bytes = [](const Access& a) {
        std::vector<bool> set(256, false);
        for (std::int64_t r = 0; r < a.rows; ++r)
            for (std::int64_t b = 0; b < a.row_bytes; ++b) set[static_cast<std::size_t>(a.start + r * a.pitch + b)] = true;
        return set;
    };
    int together = 0;
    for (int sa : {0, 3, 8})
        for (int ra : {1, 3})
            for (int pa : {4, 8, 16})
                for (int sb : {0, 2, 5, 12, 30})
                    for (int rb : {1, 4})
                        for (int pb : {3, 8, 12}) {
                            const Access a{Space::ub, 0, true, sa, ra, 3, pa}, b{Space::ub, 0, true, sb, rb, 2, pb};
                            const auto x = bytes(a), y = bytes(b);
                            bool expected = false;
                            for (std::size_t i = 0; i < x.size(); ++i) expected = expected || (x[i] && y[i]);
                            REQUIRE(overlaps(a, b) == expected);
                            REQUIRE(overlaps(b, a) == expected);
                            together += expected;
                        }
    CHECK(together > 10);
}

TEST_CASE("a counter-mode vector instruction touches exactly its elements") {
    Program p;
    Vector v;
    v.dst = v.src0 = {Space::ub, -1, {}, p.constant(0)};
    v.dtype = v.dst_dtype = DType::f32;
    v.count = p.constant(100);
    v.dst_block = v.src0_block = p.constant(1);
    v.dst_repeat = v.src0_repeat = p.constant(8);
    const Instr i{Op::vexp, v, -1, 0};
    const BoundInstr b{&i, bind_operands(p, i, {})};
    const AccessList list = accesses(b);
    REQUIRE(list.count == 2);
    CHECK(list.item[0].row_bytes == 400);
    CHECK(list.item[1].write);
    CHECK(vector_shape(std::get<VectorT<std::int64_t>>(b.operands)).repeats == 2);
}
