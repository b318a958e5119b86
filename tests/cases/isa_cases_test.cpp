// SPDX-License-Identifier: Apache-2.0
// Limits of the instruction encodings (section G of the case list), each at both edges, and the cases of other sections that are instruction
// set rules. The numbers are the vendor's documentation.
#include <catch2/catch.hpp>

#include "isa/diagnostic.h"
#include "isa/limits.h"
#include "tests/support/isa_verdict.h"

using namespace sfumato;
using namespace sfumato::isa;
using tests::said;
using tests::said_bound;

namespace {

// Accepted by the symbolic check and by the check of the instance.
void accepted(const std::string& statement, const std::string& kind = "aiv") {
    INFO(statement);
    CHECK(said(statement, kind) == "");
    CHECK(said_bound(statement, kind) == "");
}
// Refused by both, with the same words.
void refused(const std::string& statement, const std::string& words, const std::string& kind = "aiv") {
    INFO(statement);
    CHECK_THAT(said(statement, kind), Catch::Contains(words));
    CHECK_THAT(said_bound(statement, kind), Catch::Contains(words));
}

// The last value of a field that is accepted, and the first that is not.
void edge(const std::string& within, const std::string& beyond, const std::string& words, const std::string& kind = "aiv") {
    accepted(within, kind);
    refused(beyond, words, kind);
}

const std::string kStrides = " dst_block=1 src0_block=1 src1_block=1 dst_repeat=8 src0_repeat=8 src1_repeat=8";
const std::string kUnary = " dst_block=1 src0_block=1 dst_repeat=8 src0_repeat=8";

std::string vadd(const std::string& rest) { return "vadd dst=UB:b src0=UB:a src1=UB:a " + rest + kStrides; }

}  // namespace

TEST_CASE("G: a vector instruction has at most 255 repeats, more elements take counter mode") {
    const std::string normal =
        "vabs dst=UB src0=UB mode=normal mask_lo=0xffffffffffffffff dst_block=1 src0_block=1 dst_repeat=1 src0_repeat=1 repeats=";
    accepted(normal + "255");
    refused(normal + "256", "repeats is 256, allowed is 0 to 255; use a second instruction or mask mode counter");
    accepted("vabs dst=UB src0=UB count=16320 " + kUnary);  // 255 x 64
    accepted("vabs dst=UB src0=UB count=16384 " + kUnary);  // 256 x 64
    accepted("vabs dst=UB src0=UB count=4294967295 " + kUnary);
    refused("vabs dst=UB src0=UB count=4294967296 " + kUnary, "count is 4294967296, allowed is 0 to 4294967295");
    CHECK_THAT(said("vabs dst=UB:b src0=UB:a mode=normal mask_lo=1 repeats=max(m, 256) " + kUnary), Catch::Contains("repeats is 256 to "));
}

TEST_CASE("G: a repeat is 256 bytes, so masks of 32-bit types use the low half only") {
    accepted(vadd("mode=normal repeats=1 mask_lo=0xffffffffffffffff"));
    refused(vadd("mode=normal repeats=1 mask_hi=1 mask_lo=0xffffffffffffffff"), "mask_hi is not 0");
    accepted("vabs dst=UB:h src0=UB:h dtype=f16 dst_dtype=f16 mode=normal repeats=1 mask_hi=0xffffffffffffffff mask_lo=1" + kUnary);
}

TEST_CASE("G: the destination block stride is not 0, a source block stride of 0 rereads the first block") {
    refused("vabs dst=UB:b src0=UB:a count=64 src0_block=1 dst_repeat=8 src0_repeat=8 dst_block=0", "dst_block is 0");
    accepted("vabs dst=UB:b src0=UB:a count=64 src0_block=0 dst_repeat=8 src0_repeat=8 dst_block=1");
    accepted("vcadd dst=UB:b src0=UB:a count=64 src0_block=1 src0_repeat=8");  // reductions write densely
}

