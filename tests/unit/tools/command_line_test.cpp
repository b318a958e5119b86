// SPDX-License-Identifier: Apache-2.0
// The contract of the command line: members of --json, files of --out, round trips, variants.
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/command.h"

using namespace sfumato::testing;
using Catch::Contains;
using nlohmann::json;

namespace {
const std::string kShape = " --shape m=100,n=60,k=70";
json object(const std::string& arguments, int status = 0) {
    const Outcome o = command(arguments);
    INFO("sfumato " << arguments << "\n" << o.err << o.out.substr(0, 400));
    REQUIRE(o.status == status);
    CHECK(o.err.empty());
    return json::parse(o.out);
}
}  // namespace

TEST_CASE("run --json has every member of the manual") {
    const json j = object("run matmul_bias_relu" + kShape + " --json");
    for (const char* member :
         {"kernel", "chip",       "shape",         "dtype", "tile",   "blocks",   "cycles", "core_time_us", "task_time_us", "core_time_mean_us",
          "flops",  "tflops",     "peak_fraction", "pipes", "memory", "capacity", "sync",   "values",       "hazards",      "bottleneck",
          "sim",    "assumptions"}) {
        INFO(member);
        CHECK(j.contains(member));
    }
    for (const char* pipe : {"mac", "mte1", "mte2", "fixpipe", "scalar"}) CHECK(j["pipes"]["aic"].contains(pipe));
    for (const char* member :
         {"gm_read_bytes", "gm_write_bytes", "hbm_read_bytes", "hbm_write_bytes", "l2_hit_rate", "read_gbs", "write_gbs", "hbm_gbs"})
        CHECK(j["memory"].contains(member));
    for (const char* space : {"L1", "L0A", "L0B", "L0C", "BT"}) {
        CHECK(j["capacity"][space]["used_bytes"] > 0);
        CHECK(j["capacity"][space]["used_bytes"] <= j["capacity"][space]["total_bytes"]);
    }
    for (const char* member : {"flags", "event_ids", "barriers", "cross_core"}) CHECK(j["sync"].contains(member));
    for (const char* member : {"checked", "equal", "max_abs_error", "max_rel_error", "tolerance"}) CHECK(j["values"].contains(member));
    for (const char* member : {"pipe", "reason", "source_line", "share"}) CHECK(j["bottleneck"].contains(member));
    for (const char* member : {"wall_s", "instructions", "events", "instructions_per_s"}) CHECK(j["sim"].contains(member));
    for (const char* member : {"chip_hash", "model_version", "l2", "seed", "mode", "notes"}) CHECK(j["assumptions"].contains(member));
}

TEST_CASE("figures of a run follow from each other") {
    const json j = object("run matmul" + kShape + " --json");
    CHECK(j["flops"] == 2.0 * 100 * 60 * 70);
    CHECK(j["core_time_us"].get<double>() == Approx(j["cycles"].get<double>() / 1800));  // the 910B2 runs at 1800 MHz
    CHECK(j["tflops"].get<double>() == Approx(j["flops"].get<double>() / j["core_time_us"].get<double>() / 1e6));
    CHECK(j["peak_fraction"].get<double>() == Approx(j["tflops"].get<double>() / (24 * 4096 * 2 * 1800e6 / 1e12)));
    CHECK(j["memory"]["gm_write_bytes"] == 100 * 60 * 2);
    CHECK(j["values"]["equal"] == true);
    for (const json& p : j["pipe_details"]) {
        INFO(p.dump());
        CHECK(p["busy"].get<double>() + p["stalled"].get<double>() + p["idle"].get<double>() == Approx(1));
    }
}

TEST_CASE("the same run gives the same report except for host time") {
    json a = object("run swiglu --shape m=33,d=100 --json"), b = object("run swiglu --shape m=33,d=100 --json");
    a.erase("sim");
    b.erase("sim");
    CHECK(a == b);
}

