// SPDX-License-Identifier: Apache-2.0
// The conformance data of the ONNX project (package libonnx-testdata): every model is imported, run and compared with the outputs that stand
// beside it, by the tolerance of ONNX's own runner (relative 1e-3; absolute 1e-5). Models older than the importer's gate are first converted
// to opset 7 by ONNX's own converter, as the importer's refusal advises.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <set>

#include "fusion/import.h"
#include "fusion/interpreter.h"
#include "isa/diagnostic.h"
#include "tests/fusion/nodes/converted.h"
#include "tests/fusion/support/compare.h"

using namespace sfumato;
using namespace sfumato::fusion;
namespace fs = std::filesystem;

namespace {

/// Cases whose published outputs are not what the operator's text says.
const std::map<std::string, std::string> kKnown{
    {"test_cast_FLOAT_to_BFLOAT16", "the data were cut to bf16, conversion rounds to nearest even"},
    {"test_castlike_FLOAT_to_BFLOAT16", "the data were cut to bf16, and an input's file has another rank than the model declares"},
    {"test_castlike_FLOAT_to_BFLOAT16_expanded", "the data were cut to bf16, and an input's file has another rank than the model declares"},
    {"test_castlike_BFLOAT16_to_FLOAT", "an input's file has another rank than the model declares"},
    {"test_castlike_BFLOAT16_to_FLOAT_expanded", "an input's file has another rank than the model declares"},
    {"test_resize_downsample_scales_cubic_align_corners", "the data took size times scale where the text says the length of the result; onnxruntime follows the text too"},
    {"test_resize_downsample_scales_linear_align_corners", "the data took size times scale where the text says the length of the result; onnxruntime follows the text too"},
};

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

/// The data of bf16 values stand in files of u16: their bits.
Datum declared(const Datum& d, ElemType type) {
    const auto* t = std::get_if<TensorPtr>(&d);
    if (!t || type != ElemType::bf16 || (*t)->type != ElemType::u16) return d;
    std::vector<float> values;
    for (const std::int64_t bits : (*t)->ints()) values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
    return std::make_shared<const Tensor>(float_tensor(std::move(values), (*t)->dims, ElemType::bf16));
}

std::vector<Datum> data_files(const fs::path& set, const std::string& stem, const Graph& g, const std::vector<ValueId>& values) {
    std::vector<Datum> data;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const fs::path file = set / (stem + "_" + std::to_string(i) + ".pb");
        if (!fs::exists(file)) break;
        data.push_back(declared(read_tensor_file(file, g.value(values[i]).kind), g.value(values[i]).type));
    }
    return data;
}

/// What cannot be compared, by the words of the refusal: operators without values, and domains that are no part of the product.
bool is_skip(const std::string& why) { return why.find("draws random numbers") != std::string::npos || why.find("training") != std::string::npos; }

Outcome run_case(const fs::path& folder) {
    Outcome o;
    try {
        std::ifstream file(folder / "model.onnx", std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
        const ImportedModel model = import_onnx_bytes(test::at_least_opset(bytes, kOldestOpset), folder.filename().string());
        const Graph& g = model.graph;
        std::string ops;
        for (const NodeId id : g.order())
            if (const std::string op(name(g.node(id).op)); o.op.empty() || op != "Constant") o.op = op;
        for (const fs::path& set : sorted(folder)) {
            if (!fs::is_directory(set)) continue;
            const std::vector<Datum> given = data_files(set, "input", g, g.inputs);
            std::vector<Datum> wanted = data_files(set, "output", g, g.outputs());
            test::Inputs inputs;
            for (std::size_t i = 0; i < given.size(); ++i) inputs[g.value(g.inputs[i]).name] = given[i];
            std::vector<Datum> got = evaluate(g, inputs);
            got.resize(std::min(got.size(), wanted.size()));
            for (std::size_t i = 0; i < got.size(); ++i)
                if (const auto* t = std::get_if<TensorPtr>(&got[i])) wanted[i] = declared(wanted[i], (*t)->type);
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
    for (const std::string& line : t.different) {
        const auto known = kKnown.find(line.substr(0, line.find(' ')));
        std::cout << "  differs " << line << (known == kKnown.end() ? "" : " -- known: " + known->second) << "\n";
    }
    return t;
}

}  // namespace

TEST_CASE("every node case of the ONNX project that is a function of its inputs gives the published outputs") {
    const Tally t = run_all("node");
    CHECK(t.cases == 932);
    CHECK(t.equal >= 905);
    std::set<std::string> expected, found;
    for (const auto& [name, why] : kKnown) expected.insert(name);
    for (const std::string& line : t.different) found.insert(line.substr(0, line.find(' ')));
    CHECK(found == expected);
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
