// SPDX-License-Identifier: Apache-2.0
#include "fusion/operators.h"

#include <array>
#include <unordered_map>

#include "fusion/rules.h"

namespace sfumato::fusion {

namespace {
constexpr auto kRows = std::to_array<OpRow>({
#define OP(name, first, last, imin, imax, omin, omax, kind, shape, evaluate) \
    {#name, first, last, imin, imax, omin, omax, LoopKind::kind, shape_##shape, eval_##evaluate},
#include "fusion/operators.def"
});
constexpr std::array<std::string_view, 9> kKinds{"elementwise", "broadcast", "injective", "reduce", "contraction", "shape", "constant", "fused", "opaque"};
}  // namespace

std::string_view name(LoopKind k) { return kKinds[static_cast<std::size_t>(k)]; }
const OpRow& row(Op op) { return kRows[static_cast<std::size_t>(op)]; }
int op_count() { return static_cast<int>(kRows.size()); }

std::optional<Op> parse_op(std::string_view text) {
    static const auto by_name = [] {
        std::unordered_map<std::string_view, Op> m;
        for (std::size_t i = 0; i < kRows.size(); ++i) m.emplace(kRows[i].name, static_cast<Op>(i));
        return m;
    }();
    const auto it = by_name.find(text);
    if (it == by_name.end()) return std::nullopt;
    return it->second;
}

}  // namespace sfumato::fusion
