// SPDX-License-Identifier: Apache-2.0
// Predictions against silicon, on the rows that run in seconds; `sfumato validate` covers the rest.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "isa/chip.h"
#include "lab/experiment.h"
#include "lab/silicon.h"
#include "lab/validate.h"
#include "sim/simulator.h"

using namespace sfumato;

namespace {

std::string text_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
std::vector<lab::MeasuredRow> rows_of(const std::string& file, const std::function<bool(const lab::MeasuredRow&)>& want) {
    const std::string text = text_of(file);
    std::vector<lab::MeasuredRow> out;
    for (const lab::MeasuredRow& r : lab::parse_rows(text, file))
        if (want(r)) out.push_back(r);
    return out;
}
bool begins(const std::string& s, const std::string& head) { return s.rfind(head, 0) == 0; }

}  // namespace

TEST_CASE("reads from HBM are within 10 % on average and 15 % each") {
    const auto rows = rows_of("tests/validation/rows.csv", [](const auto& r) {
        return r.family == "c220" && begins(r.kernel, "GM->") && r.metric == "mte2_time" && r.tiling != "48 AIV, tile 1x64";
    });
    REQUIRE(rows.size() >= 6);
    const lab::Validation v = lab::validate(rows);
    CHECK(v.total.expressed == static_cast<std::int64_t>(rows.size()));
    CHECK(v.total.mean_abs_error < 0.10);
    CHECK(v.total.max_abs_error < 0.15);
}

TEST_CASE("bandwidth follows the L2 hit rate of published matmuls") {
    const auto rows = rows_of("tests/validation/rows.csv", [](const auto& r) { return r.family == "hit_rate"; });
    REQUIRE(rows.size() == 4);
    const lab::Validation v = lab::validate(rows);
    for (const lab::RowResult& r : v.rows) {
        INFO(r.row.id << " " << r.row.metric << " measured " << r.row.value << " predicted " << r.predicted);
        CHECK(std::abs(r.error) < (r.kind == lab::MetricKind::hit_ratio ? 0.05 : 0.10));
    }
}

TEST_CASE("bandwidth against hit rate stays within 10 % along the whole curve") {
    const std::vector<lab::CurvePoint> curve = lab::hit_rate_curve();
    REQUIRE(curve.size() == 4);
    for (const lab::CurvePoint& p : curve) {
        INFO(p.hits << " hits: measured " << p.measured << ", predicted " << p.predicted);
        CHECK(p.predicted == Approx(p.measured).epsilon(0.10));
    }
}

TEST_CASE("bank conflicts cost what 1000 Adds of silicon cost, and scenarios keep their order") {
    const auto rows = rows_of("tests/validation/rows.csv", [](const auto& r) { return r.family == "ub_bank"; });
    const lab::Validation v = lab::validate(rows);
    REQUIRE(v.total.expressed >= 10);
    CHECK(v.families.at("ub_bank").core_mean_abs_error < 0.06);
    double free_of_conflict = 0, same_group = 0;
    for (const lab::RowResult& r : v.rows) {
        if (r.row.id == "M2949") free_of_conflict = r.predicted;
        if (r.row.id == "M2950") same_group = r.predicted;
    }
    CHECK(same_group / free_of_conflict == Approx(4167.0 / 2390).epsilon(0.10));
}

TEST_CASE("core times of known kernels are within 10 % on average, and at most one row in twenty is beyond 30 %") {
    // Matmuls of 8192 cubed take seconds each: they are part of the slow suite.
    const auto rows = rows_of("tests/validation/rows.csv", [](const auto& r) {
        const bool known = std::any_of(std::begin(lab::kKnownKernels), std::end(lab::kKnownKernels), [&](const char* f) { return r.family == f; });
        return known && r.shape.find("8192 (B") == std::string::npos;
    });
    const lab::Validation v = lab::validate(rows);
    REQUIRE(v.known_kernels.core_rows >= 34);
    CHECK(v.known_kernels.core_mean_abs_error < 0.10);
    CHECK(v.known_kernels.beyond_30 * 20 <= v.known_kernels.expressed);
    CHECK(v.families.at("copy_fill").core_mean_abs_error < 0.12);
    for (const lab::RowResult& r : v.rows) {
        INFO(r.row.id << " " << r.row.metric << " " << r.error);
        CHECK(r.explanation != "not explained");
    }
}

