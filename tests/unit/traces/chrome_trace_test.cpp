// SPDX-License-Identifier: Apache-2.0
#include "traces/chrome_trace.h"

#include <unistd.h>
#include <zlib.h>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "isa/diagnostic.h"
#include "tests/unit/traces/event_stream.h"

using namespace sfumato;
using nlohmann::json;
using testing::events_of;
namespace fs = std::filesystem;

namespace {

std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}
std::string unzip(const std::string& path) {
    gzFile in = gzopen(path.c_str(), "rb");
    std::string out, part(1 << 16, '\0');
    for (int n; (n = gzread(in, part.data(), static_cast<unsigned>(part.size()))) > 0;) out.append(part.data(), static_cast<std::size_t>(n));
    gzclose(in);
    return out;
}
struct Folder {
    fs::path path = fs::temp_directory_path() / ("sfumato_trace_" + std::to_string(::getpid()));
    Folder() { fs::create_directories(path); }
    ~Folder() { fs::remove_all(path); }
    std::string operator/(const std::string& name) const { return (path / name).string(); }
};

struct Written {
    json doc;
    traces::TraceCounts counts;
    std::string text;
};
Written written(const std::vector<sim::Event>& events, traces::TraceOptions options = {}, const std::string& name = "t.json") {
    Folder folder;
    const isa::Chip chip = isa::load_chip("Ascend910B2");
    const isa::Program program = testing::load_and_add();
    traces::ChromeTrace trace(folder / name, chip, {&program}, std::move(options));
    for (const auto& e : events) trace.on_event(e);
    Written out;
    out.counts = trace.finish();
    out.text = name.ends_with(".gz") ? unzip(folder / name) : read(folder / name);
    out.doc = json::parse(out.text);
    CHECK_FALSE(fs::exists(folder / (name + ".part")));
    return out;
}
std::int64_t ns(const json& us) { return std::llround(us.get<double>() * 1000); }
std::string row(const json& e) { return e["pid"].get<std::string>() + "/" + e["tid"].get<std::string>(); }

// Partial overlaps of the slices of each row, by brute force over pairs.
int partial_overlaps(const json& doc) {
    std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> rows;
    for (const auto& e : doc["traceEvents"])
        if (e["ph"] == "X") rows[row(e)].push_back({ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])});
    int found = 0;
    for (auto& [name, spans] : rows)
        for (auto& [b, e] : spans)
            for (auto& [b2, e2] : spans) found += b < b2 && b2 < e && e < e2;
    return found;
}

}  // namespace

TEST_CASE("microseconds are printed with at most three decimals and no trailing zeros") {
    CHECK(traces::microseconds(0) == "0");
    CHECK(traces::microseconds(1) == "0.001");
    CHECK(traces::microseconds(1000) == "1");
    CHECK(traces::microseconds(1234560) == "1234.56");
    CHECK(traces::microseconds(100) == "0.1");
    CHECK(traces::microseconds(1'720'000) == "1720");
}

TEST_CASE("a reader that multiplies by 1000 and cuts gets every nanosecond back") {
    CHECK(traces::microseconds(1001) == "1.0010001");
    for (std::int64_t ns = 0; ns < 300'000; ns += ns < 20'000 ? 1 : 7) {
        const double read = std::stod(traces::microseconds(ns));
        if (static_cast<std::int64_t>(read * 1000) != ns) FAIL("lost at " << ns);
    }
    SUCCEED("none lost");
}

TEST_CASE("a tick becomes the nearest nanosecond of the core clock") {
    const isa::Chip chip = isa::load_chip("Ascend910B2");  // 1800 MHz
    const traces::TickClock clock(chip);
    CHECK(clock.ns(0) == 0);
    CHECK(clock.ns(1) == 1);  // 0.556 ns
    CHECK(clock.ns(1800) == 1000);
    CHECK(clock.ns(1'800'000'000'000) == 1'000'000'000'000);
    CHECK(clock.ticks(2.5) == 4500);
}

TEST_CASE("the header members stand before the first array, so that MindStudio Insight sees an operator simulation") {
    const Written w = written(events_of(1, 2, 1));
    const std::string head = w.text.substr(0, w.text.find('['));
    CHECK(head.find("\"schemaVersion\":2") != std::string::npos);
    CHECK(head.find("\"displayTimeUnit\":\"ns\"") != std::string::npos);
    CHECK(head.find("\"profilingType\":\"op\"") != std::string::npos);
}

