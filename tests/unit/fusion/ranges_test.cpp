// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "fusion/import.h"
#include "isa/diagnostic.h"

using namespace sfumato;
using namespace sfumato::fusion;
using Catch::Contains;

namespace {
constexpr Range kAny{};
Graph with_input() {
    Graph g;
    Value v;
    v.name = "input_ids";
    v.type = ElemType::i64;
    v.shape = Shape{g.symbols().named("batch"), 256};
    g.inputs = {g.add_value(v)};
    return g;
}
}  // namespace

TEST_CASE("shape ranges are read with and without brackets, as ranges, sizes and -1") {
    const std::vector<InputRange> expected{{"input", {{1, 64}, {256, 256}, kAny}}, {"mask:0", {kAny, {0, Range::kUnbounded}}}};
    CHECK(parse_shape_ranges("input:[1~64,256,-1];mask:0:[-1,0~-1]") == expected);
    CHECK(parse_shape_ranges("input:1~64,256,-1;mask:0:-1,0~-1") == expected);
    CHECK(parse_shape_ranges(" input : [ 1~64 , 256, -1 ] ; mask:0:-1,0 ~ -1;") == expected);
    CHECK(parse_shape_ranges("scalar:[]") == std::vector<InputRange>{{"scalar", {}}});
}

TEST_CASE("a shape range that cannot be read shows the piece and the form") {
    for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{{"", "no input is named"},
                                                                                     {"1,2", "no input is named"},
                                                                                     {"x:1,b", "'b' is no size"},
                                                                                     {"x:1,,2", "'' is no size"},
                                                                                     {"x:-2", "-2 is below 0"},
                                                                                     {"x:5~2", "5~2 is empty"},
                                                                                     {"x:[1,2", "no partner"},
                                                                                     {"x:99999999999999999999", "is no size"},
                                                                                     {"x:1;x:2", "has a range already"}})
        CHECK_THROWS_WITH(parse_shape_ranges(text), Contains(what) && Contains("write name:d0,d1"));
}

TEST_CASE("ranges narrow the symbols of the inputs and are refused where the model contradicts") {
    Graph g = with_input();
    apply_shape_ranges(g, parse_shape_ranges("input_ids:1~64,256"));
    CHECK(g.symbols().range("batch") == Range{1, 64});
    CHECK_THROWS_WITH(apply_shape_ranges(g, parse_shape_ranges("input_ids:1~64,128")), Contains("dimension 1") && Contains("256") && Contains("128"));
    CHECK_THROWS_WITH(apply_shape_ranges(g, parse_shape_ranges("input_ids:1")), Contains("1 sizes, the input has 2"));
    CHECK_THROWS_WITH(apply_shape_ranges(g, parse_shape_ranges("input_id:1,256")), Contains("no input input_id") && Contains("nearest is input_ids"));
    CHECK_THROWS_WITH(apply_shape_ranges(g, parse_shape_ranges("input_ids:65,256")), Contains("batch") && Contains("1~64"));
}