TEST_CASE("a program that was printed runs again with the same cycles") {
    const TemporaryFolder folder;
    const Outcome text = command("dis matmul" + kShape);
    REQUIRE(text.status == 0);
    const std::string file = folder.file("matmul.sfa", text.out);
    CHECK(command("dis " + file + " --shape A.0=100,A.1=70,B.0=70,B.1=60,C.0=100,C.1=60").out == text.out);
    const json kernel = object("run matmul" + kShape + " --json");
    const json again = object("run " + file + " --shape A.0=100,A.1=70,B.0=70,B.1=60,C.0=100,C.1=60 --json");
    CHECK(again["cycles"] == kernel["cycles"]);
    CHECK(again["values"]["checked"] == true);
    CHECK(again["values"]["equal"] == true);
}

TEST_CASE("--out holds program, trace and reports") {
    const TemporaryFolder folder;
    const Outcome o = command("run matmul" + kShape + " --out " + (folder / "result"));
    REQUIRE(o.status == 0);
    for (const char* name : {"program.sfa", "trace.json.gz", "report.txt", "report.json"})
        CHECK(std::filesystem::file_size(folder.path / "result" / name) > 100);
    CHECK(read_file(folder / "result/report.txt") == o.out);
    CHECK(json::parse(read_file(folder / "result/report.json"))["kernel"] == "matmul");
    for (const auto& entry : std::filesystem::directory_iterator(folder.path / "result")) CHECK(entry.path().extension() != ".part");
}

TEST_CASE("a trace holds what the model counted") {
    const TemporaryFolder folder;
    const json j = object("run matmul" + kShape + " --trace " + (folder / "t.json") + " --json");
    const json trace = json::parse(read_file(folder / "t.json"));
    std::int64_t slices = 0, bytes = 0;
    for (const json& e : trace["traceEvents"]) {
        slices += e["ph"] == "X";
        if (e["ph"] == "X" && e["name"] != "mov_l1_l0a" && e["name"] != "mov_l1_l0b" && e["args"].contains("process_bytes"))
            bytes += e["args"]["process_bytes"].get<std::int64_t>();
    }
    CHECK(slices == j["sim"]["instructions"].get<std::int64_t>() + j["blocks"].get<std::int64_t>());  // and one slice per core for the launch
    CHECK(j["trace"]["slices"] == slices);
    CHECK(bytes == j["memory"]["gm_read_bytes"].get<std::int64_t>() + j["memory"]["gm_write_bytes"].get<std::int64_t>());
}

TEST_CASE("a trace window says on the console what it left out") {
    const TemporaryFolder folder;
    const Outcome o = command("run matmul --trace " + (folder / "t.json") + " --trace-window 2:3 --trace-cores 0");
    REQUIRE(o.status == 0);
    CHECK_THAT(o.out, Contains("slices outside the chosen window and cores are left out"));
}

TEST_CASE("tables of pipes and lines stand beside the report and hold its numbers") {
    const TemporaryFolder folder;
    REQUIRE(command("run matmul_bias_relu --shape m=100,n=80,k=64 --then swiglu --out " + (folder / "out")).status == 0);
    const json report = json::parse(read_file(folder / "out/report.json"));
    std::istringstream pipes(read_file(folder / "out/pipes.csv")), lines(read_file(folder / "out/lines.csv"));
    std::string row;
    std::getline(pipes, row);
    CHECK(row == "launch,kernel,core,cores,pipe,busy_ratio,stalled_ratio,idle_ratio,bank_conflict_ratio,instructions,bytes");
    int rows = 0;
    double share = 0;
    for (; std::getline(pipes, row); ++rows) {
        std::vector<std::string> cells(1);
        for (const char c : row)
            if (c == ',') cells.emplace_back();
            else cells.back() += c;
        REQUIRE(cells.size() == 11);
        share += std::stod(cells[5]) + std::stod(cells[6]) + std::stod(cells[7]);
    }
    CHECK(rows == static_cast<int>(report["launches"][0]["pipe_details"].size() + report["launches"][1]["pipe_details"].size()));
    CHECK(share == Approx(rows));  // busy, stalled and idle are the whole window of every pipe
    std::getline(lines, row);
    CHECK(row == "launch,kernel,code,instructions,call_count,running_time(us),stalled_time(us),bytes");
    std::getline(lines, row);
    CHECK_THAT(row, Catch::StartsWith("1,matmul_bias_relu,"));
    CHECK_THAT(row, Contains("kernels/matmul.cpp:"));
}

