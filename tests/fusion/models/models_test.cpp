// SPDX-License-Identifier: Apache-2.0
// The exported networks of tests/fusion/models/graphs: every value gets a rank, the blocks that the networks are made of are found, and the
// graphs that carry weights compute the same before and after fusion, for sizes other than the exported ones.
#include <catch2/catch.hpp>

#include <filesystem>
#include <map>

#include "fusion/import.h"
#include "fusion/pass.h"
#include "fusion/shape.h"
#include "tests/fusion/support/compare.h"

using namespace sfumato;
using namespace sfumato::fusion;

namespace {

const std::filesystem::path kGraphs = "tests/fusion/models/graphs";

Graph imported(const std::string& name) {
    Graph g = import_onnx(kGraphs / (name + ".onnx")).graph;
    infer_shapes(g);
    return g;
}

std::map<std::string, int> fused(const Graph& g) {
    std::map<std::string, int> out;
    for (const NodeId id : g.order())
        if (g.node(id).op == Op::FusionGroup) ++out[g.node(id).text("pattern", "")];
    return out;
}

Graph optimised(Graph g) {
    run_passes(g, pass_table(), {}, nullptr);
    return g;
}

}  // namespace

TEST_CASE("every value of the exported networks has a rank") {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(kGraphs)) {
        if (entry.path().extension() != ".onnx") continue;
        INFO(entry.path().filename().string());
        Graph g = import_onnx(entry.path()).graph;
        CHECK(infer_shapes(g) == 0);
        CHECK(verify(g).empty());
        ++files;
    }
    CHECK(files == 28);
}

TEST_CASE("every attention block is found with batch and seq dynamic") {
    for (const auto& [name, blocks] : std::map<std::string, int>{{"bert_base_op11", 12},
                                                                 {"bert_base_op13", 12},
                                                                 {"bert_base_op17", 12},
                                                                 {"gpt2_medium_op13", 24},
                                                                 {"gpt2_medium_kv_op13", 24},
                                                                 {"llama2_7b_full_op13", 32},
                                                                 {"llama2_7b_full_kv_op13", 32},
                                                                 {"llama3_8b_gqa_layer_kv_op13", 1},
                                                                 {"bert_tiny_fp16", 1},
                                                                 {"llama_tiny_fp16", 1}}) {
        INFO(name);
        const Graph g = optimised(imported(name));
        CHECK(verify(g).empty());
        auto found = fused(g);
        std::string all;
        for (const auto& [pattern, count] : found) all += pattern + " " + std::to_string(count) + ", ";
        INFO(all);
        CHECK(found["AttentionFused"] == blocks);
    }
}

TEST_CASE("networks with weights compute the same before and after fusion, for sizes they were not exported with") {
    int graphs = 0;
    for (const auto& entry : std::filesystem::directory_iterator(kGraphs)) {
        const std::string name = entry.path().stem();
        if (name.find("tiny") == std::string::npos && name.rfind("norms", 0) != 0) continue;
        INFO(name);
        const Graph g = imported(name);
        const Graph after = optimised(g.clone());
        Bindings sizes;
        std::int64_t next = 3;
        for (const std::string& s : g.symbols().names()) sizes[s] = next++ % 3 + 3;
        if (name.find("resnet") != std::string::npos || name.find("conv") != std::string::npos)
            for (auto& [symbol, size] : sizes) size = 2;
        if (sizes.count("total_seq")) sizes["total_seq"] = sizes["past_seq"] + sizes["seq"];  // the mask covers cache and new tokens
        const test::Inputs inputs = test::random_inputs(g, sizes, {.integers = 2});  // ids within the smallest table, BERT's two token types
        const bool half = name.find("fp16") != std::string::npos;
        CHECK(test::difference(after, g, inputs, half ? test::kHalf : test::kSingle) == "");
        // what onnxruntime 1.30 leaves of the same files at its highest level
        static const std::map<std::string, std::size_t> kOnnxruntime{{"bert_tiny", 73}, {"gpt2_tiny", 153}, {"llama_tiny", 138}, {"llama_tiny_gqa_kv", 173}, {"norms_op13", 18}, {"convbnrelu_tiny", 6}};
        if (const auto it = kOnnxruntime.find(name); it != kOnnxruntime.end()) CHECK(after.node_count() <= it->second);
        ++graphs;
    }
    CHECK(graphs >= 15);
}
