// SPDX-License-Identifier: Apache-2.0
#include "kernels/copies.h"
#include "kernels/entries.h"

namespace sfumato::kernels {

namespace {

Kernel copy_entry(std::string name, std::string doc, isa::Role role, isa::Space space) {
    Kernel k;
    k.name = std::move(name);
    k.doc = std::move(doc);
    k.sizes = {"m", "n"};
    k.default_shape = {{"m", 4096}, {"n", 4096}};
    k.tensors.push_back({role == isa::Role::in ? "X" : "Y", role, {{1, "m"}, {1, "n"}}});
    k.knobs = {{"rows", "rows of a transfer"},
               {"cols", "elements of a row"},
               {"slots", "transfers that may be under way"},
               {"repeat", "passes over the tensor"},
               {"shared", "1: every core moves the whole tensor", 0},
               {"stagger", "with shared: core i starts stagger * i tiles further on", 0},
               {"bypass", "1: past the L2", 0}};
    k.dtypes = {isa::DType::f16, isa::DType::bf16, isa::DType::f32};
    k.levels = {"explicit"};
    k.choose = [space](const isa::Chip& chip, const Sizes& s, isa::DType t, const Sizes& fixed) {
        return choose_copy(chip, s.at("m"), s.at("n"), t, space, fixed);
    };
    k.flops = [](const Sizes&) { return 0.0; };
    k.reference = [role](const Sizes&, Values& v) {
        if (role == isa::Role::out) std::fill(v[0].begin(), v[0].end(), 0.0);
    };
    return k;
}

template <class Pick>
void finish(Kernel k, std::vector<Kernel>& out, Pick pick) {
    compile_with<CopyTile>(k, [pick](auto t, const std::string&, const isa::Chip&) { return pick(t); });
    out.push_back(std::move(k));
}

}  // namespace

void add_copy_kernels(std::vector<Kernel>& out) {
    finish(copy_entry("gm_to_ub", "reads X into UB", isa::Role::in, isa::Space::ub), out, [](auto t) { return &gm_to_ub<decltype(t)>; });
    finish(copy_entry("gm_to_l1_nz", "reads X into L1, turning rows into fractals", isa::Role::in, isa::Space::l1), out,
           [](auto t) { return &gm_to_l1_nz<decltype(t)>; });
    finish(copy_entry("ub_to_gm", "writes zeros from UB to Y", isa::Role::out, isa::Space::ub), out, [](auto t) { return &ub_to_gm<decltype(t)>; });
}

}  // namespace sfumato::kernels