TEST_CASE("G: block and repeat strides fit their fields") {
    const auto binary = [](const std::string& f) { return "vadd dst=UB src0=UB src1=UB count=1 dst_block=1 src0_block=1 src1_block=1 " + f; };
    for (const char* field : {"dst_repeat", "src0_repeat", "src1_repeat"}) {
        accepted(binary(std::string(field) + "=255"));
        refused(binary(std::string(field) + "=256"), std::string(field) + " is 256, allowed is 0 to 255");
    }
    const auto unary = [](const std::string& f) { return "vabs dst=UB src0=UB count=1 dst_block=1 " + f; };
    edge(unary("src0_block=65535"), unary("src0_block=65536"), "src0_block is 65536, allowed is 0 to 65535");
    edge(unary("src0_block=1 dst_repeat=4095"), unary("src0_block=1 dst_repeat=4096"), "dst_repeat is 4096, allowed is 0 to 4095");
    accepted("vadd dst=UB src0=UB src1=UB count=1 dst_block=255 src0_block=1 src1_block=1");
    refused("vadd dst=UB src0=UB src1=UB count=1 dst_block=256 src0_block=1 src1_block=1", "dst_block is 256, allowed is 1 to 255");
}

TEST_CASE("G: in-place work overlaps exactly or not at all") {
    accepted("vadd dst=UB:a src0=UB:a src1=UB:b count=256" + kStrides);                            // offset 0
    refused("vadd dst=UB:a+32 src0=UB:a src1=UB:b count=256" + kStrides, "they overlap in part");  // offset 32 bytes
    refused("vadd dst=UB:a src0=UB:a+32 src1=UB:b count=256" + kStrides, "they overlap in part");
    refused("vadd dst=UB:a src0=UB:b src1=UB:a+32 count=256" + kStrides, "src1 (bytes 32 to");
    accepted("vadd dst=UB:a+1024 src0=UB:a src1=UB:b count=256" + kStrides);  // next to each other
    // one block read by every repeat: the second repeat would read what the first wrote
    refused("vadd dst=UB:a src0=UB:a src1=UB:b count=128 dst_block=1 src0_block=1 src1_block=1 dst_repeat=8 src0_repeat=0 src1_repeat=8",
            "a later repeat would read what an earlier repeat wrote");
    // interleaved columns share no byte
    accepted("vabs dst=UB:a+32 src0=UB:a mode=normal mask_lo=0xff repeats=16 dst_block=1 src0_block=1 dst_repeat=2 src0_repeat=2");
    // two operands end to end, the last repeat partial: 70 elements end at byte 280, the next operand starts at 288
    accepted("vabs dst=UB:a src0=UB:a+288 count=70" + kUnary);
    accepted("vcadd dst=UB:a src0=UB:a count=256 src0_block=1 src0_repeat=8");  // the sum of a repeat lands below the next repeat
}

TEST_CASE("A26: a widening conversion in place is refused, a narrowing one at the same address is legal") {
    refused("vconv dst=UB:a src0=UB:a dtype=f16 dst_dtype=f32 count=256 dst_block=1 src0_block=1 dst_repeat=8 src0_repeat=4",
            "the destination type is wider");
    accepted("vconv dst=UB:a src0=UB:a dtype=f32 dst_dtype=f16 count=256 dst_block=1 src0_block=1 dst_repeat=4 src0_repeat=8");
    refused("vconv dst=UB:a+64 src0=UB:a dtype=f32 dst_dtype=f16 count=256 dst_block=1 src0_block=1 dst_repeat=4 src0_repeat=8",
            "they overlap in part");
}

TEST_CASE("G and B21: event ids are 0 to 7 on the split cores and 0 to 3 on the first generation") {
    const auto flag = [](const std::string& id) { return "set_flag src=MTE2 dst=V id=" + id + "\nwait_flag src=MTE2 dst=V id=" + id; };
    CHECK(said(flag("7")) == "");
    CHECK_THAT(said(flag("8")), Catch::Contains("set_flag: flag id is 8, Ascend910B2 has ids 0 to 7 for each pair of pipes"));
    CHECK(said(flag("3"), "core", tests::chip_910a()) == "");
    CHECK_THAT(said(flag("4"), "core", tests::chip_910a()), Catch::Contains("flag id is 4, Ascend910A has ids 0 to 3"));
    CHECK_THAT(said(flag("0 - 1")), Catch::Contains("flag id is -1"));
    CHECK_THAT(said_bound("set_flag src=MTE2 dst=V id=8"), Catch::Contains("error[event_id]"));
    CHECK(said(flag("c % 8")) == "");
    CHECK_THAT(said(flag("c % 8 + 8")), Catch::Contains("flag id is 8 to 15"));
}

