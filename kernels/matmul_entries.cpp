// SPDX-License-Identifier: Apache-2.0
#include "kernels/entries.h"
#include "kernels/matmul.h"
#include "kernels/reference/reference.h"

namespace sfumato::kernels {

namespace {

using isa::DType;
using isa::Role;

Kernel matmul_entry(std::string name, std::string doc, bool a_transposed, bool b_transposed, bool bias) {
    Kernel k;
    k.name = std::move(name);
    k.doc = std::move(doc);
    k.sizes = {"m", "n", "k"};
    k.default_shape = {{"m", 1024}, {"n", 1024}, {"k", 1024}};
    const Extent m{1, "m"}, n{1, "n"}, depth{1, "k"};
    k.tensors.push_back({"A", Role::in, a_transposed ? std::vector{depth, m} : std::vector{m, depth}});
    k.tensors.push_back({"B", Role::in, b_transposed ? std::vector{n, depth} : std::vector{depth, n}});
    if (bias) k.tensors.push_back({"bias", Role::in, {n}, true});
    k.tensors.push_back({"C", Role::out, {m, n}});
    k.knobs = {
        {"m", "rows of an output tile"}, {"n", "columns of an output tile"}, {"k1", "depth of a transfer to L1"}, {"k0", "depth of a load to L0"}};
    k.dtypes = {DType::f16, DType::bf16, DType::f32};
    k.levels = {"maths"};
    k.matrix = true;
    k.reduced_size = "k";
    k.choose = [bias](const isa::Chip& chip, const Sizes& s, DType t, const Sizes& fixed) {
        return choose_matmul(chip, {s.at("m"), s.at("n"), s.at("k"), t, bias}, fixed);
    };
    k.flops = [](const Sizes& s) { return 2.0 * static_cast<double>(s.at("m")) * static_cast<double>(s.at("n")) * static_cast<double>(s.at("k")); };
    k.reference = [=](const Sizes& s, Values& v) {
        if (bias)
            reference::matmul_bias_relu(v[0], v[1], v[2], v[3], s.at("m"), s.at("n"), s.at("k"));
        else
            reference::matmul(v[0], v[1], v[2], s.at("m"), s.at("n"), s.at("k"), a_transposed, b_transposed);
    };
    return k;
}

/// One transfer brings whole L0 steps.
void check_depths(const std::string& kernel, const Sizes& tile) {
    const std::int64_t k1 = tile.at("k1"), k0 = tile.at("k0");
    if (k1 % k0)
        throw isa::InputError(kernel + ": tile k1 = " + std::to_string(k1) + " is not a multiple of k0 = " + std::to_string(k0) +
                              "; use k1 = " + std::to_string(isa::round_up(k1, k0)));
}

template <class Pick>
void finish(Kernel& k, std::vector<Kernel>& out, Pick pick) {
    compile_with<MatMulTile>(k, pick);
    k.compile = [name = k.name, inner = std::move(k.compile)](const isa::Chip& chip, const Config& c) {
        check_depths(name, c.tile);
        return inner(chip, c);
    };
    out.push_back(std::move(k));
}

template <class T>
using WithBias = void (*)(dsl::In<T>, dsl::In<T>, dsl::In<float>, dsl::Out<T>, MatMulTile);

template <class T>
WithBias<T> bias_relu(const std::string& level, const isa::Chip& chip) {
    if (level == "maths") return &matmul_bias_relu<T>;
    if (!chip.merged()) return &matmul_bias_relu_expert<T>;
    if constexpr (std::is_same_v<T, dsl::f16>) return &matmul_bias_relu_expert_merged<T>;
    throw isa::InputError("the explicit form of matmul_bias_relu for merged cores takes f16");
}

}  // namespace

void add_matmul_kernels(std::vector<Kernel>& out) {
    Kernel plain = matmul_entry("matmul", "C = A x B", false, false, false);
    finish(plain, out, [](auto t, const std::string&, const isa::Chip&) { return &matmul<decltype(t)>; });
    Kernel at = matmul_entry("matmul_transposed_a", "C = A' x B, A is stored k x m", true, false, false);
    finish(at, out, [](auto t, const std::string&, const isa::Chip&) { return &matmul_transposed_a<decltype(t)>; });
    Kernel bt = matmul_entry("matmul_transposed_b", "C = A x B', B is stored n x k", false, true, false);
    finish(bt, out, [](auto t, const std::string&, const isa::Chip&) { return &matmul_transposed_b<decltype(t)>; });
    Kernel bias = matmul_entry("matmul_bias_relu", "C = relu(A x B + bias)", false, false, true);
    bias.levels = {"maths", "explicit"};
    finish(bias, out, [](auto t, const std::string& level, const isa::Chip& chip) { return bias_relu<decltype(t)>(level, chip); });
}

}  // namespace sfumato::kernels
