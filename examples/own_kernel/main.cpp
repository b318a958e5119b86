// SPDX-License-Identifier: Apache-2.0
// A kernel of its own: softplus, y = log(1 + exp(x)), compiled, run on the model of an Ascend 910B2 and compared with the definition in double.
#include <cmath>
#include <iostream>

#include "dsl/dsl.h"
#include "lab/author.h"

using namespace sfumato::dsl;

struct SoftplusTile {
    Knob rows, cols;
};

void softplus(In<f16> X, Out<f16> Y, SoftplusTile t) {
    auto x = tiles(X, t.rows, t.cols);
    auto y = tiles(Y, t.rows, t.cols);
    for (auto [i, j] : cores(y.rows(), y.cols())) y(i, j) = cast<f16>(log(1.0 + exp(cast<f32>(x(i, j)))));
}

int main() try {
    using namespace sfumato;
    const auto kernel = lab::compile(softplus, isa::load_chip("Ascend910B2"), SoftplusTile{8, 512}, {.name = "softplus", .tensors = {"X", "Y"}});
    auto X = lab::random<f16>({100, 955});
    lab::Tensor<f16> Y({100, 955});
    auto run = kernel(X, Y);
    run.check(
        [](auto& tensors) {
            for (std::size_t i = 0; i < tensors[0].size(); ++i) tensors[1][i] = std::log(1 + std::exp(tensors[0][i]));
        },
        std::ldexp(1, -10));
    std::cout << run.summary();
    return 0;
} catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
}
