// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <nlohmann/json.hpp>

#include "isa/chip_fields.h"
#include "isa/chip_page.h"
#include "isa/pages.h"
#include "tools/text_table.h"
#include "tools/verbs.h"

namespace sfumato::tools {

namespace {

using json = nlohmann::ordered_json;

std::string mib(std::int64_t bytes) { return isa::with_separators(bytes >> 20) + " MiB"; }

std::vector<std::string> type_names(const std::vector<isa::DType>& types) {
    std::vector<std::string> out;
    for (isa::DType t : types) out.emplace_back(name(t));
    return out;
}

std::string shape_of(const kernels::TensorSpec& t) {
    std::string out = t.name + "[";
    for (std::size_t i = 0; i < t.dims.size(); ++i) {
        const kernels::Extent& e = t.dims[i];
        const std::string factor = e.factor == 1 && !e.size.empty() ? "" : std::to_string(e.factor) + (e.size.empty() ? "" : "*");
        out += (i ? ", " : "") + factor + e.size;
    }
    return out + "]" + (t.role == isa::Role::in ? "" : " (out)");
}

Rows kernel_rows() {
    Rows rows{{"kernel", "sizes (default)", "tensors", "types", "knobs", "levels", "what it does"}};
    for (const kernels::Kernel& k : kernels::table()) {
        std::vector<std::string> sizes, tensors, knobs;
        for (const std::string& s : k.sizes) sizes.push_back(s + "=" + std::to_string(k.default_shape.at(s)));
        for (const kernels::TensorSpec& t : k.tensors) tensors.push_back(shape_of(t));
        for (const kernels::KnobSpec& knob : k.knobs) knobs.push_back(knob.name);
        rows.push_back({k.name, joined(sizes), joined(tensors), joined(type_names(k.dtypes)), joined(knobs), joined(k.levels), k.doc});
    }
    return rows;
}

json kernel_json() {
    json out = json::array();
    for (const kernels::Kernel& k : kernels::table()) {
        json knobs = json::object(), tensors = json::array();
        for (const kernels::KnobSpec& knob : k.knobs) knobs[knob.name] = knob.doc;
        for (const kernels::TensorSpec& t : k.tensors) tensors.push_back(shape_of(t));
        out.push_back({{"kernel", k.name},
                       {"doc", k.doc},
                       {"sizes", k.sizes},
                       {"default_shape", k.default_shape},
                       {"tensors", tensors},
                       {"dtypes", type_names(k.dtypes)},
                       {"knobs", knobs},
                       {"levels", k.levels}});
    }
    return out;
}

Rows chip_rows(const Options& o) {
    Rows rows{{"chip", "architecture", "cores", "clock", "cube f16", "L2", "device memory", "HBM or DDR"}};
    for (const std::string& chip_name : isa::chip_names(o.request.chip_dir)) {
        const isa::Chip c = isa::load_chip(chip_name, o.request.sets, o.request.chip_dir);
        const std::string cores = c.merged() ? std::to_string(c.cores.merged) + " merged" +
                                                   (c.cores.vector_only ? " + " + std::to_string(c.cores.vector_only) + " vector" : "")
                                             : std::to_string(c.cores.aic) + " cube + " + std::to_string(c.cores.aiv) + " vector";
        rows.push_back({c.name, c.arch, cores, traces::short_number(c.cores.clock_mhz) + " MHz",
                        traces::short_number(traces::cube_peak_tflops(c, isa::DType::f16)) + " TFLOP/s", mib(c.l2.capacity),
                        isa::with_separators(c.bytes(isa::Space::gm) >> 30) + " GiB",
                        traces::short_number(c.hbm.total_rate * c.cores.clock_mhz / 1e3) + " GB/s"});
    }
    return rows;
}

}  // namespace

std::string config_text(const isa::Chip& chip) {
    Rows rows{{"path", "value", "unit", "confidence", "source", "origin"}};
    for (const isa::FieldValue& f : isa::describe(chip)) rows.push_back({f.path, f.value, f.unit, f.from.confidence, f.from.source, f.from.origin});
    return chip.name + " (" + chip.arch + "), hash " + chip.hash + "\n" + table(rows);
}

std::string config_json(const isa::Chip& chip) {
    json values = json::object();
    for (const isa::FieldValue& f : isa::describe(chip))
        values[f.path] = {
            {"value", f.value},        {"unit", f.unit},      {"doc", f.doc},           {"written", f.from.value}, {"confidence", f.from.confidence},
            {"source", f.from.source}, {"note", f.from.note}, {"origin", f.from.origin}};
    return json{{"chip", chip.name}, {"arch", chip.arch}, {"hash", chip.hash}, {"sources", chip.sources}, {"values", values}}.dump(2);
}

int list_chips(Options& o) {
    if (!o.name.empty()) {
        const isa::Chip chip = isa::load_chip(o.name, o.request.sets, o.request.chip_dir);
        print((o.json ? config_json(chip) : config_text(chip)) + "\n");
    } else if (o.json) {
        print(objects("chips", chip_rows(o)));
    } else {
        print(o.markdown ? isa::chips_page(o.request.chip_dir) : table(chip_rows(o)));
    }
    return kFine;
}

int list_kernels(Options& o) {
    if (o.json)
        print(json{{"kernels", kernel_json()}}.dump(2) + "\n");
    else
        print(o.markdown ? "# Kernels\n\nGenerated from `kernels/table.cpp` by `sfumato kernels --page`.\n\n" + markdown(kernel_rows())
                         : table(kernel_rows()));
    return kFine;
}

int list_instructions(Options& o) {
    Rows rows{{"instruction", "pipe", "from", "to", "what it does"}};
    for (const isa::InstrDesc& d : isa::kInstructions)
        rows.push_back({std::string(d.name), std::string(name(d.pipe)), d.src == isa::Space::none ? "-" : std::string(name(d.src)),
                        d.dst == isa::Space::none ? "-" : std::string(name(d.dst)), std::string(d.doc)});
    if (o.json)
        print(objects("instructions", rows));
    else
        print(o.markdown ? isa::isa_page() : table(rows));
    return kFine;
}

}  // namespace sfumato::tools
