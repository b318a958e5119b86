// SPDX-License-Identifier: Apache-2.0
// sfumato: the one executable. Parses the verb and its options and turns what goes wrong into one message and an exit status.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tools/verbs.h"

namespace {

using namespace sfumato;
using tools::Options;

/// Everything an option may be called on this subcommand.
std::vector<std::string> option_names(const CLI::App& app) {
    std::vector<std::string> out;
    for (const CLI::Option* o : app.get_options())
        for (const std::string& n : o->get_lnames()) out.push_back("--" + n);
    std::sort(out.begin(), out.end());
    return out;
}

/// CLI11's own messages do not offer the nearest name, so words that cannot be meant are refused first.
void refuse_unknown_words(const CLI::App& app, const std::vector<std::string>& words) {
    std::vector<std::string> names;
    for (const tools::Verb& v : tools::verbs()) names.emplace_back(v.name);
    if (words.empty()) return;
    if (words[0].starts_with("-")) {
        if (words[0] != "--help" && words[0] != "-h" && words[0] != "--version" && words[0] != "--json")
            throw isa::InputError("unknown option '" + words[0] + "' before the verb; usage: sfumato VERB ..., see sfumato --help");
        return;
    }
    lab::require_known("verb", words[0], names);
    const std::vector<std::string> options = option_names(*app.get_subcommand(words[0]));
    for (const std::string& word : words)
        if (word.starts_with("--") && word.size() > 2) lab::require_known("option", word.substr(0, word.find('=')), options);
}

int report(bool json, const char* kind, const std::string& message, const std::vector<isa::Diagnostic>& diagnostics, int status) {
    if (json) {
        nlohmann::ordered_json j{{"status", kind}, {"error", message}};
        j["diagnostics"] = nlohmann::ordered_json::parse(traces::to_json(diagnostics));
        std::printf("%s\n", j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    } else {
        std::fprintf(stderr, "%s%s\n", diagnostics.empty() ? "error: " : "", message.c_str());
    }
    return status;
}

int run(CLI::App& app, Options& options, const std::vector<std::string>& words) {
    refuse_unknown_words(app, words);
    std::vector<std::string> reversed(words.rbegin(), words.rend());  // what CLI11 expects of a vector
    app.parse(reversed);
    for (const tools::Verb& v : tools::verbs())
        if (app.got_subcommand(v.name)) {
            tools::resolve(options);
            return v.run(options);
        }
    std::printf("%s", app.help().c_str());
    return tools::kUsage;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    const bool json = std::find(words.begin(), words.end(), "--json") != words.end();
    try {
        Options options;
        CLI::App app{"Sfumato: a kernel laboratory for Ascend NPUs", "sfumato"};
        app.set_version_flag("--version", std::string("sfumato, timing model ") + sim::kModelVersion);
        app.failure_message(CLI::FailureMessage::help);
        for (const tools::Verb& v : tools::verbs()) {
            CLI::App* sub = app.add_subcommand(v.name, v.doc);
            v.add(*sub, options);
            sub->add_flag("--json", options.json, "one JSON object on stdout and nothing else");
        }
        try {
            const int status = run(app, options, words);
            if (std::fflush(stdout) != 0 || std::ferror(stdout)) throw isa::InputError("standard output cannot be written");
            return status;
        } catch (const CLI::ParseError& e) {
            if (e.get_exit_code() == 0) return app.exit(e);
            return report(json, "usage", e.what(), {}, tools::kUsage);
        }
    } catch (const isa::InputError& e) {
        return report(json, "input", e.what(), {}, tools::kUsage);
    } catch (const isa::Rejected& e) {
        return report(json, "rejected", e.what(), e.diagnostics, tools::kFailed);
    } catch (const std::bad_alloc&) {
        return report(json, "input", "this machine has too little memory for the values of the run; --mode time needs none", {}, tools::kUsage);
    } catch (const std::exception& e) {
        return report(json, "bug", std::string("internal error, please report: ") + e.what(), {}, tools::kBug);
    }
}
