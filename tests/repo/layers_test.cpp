// SPDX-License-Identifier: Apache-2.0
// The layer table of docs/architecture.md as data, checked against every #include in the tree.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = fs::current_path();  // tests run in the source folder

struct Layer {
    std::set<std::string> may_include;
    bool everything = false;
};
const std::map<std::string, Layer> kLayers{
    {"isa", {{"isa"}}},
    {"sim", {{"sim", "isa"}}},
    {"dsl", {{"dsl", "isa"}}},
    {"kernels", {{"kernels", "dsl", "isa"}}},
    {"fusion", {{"fusion", "kernels", "dsl", "isa"}}},
    {"traces", {{"traces", "isa", "sim/event.h", "sim/report.h"}}},
    {"lab", {{"lab", "fusion", "kernels", "dsl", "sim", "traces", "isa"}}},
    {"tools", {{}, true}},
};

// Where a third-party header may stand: folder prefixes; an entry ending in .cpp means sources only, in that folder.
struct ThirdParty {
    std::string header;
    std::set<std::string> folders;
    bool sources_only = true;
};
const ThirdParty kThirdParty[] = {
    {"systemc", {"sim/hw", "sim/simulator.cpp"}, false},
    {"Eigen/", {"sim/exec", "kernels/reference", "fusion"}, false},
    {"nlohmann/", {"isa", "traces", "lab", "tools", "fusion"}},
    {"CLI/", {"tools"}, false},
    {"zlib.h", {"traces"}},
    {"onnx/", {"fusion"}},
};

struct Include {
    fs::path file;
    std::string name;
};

std::vector<Include> includes() {
    std::vector<Include> out;
    const std::regex pattern(R"re(^\s*#\s*include\s*[<"]([^>"]+)[>"])re");
    for (const auto& [folder, layer] : kLayers) {
        if (!fs::exists(kRoot / folder)) continue;
        for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
            const auto ext = entry.path().extension();
            if (ext != ".h" && ext != ".cpp") continue;
            std::ifstream in(entry.path());
            std::smatch match;
            for (std::string line; std::getline(in, line);)
                if (std::regex_search(line, match, pattern)) out.push_back({fs::relative(entry.path(), kRoot), match[1]});
        }
    }
    return out;
}

bool starts_with_any(const std::string& s, const std::set<std::string>& prefixes) {
    for (const std::string& p : prefixes)
        if (s == p || s.rfind(p + "/", 0) == 0) return true;
    return false;
}

std::vector<fs::path> sources() {
    std::vector<fs::path> out;
    for (const char* folder : {"isa", "sim", "dsl", "kernels", "fusion", "traces", "lab", "tools", "tests", "examples"})
        if (fs::exists(kRoot / folder))
            for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder))
                if (entry.path().extension() == ".h" || entry.path().extension() == ".cpp") out.push_back(entry.path());
    return out;
}

std::string read(const fs::path& p) {
    std::ifstream in(p);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("every layer includes only what the layer table allows") {
    const auto all = includes();
    REQUIRE(all.size() > 50);
    for (const Include& i : all) {
        const std::string top = i.name.substr(0, i.name.find('/'));
        if (!kLayers.count(top) || i.name.find('/') == std::string::npos) continue;
        const Layer& layer = kLayers.at(i.file.begin()->string());
        INFO(i.file.string() << " includes " << i.name);
        CHECK((layer.everything || layer.may_include.count(top) || layer.may_include.count(i.name)));
    }
}

TEST_CASE("third-party headers stay in the folders and sources that own them") {
    for (const Include& i : includes())
        for (const ThirdParty& t : kThirdParty) {
            if (i.name.rfind(t.header, 0) != 0) continue;
            INFO(i.file.string() << " includes " << i.name);
            CHECK(starts_with_any(i.file.string(), t.folders));
            if (t.sources_only) CHECK(i.file.extension() == ".cpp");
        }
}

TEST_CASE("no source file exceeds 500 lines and each names its licence first") {
    for (const fs::path& p : sources()) {
        const std::string text = read(p);
        INFO(p.string());
        CHECK(std::count(text.begin(), text.end(), '\n') <= 500);
        CHECK(text.rfind("// SPDX-License-Identifier: Apache-2.0", 0) == 0);
        if (p.extension() == ".h") CHECK(text.find("#pragma once") != std::string::npos);
    }
}

TEST_CASE("no tracked text holds an absolute path of one machine") {
    const std::regex absolute(R"((^|[^A-Za-z0-9_.])/(work|root|home|farm)/)");
    for (const fs::path& p : sources()) {
        if (p.filename() == "layers_test.cpp") continue;
        INFO(p.string());
        CHECK_FALSE(std::regex_search(read(p), absolute));
    }
}

TEST_CASE("formulas of the timing model hold no numbers of their own") {
    const std::regex literal(R"((^|[^A-Za-z0-9_."])([3-9]|[1-9][0-9]+)([^A-Za-z0-9_."]|$))");
    if (!fs::exists(kRoot / "sim/timing")) return;
    for (const auto& entry : fs::directory_iterator(kRoot / "sim/timing")) {
        std::ifstream in(entry.path());
        int number = 0;
        for (std::string line; std::getline(in, line);) {
            ++number;
            const std::string code = line.substr(0, line.find("//"));
            if (code.find("#include") != std::string::npos) continue;
            INFO(entry.path().filename().string() << ":" << number << ": " << line);
            CHECK_FALSE(std::regex_search(code, literal));
        }
    }
}
