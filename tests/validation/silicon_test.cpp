// SPDX-License-Identifier: Apache-2.0
// Predictions against silicon, on the rows that run in seconds; `sfumato validate` covers the rest.
#include <catch2/catch.hpp>

#include <cmath>
#include <fstream>
#include <iterator>

#include "lab/validate.h"

using namespace sfumato;

namespace {

std::vector<lab::MeasuredRow> rows_of(const std::string& file, const std::function<bool(const lab::MeasuredRow&)>& want) {
    std::ifstream in(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
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
        CHECK(std::abs(r.error) < (r.kind == lab::MetricKind::hit_ratio ? 0.05 : 0.15));
    }
}

TEST_CASE("bank conflicts cost what 1000 Adds of silicon cost, and scenarios keep their order") {
    const auto rows = rows_of("tests/validation/rows.csv", [](const auto& r) { return r.family == "ub_bank"; });
    const lab::Validation v = lab::validate(rows);
    REQUIRE(v.total.expressed >= 10);
    CHECK(v.families.at("ub_bank").core_mean_abs_error < 0.10);
    double free_of_conflict = 0, same_group = 0;
    for (const lab::RowResult& r : v.rows) {
        if (r.row.id == "M2949") free_of_conflict = r.predicted;
        if (r.row.id == "M2950") same_group = r.predicted;
    }
    CHECK(same_group / free_of_conflict == Approx(4167.0 / 2390).epsilon(0.10));
}

TEST_CASE("tile operations keep a mean precision of 0.8") {
    const auto rows = rows_of("tests/validation/rows.csv", [](const auto& r) { return r.family == "instr_cycles"; });
    const lab::Validation v = lab::validate(rows);
    REQUIRE(v.instruction_score);
    CHECK(*v.instruction_score >= 0.80);
}

TEST_CASE("the page names families, every row that ran and every reason for one that did not") {
    const auto rows = rows_of("tests/validation/rows.csv", [](const auto& r) { return r.family == "ub_bank" || r.kernel == "MemSet"; });
    const lab::Validation v = lab::validate(rows);
    const std::string page = lab::validation_page(v);
    for (const lab::RowResult& r : v.rows) CHECK(page.find(r.expressed ? "| " + r.row.id : r.note) != std::string::npos);
    CHECK(page.find("| ub_bank |") != std::string::npos);
}
