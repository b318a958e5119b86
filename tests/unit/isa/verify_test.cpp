// SPDX-License-Identifier: Apache-2.0
#include "isa/verify.h"

#include <catch2/catch.hpp>
#include <limits>

#include "isa/diagnostic.h"
#include "tests/support/isa_verdict.h"
#include "tests/support/random_program.h"

using namespace sfumato;
using namespace sfumato::isa;
using tests::said;
using tests::said_bound;

namespace {
std::string header_said(const std::string& header, const Chip& chip = tests::chip_910b()) {
    return to_text(verify(parse_program(".program t\n" + header + "\n", "t.sfa"), chip));
}
void says(const std::string& text, const std::string& words) {
    INFO(text);
    CHECK_THAT(text, Catch::Contains(words));
}
}  // namespace

TEST_CASE("a well-formed program with loops, conditions and flags passes") {
    CHECK(said("loop i < m stages 2 {\n"
               "  mov_gm_ub dst=UB:h[c % 2] src=GM:x+128*i dtype=f16 rows=1 cols=min(64, m - 64*i)\n"
               "  set_flag src=MTE2 dst=V id=c % 2\n  wait_flag src=MTE2 dst=V id=c % 2\n"
               "  vexp dst=UB:h[c % 2] src0=UB:h[c % 2] dtype=f16 dst_dtype=f16 count=64 dst_block=1 src0_block=1 dst_repeat=8 src0_repeat=8\n"
               "  barrier src=V\n  bump c\n  when i == 0 {\n    load v = ids[i]\n  }\n}") == "");
}

TEST_CASE("operand spaces are those of the instruction's row") {
    says(said("vadd dst=L1:w src0=UB:a src1=UB:a"), "error[space]: vadd: dst is in L1, it must be in UB");
    says(said("vadd dst=UB:b src0=UB:a"), "src1 is absent, it must be in UB");
    says(said("vabs dst=UB:b src0=UB:a src1=UB:a"), "src1 is in UB, it must be absent");
    says(said("mov_gm_ub dst=UB:a src=UB:b"), "src is in UB, it must be in GM");
    says(said("mmad dst=L0C:acc a=L0A:l0a b=L0B:l0b bias=UB:a", "aic"), "bias is in UB, it must be in BT or absent");
    says(said("vabs dst=UB:b src0=UB:w"), "src0 is in UB but buffer 'w' lies in L1");
    says(said("mov_gm_ub dst=UB:a src=GM"), "src names tensor -1 of 2");
}

TEST_CASE("element types are those of the row and of the chip") {
    says(said("vexp dst=UB:b src0=UB:a dtype=i32 dst_dtype=i32"), "error[dtype]: vexp: dtype is i32, allowed are f16, f32");
    says(said("vadd dst=UB:b src0=UB:a src1=UB:a dtype=f16"), "dst_dtype is f32 and dtype f16; only vconv converts");
    says(said("fix_l0c_gm dst=GM:x src=L0C:acc dtype=i32 dst_dtype=bf16", "aic"), "dst_dtype is bf16, allowed are f16, i8, u8, i16, i32");
    says(said("fix_l0c_gm dst=GM:x src=L0C:acc dtype=f16", "aic"), "dtype is f16, allowed are f32, i32");
    says(said("load v = x[0]"), "load reads tensor 'x' of f16, control loads read i32 or u32");
    Chip chip = tests::chip_910b();
    chip.cube.per_fractal[static_cast<std::size_t>(DType::f32)] = 0;
    says(said("mmad dst=L0C:acc a=L0A:l0a b=L0B:l0b dtype=f32", "aic", chip), "the matrix unit of Ascend910B2 does not multiply f32");
}

TEST_CASE("instructions, pipes and sections exist on the chip and the core kind") {
    says(said("vabs dst=UB:b src0=UB:a", "aic"), "error[unsupported]: vabs: does not exist on the core kind 'aic' (pipe V)");
    says(said("mmad dst=L0C:acc a=L0A:l0a b=L0B:l0b", "aiv"), "mmad: does not exist on the core kind 'aiv'");
    says(said("mov_ub_gm dst=GM:x src=UB rows=0", "core"), "section for core kind 'core', Ascend910B2 has no such core");
    says(said("fix_l0c_gm dst=GM:x src=L0C rows=0", "core", tests::chip_910a()), "does not exist on the core kind 'core' (pipe FIX)");
    says(said("mov_l1_gm dst=GM:x src=L1 rows=0", "core", tests::chip_910a()), "Ascend910A has no data path from L1 to GM");
    says(said("set_flag src=M dst=V"), "src is pipe M, which the core kind 'aiv' does not have");
    says(said("wait_flag src=V dst=ALL"), "dst is pipe ALL, which only a barrier names");
    says(said("barrier src=S"), "the scalar pipe S has no barrier");
    says(said("set_flag src=V dst=V"), "both ends are pipe V; a flag orders two pipes");
    CHECK(said("barrier src=ALL") == "");
}