TEST_CASE("a slice carries its pipe's row, exact cycles, bytes, source line and operands") {
    const Written w = written(events_of(3, 4, 7));
    int copies = 0;
    std::int64_t cycles = 0, bytes = 0, expected_cycles = 0;
    for (const auto& e : events_of(3, 4, 7))
        if (e.instr == 0) expected_cycles += e.end - e.begin;
    for (const auto& e : w.doc["traceEvents"]) {
        if (e["ph"] != "X" || e["name"] != "mov_gm_ub") continue;
        ++copies;
        CHECK(e["tid"].get<std::string>().rfind("MTE2", 0) == 0);
        CHECK(e["args"]["code"] == "built.cpp:1");
        CHECK_THAT(e["args"]["detail"].get<std::string>(), Catch::StartsWith("mov_gm_ub dst=") && Catch::Contains("cols=1024"));
        cycles += e["args"]["cycles"].get<std::int64_t>();
        bytes += e["args"]["process_bytes"].get<std::int64_t>();
    }
    CHECK(copies == 12);
    CHECK(cycles == expected_cycles);
    CHECK(bytes == 12 * 2048);
}

TEST_CASE("vector cores are named after their cube core") {
    const Written w = written(events_of(3, 1, 7));
    std::set<std::string> names;
    for (const auto& e : w.doc["traceEvents"])
        if (e["ph"] == "X") names.insert(e["pid"].get<std::string>());
    CHECK(names == std::set<std::string>{"core0.veccore0", "core0.veccore1", "core1.veccore0"});
    const isa::Chip split = isa::load_chip("Ascend910B2");
    CHECK(traces::core_name(split, {isa::CoreKind::aic, 5, 15}) == "core5.cubecore0");
    CHECK(traces::core_name(split, {isa::CoreKind::merged, 5, 5}) == "core5");
}

TEST_CASE("the slices of a row nest or are apart, transfers in flight together get extra rows") {
    bool extra_row = false;
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
        const Written w = written(events_of(2, 25, seed));
        INFO("seed " << seed);
        CHECK(partial_overlaps(w.doc) == 0);
        for (const auto& e : w.doc["traceEvents"]) extra_row |= e["ph"] == "X" && e["tid"] == "MTE2#1";
    }
    CHECK(extra_row);
}

TEST_CASE("every wait that consumed a set has one arrow, stamped inside slices, with a numeric id") {
    const auto events = events_of(2, 10, 3);
    const Written w = written(events);
    std::int64_t waits = 0;
    for (const auto& e : events) waits += e.kind == sim::EventKind::wait_flag;
    CHECK(w.counts.arrows == waits);
    std::map<std::int64_t, int> ends;
    for (const auto& e : w.doc["traceEvents"]) {
        if (e["ph"] != "s" && e["ph"] != "t") continue;
        CHECK(e["id"].is_number_integer());
        CHECK((e["cat"] == "MTE2ToVECTOR" || e["cat"] == "VECTORToMTE2"));
        CHECK(e["name"] == "flow");
        ends[e["id"].get<std::int64_t>()] += e["ph"] == "s" ? 1 : 100;
        bool inside = false;
        for (const auto& x : w.doc["traceEvents"]) {
            if (x["ph"] != "X" || row(x) != row(e) || x["name"] != (e["ph"] == "s" ? "set_flag" : "wait_flag")) continue;
            inside |= ns(x["ts"]) <= ns(e["ts"]) && ns(e["ts"]) < ns(x["ts"]) + ns(x["dur"]);
        }
        CHECK(inside);
    }
    CHECK(static_cast<std::int64_t>(ends.size()) == waits);
    for (const auto& [id, sum] : ends) CHECK(sum == 101);
}

TEST_CASE("counts say what the file holds") {
    const auto events = events_of(3, 20, 5);
    const Written w = written(events);
    std::int64_t slices = 0, arrows = 0, samples = 0;
    std::set<std::string> rows, series;
    for (const auto& e : w.doc["traceEvents"]) {
        if (e["ph"] == "X") ++slices, rows.insert(row(e));
        if (e["ph"] == "t") ++arrows;
        if (e["ph"] == "C") ++samples, series.insert(e["name"].get<std::string>());
    }
    CHECK(slices == static_cast<std::int64_t>(events.size()));
    CHECK(w.counts.slices == slices);
    CHECK(w.counts.rows == static_cast<std::int64_t>(rows.size()));
    CHECK(w.counts.arrows == arrows);
    CHECK(w.counts.samples == samples);
    CHECK(w.counts.series == static_cast<std::int64_t>(series.size()));
    CHECK(series == std::set<std::string>{"GM_TO_UB", "GM_TO_TOTAL"});
    CHECK(w.counts.left_out == 0);
    CHECK(w.counts.note.empty());
}

