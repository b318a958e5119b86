// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operator table (operators.def) as an enum and rows. Shape rules and evaluation rules are functions that the table names; a row whose
// function is missing does not link.
#include <cstdint>
#include <optional>
#include <string_view>

namespace sfumato::fusion {

struct ShapeContext;
class EvalContext;
using ShapeRule = void (*)(ShapeContext&);
using EvalRule = void (*)(EvalContext&);

enum class Op : std::uint8_t {
#define OP(name, ...) name,
#include "fusion/operators.def"
};

/// What the loops of an operator look like to the general fuser, after TVM's kinds: element-wise maps, maps with broadcasting, injective index
/// maps (movement), reductions over axes, contractions (matmul, convolution), shape arithmetic, constants, fused groups, and the rest.
enum class LoopKind : std::uint8_t { elementwise, broadcast, injective, reduce, contraction, shape, constant, fused, opaque };
std::string_view name(LoopKind);

struct OpRow {
    std::string_view name;
    int first_version, last_version;          ///< opset versions of ai.onnx this row covers
    int min_inputs, max_inputs;               ///< max -1: any number
    int min_outputs, max_outputs;
    LoopKind kind;
    ShapeRule shape;
    EvalRule evaluate;
};
inline constexpr int kOldestOpset = 7, kNewestOpset = 21;

const OpRow& row(Op);
inline std::string_view name(Op op) { return row(op).name; }
std::optional<Op> parse_op(std::string_view);
int op_count();

}  // namespace sfumato::fusion
