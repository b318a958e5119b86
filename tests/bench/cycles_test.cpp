// SPDX-License-Identifier: Apache-2.0
// Simulated cycles are part of the product: a change of the model shows here and is written down in baseline.json on purpose.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lab/lab.h"

using namespace sfumato;

namespace {

lab::Request request(const nlohmann::json& row, sim::Mode mode) {
    lab::Request r;
    r.what = row.at("kernel");
    r.chip = row.at("chip");
    r.shape = row.at("shape");
    r.tile = row.at("tile");
    r.mode = mode;
    return r;
}

}  // namespace

TEST_CASE("Small runs take exactly the cycles of the baseline, with and without values") {
    const nlohmann::json baseline = nlohmann::json::parse(std::ifstream("tests/bench/baseline.json"));
    REQUIRE(baseline.size() >= 6);
    for (const auto& row : baseline) {
        const traces::RunReport time = lab::run(request(row, sim::Mode::time)).report;
        INFO(row.dump() << " now takes " << time.cycles << " cycles; if that is meant, change tests/bench/baseline.json");
        CHECK(time.status == "ok");
        CHECK(time.cycles == row.at("cycles").get<std::int64_t>());
        CHECK(lab::run(request(row, sim::Mode::both)).report.cycles == time.cycles);
    }
}