TEST_CASE("a window keeps the slices that touch it and says how many it left out, in the file and to the caller") {
    const auto events = events_of(2, 20, 5);
    traces::TraceOptions options;
    options.begin = 400;
    options.end = 900;
    const Written w = written(events, options);
    std::int64_t inside = 0;
    for (const auto& e : events) inside += e.end > 400 && e.begin < 900;
    CHECK(inside > 0);
    CHECK(w.counts.slices == inside);
    CHECK(w.counts.left_out == static_cast<std::int64_t>(events.size()) - inside);
    CHECK(w.doc["otherData"]["left_out_slices"] == w.counts.left_out);
    CHECK(w.doc["otherData"]["note"] == w.counts.note);
    CHECK(w.counts.note.find("outside the chosen window") != std::string::npos);
    for (const auto& e : w.doc["traceEvents"]) {  // no arrow without both ends
        if (e["ph"] == "s") CHECK(ns(e["ts"]) >= 0);
    }
}

TEST_CASE("chosen cores keep both kinds of core of that number") {
    traces::TraceOptions options;
    options.cores = {1};
    const Written w = written(events_of(4, 5, 5), options);
    std::set<std::string> names;
    for (const auto& e : w.doc["traceEvents"])
        if (e["ph"] == "X") names.insert(e["pid"].get<std::string>());
    CHECK(names == std::set<std::string>{"core1.veccore0", "core1.veccore1"});
}

TEST_CASE("beyond the limit of slices the file stays whole and says what is missing") {
    traces::TraceOptions options;
    options.max_slices = 10;
    const auto events = events_of(2, 20, 5);
    const Written w = written(events, options);
    CHECK(w.counts.slices == 10);
    CHECK(w.counts.left_out == static_cast<std::int64_t>(events.size()) - 10);
    CHECK(w.counts.note.find("beyond the limit of 10") != std::string::npos);
    CHECK(w.counts.note.find("--trace-window") != std::string::npos);
}

TEST_CASE("the counters hold every byte of the transfers") {
    const auto events = events_of(2, 20, 5);
    const Written w = written(events);
    const isa::Chip chip = isa::load_chip("Ascend910B2");
    // Integrate the drawn steps: MB/s times microseconds is bytes, each sample rounded down to one MB/s.
    double bytes = 0, value = 0, at = 0;
    for (const auto& e : w.doc["traceEvents"]) {
        if (e["ph"] != "C" || e["name"] != "GM_TO_TOTAL") continue;
        bytes += value * (e["ts"].get<double>() - at);
        at = e["ts"].get<double>();
        value = e["args"]["MB/s"].get<double>();
    }
    CHECK(value == 0);  // the last sample closes the area
    CHECK(bytes == Approx(2.0 * 20 * 2048).epsilon(0.02));
}

TEST_CASE("a name ending in .gz is compressed and holds the same text") {
    const auto events = events_of(2, 20, 5);
    CHECK(written(events, {}, "t.json.gz").text == written(events).text);
}

TEST_CASE("the same events give the same bytes") { CHECK(written(events_of(3, 9, 2)).text == written(events_of(3, 9, 2)).text); }

TEST_CASE("a trace that cannot be written is an input error and leaves nothing behind") {
    const isa::Chip chip = isa::load_chip("Ascend910B2");
    const isa::Program program = testing::load_and_add();
    SECTION("unwritable path") {
        CHECK_THROWS_WITH(traces::ChromeTrace("/nonexistent/folder/t.json", chip, {&program}),
                          Catch::Contains("/nonexistent/folder/t.json: cannot write: No such file or directory"));
    }
    SECTION("a folder") {
        Folder folder;
        CHECK_THROWS_WITH(traces::ChromeTrace(folder.path.string(), chip, {&program}), Catch::Contains("Is a directory"));
    }
    SECTION("full disk") {
        traces::ChromeTrace trace("/dev/full", chip, {&program});
        for (const auto& e : events_of(2, 20, 5)) trace.on_event(e);
        CHECK_THROWS_AS(trace.finish(), isa::InputError);
        CHECK_FALSE(fs::exists("/dev/full.part"));
        CHECK(fs::is_character_file("/dev/full"));
    }
    SECTION("abandoned") {
        Folder folder;
        { traces::ChromeTrace trace(folder / "t.json", chip, {&program}); }
        CHECK(fs::is_empty(folder.path));
    }
}
