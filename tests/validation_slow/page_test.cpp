// SPDX-License-Identifier: Apache-2.0
// Everything that takes minutes: the whole table on the model, and the page it gives.
#include <catch2/catch.hpp>

#include <fstream>
#include <iterator>

#include "lab/validate.h"

using namespace sfumato;

namespace {
std::string text_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
}  // namespace

TEST_CASE("the whole table: core times, the ladder and the committed page") {
    const auto rows = lab::parse_rows(text_of("tests/validation/rows.csv"), "rows.csv");
    lab::Validation v = lab::validate(rows);
    CHECK(v.known_kernels.core_mean_abs_error < 0.10);
    CHECK(v.known_kernels.beyond_30 * 20 <= v.known_kernels.expressed);
    std::vector<const lab::RowResult*> steps;
    for (const lab::RowResult& r : v.rows)
        if (r.row.family == "ladder") steps.push_back(&r);
    REQUIRE(steps.size() == 9);
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
        INFO(steps[i]->row.tiling << " predicted " << steps[i]->predicted << ", next " << steps[i + 1]->predicted);
        CHECK(steps[i]->predicted > steps[i + 1]->predicted);
        CHECK(steps[i]->predicted / steps[i + 1]->predicted == Approx(steps[i]->row.value / steps[i + 1]->row.value).epsilon(0.15));
    }
    v.constants = lab::fitted_constants(rows);
    v.hit_curve = lab::hit_rate_curve();
    for (const lab::ConstantUse& c : v.constants) {
        INFO(c.path);
        CHECK(c.rows.size() >= 3);
    }
    CHECK((lab::validation_page(v) == text_of("docs/validation.md")));
}