TEST_CASE("own data goes in and results come out") {
    const TemporaryFolder folder;
    REQUIRE(command("run add --shape m=8,n=16 --dump Z=" + (folder / "z.npy")).status == 0);
    // x + (x + y) with the sum of the first run as second operand
    REQUIRE(command("run add --shape m=8,n=16 --input Y=" + (folder / "z.npy") + " --dump Z=" + (folder / "w.npy")).status == 0);
    CHECK(std::filesystem::file_size(folder.path / "w.npy") == 128 + 8 * 16 * 2);
    CHECK(read_file(folder / "w.npy") != read_file(folder / "z.npy"));
}

TEST_CASE("variants stand side by side") {
    const json j = object("run matmul_bias_relu" + kShape + " --compare maths,explicit --json");
    REQUIRE(j["variants"].size() == 2);
    CHECK(j["variants"][0]["variant"] == "maths");
    CHECK(j["variants"][1]["variant"] == "explicit");
    const Outcome text = command("run matmul" + kShape + " --compare Ascend910B2,Ascend910B4");
    CHECK(text.status == 0);
    CHECK_THAT(text.out, Contains("Ascend910B4") && Contains("core time us") && Contains("equal"));
}

TEST_CASE("explain gives capacity, order and decisions with lines") {
    const Outcome o = command("explain matmul_bias_relu" + kShape);
    REQUIRE(o.status == 0);
    CHECK_THAT(o.out, Contains("capacity") && Contains("kernels/matmul.cpp:") && Contains("L0C") && Contains("runner-up") && Contains("memory map"));
    const json j = object("explain matmul_bias_relu" + kShape + " --json");
    CHECK(j["sync"]["flags"].size() > 0);
    CHECK(j["sync"]["conflicts"].size() >= j["sync"]["flags"].size());
    CHECK(j["capacity"]["L0C"]["buffers"].size() > 0);
}

TEST_CASE("the text after each pass can be printed") {
    const Outcome names = command("dis matmul --after list");
    REQUIRE(names.status == 0);
    CHECK_THAT(names.out, Contains("lower") && Contains("insert_sync"));
    const Outcome before = command("dis matmul --after plan_buffers");
    const Outcome after = command("dis matmul --after insert_sync");
    CHECK_THAT(before.out, !Contains("set_flag"));
    CHECK_THAT(after.out, Contains("set_flag"));
}

TEST_CASE("--set changes the prediction and is named as the origin") {
    const json slow = object("run gm_to_ub --mode time --set memory.hbm.bandwidth=0.2TB/s --json"), fast = object("run gm_to_ub --mode time --json");
    CHECK(slow["core_time_us"].get<double>() > 2 * fast["core_time_us"].get<double>());
    CHECK(slow["assumptions"]["chip_hash"] != fast["assumptions"]["chip_hash"]);
    const json config = object("run gm_to_ub --set memory.hbm.bandwidth=0.2TB/s --show-config --json");
    CHECK(config["values"]["memory.hbm.bandwidth"]["origin"] == "--set");
}

TEST_CASE("chips, kernels and isa list what there is") {
    CHECK(object("chips --json")["chips"].size() == 8);
    CHECK(object("chips Ascend910B2 --json")["values"].size() > 50);
    const json kernels = object("kernels --json")["kernels"];
    CHECK(kernels.size() >= 10);
    CHECK(command("chips --page").out == read_file("docs/chips.md"));
    CHECK(command("isa --page").out == read_file("docs/isa.md"));
    CHECK(command("kernels --page").out == read_file("docs/kernels.md"));
    CHECK_THAT(command("isa").out, Contains("mmad") && Contains("fix_l0c_gm"));
}

TEST_CASE("no progress bar when stderr is not a terminal, and every run prints its own speed") {
    const Outcome o = command("run matmul --mode time");
    CHECK(o.err.empty());
    CHECK_THAT(o.out, Contains("instructions in") && Contains("million a second"));
}

TEST_CASE("help names every verb and exits with 0") {
    const Outcome o = command("--help");
    CHECK(o.status == 0);
    for (const char* verb : {"run", "dis", "explain", "validate", "chips", "kernels", "isa"}) CHECK_THAT(o.out, Contains(verb));
    CHECK(command("run --help").status == 0);
    CHECK(command("").status == 2);
}
