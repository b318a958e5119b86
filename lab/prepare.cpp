// SPDX-License-Identifier: Apache-2.0
#include "lab/prepare.h"

#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>

#include "isa/text.h"
#include "isa/verify.h"
#include "lab/lab.h"
#include "lab/tensors.h"

namespace sfumato::lab {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }

std::vector<std::string> keys(const Numbers& n) {
    std::vector<std::string> out;
    for (const auto& [key, value] : n) out.push_back(key);
    return out;
}

void check_sizes(const Numbers& sizes) {
    for (const auto& [name, value] : sizes)
        if (value > kLargestSize)
            throw isa::InputError("--shape " + name + "=" + std::to_string(value) + ": no device memory holds that; the largest size is " +
                                  std::to_string(kLargestSize));
}

isa::DType chosen_dtype(const kernels::Kernel& k, const std::string& wanted) {
    std::vector<std::string> names;
    for (isa::DType t : k.dtypes) names.emplace_back(name(t));
    if (wanted.empty()) return k.dtypes.front();
    require_known("--dtype of " + k.name, wanted, names);
    return *isa::parse_dtype(wanted);
}

std::string chosen_level(const kernels::Kernel& k, const std::string& wanted) {
    if (wanted.empty()) return k.levels.front();
    require_known("--level of " + k.name, wanted, k.levels);
    return wanted;
}

std::string knob_list(const std::vector<std::string>& knobs) {
    std::string out;
    for (const std::string& k : knobs) out += (out.empty() ? "" : ",") + k + "=...";
    return out;
}

void check_tensors(const Prepared& p) {
    std::vector<HostTensor> tensors;
    for (const kernels::TensorSpec& t : p.kernel->tensors) {
        HostTensor h{t.name, t.dtype(p.dtype), t.role, {}, 1};
        for (const kernels::Extent& e : t.dims) h.shape.push_back(e.value(p.shape));
        tensors.push_back(std::move(h));
    }
    check_device_memory(tensors, p.chip);
}

void prepare_kernel(Prepared& p, const Request& r) {
    const kernels::Kernel& k = *p.kernel;
    p.name = k.name;
    p.dtype = chosen_dtype(k, r.dtype);
    kernels::Config config{p.dtype, chosen_level(k, r.level), {}, {}};
    p.shape = k.default_shape;
    for (const auto& [name, value] : parse_numbers(r.shape, "--shape", k.sizes, 1)) p.shape[name] = value;
    check_sizes(p.shape);
    kernels::check_shape(k, p.shape);
    check_tensors(p);
    std::vector<std::string> knobs;
    for (const kernels::KnobSpec& knob : k.knobs) knobs.push_back(knob.name);
    const Numbers given = parse_numbers(r.tile, "--tile", knobs, 0);
    kernels::check_tile(k, given);
    if (given.size() < knobs.size() && !k.choose)
        throw isa::InputError("--tile of " + k.name + ": the kernel has no chooser, so every knob must be given (" + knob_list(knobs) + ")");
    if (given.size() < knobs.size()) p.choice = k.choose(p.chip, p.shape, p.dtype, given);
    p.tile = kernels::complete_tile(k, p.chip, p.shape, p.dtype, p.choice ? p.choice->tile : given);
    config.tile = p.tile;
    config.options.stages = r.stages;
    config.options.keep_texts = r.keep_texts;
    p.compiled = k.compile(p.chip, config);
    p.params = kernels::launch_params(k, p.shape);
    if (auto faults = dsl::tile::unmet(p.program(), p.compiled.requirements, p.params); !faults.empty()) throw isa::Rejected(std::move(faults));
}

void prepare_file(Prepared& p, const Request& r) {
    const std::string stages = r.stages > 0 ? std::to_string(r.stages) : "";
    for (const auto& [option, value] : {std::pair{"--dtype", r.dtype}, {"--level", r.level}, {"--tile", r.tile}, {"--stages", stages}})
        if (!value.empty()) throw isa::InputError(std::string(option) + ": " + r.what + " is a program already; the option is for kernels of the library");
    p.compiled.program = read_program(r.what);
    if (auto faults = isa::verify(p.program(), p.chip); !faults.empty()) throw isa::Rejected(std::move(faults));
    p.name = p.program().name;
    Numbers known;
    for (const isa::Symbol& s : p.program().symbols)
        if (s.kind == isa::SymbolKind::param) known[s.name] = 0;
    p.shape = parse_numbers(r.shape, "--shape", keys(known), 0);
    check_sizes(p.shape);
    for (const auto& [name, unused] : known)
        if (!p.shape.contains(name)) throw isa::InputError("parameter '" + name + "' of " + r.what + " has no value; give --shape " + name + "=...");
    p.params = p.shape;
}

}  // namespace

isa::Program read_program(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw isa::InputError(file + ": cannot read: " + std::strerror(errno));
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    return isa::parse_program(text, file);
}

Prepared prepare(const kernels::Kernel& own, const Request& r) {
    Prepared p;
    p.kernel = &own;
    p.chip = isa::load_chip(r.chip, r.sets, r.chip_dir);
    const auto start = std::chrono::steady_clock::now();
    prepare_kernel(p, r);
    p.compile_s = seconds_since(start);
    return p;
}

Prepared prepare(const Request& r) {
    if (!r.what.ends_with(".sfa")) return prepare(kernels::find(r.what), r);
    Prepared p;
    p.chip = isa::load_chip(r.chip, r.sets, r.chip_dir);
    prepare_file(p, r);
    return p;
}

}  // namespace sfumato::lab
