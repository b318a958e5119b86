// SPDX-License-Identifier: Apache-2.0
// Graphs written as ONNX: valid by the checker of the ONNX project, the same graph when they are read again, the same bytes every time.
#include <catch2/catch.hpp>

#include <filesystem>

#include "fusion/import.h"
#include "fusion/pass.h"
#include "fusion/passes/dump.h"
#include "fusion/passes/report.h"
#include "fusion/shape.h"
#include "tests/fusion/models/checked.h"
#include "tests/fusion/support/compare.h"

using namespace sfumato;
using namespace sfumato::fusion;

namespace {

const std::filesystem::path kGraphs = "tests/fusion/models/graphs";

template <class F>
void for_models(const F& f) {
    for (const auto& entry : std::filesystem::directory_iterator(kGraphs)) {
        if (entry.path().extension() != ".onnx") continue;
        INFO(entry.path().filename().string());
        Graph g = import_onnx(entry.path()).graph;
        infer_shapes(g);
        f(entry.path().stem().string(), g);
    }
}
Graph fused(const Graph& g) {
    Graph after = g.clone();
    run_passes(after, pass_table(), {}, nullptr);
    return after;
}
Graph read_again(const std::string& bytes) {
    Graph g = import_onnx_bytes(bytes, "again.onnx").graph;
    infer_shapes(g);
    return g;
}
bool has_weights(const std::string& name) { return name.find("tiny") != std::string::npos || name.rfind("norms", 0) == 0; }

test::Inputs inputs_for(const std::string& name, const Graph& g) {
    Bindings sizes;
    std::int64_t next = 3;
    for (const std::string& s : g.symbols().names()) sizes[s] = name.find("conv") != std::string::npos || name.find("resnet") != std::string::npos ? 2 : next++ % 3 + 3;
    if (sizes.count("total_seq")) sizes["total_seq"] = sizes["past_seq"] + sizes["seq"];
    return test::random_inputs(g, sizes, {.integers = 2});
}

}  // namespace

TEST_CASE("a fused graph is valid ONNX whose functions any runtime can run, and reads back as the same fused operators") {
    for_models([](const std::string&, const Graph& g) {
        const Graph after = fused(g);
        const std::string bytes = export_onnx(after);
        CHECK(test::checker_complaint(bytes) == "");
        const Graph again = read_again(bytes);
        CHECK(verify(again).empty());
        CHECK(count_patterns(again) == count_patterns(after));
        CHECK(again.node_count() == after.node_count());
    });
}

TEST_CASE("without its groups a fused graph is plain ONNX again") {
    for_models([](const std::string&, const Graph& g) {
        const std::string bytes = export_onnx(fused(g), false);
        CHECK(test::checker_complaint(bytes) == "");
        CHECK(count_patterns(read_again(bytes)).empty());
    });
}

TEST_CASE("symbols, names of inputs and outputs and the text of an imported graph survive the way through a file") {
    for_models([](const std::string&, const Graph& g) {
        const Graph again = read_again(export_onnx(g));
        REQUIRE(again.inputs.size() == g.inputs.size());
        for (std::size_t i = 0; i < g.inputs.size(); ++i) {
            const Value &was = g.value(g.inputs[i]), &is = again.value(again.inputs[i]);
            CHECK(is.name == was.name);
            CHECK(is.type == was.type);
            REQUIRE(is.shape.has_value() == was.shape.has_value());
            if (was.shape) CHECK(shape_text(again.symbols(), *is.shape) == shape_text(g.symbols(), *was.shape));
        }
        REQUIRE(again.outputs().size() == g.outputs().size());
        for (std::size_t i = 0; i < g.outputs().size(); ++i) CHECK(again.value(again.outputs()[i]).name == g.value(g.outputs()[i]).name);
    });
}

TEST_CASE("values are the same after a graph went through a file, fused or not") {
    int graphs = 0;
    for_models([&](const std::string& name, const Graph& g) {
        if (!has_weights(name)) return;
        const test::Inputs inputs = inputs_for(name, g);
        const test::Budget budget = name.find("fp16") != std::string::npos ? test::kHalf : test::kSingle;
        CHECK(test::difference(read_again(export_onnx(g)), g, inputs, budget) == "");
        CHECK(test::difference(read_again(export_onnx(fused(g))), g, inputs, budget) == "");
        ++graphs;
    });
    CHECK(graphs >= 15);
}

TEST_CASE("a graph is written with the same bytes every time") {
    for_models([](const std::string&, const Graph& g) { CHECK((export_onnx(fused(g)) == export_onnx(fused(g)))); });
}
