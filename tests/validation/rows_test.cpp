// SPDX-License-Identifier: Apache-2.0
// Tables of measurements are read, mapped to kernels and refused with a reason.
#include <catch2/catch.hpp>

#include <fstream>
#include <iterator>

#include "isa/diagnostic.h"
#include "lab/experiment.h"

using namespace sfumato;
using Catch::Contains;

namespace {

const std::string kHead = "id,soc,kernel,shape,dtype,tiling,metric,value,unit,source,confidence,notes,family\n";

lab::MeasuredRow row(const std::string& family, const std::string& kernel, const std::string& shape, const std::string& tiling,
                     const std::string& metric, double value = 1) {
    lab::MeasuredRow r;
    r.id = "T";
    r.soc = "910B1 (24 AIC/48 AIV @1.85 GHz)";
    r.kernel = kernel;
    r.shape = shape;
    r.dtype = "half";
    r.tiling = tiling;
    r.metric = metric;
    r.value = value;
    r.family = family;
    return r;
}

}  // namespace

TEST_CASE("quoted cells may hold commas, quotes and line breaks") {
    const auto rows = lab::parse_rows(kHead + "A,910B1 (x),\"read, twice\",\"1,2\",half,\"tile \"\"a\"\"\nb\",m,2.5,us,s,high,,f\n", "t.csv");
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].kernel == "read, twice");
    CHECK(rows[0].tiling == "tile \"a\"\nb");
    CHECK(rows[0].value == 2.5);
    CHECK(rows[0].family == "f");
}

TEST_CASE("a table with a missing column, a short line, a bad number or an open quote names file and line") {
    CHECK_THROWS_WITH(lab::parse_rows("id,soc\nA,B\n", "t.csv"), Contains("t.csv:1: column 'value' is missing"));
    CHECK_THROWS_WITH(lab::parse_rows("", "t.csv"), Contains("t.csv: no rows"));
    CHECK_THROWS_WITH(lab::parse_rows(kHead + "A,B\n", "t.csv"), Contains("t.csv:2: found 2 cells, the first line has 13"));
    CHECK_THROWS_WITH(lab::parse_rows(kHead + "A,s,k,s,d,t,m,fast,u,s,c,n,f\n", "t.csv"), Contains("t.csv:2: value 'fast' is not a number"));
    CHECK_THROWS_WITH(lab::parse_rows(kHead + "A,\"s,k\n", "t.csv"), Contains("t.csv:2: a quoted cell is not closed"));
}

TEST_CASE("numbers are read from a row's words in order") {
    CHECK(lab::numbers_in("half_16x256 <half,16,256>") == std::vector<std::int64_t>{16, 256, 16, 256});
    CHECK(lab::numbers_in("none").empty());
}

TEST_CASE("a row is mapped by its own words") {
    const lab::Expressed read = lab::express(row("bandwidth", "GM->UB read", "12288,12288", "48 AIV, tile 64x1024 (64 x 2048 B)", "mte2_time"));
    REQUIRE(read.ok);
    CHECK(read.experiment.chip == "Ascend910B1");
    CHECK_THAT(read.experiment.key, Contains("read 12288x12288 f16 to UB, tile 64x1024, 48 cores"));
    const lab::Expressed step =
        lab::express(row("matmul", "Matmul high-level API", "M=N=K=8192 (B transposed)", "case 6: + L2 split on M", "aic_time"));
    REQUIRE(step.ok);
    CHECK(step.experiment.flops == 2.0 * 8192 * 8192 * 8192);
    // every core reads all: from its own share on, or all in the same order
    const auto all = [](const std::string& kernel) { return lab::express(row("bandwidth", kernel, "6144,512 by every core", "48 AIV, tile 128x64", "mte2_time")); };
    CHECK_THAT(all("GM->UB read, staggered order").experiment.key, Contains("every core reads all") && !Contains("same order"));
    CHECK_THAT(all("GM->UB read, same order").experiment.key, Contains("in the same order"));
    CHECK(all("GM->UB read, same order").experiment.bytes == 48.0 * 6144 * 512 * 2);
    // the repeated reads of the data sheet are those of the vector cores, of the table those of the cube cores
    CHECK_THAT(lab::express(row("c220", "GM->UB 4x reread, blocked", "12288,12288", "48 AIV", "core_time")).experiment.key, Contains("to UB"));
    CHECK_THAT(lab::express(row("bandwidth", "GM->L1 4x reread of whole matrix", "12288,12288", "24 AIC", "core_time")).experiment.key, Contains("to L1"));
}

TEST_CASE("a row that cannot be run says why") {
    lab::MeasuredRow unknown = row("matmul", "MatMulV2", "1,2", "blockDim 24", "aic_time");
    CHECK_THAT(lab::express(unknown).why, Contains("tiling is not printed"));
    unknown.soc = "910 (v1)";
    CHECK_THAT(lab::express(unknown).why, Contains("no chip file for '910 (v1)'"));
    CHECK_THAT(lab::express(row("bandwidth", "GM->UB read", "12288,12288", "48 AIV", "mte2_time")).why, Contains("prints no tile"));
    CHECK_THAT(lab::express(row("copy_fill", "MemSet", "(workspace) -> N/A", "blockDim 40", "aiv_time")).why, Contains("prints no size"));
    CHECK_THAT(lab::express(row("matmul", "Matmul MIX", "M=64 N=256 K=384", "1 AIC + 2 AIV", "aic_time")).why, Contains("MIX"));
    CHECK_THAT(lab::express(row("instr_cycles", "PTO TGather", "half_16x16 <half,16,16>", "single op", "expected_cycles")).why,
               Contains("no sequence for TGather"));
    // 64 x 64 floats are 64 repeats: five cycles cannot be their time
    CHECK_THAT(lab::express(row("instr_cycles", "PTO TRowMin", "float_64x64 <float,64,64>", "single op", "expected_cycles", 5)).why,
               Contains("below one cycle"));
}

TEST_CASE("every published row is either run or refused with a reason") {
    std::ifstream in("tests/validation/rows.csv", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const auto rows = lab::parse_rows(text, "rows.csv");
    REQUIRE(rows.size() > 300);
    std::size_t run = 0;
    for (const lab::MeasuredRow& r : rows) {
        const lab::Expressed e = lab::express(r);
        INFO(r.id << " " << r.kernel);
        CHECK(e.ok != !e.why.empty());
        run += e.ok;
    }
    CHECK(run > 220);
}
