// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels of the library, each listed once (table.cpp): tensors, knobs, element types, how to choose a tiling, how to compile, and what the
// values should be. The command line, the tests and the manual read this table.
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/compile.h"
#include "isa/chip.h"
#include "kernels/chooser.h"

namespace sfumato::kernels {

/// An extent of a tensor: factor * size, or `factor` alone when `size` is empty.
struct Extent {
    std::int64_t factor = 1;
    std::string size;
    std::int64_t value(const Sizes& s) const { return size.empty() ? factor : factor * s.at(size); }
};
struct TensorSpec {
    std::string name;
    isa::Role role = isa::Role::in;
    std::vector<Extent> dims;
    bool always_f32 = false;  ///< otherwise the element type of the run
    isa::DType dtype(isa::DType run) const { return always_f32 ? isa::DType::f32 : run; }
};
struct KnobSpec {
    std::string name, doc;
    std::int64_t least = 1;
};

/// One configuration: what a compiled program depends on besides the chip.
struct Config {
    isa::DType dtype = isa::DType::f16;
    std::string level = "maths";  ///< one of Kernel::levels
    Sizes tile;                   ///< a value for each knob
    dsl::CompileOptions options = {};
};
/// Values of all tensors in double, in the order of `tensors`; outputs are filled in.
using Values = std::vector<std::vector<double>>;

struct Kernel {
    std::string name, doc;
    std::vector<std::string> sizes;  ///< names of a shape: m, n, k
    Sizes default_shape;
    std::vector<TensorSpec> tensors;
    std::vector<KnobSpec> knobs;
    std::vector<isa::DType> dtypes;
    std::vector<std::string> levels;  ///< the first one is the default
    /// Knobs in `fixed` keep their values; the others are chosen.
    std::function<Choice(const isa::Chip&, const Sizes& shape, isa::DType, const Sizes& fixed)> choose;
    std::function<dsl::Compiled(const isa::Chip&, const Config&)> compile;
    std::function<void(const Sizes& shape, Values&)> reference;
    std::function<double(const Sizes& shape)> flops;
    bool matrix = false;       ///< works on the matrix unit
    std::string reduced_size;  ///< name of the size that is summed over, "" for element-wise kernels
};

const std::vector<Kernel>& table();
/// Throws InputError with the nearest name.
const Kernel& find(std::string_view name);

/// Launch parameters of the program: "<tensor>.<axis>" for every tensor.
std::map<std::string, std::int64_t> launch_params(const Kernel&, const Sizes& shape);
/// Elements of a tensor for a shape.
std::int64_t elements(const TensorSpec&, const Sizes& shape);
/// Throws InputError unless the chip's units work on the type.
void check_dtype(const Kernel&, const isa::Chip&, isa::DType);
/// Throws InputError for an unknown knob (nearest name) or a value below its least.
void check_tile(const Kernel&, const Sizes& given);
/// A tiling given by the author, completed by the chooser. Throws InputError for an unknown knob (nearest name) or a value below its least.
Sizes complete_tile(const Kernel&, const isa::Chip&, const Sizes& shape, isa::DType, const Sizes& given);
/// Throws InputError for unknown or missing sizes and values below 1.
void check_shape(const Kernel&, const Sizes& shape);
/// Largest error that rounding explains, for a reference value `expected` and the magnitude `scale` of the terms that were summed:
/// (ulp of the output type) * |expected| + (length + 2) * 2^-24 * scale.
double tolerance(isa::DType out, std::int64_t reduction_length, double expected, double scale);

}  // namespace sfumato::kernels
