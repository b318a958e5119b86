// SPDX-License-Identifier: Apache-2.0
#include "kernels/table.h"

#include <algorithm>
#include <cmath>

#include "isa/diagnostic.h"
#include "kernels/entries.h"

namespace sfumato::kernels {

const std::vector<Kernel>& table() {
    static const std::vector<Kernel> all = [] {
        std::vector<Kernel> out;
        add_matmul_kernels(out);
        add_vector_kernels(out);
        add_copy_kernels(out);
        return out;
    }();
    return all;
}

const Kernel& find(std::string_view name) {
    std::vector<std::string> names;
    for (const Kernel& k : table()) {
        if (k.name == name) return k;
        names.push_back(k.name);
    }
    const std::string near = isa::nearest(name, names);
    std::string list;
    for (const std::string& n : names) list += (list.empty() ? "" : ", ") + n;
    throw isa::InputError("unknown kernel '" + std::string(name) + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?") +
                          " (valid: " + list + ")");
}

std::map<std::string, std::int64_t> launch_params(const Kernel& k, const Sizes& shape) {
    std::map<std::string, std::int64_t> out;
    for (const TensorSpec& t : k.tensors)
        for (std::size_t i = 0; i < t.dims.size(); ++i) out[t.name + "." + std::to_string(i)] = t.dims[i].value(shape);
    return out;
}

std::int64_t elements(const TensorSpec& t, const Sizes& shape) {
    std::int64_t n = 1;
    for (const Extent& e : t.dims) n *= e.value(shape);
    return n;
}

namespace {
template <class Range, class Name>
void check_names(const Sizes& given, const Range& known, Name&& name_of, const std::string& what) {
    std::vector<std::string> names;
    for (const auto& k : known) names.push_back(name_of(k));
    for (const auto& [name, value] : given) {
        if (std::find(names.begin(), names.end(), name) != names.end()) continue;
        const std::string near = isa::nearest(name, names);
        std::string list;
        for (const std::string& n : names) list += (list.empty() ? "" : ", ") + n;
        throw isa::InputError(what + " has no '" + name + "'" + (near.empty() ? "" : ", did you mean '" + near + "'?") + " It has: " + list);
    }
}
}  // namespace

void check_shape(const Kernel& k, const Sizes& shape) {
    check_names(
        shape, k.sizes, [](const std::string& s) { return s; }, "the shape of " + k.name);
    for (const std::string& s : k.sizes) {
        const auto it = shape.find(s);
        if (it == shape.end()) throw isa::InputError("the shape of " + k.name + " lacks '" + s + "'; give " + s + "=...");
        if (it->second < 1) throw isa::InputError(k.name + ": " + s + " = " + std::to_string(it->second) + ", at least 1 is needed");
    }
}

void check_dtype(const Kernel& k, const isa::Chip& chip, isa::DType type) {
    const bool listed = std::find(k.dtypes.begin(), k.dtypes.end(), type) != k.dtypes.end();
    const auto matrix = [&](isa::DType t) { return chip.cube.per_fractal[static_cast<std::size_t>(t)] > 0; };
    // a chip whose matrix unit knows bf16 converts it in its vector unit too
    const bool able = type == isa::DType::bf16 || k.matrix ? matrix(type) : true;
    if (listed && able) return;
    std::string have;
    for (isa::DType t : k.dtypes)
        if (t != isa::DType::bf16 && !k.matrix ? true : matrix(t)) have += (have.empty() ? "" : ", ") + std::string(isa::name(t));
    throw isa::InputError(k.name + " has no " + std::string(isa::name(type)) + " form on " + chip.name + "; it has: " + have);
}

void check_tile(const Kernel& k, const Sizes& given) {
    check_names(
        given, k.knobs, [](const KnobSpec& s) { return s.name; }, "the tile of " + k.name);
    for (const KnobSpec& s : k.knobs)
        if (const auto it = given.find(s.name); it != given.end() && it->second < s.least)
            throw isa::InputError(k.name + ": tile " + s.name + " = " + std::to_string(it->second) + ", at least " + std::to_string(s.least) +
                                  " is needed");
}

Sizes complete_tile(const Kernel& k, const isa::Chip& chip, const Sizes& shape, isa::DType type, const Sizes& given) {
    check_tile(k, given);
    check_dtype(k, chip, type);
    return given.size() == k.knobs.size() ? given : k.choose(chip, shape, type, given).tile;
}

double tolerance(isa::DType out, std::int64_t reduction_length, double expected, double scale) {
    const double step = out == isa::DType::f16 ? std::ldexp(1, -10) : out == isa::DType::bf16 ? std::ldexp(1, -7) : std::ldexp(1, -22);
    const double smallest = out == isa::DType::f16 ? std::ldexp(1, -24) : std::ldexp(1, -126);  // below it f16 has no finer step
    return step * std::fabs(expected) + smallest + static_cast<double>(reduction_length + 2) * std::ldexp(1, -24) * scale;
}

}  // namespace sfumato::kernels