TEST_CASE("a matmul whose A stays in L1 reads it once, and B once for each block of rows") {
    lab::silicon::MatmulPlan p;
    p.m = 256;
    p.n = 1024;
    p.k = 512;
    p.cores = 1;
    p.step_a = p.step_b = 2;
    p.single_m = p.m;
    p.single_n = p.n;
    lab::Experiment e;
    e.kind = isa::CoreKind::aic;
    const isa::Chip chip = isa::load_chip("Ascend910B1");
    const auto read_bytes = [&](const lab::silicon::MatmulPlan& plan) {
        e.build = [plan](const isa::Chip&) { return lab::silicon::matmul_kernel(plan); };
        const lab::Outcome o = lab::run_experiment(e, chip);
        CHECK(o.fault.empty());
        return o.read_bytes;
    };
    const double a = 2.0 * 256 * 512, b = 2.0 * 1024 * 512;
    CHECK(read_bytes(p) == 4 * a + 2 * b);  // four columns of blocks, two rows of blocks
    p.a_stays = true;
    CHECK(read_bytes(p) == a + 2 * b);
    p.a_stays = false;
    p.rows_first = true;
    CHECK(read_bytes(p) == 4 * a + 2 * b);
}

TEST_CASE("the committed page belongs to these chips, this model and these rows") {
    const std::string page = text_of("docs/validation.md");
    INFO("regenerate with: sfumato validate tests/validation/rows.csv --page > docs/validation.md");
    for (const char* chip : {"Ascend910B1", "Ascend910B4"}) {
        const std::string line =
            std::string("- ") + chip + ": chip hash " + isa::load_chip(chip).hash + ", model version " + sim::kModelVersion + "\n";
        CHECK(page.find(line) != std::string::npos);
    }
    const auto rows = rows_of("tests/validation/rows.csv", [](const auto&) { return true; });
    CHECK(page.find("- rows: hash " + lab::hash_of(rows) + "\n") != std::string::npos);
}

TEST_CASE("every fitted number of the chip files is felt by three rows or more") {
    const std::string page = text_of("docs/validation.md");
    REQUIRE(page.find("## Fitted numbers of the chip files") != std::string::npos);
    CHECK(page.find("fewer than three") == std::string::npos);
    // the numbers of the page are those of the chip file
    for (const auto& [path, from] : isa::load_chip("Ascend910B1").provenance) {
        if (from.source != "fit" && from.source != "rows") continue;
        INFO(path);
        CHECK(page.find("| `" + path + "` | " + from.value + " ") != std::string::npos);
    }
}

TEST_CASE("tile operations keep a mean precision of 0.85") {
    const auto rows = rows_of("tests/validation/rows.csv", [](const auto& r) { return r.family == "instr_cycles"; });
    const lab::Validation v = lab::validate(rows);
    REQUIRE(v.instruction_score);
    CHECK(*v.instruction_score >= 0.85);
}

TEST_CASE("the page names families, every row that ran and every reason for one that did not") {
    const auto rows = rows_of("tests/validation/rows.csv", [](const auto& r) { return r.family == "ub_bank" || r.kernel == "MemSet"; });
    const lab::Validation v = lab::validate(rows);
    const std::string page = lab::validation_page(v);
    for (const lab::RowResult& r : v.rows) CHECK(page.find(r.expressed ? "| " + r.row.id : r.note) != std::string::npos);
    CHECK(page.find("| ub_bank |") != std::string::npos);
}
