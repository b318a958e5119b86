// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the text of a pattern cannot say: axes, shapes, types, and proofs about symbols.
#include "fusion/passes/pattern.h"

namespace sfumato::fusion::guards {

std::optional<Miss> norm(const Graph&, const Match&);
std::optional<Miss> add_norm(const Graph&, const Match&);
std::optional<Miss> types(const Graph&, const Match&);
std::optional<Miss> gated(const Graph&, const Match&);
std::optional<Miss> rotary(const Graph&, const Match&);
std::optional<Miss> embedding(const Graph&, const Match&);
std::optional<Miss> attention(const Graph&, const Match&);
std::optional<Miss> convolution(const Graph&, const Match&);
std::optional<Miss> matmul(const Graph&, const Match&);
std::optional<Miss> two_or_more(const Graph&, const Match&);

}  // namespace sfumato::fusion::guards
