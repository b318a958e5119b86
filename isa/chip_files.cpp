// SPDX-License-Identifier: Apache-2.0
#include "isa/chip_files.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "isa/chip_fields.h"
#include "isa/diagnostic.h"
#include "isa/installed_chips.h"

namespace sfumato::isa {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kSuffix = ".json";

bool is_folder(const fs::path& p) {
    std::error_code ignored;
    return fs::is_directory(p, ignored);
}

std::string joined(const std::vector<std::string>& list) {
    std::string out;
    for (const std::string& s : list) out += (out.empty() ? "" : ", ") + s;
    return out;
}

}  // namespace

std::string read_chip_file(const std::string& path) {
    std::error_code ignored;
    std::ifstream in(path, std::ios::binary);
    if (!in || fs::is_directory(path, ignored)) throw InputError("cannot read chip file '" + path + "'");
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<std::string> chip_folders(const std::string& chip_dir) {
    if (!chip_dir.empty()) {
        if (!is_folder(chip_dir)) throw InputError("chip folder '" + chip_dir + "' does not exist");
        return {chip_dir};
    }
    std::vector<std::string> out;
    std::error_code error;
    fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
    if (error) here = fs::current_path(error);
    for (; !here.empty(); here = here.parent_path()) {
        for (const char* below : {"share/sfumato/chips", "isa/chips"}) {
            if (is_folder(here / below)) out.push_back((here / below).string());
        }
        if (here == here.root_path()) break;
    }
    if (is_folder(installed_chips())) out.push_back(installed_chips());
    return out;
}

std::string sibling_file(const std::string& origin, const std::string& name) {
    std::error_code ignored;
    const fs::path beside = fs::path(origin).parent_path() / name;
    if (fs::is_regular_file(beside, ignored)) return beside.string();
    for (const std::string& folder : chip_folders()) {
        if (fs::is_regular_file(fs::path(folder) / name, ignored)) return (fs::path(folder) / name).string();
    }
    return "";
}

std::string hash_of(const Chip& chip) {
    std::uint64_t h = 14695981039346656037u;  // FNV-1a, 64 bit
    const auto eat = [&](std::string_view s) {
        for (const char c : s) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
    };
    Chip copy = chip;
    eat(chip.arch);
    for (const ChipField& f : chip_fields(copy)) {
        char text[40];
        const double v = std::holds_alternative<double*>(f.member)         ? *std::get<double*>(f.member)
                         : std::holds_alternative<std::int64_t*>(f.member) ? static_cast<double>(*std::get<std::int64_t*>(f.member))
                                                                           : static_cast<double>(*std::get<bool*>(f.member));
        std::snprintf(text, sizeof text, "=%.15g;", v);
        eat(f.path);
        eat(text);
    }
    char out[20];
    std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(h));
    return out;
}

/// A chip is a file with a capital first letter; the others are parts that chips extend.
std::vector<std::string> chip_names(const std::string& chip_dir) {
    std::vector<std::string> names;
    for (const std::string& folder : chip_folders(chip_dir)) {
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator(folder, ignored)) {
            const std::string file = entry.path().filename().string();
            if (file.size() <= kSuffix.size() || entry.path().extension() != kSuffix) continue;
            if (file[0] >= 'A' && file[0] <= 'Z') names.push_back(file.substr(0, file.size() - kSuffix.size()));
        }
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

Chip load_chip(const std::string& name_or_file, const std::vector<std::string>& sets, const std::string& chip_dir) {
    if (name_or_file.size() > kSuffix.size() && name_or_file.ends_with(kSuffix)) return parse_chip(read_chip_file(name_or_file), name_or_file, sets);
    const std::vector<std::string> names = chip_names(chip_dir);
    if (std::find(names.begin(), names.end(), name_or_file) == names.end()) {
        const std::string near = nearest(name_or_file, names);
        if (names.empty()) throw InputError("no chip files found; give the folder with --chip-dir or a file ending in .json");
        throw InputError("unknown chip '" + name_or_file + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?") +
                         " (known: " + joined(names) + "; or give a file ending in .json)");
    }
    const std::string file = name_or_file + std::string(kSuffix);
    for (const std::string& folder : chip_folders(chip_dir)) {
        std::error_code ignored;
        const fs::path path = fs::path(folder) / file;
        if (fs::is_regular_file(path, ignored)) return parse_chip(read_chip_file(path.string()), path.string(), sets);
    }
    throw InputError("chip file '" + file + "' is listed but cannot be read");
}

}  // namespace sfumato::isa
