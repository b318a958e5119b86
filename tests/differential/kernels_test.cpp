// SPDX-License-Identifier: Apache-2.0
// Every kernel of the library against its definition in double, on ragged shapes, with the tolerance stated in kernel_run.h. Values in program order,
// values with time, and 1, 2 and 3 pipeline stages must agree to the bit.
#include <catch2/catch.hpp>

#include "tests/support/kernel_run.h"

using namespace sfumato;
using testing::KernelRun;
using testing::RunPlan;

namespace {

void require_right(RunPlan plan) {
    INFO(plan.kernel << " " << plan.level << " on " << plan.chip << " " << isa::name(plan.dtype) << " stages " << plan.stages);
    for (const auto& [name, value] : plan.shape) UNSCOPED_INFO(name << " = " << value);
    const KernelRun timed = testing::run_kernel(plan);
    for (const isa::Diagnostic& d : timed.result.diagnostics) UNSCOPED_INFO(isa::to_text(d));
    CHECK(timed.result.status == sim::Status::ok);
    CHECK(timed.result.diagnostics.empty());
    CHECK(timed.wrong == "");
    plan.mode = sim::Mode::values;
    const KernelRun ordered = testing::run_kernel(plan);
    CHECK(ordered.result.diagnostics.empty());
    for (std::size_t t = 0; t < timed.memory.tensors.size(); ++t) CHECK(timed.memory.tensors[t].bytes == ordered.memory.tensors[t].bytes);
}

constexpr const char* kChips[] = {"Ascend910B1", "Ascend910A", "Ascend310P3"};

/// Each extent of {1, 15, 16, 17, 100, 955, 1000} in each place at least once, large ones one at a time.
const kernels::Sizes kMatrixShapes[] = {{{"m", 1}, {"n", 1}, {"k", 1}},      {{"m", 15}, {"n", 17}, {"k", 16}},  {{"m", 16}, {"n", 15}, {"k", 17}},
                                        {{"m", 17}, {"n", 16}, {"k", 15}},   {{"m", 100}, {"n", 1}, {"k", 955}}, {{"m", 1}, {"n", 100}, {"k", 1000}},
                                        {{"m", 955}, {"n", 17}, {"k", 100}}, {{"m", 15}, {"n", 955}, {"k", 1}},  {{"m", 1000}, {"n", 100}, {"k", 15}},
                                        {{"m", 16}, {"n", 1000}, {"k", 100}}};

const kernels::Sizes kRaggedVectors[] = {{{"m", 1}, {"n", 1}, {"d", 1}},
                                         {{"m", 3}, {"n", 15}, {"d", 15}},
                                         {{"m", 17}, {"n", 126}, {"d", 126}},
                                         {{"m", 9}, {"n", 955}, {"d", 955}},
                                         {{"m", 100}, {"n", 33}, {"d", 33}}};

kernels::Sizes only(const kernels::Kernel& k, const kernels::Sizes& all) {
    kernels::Sizes out;
    for (const std::string& s : k.sizes) out[s] = all.at(s);
    return out;
}

}  // namespace

TEST_CASE("matmul_bias_relu of both levels equals its definition for ragged m, n and k on split and merged cores") {
    for (const char* chip : kChips)
        for (const char* level : {"maths", "explicit"})
            for (const kernels::Sizes& shape : kMatrixShapes)
                require_right({.kernel = "matmul_bias_relu", .chip = chip, .shape = shape, .level = level});
}

TEST_CASE("Matrix products with operands stored either way equal their definition") {
    for (const char* chip : kChips)
        for (const char* kernel : {"matmul", "matmul_transposed_a", "matmul_transposed_b"})
            for (const kernels::Sizes& shape : {kMatrixShapes[1], kMatrixShapes[4], kMatrixShapes[9]})
                require_right({.kernel = kernel, .chip = chip, .shape = shape});
}

TEST_CASE("Matrix products in bf16 and f32 equal their definition") {
    for (isa::DType type : {isa::DType::bf16, isa::DType::f32})
        for (const char* kernel : {"matmul", "matmul_bias_relu", "matmul_transposed_a", "matmul_transposed_b"})
            for (const kernels::Sizes& shape : {kMatrixShapes[2], kMatrixShapes[4]}) require_right({.kernel = kernel, .shape = shape, .dtype = type});
    require_right({.kernel = "matmul_bias_relu", .shape = kMatrixShapes[6], .dtype = isa::DType::bf16, .level = "explicit"});
}

