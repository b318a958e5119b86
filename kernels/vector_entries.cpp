// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.h"
#include "kernels/entries.h"
#include "kernels/reference/reference.h"

namespace sfumato::kernels {

namespace {

using isa::DType;
using isa::Role;

/// What the chooser needs to know about a kernel.
struct Cost {
    int inputs = 1, passes = 1;
    int temporaries = 0;  ///< f32 tiles alive at once beside inputs and result; one less for f32 itself
    double flops = 1;     ///< per result element
};

/// `gated`: the one input has twice the columns of the result.
Kernel vector_entry(std::string name, std::string doc, std::vector<std::string> inputs, std::string output, bool gated, Cost cost) {
    Kernel k;
    k.name = std::move(name);
    k.doc = std::move(doc);
    k.sizes = gated ? std::vector<std::string>{"m", "d"} : std::vector<std::string>{"m", "n"};
    const std::string width = k.sizes[1];
    k.default_shape = gated ? Sizes{{"m", 2048}, {"d", 4096}} : Sizes{{"m", 2048}, {"n", 4096}};
    for (const std::string& i : inputs) k.tensors.push_back({i, Role::in, {{1, "m"}, {gated ? 2 : 1, width}}});
    k.tensors.push_back({output, Role::out, {{1, "m"}, {1, width}}});
    k.knobs = {{"rows", "rows of a tile"}, {"cols", "columns of a tile"}};
    k.dtypes = {DType::f16, DType::bf16, DType::f32};
    k.levels = {"maths"};
    k.choose = [=](const isa::Chip& chip, const Sizes& s, DType t, const Sizes& fixed) {
        const int wide = t == DType::bf16 ? 2 : t == DType::f32 ? std::max(cost.temporaries - 1, 0) : cost.temporaries;
        return choose_vector(chip, {s.at("m"), s.at(width), cost.inputs, t, wide, cost.passes}, fixed);
    };
    k.flops = [=](const Sizes& s) { return cost.flops * static_cast<double>(s.at("m")) * static_cast<double>(s.at(width)); };
    return k;
}

template <class Pick>
void finish(Kernel k, std::vector<Kernel>& out, std::function<void(const Sizes&, Values&)> reference, Pick pick) {
    k.reference = std::move(reference);
    compile_with<VectorTile>(k, [pick](auto t, const std::string&, const isa::Chip&) { return pick(t); });
    out.push_back(std::move(k));
}

}  // namespace

void add_vector_kernels(std::vector<Kernel>& out) {
    finish(
        vector_entry("add", "Z = X + Y", {"X", "Y"}, "Z", false, {2, 1, 0, 1}), out,
        [](const Sizes&, Values& v) { reference::add(v[0], v[1], v[2]); }, [](auto t) { return &add<decltype(t)>; });
    finish(
        vector_entry("mul", "Z = X * Y", {"X", "Y"}, "Z", false, {2, 1, 0, 1}), out,
        [](const Sizes&, Values& v) { reference::mul(v[0], v[1], v[2]); }, [](auto t) { return &mul<decltype(t)>; });
    finish(
        vector_entry("exp", "Z = e ** X", {"X"}, "Z", false, {1, 3, 2, 1}), out, [](const Sizes&, Values& v) { reference::exp(v[0], v[1]); },
        [](auto t) { return &exp_kernel<decltype(t)>; });
    finish(
        vector_entry("mul_add_relu", "Z = relu(X * Y + W), fused", {"X", "Y", "W"}, "Z", false, {3, 7, 2, 3}), out,
        [](const Sizes&, Values& v) { reference::mul_add_relu(v[0], v[1], v[2], v[3]); }, [](auto t) { return &mul_add_relu<decltype(t)>; });
    finish(
        vector_entry("swiglu", "Y = silu(G) * U over X = [G, U]", {"X"}, "Y", true, {2, 8, 2, 6}), out,
        [](const Sizes& s, Values& v) { reference::swiglu(v[0], v[1], s.at("m"), s.at("d")); }, [](auto t) { return &swiglu<decltype(t)>; });
    finish(
        vector_entry("glu", "Y = A * sigmoid(B) over X = [A, B]", {"X"}, "Y", true, {2, 8, 2, 6}), out,
        [](const Sizes& s, Values& v) { reference::glu(v[0], v[1], s.at("m"), s.at("d")); }, [](auto t) { return &glu<decltype(t)>; });
}

}  // namespace sfumato::kernels
