// SPDX-License-Identifier: Apache-2.0
// Every combination of shapes, levels and chips, where tests/differential takes a covering subset: values against the definition in double, program
// order against time, and 1, 2 and 3 pipeline stages against each other, to the bit. Takes minutes.
#include <catch2/catch.hpp>

#include <iostream>

#include "isa/text.h"
#include "tests/support/kernel_run.h"

using namespace sfumato;
using testing::KernelRun;
using testing::RunPlan;

namespace {

constexpr std::int64_t kExtents[] = {1, 15, 16, 17, 100, 955, 1000};

/// Programs and runs of one chip, counted for the report.
struct Sweep {
    isa::Chip chip;
    std::int64_t programs = 0, runs = 0, wrong = 0;
    double worst = 0;  ///< largest error of a result, relative to its tolerance

    explicit Sweep(const char* name) : chip(isa::load_chip(name, {}, "isa/chips")) {}

    /// Runs a program timed and in program order; false when anything is not as it should be.
    bool right(const RunPlan& plan, const testing::Problem& problem, const isa::Program& program, KernelRun& timed) {
        const kernels::Kernel& k = kernels::find(plan.kernel);
        timed = testing::run_compiled(k, chip, program, problem, plan.shape, sim::Mode::both);
        testing::judge(timed, k, problem, plan);
        const KernelRun ordered = testing::run_compiled(k, chip, program, problem, plan.shape, sim::Mode::values);
        ++programs;
        runs += 2;
        worst = std::max(worst, timed.worst);
        for (const KernelRun* run : {&std::as_const(timed), &ordered})
            if (run->result.status != sim::Status::ok || !run->result.diagnostics.empty()) return false;
        return timed.wrong.empty() && same(timed, ordered);
    }
    static bool same(const KernelRun& a, const KernelRun& b) {
        for (std::size_t t = 0; t < a.memory.tensors.size(); ++t)
            if (a.memory.tensors[t].bytes != b.memory.tensors[t].bytes) return false;
        return true;
    }
    void complain(const RunPlan& plan, const KernelRun& run, const std::string& what) {
        ++wrong;
        std::string shape;
        for (const auto& [name, value] : plan.shape) shape += " " + name + "=" + std::to_string(value);
        UNSCOPED_INFO(chip.name << " " << plan.kernel << " " << plan.level << " " << isa::name(plan.dtype) << shape << " stages " << plan.stages
                                << ": " << what << " " << run.wrong << " " << isa::to_text(run.result.diagnostics));
    }

    /// The chosen tiling, then a small one with 1, 2 and 3 stages; stages that change nothing are not run again.
    void shape(RunPlan plan, const kernels::Sizes& small_tile) {
        const testing::Problem problem = testing::problem_of(kernels::find(plan.kernel), plan.shape, plan.dtype);
        KernelRun run;
        if (!right(plan, problem, testing::compile_kernel(plan, chip).program, run)) complain(plan, run, "chosen tiling");
        plan.tile = small_tile;
        std::string text;
        KernelRun serial;
        for (std::int32_t stages : {1, 2, 3}) {
            if (plan.level == "explicit" && stages > 1) break;  // its slots stand in its text
            plan.stages = plan.level == "explicit" ? 0 : stages;
            const dsl::Compiled compiled = testing::compile_kernel(plan, chip);
            if (std::string now = isa::print_program(compiled.program); now != std::exchange(text, now)) {
                if (!right(plan, problem, compiled.program, run)) complain(plan, run, "small tiling");
                if (stages == 1)
                    serial = run;
                else if (!same(run, serial))
                    complain(plan, run, "differs from one stage");
            }
        }
    }
    void done(const std::string& what) const {
        std::cout << chip.name << " " << what << ": " << programs << " programs, " << runs << " runs, " << wrong << " wrong, largest error " << worst
                  << " of what is allowed\n";
        CHECK(wrong == 0);
    }
};

void matrix_products(const char* chip) {
    for (const char* level : {"maths", "explicit"}) {
        Sweep sweep(chip);
        for (std::int64_t m : kExtents)
            for (std::int64_t n : kExtents)
                for (std::int64_t k : kExtents)
                    sweep.shape({.kernel = "matmul_bias_relu", .shape = {{"m", m}, {"n", n}, {"k", k}}, .level = level},
                                {{"m", 48}, {"n", 64}, {"k1", 64}, {"k0", 32}});
        sweep.done(std::string("matmul_bias_relu ") + level);
    }
}

void vector_kernels(const char* chip) {
    for (const char* kernel : {"add", "mul", "exp", "mul_add_relu", "swiglu", "glu"}) {
        Sweep sweep(chip);
        const kernels::Kernel& k = kernels::find(kernel);
        for (isa::DType type : {isa::DType::f16, isa::DType::f32})
            for (std::int64_t rows : kExtents)
                for (std::int64_t cols : kExtents)
                    sweep.shape({.kernel = kernel, .shape = {{k.sizes[0], rows}, {k.sizes[1], cols}}, .dtype = type}, {{"rows", 8}, {"cols", 64}});
        sweep.done(kernel);
    }
}

}  // namespace

TEST_CASE("matmul_bias_relu equals its definition for all m, n and k on Ascend910B1, in both levels") { matrix_products("Ascend910B1"); }
TEST_CASE("matmul_bias_relu equals its definition for all m, n and k on Ascend910A, in both levels") { matrix_products("Ascend910A"); }
TEST_CASE("matmul_bias_relu equals its definition for all m, n and k on Ascend310P3, in both levels") { matrix_products("Ascend310P3"); }
TEST_CASE("Vector kernels equal their definition for all rows and columns on Ascend910B1") { vector_kernels("Ascend910B1"); }
TEST_CASE("Vector kernels equal their definition for all rows and columns on Ascend910A") { vector_kernels("Ascend910A"); }
TEST_CASE("Vector kernels equal their definition for all rows and columns on Ascend310P3") { vector_kernels("Ascend310P3"); }