TEST_CASE("options that an instruction does not have are refused") {
    says(said("mov_ub_gm dst=GM:x src=UB:a pad=true"), "pad is an option of mov_gm_ub only");
    says(said("mov_gm_ub dst=UB:a src=GM:x transpose=true"), "transpose is an option of mov_l1_l0a and mov_l1_l0b only");
    says(said("mov_gm_ub dst=UB:a src=GM:x atomic=add"), "atomic is an option of stores to GM only");
    says(said("mov_ub_ub dst=UB:a src=UB:b cache=bypass"), "cache is an option of GM accesses only");
    says(said("fix_l0c_l1 dst=L1:w src=L0C:acc atomic=add", "aic"), "atomic is an option of stores to GM only");
}

TEST_CASE("buffers lie inside their memory, aligned, with a shape that fits") {
    const std::string ub = ".buffer t UB f32 ";
    CHECK(header_said(ub + "[48000] slots 1 slot_bytes 192000 base 4608") == "");
    says(header_said(ub + "[] slots 1 slot_bytes 192000 base 4640"), "error[capacity]: buffer 't' (UB) needs 1 x 192000 bytes at address 4640");
    says(header_said(ub + "[] slots 2 slot_bytes 192000 why \"pipelined(2)\" ; k.cpp:3:4"),
         "k.cpp:3:4: error[capacity]: buffer 't' (UB) needs 2 x 192000 bytes, asked for by pipelined(2); Ascend910B2 has 196608 bytes of UB");
    says(header_said(ub + "[] slots 1 slot_bytes 64 base 16"), "has base 16, which is not a multiple of 32 bytes; the next is 32");
    says(header_said(ub + "[] slots 2 slot_bytes 48 base 0"), "later slots are not aligned to 32 bytes; use 64");
    says(header_said(ub + "[4, 8] slots 1 slot_bytes 64 base 0"), "has a shape of 128 bytes but slots of 64");
    says(header_said(ub + "[] slots 0 slot_bytes 64"), "has 0 slots of 64 bytes; at least one slot is needed");
    says(header_said(".buffer t GM f32 [] slots 1 slot_bytes 64"), "must lie in an on-chip memory space");
    says(header_said(ub + "[4000000000, 4000000000, 4000000000] slots 1 slot_bytes 64 base 0"), "more than 2**63");
}

TEST_CASE("a division by a constant 0 is refused wherever it stands") {
    says(header_said(".param m\n.tensor x f16 [m / 0] in"), "error[divide_by_zero]: extent of tensor 'x' divides by 0: m/0");
    says(header_said(".param m\n.blocks m % 0"), "number of blocks divides by 0");
    says(said("loop i < m / 0 {\n}"), "trip count of the loop over 'i' divides by 0");
    says(said("when m % 0 {\n}"), "condition divides by 0");
    says(said("load v = ids[m / 0]"), "index of a load divides by 0");
    says(said("vabs dst=UB:b src0=UB:a+m/0"), "vabs: an operand divides by 0");
}

TEST_CASE("slots and magnitudes are checked") {
    says(said("vdup dst=UB:h[2] dtype=f16 dst_dtype=f16 count=0"),
         "dst names slot 2 of buffer 'h', which has slots 0 to 1; take the slot modulo the number of slots");
    CHECK(said("vdup dst=UB:h[1] dtype=f16 dst_dtype=f16 count=0") == "");
    says(said("vdup dst=UB:h[c % 2 + 2] count=0"), "dst names slot 2 to 3 of buffer 'h'");
    says(said_bound("vdup dst=UB:h[2] count=0"), "dst names slot 2");
    says(said("vdup dst=UB+9223372036854775807 count=8"), "dst offset is 9223372036854775807, allowed is -2**40 to 2**40");
    says(said("vabs dst=UB:b src0=UB:a count=1 dst_block=1099511627777"), "dst_block is 1099511627777");
}

