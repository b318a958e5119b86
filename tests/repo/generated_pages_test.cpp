// SPDX-License-Identifier: Apache-2.0
// Pages that the command line generates are checked in as it prints them, and links between pages lead somewhere.
#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace {

std::string file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string printed(const std::string& arguments) {
    FILE* pipe = popen((std::string(SFUMATO_EXECUTABLE) + " " + arguments).c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string out;
    std::array<char, 4096> part;
    while (const std::size_t n = std::fread(part.data(), 1, part.size(), pipe)) out.append(part.data(), n);
    CHECK(pclose(pipe) == 0);
    return out;
}

}  // namespace

TEST_CASE("Generated pages are what the command line prints") {
    for (const auto& [page, verb] : std::map<std::string, std::string>{{"isa", "isa"}, {"chips", "chips"}, {"kernels", "kernels"}, {"passes", "fuse --list-passes"}}) {
        const std::string path = "docs/" + page + ".md";
        INFO("regenerate with: sfumato " << verb << " --page > " << path);
        CHECK(!file(path).empty());
        CHECK((file(path) == printed(verb + " --page")));
    }
}

TEST_CASE("Links between the pages lead to files that exist") {
    namespace fs = std::filesystem;
    std::vector<fs::path> pages{"README.md"};
    for (const auto& entry : fs::recursive_directory_iterator("docs"))
        if (entry.path().extension() == ".md") pages.push_back(entry.path());
    CHECK(pages.size() >= 6);
    const std::regex link(R"(\]\(([^)#]+)(#[^)]*)?\))");
    for (const fs::path& page : pages) {
        const std::string text = file(page.string());
        for (std::sregex_iterator i(text.begin(), text.end(), link), end; i != end; ++i) {
            const std::string target = (*i)[1];
            if (target.find("://") != std::string::npos || target.find(' ') != std::string::npos) continue;  // another site; a lambda in code
            INFO(page.string() << " links to " << target);
            CHECK(fs::exists(page.parent_path() / target));
        }
    }
}
