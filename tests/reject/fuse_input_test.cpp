// SPDX-License-Identifier: Apache-2.0
// What can be wrong about a model, its ranges and its switch files on the command line: one message that names the place and a way out.
#include <catch2/catch.hpp>

#include "tests/support/command.h"
#include "tests/support/refused.h"

using namespace sfumato::testing;
using Catch::Contains;

namespace {
const std::string kBert = "fuse tests/fusion/models/graphs/bert_tiny.onnx";
const std::string kBounded = kBert + " --input-shape 'input_ids:1~4,1~16'";
}  // namespace

TEST_CASE("fuse wants a model that is there and is one") {
    const TemporaryFolder folder;
    refused("fuse", "give a model, MODEL.onnx, or --list-passes");
    refused("fuse nothing.onnx", "nothing.onnx: there is no such file");
    refused("fuse tests", "tests: is no file; give the .onnx file itself");
    refused("fuse " + folder.file("text.onnx", "hello\n"), "text.onnx: is no ONNX file, or a truncated one (6 bytes)");
    refused("fuse " + folder.file("half.onnx", read_file("tests/fusion/models/graphs/bert_tiny.onnx").substr(0, 500)), "half.onnx: is no ONNX file, or a truncated one (500 bytes)");
    refused("fuse " + folder.file("empty.onnx", ""), "empty.onnx");
    refused(kBert + " other.onnx", "other.onnx");
}

TEST_CASE("options of fuse name what is allowed") {
    refused(kBert + " --verfy", "did you mean '--verify'?");
    refused(kBert + " --fusion-level 4", "--fusion-level: Value 4 not in range 0 to 3");
    refused(kBert + " --fusion-ops AttentionFuse", "no fused operator is called 'AttentionFuse'; did you mean AttentionFused?");
    refused(kBert + " --explain /layers.0/fc2/Ad", "the model has no node called '/layers.0/fc2/Ad'; did you mean /layers.0/fc2/Add?");
    refused(kBert + " --no-reuse-memory Sofmax", "the graph has no node or operator called 'Sofmax'; did you mean Softmax?");
    refused(kBert + " --chip Ascend910B7", "did you mean 'Ascend910B1'?");
    refused(kBert + " --out /proc/nowhere", "--out /proc/nowhere: cannot create the folder");
    refused("fuse --list-pass", "did you mean '--list-passes'?");
}

TEST_CASE("ranges that the model does not have or that hold nothing are refused") {
    refused(kBert + " --input-shape inputids:1,2", "the model has no input inputids; the nearest is input_ids");
    refused(kBert + " --input-shape input_ids:5~1,2", "the range 5~1 is empty or starts below 0");
    refused(kBert + " --input-shape-range 'input_ids:[1]'", "1 sizes, the input has 2");
    refused(kBert + " --input-shape input_ids:", "shape range");
}

TEST_CASE("switch files name file, line and key of what is wrong") {
    const TemporaryFolder folder;
    const auto with = [&](const std::string& name, const std::string& text) { return kBert + " --fusion-switch " + folder.file(name, text); };
    refused(with("ini.cfg", "[fusion_switch]\nenable_fusion=1\nfusion_level=9\n"), "ini.cfg:3: fusion_level: the value is '9', allowed are 0 to 3");
    refused(with("lines.cfg", "GeluFusionPas:off\n"), "lines.cfg:1: GeluFusionPas: no such pass; did you mean GeluFusionPass?");
    refused(with("twice.json", "\xef\xbb\xbf{\"Switch\":{\"GraphFusion\":{\"GeluFusionPass\":\"off\",\"GeluFusionPass\":\"on\"}}}\r\n"), "twice.json:1: Switch.GraphFusion.GeluFusionPass: stands twice in this file");
    refused(kBert + " --fusion-switch " + (folder / "none.cfg"), "none.cfg: cannot be read");
    CHECK(command(with("good.cfg", "\xef\xbb\xbf[fusion_switch]\r\nenable_fusion=1\r\nfusion_level=1\r\n")).status == 0);
}

TEST_CASE("a memory limit that is exceeded names what is needed, when and by whom") {
    refused(kBert + " --memory-limit 3XB", "--memory-limit '3XB': expected bytes, e.g. 24GB, 32GiB or 1000000");
    refused(kBert + " --memory-limit 3KB", "symbol seq has no upper end; bound it");
    refused(kBounded + " --memory-limit 3KB", "48,000 bytes are needed, 3,000 are allowed; weights 4,480, inputs 1,536, outputs 8,704, intermediates 33,280 with the peak at step");
    CHECK(command(kBounded + " --memory-limit 48KB").status == 0);
}

TEST_CASE("variables that ask for dumps and logs mean something or are refused") {
    const TemporaryFolder folder;
    const auto with = [&](const std::string& variables) { return command_line(variables + " " SFUMATO_BINARY " " + kBert); };
    CHECK_THAT(with("DUMP_GE_GRAPH=7").err, Contains("DUMP_GE_GRAPH is '7': 1 is all"));
    CHECK_THAT(with("ASCEND_SLOG_PRINT_TO_STDOUT=1 ASCEND_GLOBAL_LOG_LEVEL=9").err, Contains("ASCEND_GLOBAL_LOG_LEVEL=9: expected 0 (debug), 1 (info), 2 (warning), 3 (error) or 4 (none)"));
    CHECK_THAT(with("ASCEND_SLOG_PRINT_TO_STDOUT=1 ASCEND_GLOBAL_LOG_LEVEL=1").out, Contains("[INFO] FUSION: GeluFusionPass: matched 2, effective 2, refused 0"));
    CHECK(with("DUMP_GE_GRAPH=1 DUMP_GRAPH_LEVEL=1 DUMP_GRAPH_FORMAT='onnx|readable' DUMP_GRAPH_PATH=" + (folder / "dumps")).status == 0);
    int text = 0, onnx = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "dumps")) {
        text += entry.path().extension() == ".txt";
        onnx += entry.path().extension() == ".onnx";
    }
    CHECK(text > 20);
    CHECK(onnx == text);
}
