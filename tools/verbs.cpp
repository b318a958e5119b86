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
void add_fuse_options(CLI::App& app, Options& o) {
    FuseOptions& f = o.fuse;
    app.add_option("model", f.model, "MODEL.onnx");
    add_chip_options(app, o);
    app.add_option("--input-shape,--input-shape-range", f.shapes, "sizes of inputs: \"input_ids:1~64,1~2048;mask:-1,-1\", brackets or not; a~b is a range, -1 any size")
        ->take_all()
        ->allow_extra_args(false);
    app.add_option("--fusion-level", f.level, "0 none, 1 canonical forms and vertical, 2 named patterns, 3 everything (default: the switch file's, or 2)")->check(CLI::Range(0, 3));
    app.add_option("--fusion-switch", f.switch_file, "file that turns passes on and off: fusion_switch.cfg as INI, JSON or PASS:on lines");
    app.add_option("--fusion-ops", f.ops, "AttentionFused,LayerNormFused,...: only these fused operators are made");
    app.add_option("--explain", f.explain, "what became of this node of the model, and why patterns did not take it");
    app.add_flag("--verify", f.verify, "run the graph before and after on random inputs; wrong values name the guilty pass");
    app.add_flag("--values", f.values, "run the fused graph on random inputs and show its outputs");
    app.add_flag("--compare", f.compare, "estimates of the model as it stands, of the named patterns alone and of what was asked for");
    app.add_option("--memory-limit", f.memory_limit, "device memory that weights, inputs, outputs and intermediates must fit into, e.g. 24GB");
    app.add_option("--no-reuse-memory", f.no_reuse, "node or operator whose outputs keep memory of their own")->take_all()->allow_extra_args(false);
    app.add_flag("--disable-reuse-memory", f.no_memory_reuse, "every intermediate keeps memory of its own");
    app.add_option("--out", o.out, "folder for everything: report, fusion_result.json, the graph before and after as text, the fused graph as ONNX");
    app.add_flag("--list-passes", f.list_passes, "the passes in order, with kind, level and what they do");
    app.add_flag("--page,--markdown", o.markdown, "docs/passes.md, with --list-passes");
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
        {"fuse", "import an ONNX model, fuse its graph, plan its memory, estimate what fusion buys", add_fuse_options, fuse},
        {"chips", "what chips there are, with sources", add_chips_options, list_chips},
        {"kernels", "what kernels there are", add_table_options, list_kernels},
        {"isa", "the instruction set", add_table_options, list_instructions},
    };
    return all;
}

}  // namespace sfumato::tools
