// SPDX-License-Identifier: Apache-2.0
// Malformed chip files and options: one message each that names file, place, what was found and what is allowed.
#include <catch2/catch.hpp>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "isa/chip.h"
#include "isa/diagnostic.h"

using namespace sfumato::isa;
using Catch::Contains;

namespace {

std::string message(const std::string& text, const std::vector<std::string>& sets = {}) {
    try {
        parse_chip(text, "isa/chips/test.json", sets);
    } catch (const InputError& e) {
        return e.what();
    }
    return "accepted";
}
/// A chip that extends B2 with one more group of text.
std::string with(const std::string& more) { return R"({"extends": "Ascend910B2.json", "name": "Test")" + (more.empty() ? "" : ", " + more) + "}"; }
std::string number(const std::string& value, const std::string& unit, const std::string& rest = R"("source": "S1", "confidence": "measured")") {
    return R"({"value": )" + value + R"(, "unit": ")" + unit + R"(", )" + rest + "}";
}
std::string named(const std::string& chip) {
    try {
        load_chip(chip, {}, "isa/chips");
    } catch (const InputError& e) {
        return e.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("a file that extends another may override any number") {
    CHECK(message(with("")) == "accepted");
    CHECK(message(with(R"("clock": {"core": )" + number("2", "GHz") + "}")) == "accepted");
    CHECK(parse_chip(with(R"("clock": {"core": )" + number("2", "GHz") + "}"), "isa/chips/test.json").cores.clock_mhz == 2000);
}

TEST_CASE("a syntax error names line and column") {
    CHECK_THAT(message("{\n  \"name\": \"x\",\n  \"arch\" \"y\"\n}"), Contains("isa/chips/test.json:3:") && Contains("not JSON"));
    CHECK_THAT(message(""), Contains("isa/chips/test.json:1:1: not JSON"));
    CHECK_THAT(message("[1]"), Contains("a chip file is one object, found array"));
}

TEST_CASE("an unknown key names its JSON pointer and the nearest key") {
    CHECK_THAT(message(with(R"("clok": {})")), Contains("at /clok: unknown key 'clok'; did you mean 'clock'?"));
    CHECK_THAT(message(with(R"("memory": {"l2": {"capcity": 1}})")),
               Contains("at /memory/l2/capcity: unknown key 'capcity'; did you mean 'capacity'?"));
    CHECK_THAT(message(with(R"("clock": {"core": {"value": 1, "unit": "GHz", "source": "S1", "confidense": "x"}})")),
               Contains("at /clock/core/confidense: unknown key 'confidense' in a number; did you mean 'confidence'?"));
}

TEST_CASE("a missing number names its JSON pointer, its meaning and its units") {
    const std::string text = R"({"name": "x", "arch": "y", "clock": {"core": )" + number("1", "GHz") + "}}";
    CHECK_THAT(message(text), Contains("at /cores/aic: missing number: cores.aic, cube cores of a split chip (unit 1)"));
    CHECK_THAT(message(R"({"arch": "y"})"), Contains("at /name: a chip file needs a name"));
    CHECK_THAT(message(R"({"name": "y"})"), Contains("at /arch: a chip file needs an arch"));
}

TEST_CASE("a path is described wholly or not at all") {
    CHECK_THAT(message(with(R"("paths": {"l1_ub": {"rate": )" + number("128", "B/cycle") + "}}")),
               Contains("at /paths/l1_ub/start: missing number: paths.l1_ub.start"));
}

TEST_CASE("a number needs value, unit, source and confidence, and an assumed one its reason") {
    CHECK_THAT(message(with(R"("clock": {"core": 1800})")), Contains("at /clock/core: a number is written {\"value\"") && Contains("found number"));
    CHECK_THAT(message(with(R"("clock": {"core": {"value": 1, "unit": "GHz", "source": "S1"}})")), Contains("needs the key 'confidence'"));
    CHECK_THAT(message(with(R"("clock": {"core": )" + number("1", "GHz", R"("source": "", "confidence": "measured")") + "}")),
               Contains("a number without a source"));
    CHECK_THAT(message(with(R"("clock": {"core": )" + number("1", "GHz", R"("source": "S1", "confidence": "sure")") + "}")),
               Contains("'sure' is not one of published, measured, derived, assumed"));
    CHECK_THAT(message(with(R"("clock": {"core": )" + number("1", "GHz", R"("source": "S1", "confidence": "assumed")") + "}")),
               Contains("needs a 'note'"));
    CHECK_THAT(message(with(R"("clock": {"core": )" + number("\"fast\"", "GHz") + "}")),
               Contains("at /clock/core/value: must be a number, found string"));
    CHECK_THAT(message(with(R"("memory": {"l2": {"hashed": )" + number("1", "bool") + "}}")), Contains("must be true or false, found 1"));
}

TEST_CASE("a unit of another quantity is refused with those allowed") {
    CHECK_THAT(message(with(R"("clock": {"core": )" + number("1", "GB/s") + "}")),
               Contains("unit 'GB/s' does not fit clock.core; allowed: MHz, GHz"));
    CHECK_THAT(message(with(R"("memory": {"hbm": {"bandwidth": )" + number("1", "ns") + "}}")), Contains("allowed: B/cycle, GB/s, GiB/s, TB/s"));
}

TEST_CASE("a number out of range or not whole is refused with the range") {
    CHECK_THAT(message(with(R"("clock": {"core": )" + number("-1", "GHz") + "}")), Contains("clock.core = -1000 is outside 1 to 100000 MHz"));
    CHECK_THAT(message(with(R"("flags": {"ids": )" + number("2.5", "1") + "}")), Contains("flags.ids must be a whole number, found 2.5"));
    CHECK_THAT(message(with(R"("memory": {"l2": {"ways": )" + number("23", "1") + "}}")),
               Contains("at /memory/l2: capacity") && Contains("is not a multiple of line x ways"));
    CHECK_THAT(message(with(R"("cores": {"merged": )" + number("2", "1") + "}")),
               Contains("at /cores: a chip has either aic and aiv cores or merged cores"));
    CHECK_THAT(message(with(R"("cores": {"aiv": )" + number("47", "1") + "}")), Contains("aiv must be a multiple of aic, found aic 24, aiv 47"));
}

TEST_CASE("extending names a plain file that exists, without a circle") {
    CHECK_THAT(message(R"({"extends": "nothing.json"})"), Contains("at /extends: there is no file 'nothing.json'"));
    CHECK_THAT(message(R"({"extends": "../isa/chips/dav-c220.json"})"), Contains("must be the plain name of a .json file"));
    const std::string file = "chip_circle_test.json";
    std::ofstream(file) << R"({"extends": "chip_circle_test.json", "name": "x"})";
    CHECK_THAT(named(file), Contains("extend each other in a circle"));
    std::remove(file.c_str());
}

TEST_CASE("an override needs a known path and a value; the nearest path is offered") {
    CHECK_THAT(message(with(""), {"memory.hbm.bandwith=1"}),
               Contains("a chip has no number 'memory.hbm.bandwith'; did you mean 'memory.hbm.bandwidth'?"));
    CHECK_THAT(message(with(""), {"clock.core"}), Contains("write path=value, for example memory.hbm.bandwidth=3.2TB/s"));
    CHECK_THAT(message(with(""), {"clock.core=fast"}), Contains("'fast' is not a number"));
    CHECK_THAT(message(with(""), {"clock.core=1parsec"}), Contains("unit 'parsec' does not fit clock.core; allowed: MHz, GHz"));
    CHECK_THAT(message(with(""), {"memory.l2.hashed=maybe"}), Contains("'maybe' must be true or false"));
    CHECK_THAT(message(with(""), {"paths.l1_ub.rate=5"}), Contains("does not have this path, so the value needs a unit (B/cycle"));
}

TEST_CASE("an unknown chip offers the nearest name; a file that cannot be read is named") {
    CHECK_THAT(named("Ascend910B5"), Contains("unknown chip 'Ascend910B5'; did you mean 'Ascend910B1'?"));
    CHECK_THAT(named("no/such/file.json"), Contains("cannot read chip file 'no/such/file.json'"));
    CHECK_THROWS_WITH(load_chip("Ascend910B2", {}, "no/such/folder"), Contains("chip folder 'no/such/folder' does not exist"));
}
