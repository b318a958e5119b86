// SPDX-License-Identifier: Apache-2.0
// sfumato fuse as a user runs it: what it prints, what it writes, and that both say the same.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/command.h"

using namespace sfumato::testing;
using Catch::Contains;
using nlohmann::json;

namespace {

const std::string kGraphs = "tests/fusion/models/graphs/";
json fused(const std::string& arguments) {
    const Outcome o = command("fuse " + kGraphs + arguments + " --json");
    INFO(o.err);
    REQUIRE(o.status == 0);
    return json::parse(o.out);
}

}  // namespace

TEST_CASE("fuse finds the blocks of BERT-base and says what they save") {
    const json j = fused("bert_base_op13.onnx --input-shape-range 'input_ids:1~32,1~512'");
    CHECK(j["model"] == "bert_base_op13.onnx");
    CHECK(j["chip"] == "Ascend910B2");
    CHECK(j["inputs"]["input_ids"]["shape"] == "[batch, seq]");
    CHECK(j["nodes"]["imported"] == 1433);
    CHECK(j["patterns"]["AttentionFused"]["found"] == 12);
    CHECK(j["patterns"]["GeluFused"]["found"] == 12);
    CHECK(!j["patterns"].contains("LayerNormGeluFused"));  // a MatMul stands between the two in BERT
    CHECK(j["sizes"] == json{{"batch", 32}, {"seq", 512}});
    for (const char* run : {"unfused", "rules", "full"})
        for (const char* figure : {"time_us", "gm_bytes", "peak_bytes", "launches"}) CHECK(j["runs"][run][figure].get<double>() > 0);
    CHECK(j["speedup"]["full"].get<double>() == Approx(j["runs"]["unfused"]["time_us"].get<double>() / j["runs"]["full"]["time_us"].get<double>()));
    // a roofline over published limits gives 2.7 for this network at these sizes; ours has slower vectors and ports in it
    CHECK(j["speedup"]["full"].get<double>() > 2);
    CHECK(j["speedup"]["full"].get<double>() < 3.5);
    CHECK(j["memory"]["peak_bytes"].get<double>() <= 1.05 * j["memory"]["lower_bound_bytes"].get<double>());
    CHECK(j["memory"]["saved_fraction"].get<double>() > 0.5);
    CHECK_THAT(j["assumptions"]["times"].get<std::string>(), Contains("neither measured nor simulated"));
    CHECK(j["groups"].size() == 1 + 24 + 12 + 12 + 36);  // embedding with its norm, norms, attention, GELU, MatMul with bias
}

TEST_CASE("groups name their operator, what they stand for and what limits them") {
    const json j = fused("bert_tiny.onnx");
    int nodes = 0;
    for (const json& g : j["groups"]) {
        nodes += g["nodes"].get<int>();
        CHECK(!g["origins"].empty());
        CHECK(g["time_us"].get<double>() > 0);
        CHECK(!g["limiter"].get<std::string>().empty());
    }
    CHECK(nodes >= static_cast<int>(j["groups"].size()));
}

TEST_CASE("verify runs the graph before and after, and says so when the file has no weights to run with") {
    const json j = fused("bert_tiny.onnx --verify --values");
    CHECK(j["verify"]["checked"] == true);
    CHECK(j["verify"]["runs"] == 2);
    CHECK(j["verify"]["max_error"].get<double>() <= j["verify"]["budget"].get<double>());
    CHECK(j["values"]["outputs"].size() == 2);
    CHECK(j["values"]["outputs"][0]["not_finite"] == 0);
    const json without = fused("bert_base_op13.onnx --verify");
    CHECK(without["verify"]["checked"] == false);
    CHECK(!without["verify"]["note"].get<std::string>().empty());
}

TEST_CASE("switches and levels change what is fused") {
    CHECK(fused("bert_tiny.onnx --fusion-level 0")["patterns"].empty());
    const json one = fused("bert_tiny.onnx --fusion-level 1");
    CHECK(!one["patterns"].contains("AttentionFused"));
    CHECK(one["patterns"].contains("MatMulFused"));
    const json only = fused("bert_tiny.onnx --fusion-ops GeluFused");
    CHECK(only["patterns"] == json{{"GeluFused", {{"found", 2}}}});
    const TemporaryFolder folder;
    const std::string file = folder.file("fusion_switch.cfg", "GeluFusionPass:off\n");
    const json off = fused("bert_tiny.onnx --fusion-switch " + file);
    CHECK(!off["patterns"].contains("GeluFused"));
    CHECK(off["passes"]["GeluFusionPass"]["refused"] == json{{"disabled_by_switch", 1}});
}

TEST_CASE("without an upper bound there are estimates, no memory plan, and the option that bounds the symbol") {
    const json j = fused("bert_tiny.onnx");
    CHECK(j["memory"]["peak_bytes"].is_null());
    CHECK_THAT(j["memory"]["note"].get<std::string>(), Contains("--input-shape-range"));
    const Outcome o = command("fuse " + kGraphs + "bert_tiny.onnx");
    CHECK(o.status == 0);
    CHECK_THAT(o.out, Contains("no plan: ") && Contains("nothing here was measured or simulated"));
}

TEST_CASE("a folder holds the report, fusion_result.json and the graph as text and as ONNX, and the graph fuses to itself") {
    const TemporaryFolder folder;
    REQUIRE(command("fuse " + kGraphs + "llama_tiny.onnx --out " + (folder / "out")).status == 0);
    for (const char* name : {"report.txt", "report.md", "report.json", "fusion_result.json", "imported.txt", "fused.txt", "fused.onnx"}) {
        INFO(name);
        CHECK(!read_file(folder / ("out/" + std::string(name))).empty());
    }
    const json result = json::parse(read_file(folder / "out/fusion_result.json"));
    CHECK(result["graph_fusion"]["AttentionFusionPass"]["effect_times"] == 2);
    CHECK_THAT(read_file(folder / "out/report.md"), Contains("# Fusion of llama_tiny.onnx on Ascend910B2") && Contains("| degree | nodes |"));
    const Outcome again = command("fuse " + (folder / "out/fused.onnx") + " --json");
    REQUIRE(again.status == 0);
    CHECK(json::parse(again.out)["patterns"]["AttentionFused"]["found"] == 2);
}

TEST_CASE("explain tells the story of one node, as text and for programs") {
    const Outcome o = command("fuse " + kGraphs + "bert_tiny.onnx --explain /layers.0/fc2/Add");
    REQUIRE(o.status == 0);
    CHECK_THAT(o.out, Contains("MatMulFusionPass: taken into MatMulFused") && Contains("NF105 wrong_structure: wanted BatchNormalization"));
    const json j = json::parse(command("fuse " + kGraphs + "bert_tiny.onnx --explain /layers.0/fc2/Add --json").out);
    CHECK(j["node"] == "/layers.0/fc2/Add");
    CHECK(j["story"].size() > 3);
}

TEST_CASE("passes are listed in their order with the terms of the literature") {
    const Outcome o = command("fuse --list-passes");
    REQUIRE(o.status == 0);
    CHECK(o.out.find("DynamicShapeInferPass") < o.out.find("AttentionFusionPass"));
    const json j = json::parse(command("fuse --list-passes --json").out);
    CHECK(j["passes"][0]["pass"] == "DynamicShapeInferPass");
}
