// SPDX-License-Identifier: Apache-2.0
// Several kernels in one run: one device memory, one L2, a report for each launch and one of all.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "isa/diagnostic.h"
#include "lab/lab.h"
#include "tests/support/command.h"

using namespace sfumato;
using testing::command;
using testing::TemporaryFolder;
using Catch::Contains;
using nlohmann::json;

namespace {

lab::Request request(const std::string& what, const std::string& shape, std::vector<std::string> then = {}) {
    lab::Request r;
    r.what = what;
    r.shape = shape;
    r.then = std::move(then);
    r.chip_dir = "isa/chips";
    return r;
}

std::string refusal(lab::Request r) {
    try {
        lab::run(r);
    } catch (const isa::InputError& e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST_CASE("a kernel behind another takes sizes and type from the tensor it reads, and its values are right") {
    lab::Request r = request("matmul_bias_relu", "m=33,n=96,k=40", {"swiglu", "add:X=2.Y,Y=2.Y"});
    r.dtype = "bf16";
    const auto kernels = lab::prepare_all(r);
    REQUIRE(kernels.size() == 3);
    CHECK(kernels[1].shape == lab::Numbers{{"m", 33}, {"d", 48}});  // X[m, 2*d] is C[33, 96]
    CHECK(kernels[2].shape == lab::Numbers{{"m", 33}, {"n", 48}});
    for (const lab::Prepared& p : kernels) CHECK(p.dtype == isa::DType::bf16);
    const lab::Result result = lab::run(kernels, r);
    CHECK(result.ok());
    REQUIRE(result.report.launches.size() == 3);
    for (const auto& l : result.report.launches) {
        INFO(l.kernel);
        CHECK(l.values.checked);
        CHECK(l.values.equal);
    }
}

TEST_CASE("a tensor written by one launch is hit in L2 by the next") {
    const auto alone = lab::run(request("swiglu", "m=64,d=256")).report;
    CHECK(alone.memory.hbm_read_bytes == 64 * 512 * 2);  // cold: every byte of X comes from HBM
    const auto both = lab::run(request("matmul", "m=64,n=512,k=64", {"swiglu"})).report;
    CHECK(both.launches[1].memory.hbm_read_bytes == 0);
    CHECK(both.launches[1].l2_hit_rate() == 1.0);
    CHECK(both.launches[1].memory.gm_read_bytes == 64 * 512 * 2);
}

TEST_CASE("the report of all launches is the sum of theirs") {
    const auto all = lab::run(request("matmul", "m=64,n=512,k=64", {"swiglu", "exp:X=2.Y"})).report;
    std::int64_t read = 0, written = 0, instructions = 0;
    double core = 0, flops = 0;
    for (const auto& l : all.launches) {
        read += l.memory.gm_read_bytes, written += l.memory.gm_write_bytes;
        core += l.core_time_us, flops += l.flops, instructions += l.instructions;
        for (const auto& g : l.groups)
            for (const auto& p : g.pipes) CHECK(p.busy + p.stalled + p.idle == Approx(1));
    }
    CHECK(all.memory.gm_read_bytes == read);
    CHECK(all.memory.gm_write_bytes == written);
    CHECK(written == 64 * 512 * 2 + 64 * 256 * 2 + 64 * 256 * 2);
    CHECK(all.instructions == instructions);
    CHECK(all.core_time_us == Approx(core));
    CHECK(all.flops == flops);
    CHECK(all.launches[1].begin_us == Approx(all.launches[0].task_time_us).epsilon(0.001));  // the next task starts when the one before is over
}

TEST_CASE("a launch alone and the first of several report the same") {
    const auto alone = lab::run(request("matmul", "m=64,n=512,k=64")).report;
    const auto first = lab::run(request("matmul", "m=64,n=512,k=64", {"swiglu"})).report.launches[0];
    CHECK(first.cycles == alone.cycles);
    CHECK(first.memory.hbm_read_bytes == alone.memory.hbm_read_bytes);
    CHECK(first.memory.l2_misses == alone.memory.l2_misses);
    REQUIRE(first.groups.size() == alone.groups.size());
    for (std::size_t p = 0; p < first.groups[0].pipes.size(); ++p) CHECK(first.groups[0].pipes[p].busy == Approx(alone.groups[0].pipes[p].busy));
}

TEST_CASE("a repeated run reports its last round alone: bytes of one launch, L2 as the round before left it") {
    lab::Request r = request("add", "m=64,n=512");
    r.repeat = 3;
    const auto report = lab::run(r).report;
    CHECK(report.memory.gm_read_bytes == 2 * 64 * 512 * 2);
    CHECK(report.memory.hbm_read_bytes == 0);
    REQUIRE(report.rounds_us.size() == 3);
    CHECK(report.rounds_us[2] == Approx(report.core_time_us));
    CHECK(report.rounds_us[1] < report.rounds_us[0]);  // the first round fetches from HBM
}

TEST_CASE("kernels behind another are refused with the reason and a way out") {
    const std::string shape = "m=64,n=95,k=64";
    CHECK_THAT(refusal(request("matmul", shape, {"swigl"})), Contains("did you mean 'swiglu'"));
    CHECK_THAT(refusal(request("matmul", shape, {"swiglu"})), Contains("extent 1 of X is 2*d") && Contains("f16 [64, 95]") && Contains("divides by 2"));
    CHECK_THAT(refusal(request("matmul", shape, {"exp:n=96"})), Contains("X would be f16 [64, 96], but C of matmul is f16 [64, 95]"));
    CHECK_THAT(refusal(request("matmul", shape, {"exp:q=1"})), Contains("unknown --then exp key 'q'") && Contains("valid: m, n, X, tile.rows, tile.cols"));
    CHECK_THAT(refusal(request("matmul", shape, {"exp:n"})), Contains("'n' is not key=value"));
    CHECK_THAT(refusal(request("matmul", shape, {"exp:n=95,n=95"})), Contains("n is given twice"));
    CHECK_THAT(refusal(request("matmul", shape, {":m=1"})), Contains("expected KERNEL"));
    CHECK_THAT(refusal(request("matmul", shape, {"exp:X=3.C"})), Contains("unknown --then exp tensor of an earlier kernel '3.C'") && Contains("1.C"));
    CHECK_THAT(refusal(request("matmul", shape, {"exp:stages=0"})), Contains("stages='0': expected a whole number of at least 1"));
    CHECK_THAT(refusal(request("matmul_bias_relu", shape, {"exp:X=bias"})), Contains("X has 2 extents, bias is f32 [95]"));
    CHECK_THAT(refusal(request("gm_to_ub", "m=64,n=64", {"exp"})), Contains("gm_to_ub writes no tensor that exp could read") && Contains("X=1.X"));
    CHECK_THAT(refusal(request("matmul", shape, {"ub_to_gm"})), Contains("ub_to_gm reads no tensor"));
    CHECK_THAT(refusal(request("matmul", "m=100000,n=100000,k=1", {"exp", "exp", "exp"})), Contains("GiB, device memory of Ascend910B2 has 64 GiB") && Contains("3.Z f16"));
    lab::Request input = request("matmul", "m=64,n=96,k=64", {"exp"});
    input.inputs["X"] = "x.npy";
    CHECK_THAT(refusal(input), Contains("--input X: the run writes this tensor"));
    lab::Request dump = request("exp", "m=64,n=96", {"exp"});
    dump.dumps["Z"] = "z.npy";
    CHECK_THAT(refusal(dump), Contains("several kernels of the run have a tensor of that name; write 1.Z or 2.Z"));
}

TEST_CASE("a program in text form stands behind a kernel") {
    const TemporaryFolder folder;
    const std::string file = folder.file("exp.sfa", command("dis exp --shape m=64,n=96").out);
    const auto kernel = lab::run(request("matmul", "m=64,n=96,k=64", {"exp"})).report;
    const auto text = lab::run(request("matmul", "m=64,n=96,k=64", {file + ":Z.0=64,Z.1=96"})).report;  // X.0 and X.1 follow from C
    CHECK_THAT(refusal(request("matmul", "m=64,n=96,k=64", {file})), Contains("parameter 'Z.0' has no value and no tensor to follow from; add Z.0=..."));
    CHECK(text.launches[1].cycles == kernel.launches[1].cycles);
    CHECK(text.launches[1].values.equal);
}

TEST_CASE("one trace holds the slices of every launch, and --out a program for each") {
    const TemporaryFolder folder;
    const auto o = command("run matmul --shape m=64,n=96,k=64 --then swiglu --json --out " + (folder / "out"));
    REQUIRE(o.status == 0);
    const json j = json::parse(o.out);
    REQUIRE(j["launches"].size() == 2);
    CHECK(j["launches"][1]["reads"]["X"] == "1.C");
    CHECK(j["kernel"] == "matmul + swiglu");
    CHECK(j["shape"]["2.d"] == 48);
    std::int64_t slices = j["sim"]["instructions"].get<std::int64_t>();
    for (const json& l : j["launches"]) slices += l["blocks"].get<std::int64_t>();
    CHECK(j["trace"]["slices"] == slices);
    for (const char* name : {"program1.sfa", "program2.sfa", "trace.json.gz", "report.txt", "report.json"}) CHECK(std::filesystem::file_size(folder.path / "out" / name) > 100);
    const auto text = command("run matmul --shape m=64,n=96,k=64 --then swiglu");
    CHECK_THAT(text.out, Contains("launch 1 of 2: matmul") && Contains("launch 2 of 2: swiglu") && Contains("X is 1.C") && Contains("all 2 launches"));
}

TEST_CASE("a run of one kernel lists one launch, equal to the run") {
    const json j = json::parse(command("run matmul --shape m=64,n=96,k=64 --json").out);
    REQUIRE(j["launches"].size() == 1);
    for (const char* member : {"kernel", "cycles", "memory", "pipes", "shape", "values"}) CHECK(j["launches"][0][member] == j[member]);
}