TEST_CASE("B20: a flag set for one pair of pipes and awaited for another is refused with both pairs") {
    const std::string e = said("set_flag src=S dst=MTE3 id=1\nwait_flag src=MTE3 dst=MTE1 id=1", "aic");
    CHECK_THAT(e, Catch::Contains(
                      "error[flag_balance]: set_flag: flag 1 of the pair S to MTE3 is set but never waited for; a wait with this id names the pair "
                      "MTE3 to MTE1, both ends must name the same pair"));
    CHECK_THAT(e, Catch::Contains("flag 1 of the pair MTE3 to MTE1 is waited for but never set"));
    CHECK_THAT(said("set_flag src=V dst=MTE3"), Catch::Contains("add the wait or remove the set"));
    CHECK_THAT(said("wait_flag src=V dst=MTE3"), Catch::Contains("add the set or remove the wait"));
}

TEST_CASE("G: cross-core flags have ids 0 to 15 where the chip has them") {
    CHECK(said("cross_set src=MTE3 id=15 mode=2") == "");
    CHECK_THAT(said("cross_set src=MTE3 id=16 mode=2"), Catch::Contains("flag id is 16, Ascend910B2 has ids 0 to 15 per core"));
    CHECK_THAT(said("cross_set src=MTE3 mode=3"), Catch::Contains("mode is 3, allowed is 0 to 2"));
    CHECK_THAT(said("cross_wait dst=V", "core", tests::chip_910a()), Catch::Contains("Ascend910A has no cross-core flags"));
}

TEST_CASE("G: there is no queue library, so 65 buffers are as good as 64") {
    std::string text = ".program q\n";
    for (int i = 0; i < 65; ++i) text += ".buffer b" + std::to_string(i) + " UB f32 [8] slots 1 slot_bytes 32 base " + std::to_string(32 * i) + "\n";
    CHECK(verify(parse_program(text, "q.sfa"), tests::chip_910b()).empty());
}

TEST_CASE("G: operands are aligned as their memory space asks, one byte less is refused") {
    struct Row {
        const char *kind, *before, *after, *words;
        int need;
    };
    const Row rows[] = {
        {"aiv", "vdup dst=UB+", " count=8 dst_block=1 dst_repeat=8", "in UB start at multiples of 32 bytes", 32},
        {"aic", "mov_gm_l1 dst=L1+", " src=GM:x rows=1 cols=16", "in L1 start at multiples of 32 bytes", 32},
        {"aic", "mov_l1_l0a src=L1 dst=L0A+", " rows=16 cols=16 src_pitch=16", "in L0A start at multiples of 512 bytes", 512},
        {"aic", "mov_l1_l0b src=L1 dst=L0B+", " rows=16 cols=16 src_pitch=16", "in L0B start at multiples of 512 bytes", 512},
        {"aic", "fix_l0c_gm dst=GM:x src=L0C+", " rows=16 cols=16 src_pitch=16 dst_pitch=16", "in L0C start at multiples of 64 bytes", 64},
        {"aic", "mmad a=L0A b=L0B dst=L0C+", " m=16 k=16 n=16 init=1", "in L0C start at multiples of 1024 bytes", 1024},
        {"aic", "mmad a=L0A b=L0B dst=L0C m=16 k=16 n=16 init=1 bias=BT+", "", "in BT start at multiples of 64 bytes", 64},
        {"aic", "mov_l1_fb src=L1 rows=1 cols=16 dst=FB+", "", "in FB start at multiples of 128 bytes", 128},
    };
    for (const Row& r : rows) {
        accepted(r.before + std::to_string(r.need) + r.after, r.kind);
        refused(r.before + std::to_string(r.need - 1) + r.after, r.words, r.kind);
    }
}

TEST_CASE("G: reductions align their destination to an element, block reductions to eight") {
    accepted("vcadd dst=UB:b+4 src0=UB:a count=64 src0_block=1 src0_repeat=8");
    refused("vcadd dst=UB:b+2 src0=UB:a count=64 src0_block=1 src0_repeat=8", "multiples of 4 bytes");
    accepted("vcgadd dst=UB:b+32 src0=UB:a count=64 src0_block=1 src0_repeat=8");
    refused("vcgadd dst=UB:b+16 src0=UB:a count=64 src0_block=1 src0_repeat=8", "multiples of 32 bytes");
}

