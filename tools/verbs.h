// SPDX-License-Identifier: Apache-2.0
#pragma once
// The verbs of the command line and the options they share. A verb adds its options to its subcommand and returns the exit status; what goes
// wrong leaves it as an exception, which main turns into one message.
#include <functional>
#include <string>
#include <vector>

#include "lab/lab.h"

namespace CLI {
class App;
class Option;
}

namespace sfumato::tools {

inline constexpr int kFine = 0, kFailed = 1, kUsage = 2, kBug = 3;

/// Options of fuse alone.
struct FuseOptions {
    std::string model, switch_file, ops, explain, memory_limit;
    std::vector<std::string> shapes, no_reuse;
    std::int64_t level = -1;  ///< -1: the switch file's, or the default
    bool compare = false, verify = false, values = false, list_passes = false, no_memory_reuse = false;
};

/// Options as they stand on the command line.
struct Options {
    lab::Request request;
    std::string mode, l2 = "cold", trace_cores, compare, out, after;
    std::vector<std::string> inputs, dumps;
    bool json = false, show_config = false, markdown = false;
    std::string name;    ///< the verb's operand where it is not a kernel: a chip, a table of rows
    std::string family;  ///< validate: only these
    FuseOptions fuse;
};

struct Verb {
    const char* name;
    const char* doc;
    void (*add)(CLI::App&, Options&);
    int (*run)(Options&);
};
/// All verbs in the order of the manual.
const std::vector<Verb>& verbs();

/// Adds --chip, --set, --shape, ... of verbs that take a kernel.
void add_kernel_options(CLI::App&, Options&);
void add_chip_options(CLI::App&, Options&);
/// Refuses, for an option that is given, what is no whole number of at least `least`.
void whole_number(CLI::Option*, std::int64_t least);
/// Turns the texts of options with a closed set of values into the request. Throws InputError.
void resolve(Options&);

int run_kernel(Options&);
int disassemble(Options&);
int explain(Options&);
int validate(Options&);
int fuse(Options&);
int list_chips(Options&);
int list_kernels(Options&);
int list_instructions(Options&);

/// Every resolved chip value with its origin, for --show-config and `chips NAME`.
std::string config_text(const isa::Chip&);
std::string config_json(const isa::Chip&);

}  // namespace sfumato::tools
