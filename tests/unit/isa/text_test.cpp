// SPDX-License-Identifier: Apache-2.0
#include "isa/text.h"

#include <catch2/catch.hpp>
#include <set>

#include "isa/diagnostic.h"
#include "tests/support/random_program.h"

using namespace sfumato::isa;

namespace {

constexpr const char* kHeader =
    ".program t\n.param m\n.symbol c counter\n.symbol idx load\n.tensor x f16 [m, 64] in\n.tensor ids i32 [m] in\n"
    ".buffer a1 UB f16 [64, 64] slots 2 slot_bytes 8192 base 0\n.section aiv\n";

std::string error_of(const std::string& text) {
    try {
        parse_program(text, "k.sfa");
    } catch (const InputError& e) {
        return e.what();
    }
    return "no error";
}
// The header has 8 lines, so the statement under test stands in line 9.
std::string error_of_statement(const std::string& statement) { return error_of(kHeader + statement + "\n"); }

void collect(const Block& block, std::set<Op>& ops, std::set<std::size_t>& kinds) {
    for (const Stmt& s : block) {
        kinds.insert(s.node.index());
        if (const auto* i = std::get_if<Instr>(&s.node)) ops.insert(i->op);
        if (const auto* l = std::get_if<Loop>(&s.node)) collect(l->body, ops, kinds);
        if (const auto* w = std::get_if<When>(&s.node)) collect(w->body, ops, kinds);
    }
}

}  // namespace

TEST_CASE("printing, parsing and printing again gives the same text for random programs over every instruction and statement") {
    std::set<Op> ops;
    std::set<std::size_t> kinds;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const Program p = sfumato::tests::random_program(seed);
        for (const Section& s : p.sections) collect(s.body, ops, kinds);
        const std::string text = print_program(p);
        const Program q = parse_program(text, "random.sfa");
        REQUIRE(print_program(q) == text);
        REQUIRE(q.symbols.size() == p.symbols.size());
        REQUIRE(q.buffers.size() == p.buffers.size());
    }
    CHECK(ops.size() == static_cast<std::size_t>(kOpCount));
    CHECK(kinds.size() == std::variant_size_v<decltype(Stmt::node)>);
}

TEST_CASE("a parsed program means what its text says") {
    Program p = parse_program(std::string(kHeader) +
                                  "# a comment\n"
                                  "loop i < m / 64 stages 2 { ; kernels/add.cpp:7:3\n"
                                  "  when i < 3 && c == 0 {\n"
                                  "    mov_gm_ub dst=UB:a1[c % 2]+32*i src=GM:x+128*i - 2 dtype=f16 rows=64 cols=min(64, m) pad=true # end\n"
                                  "  }\n"
                                  "  bump c\n"
                                  "  load idx = ids[i + 1]\n"
                                  "}\n"
                                  "vadds dst=UB+64 src0=UB+64 scalar=-2.5e-3 mode=normal mask_hi=0xff mask_lo=0xffffffffffffffff\n"
                                  "set_flag src=MTE2 dst=V id=3 hand\n",
                              "k.sfa");
    const Block& body = p.sections.at(0).body;
    REQUIRE(body.size() == 3);
    const Loop& l = std::get<Loop>(body[0].node);
    CHECK(l.stages == 2);
    CHECK(where(p, l.source) == "kernels/add.cpp:7");
    REQUIRE(l.body.size() == 3);
    std::vector<std::int64_t> values(p.symbols.size(), 0);
    values[static_cast<std::size_t>(p.find_symbol("m"))] = 200;
    values[static_cast<std::size_t>(p.find_symbol("i"))] = 2;
    values[static_cast<std::size_t>(p.find_symbol("c"))] = 5;
    CHECK(p.exprs.eval(l.trips, values) == 3);
    const When& w = std::get<When>(l.body[0].node);
    CHECK(p.exprs.eval(w.condition, values) == 0);
    const Copy& c = std::get<Copy>(std::get<Instr>(w.body.at(0).node).operands);
    CHECK(c.dst.space == Space::ub);
    CHECK(c.dst.object == 0);
    CHECK(p.exprs.eval(c.dst.slot, values) == 1);
    CHECK(p.exprs.eval(c.dst.offset, values) == 64);
    CHECK(p.exprs.eval(c.src.offset, values) == 254);
    CHECK(p.exprs.eval(c.cols, values) == 64);
    CHECK(c.pad);
    CHECK(std::get<Load>(l.body[2].node).tensor == 1);
    const Vector& v = std::get<Vector>(std::get<Instr>(body[1].node).operands);
    CHECK(v.scalar == -0.0025);
    CHECK(v.mode == MaskMode::normal);
    CHECK(v.mask_hi == 255);
    CHECK(v.mask_lo == ~std::uint64_t{0});
    CHECK(v.dst.object == -1);
    const Instr& flag = std::get<Instr>(body[2].node);
    CHECK(std::get<Sync>(flag.operands).src == Pipe::mte2);
    CHECK(flag.id == 2);
    CHECK(flag.hand);
}

