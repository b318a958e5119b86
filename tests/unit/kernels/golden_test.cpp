// SPDX-License-Identifier: Apache-2.0
// Two statements of what a kernel computes that share no code: its own text evaluated in double, and its definition.
#include <catch2/catch.hpp>

#include <cmath>

#include "dsl/golden.h"
#include "kernels/elementwise.h"
#include "kernels/matmul.h"
#include "kernels/table.h"

using namespace sfumato;
using namespace sfumato::kernels;
using dsl::f16;

namespace {

/// Largest difference between golden mode and the reference of the kernel of that name, over inputs in [-1, 1).
template <class Tile, class... Args>
double difference(const char* name, void (*text)(Args...), const Tile& tile, const Sizes& shape) {
    static const isa::Chip chip = isa::load_chip("Ascend910B1", {}, "isa/chips");
    const Kernel& k = find(name);
    dsl::CompileOptions options;
    Values expected;
    std::uint64_t state = 7;
    for (const TensorSpec& t : k.tensors) {
        options.tensors.push_back(t.name);
        expected.emplace_back(static_cast<std::size_t>(elements(t, shape)));
        for (double& v : expected.back()) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            v = t.role == isa::Role::in ? static_cast<double>(static_cast<std::int64_t>(state) >> 11) / 9007199254740992.0 * 2 : NAN;
        }
    }
    Values got = expected;
    dsl::golden(dsl::record(text, chip, tile, options), launch_params(k, shape), got);
    k.reference(shape, expected);
    double worst = 0;
    for (std::size_t t = 0; t < got.size(); ++t)
        for (std::size_t i = 0; i < got[t].size(); ++i) {
            const double d = std::fabs(got[t][i] - expected[t][i]);
            worst = d <= worst ? worst : d;
        }
    return worst;
}

}  // namespace

TEST_CASE("Golden mode of every maths-like kernel equals its definition to rounding of double, on ragged shapes") {
    const MatMulTile mm{16, 32, 32, 16};
    const Sizes shape{{"m", 21}, {"n", 45}, {"k", 50}};
    CHECK(difference("matmul", &matmul<f16>, mm, shape) < 1e-13);
    CHECK(difference("matmul_transposed_a", &matmul_transposed_a<f16>, mm, shape) < 1e-13);
    CHECK(difference("matmul_transposed_b", &matmul_transposed_b<f16>, mm, shape) < 1e-13);
    CHECK(difference("matmul_bias_relu", &matmul_bias_relu<f16>, mm, shape) < 1e-13);
    const VectorTile vt{4, 16};
    CHECK(difference("add", &add<f16>, vt, {{"m", 9}, {"n", 33}}) == 0);
    CHECK(difference("mul", &mul<f16>, vt, {{"m", 9}, {"n", 33}}) == 0);
    CHECK(difference("exp", &exp_kernel<f16>, vt, {{"m", 9}, {"n", 33}}) < 1e-14);
    CHECK(difference("mul_add_relu", &mul_add_relu<f16>, vt, {{"m", 9}, {"n", 33}}) < 1e-14);
    CHECK(difference("swiglu", &swiglu<f16>, vt, {{"m", 9}, {"d", 33}}) < 1e-14);
    CHECK(difference("glu", &glu<f16>, vt, {{"m", 9}, {"d", 33}}) < 1e-14);
}