TEST_CASE("Vector kernels equal their definition for ragged rows") {
    for (const char* chip : kChips)
        for (const char* kernel : {"add", "mul", "exp", "mul_add_relu", "swiglu", "glu"})
            for (const kernels::Sizes& shape : kRaggedVectors)
                require_right({.kernel = kernel, .chip = chip, .shape = only(kernels::find(kernel), shape)});
}

TEST_CASE("Vector kernels in bf16 and f32 equal their definition") {
    for (isa::DType type : {isa::DType::bf16, isa::DType::f32})
        for (const char* kernel : {"add", "mul", "exp", "mul_add_relu", "swiglu", "glu"})
            require_right({.kernel = kernel, .shape = only(kernels::find(kernel), kRaggedVectors[2]), .dtype = type});
}

TEST_CASE("D02: every row width from 120 to 128 elements is copied, added and stored whole") {
    for (std::int64_t n = 120; n <= 128; ++n) require_right({.kernel = "add", .shape = {{"m", 5}, {"n", n}}, .dtype = isa::DType::f32});
}

TEST_CASE("D01: 13,243 elements in blocks of 2,048 need nothing for their tail") {
    require_right({.kernel = "add", .shape = {{"m", 1}, {"n", 13243}}, .dtype = isa::DType::f32, .tile = {{"rows", 1}, {"cols", 2048}}});
}

TEST_CASE("E08: the bias is added once for 1, 2 and 5 steps of K") {
    for (std::int64_t k : {16, 32, 80})
        for (const char* level : {"maths", "explicit"})
            require_right({.kernel = "matmul_bias_relu",
                           .shape = {{"m", 20}, {"n", 40}, {"k", k}},
                           .level = level,
                           .tile = {{"m", 32}, {"n", 64}, {"k1", 16}, {"k0", 16}}});
}

TEST_CASE("E06: a bias epilogue is right for every legal tile of 100 x 256 x 256") {
    for (std::int64_t m : {16, 48, 128})
        for (std::int64_t n : {16, 80, 256})
            for (std::int64_t k1 : {32, 128})
                require_right({.kernel = "matmul_bias_relu",
                               .shape = {{"m", 100}, {"n", 256}, {"k", 256}},
                               .tile = {{"m", m}, {"n", n}, {"k1", k1}, {"k0", 32}}});
}

TEST_CASE("B23: results do not depend on the number of pipeline stages") {
    for (const char* kernel : {"matmul_bias_relu", "swiglu", "add"}) {
        const kernels::Kernel& k = kernels::find(kernel);
        RunPlan plan{.kernel = kernel, .shape = only(k, {{"m", 50}, {"n", 130}, {"k", 200}, {"d", 130}})};
        if (k.matrix)
            plan.tile = {{"m", 32}, {"n", 64}, {"k1", 32}, {"k0", 16}};
        else
            plan.tile = {{"rows", 8}, {"cols", 64}};
        plan.stages = 1;
        const KernelRun serial = testing::run_kernel(plan);
        for (std::int32_t stages : {2, 3}) {
            plan.stages = stages;
            const KernelRun run = testing::run_kernel(plan);
            INFO(kernel << " with " << stages << " stages");
            CHECK(run.result.diagnostics.empty());
            CHECK(run.memory.tensors.back().bytes == serial.memory.tensors.back().bytes);
        }
    }
}

TEST_CASE("The copy kernels move every element and find no hazard") {
    for (const char* chip : kChips)
        for (const char* kernel : {"gm_to_ub", "gm_to_l1_nz", "ub_to_gm"}) {
            require_right({.kernel = kernel, .chip = chip, .shape = {{"m", 100}, {"n", 170}}});
            const bool store = std::string_view(kernel) == "ub_to_gm";  // cores that all store the same tensor would race
            require_right({.kernel = kernel,
                           .chip = chip,
                           .shape = {{"m", 40}, {"n", 64}},
                           .tile = {{"shared", store ? 0 : 1}, {"stagger", 1}, {"rows", 16}, {"bypass", 1}}});
        }
}
