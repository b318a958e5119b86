// SPDX-License-Identifier: Apache-2.0
// The conformance data of the ONNX project (package libonnx-testdata): every model is imported, run and compared with the outputs that stand
// beside it, by the tolerance of ONNX's own runner (relative 1e-3; absolute 1e-5).
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <iostream>
#include <map>
#include <regex>

#include "fusion/import.h"
#include "fusion/interpreter.h"
#include "isa/diagnostic.h"
#include "tests/fusion/support/compare.h"

using namespace sfumato;
using namespace sfumato::fusion;
namespace fs = std::filesystem;

namespace {

struct Outcome {
    enum class Kind : std::uint8_t { equal, skipped, differs } kind{};
    std::string op, text;
};

std::vector<fs::path> sorted(const fs::path& folder) {
    std::vector<fs::path> all;
    for (const auto& entry : fs::directory_iterator(folder)) all.push_back(entry.path());
    std::sort(all.begin(), all.end());
    return all;
}

std::vector<Datum> data_files(const fs::path& set, const std::string& stem, const Graph& g, const std::vector<ValueId>& values) {
    std::vector<Datum> data;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const fs::path file = set / (stem + "_" + std::to_string(i) + ".pb");
        if (!fs::exists(file)) break;
        data.push_back(read_tensor_file(file, g.value(values[i]).kind));
    }
    return data;
}

/// What cannot be compared, by the words of the refusal: operators without values, and domains that are no part of the product.
bool is_skip(const std::string& why) { return why.find("draws random numbers") != std::string::npos || why.find("training") != std::string::npos; }

Outcome run_case(const fs::path& folder) {
    Outcome o;
    try {
        const ImportedModel model = import_onnx(folder / "model.onnx");
        const Graph& g = model.graph;
        std::string ops;
        for (const NodeId id : g.order())
            if (const std::string op(name(g.node(id).op)); o.op.empty() || op != "Constant") o.op = op;
        for (const fs::path& set : sorted(folder)) {
            if (!fs::is_directory(set)) continue;
            const std::vector<Datum> given = data_files(set, "input", g, g.inputs), wanted = data_files(set, "output", g, g.outputs());
            test::Inputs inputs;
            for (std::size_t i = 0; i < given.size(); ++i) inputs[g.value(g.inputs[i]).name] = given[i];
            std::vector<Datum> got = evaluate(g, inputs);
            got.resize(std::min(got.size(), wanted.size()));
            if (wanted.empty()) o = {Outcome::Kind::differs, o.op, "no output stands beside the model"};
            if (const std::string d = test::difference(got, wanted, test::kConformance); !d.empty()) return {Outcome::Kind::differs, o.op, d};
        }
    } catch (const isa::InputError& e) {
        const std::string why = e.what();
        std::smatch m;
        if (std::regex_search(why, m, std::regex("\\((\\w+)\\)"))) o.op = m[1];
        return {is_skip(why) ? Outcome::Kind::skipped : Outcome::Kind::differs, o.op, why};
    }
    return o;
}

struct Tally {
    int equal = 0, cases = 0;
    std::map<std::string, std::pair<int, std::string>> skipped;  ///< operator -> how often, first reason
    std::vector<std::string> different;
};

Tally run_all(const std::string& part) {
    Tally t;
    for (const fs::path& folder : sorted(fs::path(SFUMATO_ONNX_DATA) / part)) {
        if (!fs::exists(folder / "model.onnx")) continue;
        ++t.cases;
        const Outcome o = run_case(folder);
        if (o.kind == Outcome::Kind::equal) ++t.equal;
        if (o.kind == Outcome::Kind::skipped) {
            auto& [count, why] = t.skipped[o.op];
            if (count++ == 0) why = o.text;
        }
        if (o.kind == Outcome::Kind::differs) t.different.push_back(folder.filename().string() + " [" + o.op + "]: " + o.text);
    }
    std::cout << part << ": " << t.equal << " of " << t.cases << " equal\n";
    for (const auto& [op, entry] : t.skipped) std::cout << "  skipped " << entry.first << " x " << op << ": " << entry.second << "\n";
    for (const std::string& line : t.different) std::cout << "  differs " << line << "\n";
    return t;
}

}  // namespace

TEST_CASE("every node case of the ONNX project that is a function of its inputs gives the published outputs") {
    const Tally t = run_all("node");
    CHECK(t.cases == 932);
    CHECK(t.equal >= 850);
    CHECK(t.different.empty());
}

TEST_CASE("all converted PyTorch modules give the published outputs") {
    const Tally t = run_all("pytorch-converted");
    CHECK(t.cases == 82);
    CHECK(t.equal == 82);
}

TEST_CASE("the operators of the old PyTorch exporter give the published outputs") {
    const Tally t = run_all("pytorch-operator");
    CHECK(t.cases == 35);
    CHECK(t.different.empty());
}

TEST_CASE("the simple graphs give the published outputs") {
    const Tally t = run_all("simple");
    CHECK(t.cases == 23);
    CHECK(t.different.empty());
}