TEST_CASE("row pitches do not overlap rows and keep them aligned") {
    const auto load = [](const std::string& f) { return said("mov_gm_ub dst=UB:a src=GM:x dtype=f16 rows=2 " + f); };
    CHECK(load("cols=15 dst_pitch=16 src_pitch=15") == "");
    says(load("cols=15 dst_pitch=15 src_pitch=15"),
         "error[alignment]: mov_gm_ub: dst_pitch is 15 elements (30 bytes), rows in UB start at multiples of 32 bytes; use a pitch of 16");
    says(load("cols=16 dst_pitch=16"), "src_pitch is 0 elements but a row has 16; rows cannot overlap");
    says(said("fix_l0c_gm dst=GM:x src=L0C:acc rows=2 cols=16 src_pitch=16 dst_pitch=8", "aic"), "dst_pitch is 8 elements but a row has 16");
    says(said("mov_gm_l1_nz dst=L1:w src=GM:x rows=2 cols=16 src_pitch=8 dst_pitch=16", "aic"), "src_pitch is 8 elements but a row has 16");
}

TEST_CASE("code that can never run is not judged") {
    CHECK(said("loop i < 0 {\nvabs dst=UB:b src0=UB:a count=-1\n}") == "");
    CHECK(said("when m < 0 {\nvabs dst=UB:b src0=UB:a count=-1\n}") == "");
    says(said("loop i < 3 {\nmov_gm_ub dst=UB:a src=GM:x rows=1 cols=i - 3\n}"), "cols is -3 to -1, a negative size");
}

TEST_CASE("programs built by hand with wrong symbols or operands are refused") {
    Program p = tests::program_of("loop i < 2 {\n}\nbump c\nload v = ids[0]", "aiv");
    Block& body = p.sections[0].body;
    std::get<Loop>(body[0].node).stages = 0;
    std::get<Bump>(body[1].node).counter = p.find_symbol("m");
    std::get<Load>(body[2].node).tensor = 7;
    body.push_back({Instr{Op::vadd, Copy{}, -1, -1}});
    body.push_back({Loop{p.find_symbol("c"), p.constant(1), {}, 1, -1}});
    Loop outer{p.find_symbol("i"), p.constant(2), {}, 1, -1};
    outer.body.push_back({outer});
    body.push_back({outer});
    Vector far;
    far.dst = {Space::ub, 99, {}, {}};
    body.push_back({Instr{Op::vdup, far, -1, -1}});
    p.sections.push_back(Section{CoreKind::aiv, {}});
    const std::string e = to_text(verify(p, tests::chip_910b()));
    says(e, "loop over 'i' has 0 stages");
    says(e, "bump needs a symbol of kind counter");
    says(e, "load names tensor 7 of 2");
    says(e, "vadd: carries operands of another family, expected Vector");
    says(e, "a loop needs a symbol of kind loop");
    says(e, "loop counter 'i' already counts an enclosing loop");
    says(e, "dst names buffer 99 of 8");
    says(e, "section 'aiv' appears twice");
}

TEST_CASE("random programs are judged without a crash and mostly refused") {
    int refused = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) refused += !verify(tests::random_program(seed), tests::chip_910b()).empty();
    CHECK(refused == 40);
}

TEST_CASE("a violation carries the author's file, line and column") {
    const auto d = tests::verdict("vabs dst=UB:b src0=UB:a+4 count=64 dst_block=1 src0_block=1 dst_repeat=8 src0_repeat=8 ; kernels/add.cpp:41:7");
    REQUIRE(d.size() == 1);
    CHECK(d[0].file == "kernels/add.cpp");
    CHECK(d[0].line == 41);
    CHECK(d[0].column == 7);
    CHECK(d[0].code == Code::alignment);
}

TEST_CASE("sizes at the end of 64 bits are judged, not wrapped around") {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    CHECK(ceil_div(most, 512) == most / 512 + 1);
    CHECK(ceil_div(-3, 4) == 0);
    CHECK(ceil_div(-5, 4) == -1);
    CHECK(round_up(most, 512) == most / 512 * 512);
    CHECK(round_up(513, 512) == 1024);
    CHECK(round_up(512, 512) == 512);
    says(header_said(".buffer a L0A f16 [96, 64] slots 2 slot_bytes 9223372036854775807 base 0"), "needs 2 x 9223372036854775807 bytes");
    says(header_said(".buffer a UB f16 [16] slots 1 slot_bytes 32 base 9223372036854775807"), "at address 9223372036854775807");
}
