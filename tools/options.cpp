// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <sstream>

#include <CLI/CLI.hpp>

#include "tools/verbs.h"

namespace sfumato::tools {

namespace {

std::map<std::string, std::string> files_by_tensor(const std::string& option, const std::vector<std::string>& given) {
    std::map<std::string, std::string> out;
    for (const std::string& text : given) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
            throw isa::InputError(option + " '" + text + "': expected tensor=file.npy");
        if (!out.emplace(text.substr(0, equals), text.substr(equals + 1)).second)
            throw isa::InputError(option + " " + text.substr(0, equals) + ": given twice");
    }
    return out;
}

std::vector<int> core_list(const std::string& text) {
    std::vector<int> out;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, ',');) {
        int core = 0;
        const auto end = std::from_chars(part.data(), part.data() + part.size(), core);
        if (end.ec != std::errc() || end.ptr != part.data() + part.size() || core < 0)
            throw isa::InputError("--trace-cores '" + part + "': expected core numbers, for example 0,1,5");
        out.push_back(core);
    }
    return out;
}

}  // namespace

void whole_number(CLI::Option* option, std::int64_t least) {
    option->check([least](const std::string& text) -> std::string {
        std::int64_t value = 0;
        const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
        if (end.ec == std::errc() && end.ptr == text.data() + text.size() && value >= least) return {};
        return text + ": must be at least " + std::to_string(least) + ", a whole number";
    });
}

void add_chip_options(CLI::App& app, Options& o) {
    app.add_option("--chip", o.request.chip, "chip by name, or a chip file")->capture_default_str();
    app.add_option("--set", o.request.sets, "path=value: another value for any number of the chip, e.g. memory.hbm.bandwidth=3.2TB/s")
        ->take_all()
        ->allow_extra_args(false);
    app.add_option("--chip-dir", o.request.chip_dir, "folder of chip files");
}

void add_kernel_options(CLI::App& app, Options& o) {
    app.add_option("kernel", o.request.what, "kernel of the library, or a program FILE.sfa")->required();
    add_chip_options(app, o);
    app.add_option("--shape", o.request.shape, "m=4096,n=4096,k=4096; sizes left out are the kernel's defaults");
    app.add_option("--dtype", o.request.dtype, "element type");
    app.add_option("--level", o.request.level, "which text of the kernel: maths or explicit");
    app.add_option("--tile", o.request.tile, "m=128,n=256,...; knobs left out are the chooser's");
    whole_number(app.add_option("--stages", o.request.stages, "pipeline stages of every pipelined loop (default: as the kernel says)"), 1);
    app.add_flag("--show-config", o.show_config, "print every chip value with its origin and stop");
}

void resolve(Options& o) {
    lab::Request& r = o.request;
    if (!o.mode.empty()) {
        lab::require_known("--mode", o.mode, {"both", "time", "values"});
        r.mode = o.mode == "both" ? sim::Mode::both : o.mode == "time" ? sim::Mode::time : sim::Mode::values;
    }
    lab::require_known("--l2", o.l2, {"cold", "warm"});
    r.warm_l2 = o.l2 == "warm";
    r.inputs = files_by_tensor("--input", o.inputs);
    r.dumps = files_by_tensor("--dump", o.dumps);
    r.trace_cores = core_list(o.trace_cores);
    if (r.trace.empty() && (!r.trace_window.empty() || !o.trace_cores.empty()) && o.out.empty())
        throw isa::InputError("--trace-window and --trace-cores need --trace FILE.json");
}

}  // namespace sfumato::tools
