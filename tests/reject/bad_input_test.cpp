// SPDX-License-Identifier: Apache-2.0
// What a user can get wrong on the command line: one clear message, the documented exit status, nothing half-written.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tests/support/refused.h"

using namespace sfumato::testing;
using Catch::Contains;
using nlohmann::json;

namespace {

const std::string kSmall = " --shape m=16,n=16,k=16";

}  // namespace

TEST_CASE("unknown names are refused with the nearest valid one") {
    refused("rn matmul", "unknown verb 'rn'; did you mean 'run'?");
    refused("run matmull", "did you mean 'matmul'?");
    refused("run matmul --chip Ascend910B7", "did you mean 'Ascend910B1'?");
    refused("run matmul --shap m=1", "unknown option '--shap'; did you mean '--shape'?");
    refused("run matmul --shape mm=3", "unknown --shape key 'mm'; did you mean 'm'? (valid: m, n, k)");
    refused("run matmul --tile k2=3", "unknown --tile key 'k2'; did you mean");
    refused("run matmul --dtype f17", "did you mean 'f16'?");
    refused("run matmul_bias_relu --level mats", "did you mean 'maths'?");
    refused("run matmul --mode tme", "did you mean 'time'?");
    refused("run matmul --l2 warn", "did you mean 'warm'?");
    refused("run matmul" + kSmall + " --dump CC=/tmp/x.npy", "unknown --dump tensor 'CC'");
    refused("run matmul --compare mats,cold", "unknown --compare variant 'mats'");
    refused("run matmul --set memory.hbm.bandwith=3TB/s", "did you mean 'memory.hbm.bandwidth'");
    refused("dis matmul --after lowr", "did you mean 'lower'?");
}

TEST_CASE("sizes of 0, below, and beyond device memory are refused") {
    refused("run matmul --shape m=0", "--shape m=0: must be at least 1");
    refused("run matmul --shape m=-4", "--shape m=-4: must be at least 1");
    refused("run matmul --shape m=1000000,n=1000000,k=1000000", "device memory of Ascend910B2 has 64 GiB (A f16 [1000000, 1000000]");
    refused("run matmul --shape m=9000000000000", "no device memory holds that");
    refused("run matmul --shape m=99999999999999999999", "too large for a 64-bit number");
    refused("run swiglu --shape d=1099511627776", "choose a smaller --shape");
}

TEST_CASE("sizes of 1 run and give the right value") {
    const Outcome o = command("run matmul --shape m=1,n=1,k=1 --json");
    REQUIRE(o.status == 0);
    CHECK(json::parse(o.out)["values"]["equal"] == true);
}

TEST_CASE("malformed numbers and lists are refused with an example") {
    refused("run matmul --shape m", "expected name=number, for example --shape m=128");
    refused("run matmul --shape m=1x", "expected a whole number");
    refused("run matmul --shape m=1,m=2", "given twice");
    refused("run matmul --tile m=0", "m = 0, at least 1 is needed");
    refused("run matmul --repeat 0", "must be at least 1");
    refused("run matmul --repeat x", "--repeat");
    for (const char* option : {"--stages 0", "--stages -1", "--stages x", "--trace-slices 0", "--trace-slices -1", "--repeat -2"})
        refused("run matmul " + std::string(option), "must be at least 1, a whole number");
    for (const char* option : {"--seed -1", "--seed x", "--seed 1.5"}) refused("run matmul " + std::string(option), "must be at least 0, a whole number");
    refused("run matmul" + kSmall + " --dump C=/tmp/never.npy --dump C=/tmp/never.npy", "--dump C: given twice");
    refused("run matmul --input A", "expected tensor=file.npy");
    refused("run matmul --trace-window 1:2", "need --trace");
    refused("run matmul" + kSmall + " --trace /tmp/never.json --trace-window 5:2", "expected begin:end in us with begin < end");
    refused("run matmul" + kSmall + " --trace /tmp/never.json --trace-cores a", "expected core numbers");
    refused("run matmul" + kSmall + " --trace /tmp/never.json --trace-cores 0,24", "--trace-cores 24: Ascend910B2 has cores 0 to 23");
    refused("run matmul --compare maths", "at least two variants");
    refused("run matmul --mode time" + kSmall + " --dump C=/tmp/never.npy", "--dump needs values");
    refused("run", "kernel is required");
    refused("run matmul extra", "extra");
    CHECK_FALSE(std::filesystem::exists("/tmp/never.json"));
}

TEST_CASE("B30: stages that a kernel cannot take are refused, not dropped") {
    refused("run matmul_bias_relu --level explicit --stages 3", "written at the explicit level");
    const TemporaryFolder folder;
    REQUIRE(command("run add --shape m=8,n=16 --out " + (folder / "out")).status == 0);
    refused("run " + (folder / "out/program.sfa") + " --stages 3", "--stages: ");
}

