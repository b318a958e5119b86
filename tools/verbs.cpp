// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "tools/verbs.h"

namespace sfumato::tools {

namespace {

void add_run_options(CLI::App& app, Options& o) {
    add_kernel_options(app, o);
    lab::Request& r = o.request;
    app.add_option("--then", r.then, "KERNEL[:key=value,...] behind it in the same run, reading its output, e.g. swiglu or add:X=C,Y=1.A,tile.rows=8")
        ->take_all()
        ->allow_extra_args(false);
    app.add_option("--mode", o.mode, "both, time or values (default: both for small problems)");
    app.add_option("--l2", o.l2, "cold or warm at the start")->capture_default_str();
    whole_number(app.add_option("--repeat", r.repeat, "launches one after the other; the last one is reported")->capture_default_str(), 1);
    app.add_option("--input", o.inputs, "tensor=file.npy: own data in")->take_all()->allow_extra_args(false);
    app.add_option("--dump", o.dumps, "tensor=file.npy: results out")->take_all()->allow_extra_args(false);
    app.add_option("--trace", r.trace, "Chrome trace, compressed when the name ends in .gz");
    app.add_option("--trace-window", r.trace_window, "begin:end in us (or 1000:2000cycles): only slices that touch it");
    app.add_option("--trace-cores", o.trace_cores, "core numbers, e.g. 0,1: only their slices");
    whole_number(app.add_option("--trace-slices", r.trace_slices, "most slices to write")->capture_default_str(), 1);
    app.add_option("--out", o.out, "folder for everything: program text, trace, report, tables of pipes and source lines (CSV)");
    whole_number(app.add_option("--seed", r.seed, "of the random inputs")->capture_default_str(), 0);
    app.add_option("--compare", o.compare, "variants side by side: levels, chips, kernels, stages=N, cold or warm, separated by commas");
}
void add_dis_options(CLI::App& app, Options& o) {
    add_kernel_options(app, o);
    app.add_option("--after", o.after, "the text after a pass of the compiler instead; 'list' names them");
}
void add_explain_options(CLI::App& app, Options& o) { add_kernel_options(app, o); }
void add_validate_options(CLI::App& app, Options& o) {
    app.add_option("rows", o.name, "table of measurements, ROWS.csv")->required();
    app.add_option("--family", o.family, "only these families, separated by commas");
    app.add_option("--set", o.request.sets, "path=value on every chip")->take_all()->allow_extra_args(false);
    app.add_option("--chip-dir", o.request.chip_dir, "folder of chip files");
    app.add_flag("--page,--markdown", o.markdown, "docs/validation.md");
}
void add_chips_options(CLI::App& app, Options& o) {
    app.add_option("name", o.name, "one chip: every number with its source");
    app.add_option("--set", o.request.sets, "path=value")->take_all()->allow_extra_args(false);
    app.add_option("--chip-dir", o.request.chip_dir, "folder of chip files");
    app.add_flag("--page,--markdown", o.markdown, "docs/chips.md");
}
void add_table_options(CLI::App& app, Options& o) { app.add_flag("--page,--markdown", o.markdown, "as Markdown"); }

}  // namespace

const std::vector<Verb>& verbs() {
    static const std::vector<Verb> all{
        {"run", "compile a kernel (or take FILE.sfa), run it on the model, compare its values, report", add_run_options, run_kernel},
        {"dis", "print the compiled instruction stream; it runs again with run", add_dis_options, disassemble},
        {"explain", "capacity by buffer, flags with the conflicts they order, decisions with their runner-up", add_explain_options, explain},
        {"validate", "predict measured rows of real chips, error per row", add_validate_options, validate},
        {"chips", "what chips there are, with sources", add_chips_options, list_chips},
        {"kernels", "what kernels there are", add_table_options, list_kernels},
        {"isa", "the instruction set", add_table_options, list_instructions},
    };
    return all;
}

}  // namespace sfumato::tools