TEST_CASE("fields at their default are not printed and doubles keep every bit") {
    Program p;
    p.name = "d";
    p.sections.push_back({CoreKind::aiv, {}});
    Vector v;
    v.scalar = 0.1;
    p.sections[0].body.push_back({Instr{Op::vadds, v, -1, -1}});
    CHECK(print_program(p) == ".program \"d\"\n.section aiv\n  vadds scalar=0.1\n");
    v.scalar = -0.0;
    p.sections[0].body[0] = {Instr{Op::vadds, v, -1, -1}};
    CHECK(print_program(p) == ".program \"d\"\n.section aiv\n  vadds scalar=-0\n");
}

TEST_CASE("expressions are read with the usual precedence") {
    Program p;
    p.add_symbol("a", SymbolKind::param);
    p.add_symbol("b", SymbolKind::param);
    const std::int64_t values[] = {7, -3};
    const auto value = [&](const char* text) { return p.exprs.eval(parse_expr(text, p, "-e"), values); };
    CHECK(value("1 + 2*3") == 7);
    CHECK(value("(1 + 2)*3") == 9);
    CHECK(value("a - 1 - 2") == 4);
    CHECK(value("a/2*2") == 6);
    CHECK(value("b/2") == -2);  // towards minus infinity
    CHECK(value("b % 2") == 1);
    CHECK(value("-a + b") == -10);
    CHECK(value("min(a, b) < 0 && !(a == b)") == 1);
    CHECK(value("a <= b || b < a && a == 7") == 1);
    CHECK(value("max(a, 0x10)") == 16);
    CHECK(value("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("a parse error names the place, what was found, what was expected and the nearest name") {
    const auto statement = [](const char* s, const char* column, std::vector<const char*> parts) {
        const std::string e = error_of_statement(s);
        INFO(e);
        CHECK(e.find(std::string("k.sfa:9:") + column + ": ") == 0);
        for (const char* part : parts) CHECK_THAT(e, Catch::Contains(part));
    };
    statement("vad dst=UB", "1", {"expected a mnemonic", "'vad'", "did you mean 'vadd'?"});
    statement("vadd dts=UB", "6", {"a field of vadd", "'dts'", "did you mean 'dst'?"});
    statement("vadd dst=UB dst=UB", "13", {"'dst' is given twice"});
    statement("vadd dst=UBB", "10", {"a memory space (none, GM, L1", "'UBB'", "'UB'"});
    statement("vadd dst=UB:a2", "13", {"a declared buffer", "'a2'", "did you mean 'a1'?"});
    statement("mov_gm_ub src=GM:y", "18", {"a declared tensor", "'y'"});
    statement("vadd dtype=f17", "12", {"an element type", "did you mean 'f16'?"});
    statement("vadd count=m +", "15", {"an expression", "the end of the line"});
    statement("vadd count=mm", "12", {"a declared symbol", "did you mean 'm'?"});
    statement("vadd count=(m", "14", {"expected ')'"});
    statement("vadd count=99999999999999999999", "12", {"does not fit in 64 bits"});
    statement("vadd count=9223372036854775808", "12", {"signed 64-bit"});
    statement("vadd count=4/0", "13", {"division of a constant by 0"});
    statement("vadd scalar=1.5x", "13", {"expected a number, found '1.5x'"});
    statement("mov_gm_ub pad=yes", "15", {"true or false", "'yes'"});
    statement("vadd dst=UB }", "13", {"the end of the line", "'}'"});
    statement("vadd dst=UB ; ", "15", {"file:line:column"});
    statement("vadd $", "6", {"unexpected character '$'"});
    statement("bump m", "6", {"'m' is of kind param, expected kind counter"});
    statement("loop m < 3 {\n}", "6", {"'m' is of kind param, expected kind loop"});
    statement("loop i < 3 {", "1", {"'loop' is not closed"});
    statement("}", "1", {"a statement", "'}'"});
    statement("load idx = idz[0]", "12", {"a declared tensor", "did you mean 'ids'?"});
    statement(".param q", "1", {".param must stand before the first .section"});
    statement(".section aiv", "10", {"'aiv' appears twice"});
    statement(".sections aiv", "1", {"did you mean '.section'?"});
    statement("barrier mode=3000000000", "14", {"out of range", "-2147483648 to 2147483647"});
}

TEST_CASE("a header that declares something twice or out of place is refused") {
    CHECK_THAT(error_of(""), Catch::Contains("k.sfa:1:1: expected '.program' as the first statement, found the end of the file"));
    CHECK_THAT(error_of(".param m\n"), Catch::Contains("'.program'"));
    CHECK_THAT(error_of(".program a\n.program b\n"), Catch::Contains("k.sfa:2:1: .program appears twice"));
    CHECK_THAT(error_of(".program a\n.param m\n.symbol m loop\n"), Catch::Contains("k.sfa:3:9: symbol 'm' is declared twice"));
    CHECK_THAT(error_of(".program a\n.param min\n"), Catch::Contains("'min' is an operator"));
    CHECK_THAT(error_of(".program a\n.tensor t f16 [1] in\n.tensor t f16 [1] in\n"), Catch::Contains("tensor 't' is declared twice"));
    const std::string buffer = ".buffer b UB f16 [] slots 1 slot_bytes 32\n";
    CHECK_THAT(error_of(".program a\n" + buffer + buffer), Catch::Contains("buffer 'b' is declared twice"));
    CHECK_THAT(error_of(".program a\n.blocks 1\n.blocks 2\n"), Catch::Contains(".blocks appears twice"));
    CHECK_THAT(error_of(".program a\nvadd\n"), Catch::Contains("k.sfa:2:1: expected '.section'"));
    CHECK_THAT(error_of(".program \"a\n"), Catch::Contains("not closed on its line"));
    CHECK_THAT(error_of(".program \"\\q\"\n"), Catch::Contains("unknown escape"));
    CHECK_THAT(error_of(".program a\n.section aiv\nvadd mask_lo=0x\n"), Catch::Contains("digits after 0x"));
    CHECK_THAT(error_of(".program a\n.buffer b UB f16 [-1] slots 1 slot_bytes 1\n"), Catch::Contains("an extent -1 is out of range"));
}

TEST_CASE("nesting and expression size are bounded") {
    std::string loops, deep, wide = "m";
    for (int i = 0; i < 65; ++i) loops += "when m {\n";
    CHECK_THAT(error_of_statement(loops), Catch::Contains("nested deeper than 64 levels"));
    for (int i = 0; i < 129; ++i) deep += "(";
    CHECK_THAT(error_of_statement("vadd count=" + deep), Catch::Contains("nested deeper than 128 levels"));
    for (int i = 0; i < 2049; ++i) wide += "/m";
    CHECK_THAT(error_of_statement("vadd count=" + wide), Catch::Contains("more than 2048 operators"));
    CHECK_THAT(error_of_statement("loop i < 2 {\nloop i < 2 {\n}\n}"), Catch::Contains("'i' already counts an enclosing loop"));
}
