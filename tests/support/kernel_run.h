// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a kernel of the library on the model for one shape and compares every result with its reference in double. The error allowed for one result is
// one step of the result type plus (length + 2) roundings of 2^-24 of the sum of magnitudes, which is the reference of the absolute inputs.
#include <cmath>
#include <cstring>
#include <string>

#include "kernels/table.h"
#include "sim/simulator.h"

namespace sfumato::testing {

inline void encode(isa::DType t, double v, std::byte* at) {
    const float f = static_cast<float>(v);
    if (t == isa::DType::f32) {
        std::memcpy(at, &f, 4);
    } else if (t == isa::DType::f16) {
        const _Float16 h = static_cast<_Float16>(f);
        std::memcpy(at, &h, 2);
    } else {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &f, 4);
        bits += 0x7fff + ((bits >> 16) & 1);
        const auto high = static_cast<std::uint16_t>(bits >> 16);
        std::memcpy(at, &high, 2);
    }
}
inline double decode(isa::DType t, const std::byte* at) {
    if (t == isa::DType::f32) {
        float f = 0;
        std::memcpy(&f, at, 4);
        return f;
    }
    if (t == isa::DType::f16) {
        _Float16 h = 0;
        std::memcpy(&h, at, 2);
        return static_cast<double>(h);
    }
    std::uint16_t high = 0;
    std::memcpy(&high, at, 2);
    const std::uint32_t bits = static_cast<std::uint32_t>(high) << 16;
    float f = 0;
    std::memcpy(&f, &bits, 4);
    return f;
}

struct KernelRun {
    sim::RunResult result;
    sim::DeviceMemory memory;
    std::string wrong;  ///< "" or the first result outside its tolerance
    double worst = 0;   ///< largest error relative to what is allowed
};

/// Values in [-1, 1) that fill every type's significand, so that sums round.
inline double sample(std::uint64_t& state) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return std::ldexp(static_cast<double>(state >> 11), -52) - 1.0;
}

struct RunPlan {
    const char* kernel = "matmul";
    const char* chip = "Ascend910B1";
    kernels::Sizes shape = {};
    isa::DType dtype = isa::DType::f16;
    std::string level = {};    ///< "": the kernel's default
    kernels::Sizes tile = {};  ///< missing knobs are chosen
    std::int32_t stages = 0;
    sim::Mode mode = sim::Mode::both;
};

inline dsl::Compiled compile_kernel(const RunPlan& plan, const isa::Chip& chip) {
    const kernels::Kernel& k = kernels::find(plan.kernel);
    kernels::Config c;
    c.dtype = plan.dtype;
    c.level = plan.level.empty() ? k.levels.front() : plan.level;
    c.tile = kernels::complete_tile(k, chip, plan.shape, plan.dtype, plan.tile);
    c.options.stages = plan.stages;
    return k.compile(chip, c);
}

/// Inputs of one shape and what its results should be.
struct Problem {
    sim::DeviceMemory memory;
    kernels::Values expected, magnitudes;  ///< magnitudes: of the terms that were summed
};
inline Problem problem_of(const kernels::Kernel& k, const kernels::Sizes& shape, isa::DType dtype) {
    Problem p;
    std::uint64_t state = 1;
    for (const kernels::TensorSpec& t : k.tensors) {
        const isa::DType type = t.dtype(dtype);
        const std::int64_t count = kernels::elements(t, shape);
        sim::DeviceTensor d;
        d.name = t.name;
        d.size = count * isa::bytes_of(type);
        d.bytes.assign(static_cast<std::size_t>(d.size), std::byte{0xff});  // NaN until written
        std::vector<double> v(static_cast<std::size_t>(count));
        if (t.role == isa::Role::in)
            for (std::size_t i = 0; i < v.size(); ++i) {
                std::byte* at = &d.bytes[i * static_cast<std::size_t>(isa::bytes_of(type))];
                encode(type, sample(state), at);
                v[i] = decode(type, at);
            }
        p.memory.tensors.push_back(std::move(d));
        p.expected.push_back(v);
        for (double& x : v) x = std::fabs(x);
        p.magnitudes.push_back(std::move(v));
    }
    k.reference(shape, p.expected);
    k.reference(shape, p.magnitudes);
    return p;
}

inline KernelRun run_compiled(const kernels::Kernel& k, const isa::Chip& chip, const isa::Program& program, const Problem& problem,
                              const kernels::Sizes& shape, sim::Mode mode) {
    KernelRun run;
    run.memory = problem.memory;
    sim::Launch launch;
    launch.program = &program;
    launch.params = kernels::launch_params(k, shape);
    for (std::size_t t = 0; t < k.tensors.size(); ++t) launch.tensors.push_back(static_cast<int>(t));
    sim::RunOptions options;
    options.mode = mode;
    run.result = sim::run(chip, std::span(&launch, 1), run.memory, options);
    return run;
}

/// The largest error of a run relative to what is allowed, and the first result beyond it.
inline void judge(KernelRun& run, const kernels::Kernel& k, const Problem& problem, const RunPlan& plan) {
    const auto reduced = plan.shape.find(k.reduced_size);
    const std::int64_t length = reduced == plan.shape.end() ? 1 : reduced->second;
    for (std::size_t t = 0; t < k.tensors.size(); ++t) {
        if (k.tensors[t].role == isa::Role::in) continue;
        const isa::DType type = k.tensors[t].dtype(plan.dtype);
        for (std::size_t i = 0; i < problem.expected[t].size(); ++i) {
            const double got = decode(type, &run.memory.tensors[t].bytes[i * static_cast<std::size_t>(isa::bytes_of(type))]);
            const double expected = problem.expected[t][i];
            const double share = std::fabs(got - expected) / kernels::tolerance(type, length, expected, problem.magnitudes[t][i]);
            if (!(share <= run.worst)) run.worst = share;
            if (!(share <= 1) && run.wrong.empty())
                run.wrong = k.tensors[t].name + "[" + std::to_string(i) + "] is " + std::to_string(got) + ", expected " + std::to_string(expected);
        }
    }
}

inline KernelRun run_kernel(const RunPlan& plan) {
    const isa::Chip chip = isa::load_chip(plan.chip, {}, "isa/chips");
    const kernels::Kernel& k = kernels::find(plan.kernel);
    const Problem problem = problem_of(k, plan.shape, plan.dtype);
    KernelRun run = run_compiled(k, chip, compile_kernel(plan, chip).program, problem, plan.shape, plan.mode);
    judge(run, k, problem, plan);
    return run;
}

}  // namespace sfumato::testing