TEST_CASE("G: the fix-pipe drains at most 4095 columns, and 8192 rows to ND or 65535 to NZ") {
    const auto gm = [](const std::string& f) { return "fix_l0c_gm dst=GM:x src=L0C src_pitch=65536 dst_pitch=8192 " + f; };
    const auto l1 = [](const std::string& f) { return "fix_l0c_l1 dst=L1 src=L0C src_pitch=65536 dst_pitch=65536 " + f; };
    edge(gm("rows=16 cols=4095"), gm("rows=16 cols=4096"), "cols is 4096, allowed is 0 to 4095", "aic");
    edge(gm("rows=8192 cols=16"), gm("rows=8193 cols=16"), "rows is 8193, allowed is 0 to 8192", "aic");
    edge(l1("rows=65535 cols=16"), l1("rows=65536 cols=16"), "rows is 65536, allowed is 0 to 65535", "aic");
    accepted(l1("rows=16 cols=4080"), "aic");  // whole fractals of 16 columns
    refused(l1("rows=16 cols=4081"), "cols is 4081 (4096 in whole fractals)", "aic");
    accepted(gm("rows=0 cols=9999"), "aic");  // size 0 does nothing
}

TEST_CASE("G: row copies have at most 4095 rows of 65535 blocks with gaps of 65535 blocks") {
    const auto load = [](const std::string& f) { return "mov_gm_ub dst=UB src=GM:x dtype=f16 " + f; };
    edge(load("rows=4095 cols=16 dst_pitch=16 src_pitch=16"), load("rows=4096 cols=16 dst_pitch=16 src_pitch=16"),
         "rows is 4096, allowed is 0 to 4095");
    edge(load("rows=1 cols=1048560"), load("rows=1 cols=1048561"), "a row has 2097122 bytes, allowed is 0 to 2097120");
    edge(load("rows=2 cols=16 src_pitch=16 dst_pitch=1048576"), load("rows=2 cols=16 src_pitch=16 dst_pitch=1048592"),
         "dst_pitch leaves a gap of 2097152 bytes between rows, allowed is 0 to 2097120");
    edge(load("rows=2 cols=16 dst_pitch=16 src_pitch=2147483663"), load("rows=2 cols=16 dst_pitch=16 src_pitch=2147483664"),
         "src_pitch leaves a gap of 4294967296 bytes");
}

TEST_CASE("G: the ND to NZ copy has at most 16384 rows of 65535 elements") {
    const auto copy = [](const std::string& f) { return "mov_gm_l1_nz dst=L1 src=GM:x dtype=f16 " + f; };
    edge(copy("rows=16384 cols=16 src_pitch=16 dst_pitch=16384"), copy("rows=16385 cols=16 src_pitch=16 dst_pitch=16384"),
         "rows is 16385, allowed is 0 to 16384", "aic");
    edge(copy("rows=1 cols=65535 dst_pitch=16"), copy("rows=1 cols=65536 dst_pitch=16"), "cols is 65536, allowed is 0 to 65535", "aic");
    edge(copy("rows=2 cols=16 src_pitch=65535 dst_pitch=16"), copy("rows=2 cols=16 src_pitch=65536 dst_pitch=16"),
         "src_pitch is 65536, allowed is 0 to 65535", "aic");
    refused(copy("rows=2 cols=16 src_pitch=16 dst_pitch=16400"), "dst_pitch is 16400, allowed is 0 to 16384", "aic");
    refused(copy("rows=2 cols=16 src_pitch=16 dst_pitch=24"), "dst_pitch is 24 rows, a pitch of an NZ matrix is a multiple of 16 rows; use 32",
            "aic");
    refused(copy("rows=20 cols=32 src_pitch=32 dst_pitch=16"), "dst_pitch is 16 but the matrix has 20 rows", "aic");
}

TEST_CASE("G: a fractal load takes at most 255 fractals in a run") {
    accepted("mov_l1_l0a dst=L0A src=L1 rows=16 cols=4080 src_pitch=16", "aic");
    refused("mov_l1_l0a dst=L0A src=L1 rows=16 cols=4081 src_pitch=16", "takes 256 fractals in a run, allowed is 0 to 255", "aic");
    accepted("mov_l1_l0b dst=L0B src=L1 rows=16 cols=4080 src_pitch=16", "aic");
    refused("mov_l1_l0b dst=L0B src=L1 rows=16 cols=4081 src_pitch=16", "takes 256 fractals", "aic");
    accepted("mov_l1_l0a dst=L0A src=L1 rows=16 cols=16 src_pitch=1048560", "aic");
    refused("mov_l1_l0a dst=L0A src=L1 rows=16 cols=16 src_pitch=1048576", "src_pitch is 1048576 rows, allowed is 0 to 1048560", "aic");
}

