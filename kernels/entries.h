// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of the table, one file per family of kernels, and how a configuration becomes the types and structs of a kernel function.
#include <algorithm>
#include <array>
#include <bit>

#include "isa/diagnostic.h"
#include "kernels/table.h"

namespace sfumato::kernels {

void add_matmul_kernels(std::vector<Kernel>&);
void add_vector_kernels(std::vector<Kernel>&);
void add_copy_kernels(std::vector<Kernel>&);

/// The tile struct of a kernel from its named knobs, in the order of the knob list.
template <class Tile>
Tile tile_struct(const std::vector<KnobSpec>& knobs, const Sizes& values) {
    constexpr std::size_t count = sizeof(Tile) / sizeof(dsl::Knob);
    std::array<dsl::Knob, count> out;
    isa::check(knobs.size() == count, "a kernel lists as many knobs as its tile struct has");
    for (std::size_t i = 0; i < count; ++i) out[i] = values.at(knobs[i].name);
    return std::bit_cast<Tile>(out);
}

/// f(element type) for the run's type.
template <class F>
dsl::Compiled with_type(isa::DType t, F&& f) {
    switch (t) {
        case isa::DType::f16:
            return f(dsl::f16{});
        case isa::DType::bf16:
            return f(dsl::bf16{});
        case isa::DType::f32:
            return f(dsl::f32{});
        default:
            throw isa::InputError("kernels of the library take f16, bf16 and f32, not " + std::string(isa::name(t)));
    }
}

/// Options of a compilation: the names of the table.
inline dsl::CompileOptions options_of(const std::string& kernel, const std::vector<TensorSpec>& tensors, const Config& c) {
    dsl::CompileOptions o = c.options;
    o.name = kernel;
    for (const TensorSpec& t : tensors) o.tensors.push_back(t.name);
    return o;
}

/// Sets `compile` from a function `pick(element type, level, chip)` that gives the kernel function to compile.
template <class Tile, class Pick>
void compile_with(Kernel& k, Pick pick) {
    k.compile = [name = k.name, tensors = k.tensors, knobs = k.knobs, pick](const isa::Chip& chip, const Config& c) {
        const Tile tile = tile_struct<Tile>(knobs, c.tile);
        return with_type(c.dtype, [&](auto element) { return dsl::compile(pick(element, c.level, chip), chip, tile, options_of(name, tensors, c)); });
    };
}

}  // namespace sfumato::kernels
