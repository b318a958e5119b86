// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a kernel function of a test on the model, in program order and timed, and compares arrays with double arithmetic.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "dsl/compile.h"
#include "dsl/dsl.h"
#include "tests/support/kernel_run.h"

namespace sfumato::testing {

using isa::DType;

struct Array {
    DType type;
    std::vector<std::int64_t> dims;
    std::vector<double> values;
};
inline Array random_array(DType t, std::vector<std::int64_t> dims, std::uint64_t seed, double low = -1, double high = 1) {
    Array a{t, dims, {}};
    std::int64_t n = 1;
    for (std::int64_t d : dims) n *= d;
    for (std::int64_t i = 0; i < n; ++i) {
        std::byte b[4];
        encode(t, low + (high - low) * (sample(seed) + 1) / 2, b);
        a.values.push_back(decode(t, b));
    }
    return a;
}
inline Array empty_array(DType t, std::vector<std::int64_t> dims) {
    Array a = random_array(t, dims, 1);
    std::fill(a.values.begin(), a.values.end(), std::nan(""));
    return a;
}

/// Compiles and runs; arrays are updated from memory afterwards. Fails on any diagnostic.
template <class T, class... Args>
void run(void (*kernel)(Args...), const char* chip_name, const T& tile, std::vector<Array*> arrays, int stages = 0) {
    const isa::Chip chip = isa::load_chip(chip_name, {}, "isa/chips");
    dsl::CompileOptions o;
    o.stages = stages;
    const dsl::Compiled c = dsl::compile(kernel, chip, tile, o);
    sim::DeviceMemory memory;
    sim::Launch launch;
    launch.program = &c.program;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        const Array& a = *arrays[i];
        sim::DeviceTensor d;
        d.name = c.program.tensors[i].name;
        d.size = static_cast<std::int64_t>(a.values.size()) * isa::bytes_of(a.type);
        d.bytes.resize(static_cast<std::size_t>(d.size));
        for (std::size_t k = 0; k < a.values.size(); ++k) encode(a.type, a.values[k], &d.bytes[k * static_cast<std::size_t>(isa::bytes_of(a.type))]);
        for (std::size_t k = 0; k < a.dims.size(); ++k) launch.params[d.name + "." + std::to_string(k)] = a.dims[k];
        launch.tensors.push_back(static_cast<int>(i));
        memory.tensors.push_back(std::move(d));
    }
    for (sim::Mode mode : {sim::Mode::values, sim::Mode::both}) {
        sim::DeviceMemory m = memory;
        sim::RunOptions options;
        options.mode = mode;
        const sim::RunResult r = sim::run(chip, std::span(&launch, 1), m, options);
        INFO(isa::to_text(r.diagnostics));
        REQUIRE(r.status == sim::Status::ok);
        REQUIRE(r.diagnostics.empty());
        for (std::size_t i = 0; i < arrays.size(); ++i)
            for (std::size_t k = 0; k < arrays[i]->values.size(); ++k)
                arrays[i]->values[k] = decode(arrays[i]->type, &m.tensors[i].bytes[k * static_cast<std::size_t>(isa::bytes_of(arrays[i]->type))]);
    }
}

/// Relative step of a type; computed values are allowed `steps` of it, and `absolute` near zero.
inline void compare(const Array& got, const std::function<double(std::size_t)>& expected, double steps, double absolute = 1e-6) {
    const double step = got.type == DType::f32 ? std::ldexp(1.0, -23) : got.type == DType::f16 ? std::ldexp(1.0, -10) : std::ldexp(1.0, -7);
    for (std::size_t i = 0; i < got.values.size(); ++i) {
        const double e = expected(i);
        INFO("element " << i);
        REQUIRE(std::fabs(got.values[i] - e) <= steps * step * std::fabs(e) + absolute);
    }
}

/// Element i of the matrix product a x b, both of which must outlive the result.
inline std::function<double(std::size_t)> products(const Array& a, const Array& b) {
    return [&a, &b](std::size_t i) {
        const auto depth = static_cast<std::size_t>(a.dims[1]), cols = static_cast<std::size_t>(b.dims[1]);
        double s = 0;
        for (std::size_t k = 0; k < depth; ++k) s += a.values[i / cols * depth + k] * b.values[k * cols + i % cols];
        return s;
    };
}

/// Tile structs of the kernels that tests write.
struct Tile2 {
    dsl::Knob rows, cols;
};
struct Tile3 {
    dsl::Knob m, n, k;
};

/// A split and a merged chip.
inline constexpr const char* kChips[] = {"Ascend910B1", "Ascend910A"};

}  // namespace sfumato::testing