TEST_CASE("G: m, n and k of mmad are 0 to 4095") {
    for (const std::string field : {"m", "n", "k"}) {
        std::string rest;
        for (const std::string other : {"m", "n", "k"})
            if (other != field) rest += " " + other + "=1";
        accepted("mmad dst=L0C a=L0A b=L0B init=1 " + field + "=4095" + rest, "aic");
        refused("mmad dst=L0C a=L0A b=L0B init=1 " + field + "=4096" + rest, field + " is 4096, allowed is 0 to 4095", "aic");
    }
}

TEST_CASE("G: K of an f32 matrix product is walked in steps of 8, of 16 when A is transposed") {
    CHECK(padded_k(DType::f32, false, 36) == 40);
    CHECK(padded_k(DType::f32, true, 36) == 48);
    CHECK(padded_k(DType::f32, false, 44) == 48);
    CHECK(padded_k(DType::f32, true, 44) == 48);
    CHECK(padded_k(DType::f16, true, 36) == 48);
}

TEST_CASE("G: the number of blocks of a launch is not limited by the program") {
    for (const char* blocks : {"65535", "65536", "m*1000000"})
        CHECK(verify(parse_program(".program t\n.param m\n.blocks " + std::string(blocks) + "\n", "t.sfa"), tests::chip_910b()).empty());
}

TEST_CASE("D06: a constant misaligned offset names instruction, buffer, element and byte; an aligned one passes") {
    const auto at = [](const std::string& offset) { return "vadd dst=UB:b src0=UB:a+" + offset + " src1=UB:a+" + offset + " count=64" + kStrides; };
    refused(
        at("4"),
        "error[alignment]: vadd: src0 starts at element 1 (byte 4) of buffer 'a', whose accesses in UB start at multiples of 32 bytes (8 elements of "
        "f32); nearest are elements 0 and 8");
    accepted(at("32"));
    // provable without knowing the loop counter
    CHECK_THAT(said("loop i < m {\n" + at("64*i + 4") + "\n}"), Catch::Contains("src0 starts 4 bytes after a multiple of 32 bytes in buffer 'a'"));
    CHECK(said("loop i < m {\n" + at("4*i") + "\n}") == "");  // left to the instance
}

TEST_CASE("D12: a tile in L0A or L0B that is less than a 512-byte box is refused") {
    const auto tile = [](const char* space, int bytes) {
        return to_text(
            verify(parse_program(
                       ".program t\n.buffer tile " + std::string(space) + " f16 [] slots 1 slot_bytes " + std::to_string(bytes) + " base 0\n", "t"),
                   tests::chip_910b()));
    };
    CHECK_THAT(tile("L0A", 256),
               Catch::Contains("buffer 'tile' (L0A) has slots of 256 bytes, the matrix unit works in boxes of 512 bytes (16 rows); give the tile its "
                               "physical size 512"));
    CHECK(tile("L0A", 512) == "");
    CHECK_THAT(tile("L0B", 768), Catch::Contains("physical size 1024"));
    CHECK_THAT(tile("L0C", 512), Catch::Contains("boxes of 1024 bytes"));
}

TEST_CASE("D14: a store that is larger than its source is refused") {
    accepted("mov_ub_gm dst=GM:x src=UB:a dtype=f32 rows=32 cols=256 src_pitch=256 dst_pitch=256");
    refused("mov_ub_gm dst=GM:x src=UB:a dtype=f32 rows=64 cols=256 src_pitch=256 dst_pitch=256",
            "error[out_of_bounds]: mov_ub_gm: reads bytes 0 to 65536 of buffer 'a' (UB), which has 32768 bytes");
    refused("fix_l0c_gm dst=GM:x src=L0C:acc dst_dtype=f32 rows=256 cols=256 src_pitch=256 dst_pitch=256", "reads bytes 0 to 262144 of buffer 'acc'",
            "aic");
}

TEST_CASE("D15: a size that a tail made negative is refused by name") {
    refused("mov_gm_ub dst=UB:a src=GM:x rows=-255 cols=16", "rows is -255, a negative size; clamp the extent at 0");
    refused("vadds dst=UB:a src0=UB:a count=-1" + kUnary, "count is -1, a negative size");
    accepted("mov_gm_ub dst=UB:a src=GM:x rows=0 cols=16");
    CHECK(said("loop i < 22 {\nmov_gm_ub dst=UB:a src=GM:x rows=1 cols=min(384, 8192 - 384*i)\n}") == "");  // negative in the last iteration only
}