TEST_CASE("a tile that does not fit is rejected with every overflow in bytes and remedies") {
    const Outcome o = command("run matmul_bias_relu --tile m=128,n=272,k0=64");
    CHECK(o.status == 1);
    CHECK_THAT(o.err, Contains("L0B needs 69,632 B of 65,536 B, over by 4,096 B"));
    CHECK_THAT(o.err, Contains("L0C needs 139,264 B of 131,072 B, over by 8,192 B"));
    CHECK_THAT(o.err, Contains("BT needs 1,088 B of 1,024 B, over by 64 B"));
    CHECK_THAT(o.err, Contains("fits if"));
    const Outcome j = command("run matmul_bias_relu --tile m=128,n=272,k0=64 --json");
    CHECK(j.status == 1);
    CHECK(j.err.empty());
    const json object = json::parse(j.out);
    CHECK(object["status"] == "rejected");
    REQUIRE(object["diagnostics"].size() == 3);
    for (const json& d : object["diagnostics"]) {
        CHECK(d["code"] == "capacity");
        CHECK_THAT(d["file"].get<std::string>(), Contains("kernels/matmul.cpp"));
        CHECK(d["line"].get<int>() > 0);
        CHECK_FALSE(d["notes"].empty());
    }
}

TEST_CASE("a program with a misaligned address is rejected with its line") {
    const TemporaryFolder folder;
    const std::string file = folder.file("bad.sfa",
                                         ".program \"misaligned\"\n.tensor x f16 [1024] in\n.buffer u UB f16 [1024] slots 1 slot_bytes 2048 base 0\n"
                                         ".section aiv\n  mov_gm_ub dst=UB:u+2 src=GM:x rows=1 cols=16 dst_pitch=16 src_pitch=16 ; mine.cpp:7:3\n");
    const Outcome o = command("run " + file);
    INFO(o.err);
    CHECK(o.status == 1);
    CHECK_THAT(o.err, Contains("mine.cpp:7:3: error[alignment]"));
}

TEST_CASE("a malformed program names file, line and column") {
    const TemporaryFolder folder;
    refused("run " + folder.file("bad.sfa", ".program \"x\"\n.foo\n"), "bad.sfa:2:1: expected");
    refused("run " + (folder / "none.sfa"), "none.sfa: cannot read: No such file or directory");
    const std::string needs = folder.file("p.sfa", ".program \"x\"\n.param n\n.tensor x f16 [n] in\n");
    refused("run " + needs, "parameter 'n' of " + needs + " has no value; give --shape n=...");
    refused("run " + needs + " --shape n=0", "every extent must be at least 1");
    refused("run " + needs + " --tile m=1 --shape n=1", "is a program already");
}

TEST_CASE("a malformed chip file names the file and the JSON pointer") {
    const TemporaryFolder folder;
    refused("run matmul --chip " + folder.file("chip.json", "{\"name\": \"x\",\n \"bad\": 1}"), "chip.json at /bad: unknown key 'bad'");
    refused("run matmul --chip " + folder.file("cut.json", "{\"name\": "), "cut.json");
    refused("run matmul --set memory.hbm.bandwidth=3parsec", "memory.hbm.bandwidth");
}

TEST_CASE("an unwritable path or a full disk is one message and leaves nothing behind") {
    const TemporaryFolder folder;
    refused("run matmul" + kSmall + " --trace /nonexistent/t.json", "/nonexistent/t.json: cannot write");
    refused("run matmul" + kSmall + " --trace /dev/full", "/dev/full: cannot write: No space left on device");
    refused("run matmul" + kSmall + " --dump C=/dev/full", "/dev/full: cannot write: No space left on device");
    refused("run matmul" + kSmall + " --out " + folder.file("plain", "x") + "/sub", "cannot create the folder");
    refused("run matmul" + kSmall + " --trace " + folder.path.string(), "Is a directory");
    CHECK_FALSE(std::filesystem::exists("/dev/full.part"));
}

TEST_CASE("a run that is rejected leaves no trace file") {
    const TemporaryFolder folder;
    CHECK(command("run matmul --tile m=1024,n=1024 --trace " + (folder / "t.json")).status == 1);
    CHECK(std::filesystem::is_empty(folder.path));
}

TEST_CASE("bad .npy files say what they hold and what was expected") {
    const TemporaryFolder folder;
    refused("run matmul" + kSmall + " --input A=" + folder.file("a.npy", "hello, world"), "not a .npy file");
    REQUIRE(command("run matmul --shape m=16,n=32,k=16 --dump C=" + (folder / "c.npy")).status == 0);
    refused("run matmul" + kSmall + " --input A=" + (folder / "c.npy"), "has shape [16, 32], expected [16, 16]");
    refused("run matmul --dtype f32 --shape m=16,n=16,k=32 --input A=" + (folder / "c.npy"), "holds elements of type '<f2', expected '<f4' for f32");
    refused("run matmul" + kSmall + " --input A=" + (folder / "none.npy"), "none.npy: cannot read");
}

TEST_CASE("with --json errors are one object on stdout and nothing on stderr") {
    for (const std::string arguments : {"run matmul --shape m=0 --json", "run matmull --json", "run matmul --nonsense --json", "run --json"}) {
        const Outcome o = command(arguments);
        INFO(arguments);
        CHECK(o.status == 2);
        CHECK(o.err.empty());
        const json j = json::parse(o.out);
        CHECK((j["status"] == "input" || j["status"] == "usage"));
        CHECK_FALSE(j["error"].get<std::string>().empty());
    }
}
