// SPDX-License-Identifier: Apache-2.0
// A kernel author's own main: compile a function, call it with tensors, check, trace.
#include "lab/author.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "dsl/dsl.h"
#include "isa/diagnostic.h"
#include "kernels/matmul.h"
#include "lab/lab.h"
#include "tests/support/command.h"

using namespace sfumato;
using namespace sfumato::dsl;

namespace {
lab::Reference reference(std::int64_t m, std::int64_t n, std::int64_t k) {
    return [=](std::vector<std::vector<double>>& v) {
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                double sum = 0;
                for (std::int64_t l = 0; l < k; ++l) sum += v[0][static_cast<std::size_t>(i * k + l)] * v[1][static_cast<std::size_t>(l * n + j)];
                v[2][static_cast<std::size_t>(i * n + j)] = sum;
            }
    };
}
}  // namespace

TEST_CASE("an author's kernel is compiled, run, checked and traced in a few lines") {
    const isa::Chip chip = isa::load_chip("Ascend910B2");
    const auto kernel =
        lab::compile(kernels::matmul<f16>, chip, kernels::MatMulTile{64, 64, 64, 64}, {.name = "product", .tensors = {"A", "B", "C"}});
    auto A = lab::random<f16>({50, 70}, 1), B = lab::random<f16>({70, 33}, 2);
    lab::Tensor<f16> C({50, 33});
    auto run = kernel(A, B, C);
    run.check(reference(50, 33, 70), std::ldexp(1, -10), 70 * std::ldexp(1, -20));
    CHECK(run.cycles() > 0);
    CHECK(lab::values(C)[0] != 0);
    CHECK_THAT(run.summary(), Catch::Contains("product on Ascend910B2") && Catch::Contains("equal to the reference"));
    CHECK_THAT(kernel.explain(), Catch::Contains("L0C"));
    const testing::TemporaryFolder folder;
    CHECK(run.trace(folder / "t.json").slices > 10);
    CHECK(std::filesystem::exists(folder / "t.json"));
}

TEST_CASE("wrong values, shapes and numbers of tensors are named") {
    const isa::Chip chip = isa::load_chip("Ascend910B2");
    const auto kernel =
        lab::compile(kernels::matmul<f16>, chip, kernels::MatMulTile{64, 64, 64, 64}, {.name = "product", .tensors = {"A", "B", "C"}});
    auto A = lab::random<f16>({16, 16}, 1), B = lab::random<f16>({16, 16}, 2);
    auto bad = lab::random<f16>({17, 16}, 2);
    lab::Tensor<f16> C({16, 16});
    lab::Tensor<f32> wide({16, 16});
    CHECK_THROWS_WITH(kernel(A, B), Catch::Contains("takes 3 tensors, the call gives 2"));
    CHECK_THROWS_WITH(kernel(A, B, wide), Catch::Contains("tensor C of product is f16"));
    CHECK_THROWS_AS(kernel(A, bad, C), isa::Rejected);
    auto run = kernel(A, B, C);
    CHECK_THROWS_WITH(run.check([](auto& v) { v[2].assign(256, 1000.0); }, 1e-3), Catch::Contains("values of product are wrong: C[0, 0]: got"));
    CHECK_THROWS_WITH(lab::set_values(C, {1.0}), Catch::Contains("gives 1 values"));
}

TEST_CASE("a kernel described by its author runs like the library's") {
    kernels::Kernel own = kernels::find("matmul");
    own.name = "mine";
    own.choose = nullptr;
    own.reference = nullptr;
    own.flops = nullptr;
    lab::Request r;
    r.shape = "m=40,n=50,k=60";
    CHECK_THROWS_WITH(lab::run(own, r), Catch::Contains("every knob must be given (m=...,n=...,k1=...,k0=...)"));
    r.tile = "m=32,n=32,k1=64,k0=32";
    const lab::Result result = lab::run(own, r);
    CHECK(result.ok());
    CHECK(result.report.kernel == "mine");
    CHECK(result.report.flops == 0);
    CHECK(result.report.values.tolerance_rule == "bit for bit as in program order");
}
