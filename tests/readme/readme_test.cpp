// SPDX-License-Identifier: Apache-2.0
// The kernel of the README compiles as printed and computes what it says.
#include <catch2/catch.hpp>

#include "lab/lab.h"
#include "readme_kernel.cpp"  // generated from README.md

TEST_CASE("The kernel shown in the README gives the reference's values for a ragged shape") {
    using namespace sfumato;
    kernels::Kernel shown = kernels::find("matmul_bias_relu");
    shown.compile = [](const isa::Chip& chip, const kernels::Config& c) {
        const auto& t = c.tile;
        return dsl::compile(matmul_bias_relu::matmul_bias_relu, chip, matmul_bias_relu::MatMulTile{t.at("m"), t.at("n"), t.at("k0")},
                            {.name = "matmul_bias_relu", .tensors = {"A", "B", "bias", "C"}});
    };
    lab::Request request;
    request.shape = "m=100,n=90,k=150";
    request.tile = "m=64,n=80,k1=64,k0=64";
    const lab::Result result = lab::run(shown, request);
    INFO(traces::to_text(result.report));
    CHECK(result.report.values.checked);
    CHECK(result.ok());
}
