// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the built `sfumato` as a user would and keeps exit status, stdout and stderr apart. The suite passes its path as SFUMATO_BINARY.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace sfumato::testing {

inline std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

/// A folder of its own for each test, gone afterwards.
struct TemporaryFolder {
    std::filesystem::path path = make();
    TemporaryFolder() = default;
    TemporaryFolder(const TemporaryFolder&) = delete;
    ~TemporaryFolder() { std::filesystem::remove_all(path); }
    std::string operator/(const std::string& name) const { return (path / name).string(); }
    std::string file(const std::string& name, const std::string& text) const {
        std::ofstream(path / name, std::ios::binary) << text;
        return (path / name).string();
    }

private:
    static std::filesystem::path make() {
        std::string name = (std::filesystem::temp_directory_path() / "sfumatoXXXXXX").string();
        if (!::mkdtemp(name.data())) std::abort();
        return name;
    }
};

struct Outcome {
    int status = -1;
    std::string out, err;
};
/// A line for the shell, e.g. with variables in front.
inline Outcome command_line(const std::string& line) {
    const TemporaryFolder folder;
    const int raw = std::system((line + " >" + (folder / "out") + " 2>" + (folder / "err") + " </dev/null").c_str());
    return {WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw), read_file(folder / "out"), read_file(folder / "err")};
}
inline Outcome command(const std::string& arguments) {
    std::string line = SFUMATO_BINARY " ";
    line += arguments;
    return command_line(line);
}

}  // namespace sfumato::testing
