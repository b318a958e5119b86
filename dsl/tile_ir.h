// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tile IR: what a kernel says before anything has a place. Values are tiles with an element type, physical extents (from knobs) and valid
// extents (expressions); regions are the loops the author wrote. The tracer records into a Kernel, `to_ssa` removes the author's mutable
// variables, `verify` checks the result and `lower` (lower.h) turns it into an isa::Program. Instructions of the explicit level stand in the
// same regions as they are, so both levels may share a kernel.
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "isa/diagnostic.h"
#include "isa/program.h"

namespace sfumato::dsl::tile {

using isa::DType;
using isa::Expr;
using isa::SourceId;
using isa::SymbolId;
using ValueId = std::int32_t;  ///< index into Kernel::values
using CellId = std::int32_t;   ///< index into Kernel::cells: a mutable tile variable of the author

/// SFUMATO_TILE_OP(name, tile arguments, what it does). The printer, the verifier, the lowering and the golden mode read this table.
/// Two-tile operations broadcast an argument of 1 row over rows and one of 1 column over columns.
#define SFUMATO_TILE_OPS(X)                                                             \
    X(load, 0, "the tile (i, j) of a view")                                             \
    X(store, 1, "writes the argument to the tile (i, j) of a view")                     \
    X(full, 0, "every element is `scalar`")                                             \
    X(get, 0, "value of a variable (before SSA)")                                       \
    X(set, 1, "assigns a variable (before SSA)")                                        \
    X(add, 2, "a + b")                                                                  \
    X(sub, 2, "a - b")                                                                  \
    X(mul, 2, "a * b")                                                                  \
    X(div, 2, "a / b")                                                                  \
    X(max, 2, "max(a, b)")                                                              \
    X(min, 2, "min(a, b)")                                                              \
    X(add_scalar, 1, "a + scalar")                                                      \
    X(mul_scalar, 1, "a * scalar")                                                      \
    X(max_scalar, 1, "max(a, scalar)")                                                  \
    X(min_scalar, 1, "min(a, scalar)")                                                  \
    X(rdiv_scalar, 1, "scalar / a")                                                     \
    X(exp, 1, "e ** a")                                                                 \
    X(log, 1, "natural logarithm of a")                                                 \
    X(sqrt, 1, "square root of a")                                                      \
    X(rsqrt, 1, "1 / square root of a")                                                 \
    X(abs, 1, "|a|")                                                                    \
    X(relu, 1, "max(a, 0)")                                                             \
    X(sigmoid, 1, "1 / (1 + exp(-a))")                                                  \
    X(silu, 1, "a / (1 + exp(-a))")                                                     \
    X(gelu, 1, "a / (1 + exp(-1.5957691216 * (a + 0.044715 * a ** 3))), the tanh form") \
    X(tanh, 1, "1 - 2 / (exp(2 * a) + 1)")                                              \
    X(cast, 1, "a in another element type, rounded to nearest even")                    \
    X(transpose, 1, "columns become rows")                                              \
    X(row_sum, 1, "sum of the valid elements of each row, a column")                    \
    X(row_max, 1, "largest valid element of each row, a column")                        \
    X(dot, 2, "matrix product, summed in f32 (i32 for integers)")

enum class OpKind : std::uint8_t {
#define X(name, args, doc) name,
    SFUMATO_TILE_OPS(X)
#undef X
};
inline constexpr int kOpKindCount = static_cast<int>(OpKind::dot) + 1;
std::string_view name(OpKind);
std::string_view doc(OpKind);
int arity(OpKind);
/// One result for each row of the argument.
constexpr bool is_row_reduction(OpKind k) { return k == OpKind::row_sum || k == OpKind::row_max; }

/// Extents of a tile: physical (fixed when the kernel is compiled) and valid (what a ragged edge leaves of it).
struct Shape {
    std::int64_t rows = 1, cols = 1;
    Expr valid_rows, valid_cols;
    Expr of_rows, of_cols;  ///< extents of the whole window that was cut into tiles: what a launch must agree on
};
struct Value {
    DType dtype = DType::f32;
    Shape shape;
    SourceId source = -1;
};
/// A window of a tensor cut into tiles: element (r, c) of tile (i, j) lies at base + (i * tile_rows + r) * pitch + j * tile_cols + c.
struct View {
    std::int32_t tensor = -1;
    Expr base, pitch;  ///< in elements
    Expr rows, cols;   ///< extents of the window
    std::int64_t tile_rows = 1, tile_cols = 1;
    std::string name;
};
struct Op {
    OpKind kind = OpKind::full;
    ValueId result = -1;  ///< -1: store, set
    std::vector<ValueId> args{};
    double scalar = 0;
    std::int32_t view = -1;  ///< load, store
    Expr i{}, j{};
    CellId cell = -1;  ///< get, set
    SourceId source = -1;
};
/// A variable that lives across iterations of a loop, or is assigned under `when`.
struct Carried {
    ValueId init = -1;    ///< value before
    ValueId inside = -1;  ///< loop: value an iteration starts with
    ValueId yield = -1;   ///< value at the end of the body
    ValueId result = -1;  ///< value after; with no iteration (or condition 0) it is `init`
    CellId cell = -1;
};
struct Node;
struct Region {
    enum class Kind : std::uint8_t { body, cores, loop, when } kind = Kind::body;
    SymbolId counter = -1;          ///< cores, loop
    Expr extent;                    ///< trips (of this core, for `cores`) or condition
    std::int32_t stages = 1;        ///< slots of the buffers that the loop fills; 0: the compiler decides
    std::int64_t per_transfer = 0;  ///< iterations of a reduction that one transfer to L1 brings; 0: the compiler decides
    SourceId source = -1;
    std::vector<Carried> carried;
    std::vector<Node> nodes;
};
struct Node {
    std::variant<Op, Region, isa::Instr, isa::Bump, isa::Load> node;
};
struct Cell {
    DType dtype = DType::f32;
    Shape shape;
    std::string name;
    SourceId source = -1;
};

/// `frame` holds the expressions, symbols, sources, tensors, buffers (explicit level) and the number of blocks; it becomes the Program.
struct Kernel {
    isa::Program frame;
    std::vector<Value> values;
    std::vector<View> views;
    std::vector<Cell> cells;
    Region body;
};

/// Valid extents of tile (i, j) of a view, clamped at 0.
Shape tile_shape(Kernel&, const View&, Expr i, Expr j);

/// Replaces get and set by values: a variable set inside a loop or `when` becomes one of its carried values.
void to_ssa(Kernel&);
/// Every broken rule of a kernel in SSA form: arguments defined before use and in scope, arity, element types, extents. Empty: well-formed.
std::vector<isa::Diagnostic> verify(const Kernel&);
/// True when some operation is of the maths-like level (not only instructions of the explicit one).
bool has_tile_ops(const Region&);

/// Two extents that a launch must make equal, e.g. the columns of A and the rows of B.
struct Requirement {
    Expr left, right;
    std::string what;  ///< "columns of A and rows of B"
    SourceId source = -1;
};
std::vector<Requirement> requirements(const Kernel&);
/// The requirements that launch parameters break, each with both values and the author's line.
std::vector<isa::Diagnostic> unmet(const isa::Program&, const std::vector<Requirement>&, const std::map<std::string, std::int64_t>& params);

/// A diagnostic at a source of the program.
isa::Diagnostic diagnose(const isa::Program&, SourceId, isa::Code, std::string message, std::vector<std::string> notes = {});

/// Text of a kernel, one operation a line with its source.
std::string print(const Kernel&);

}  // namespace sfumato::dsl::tile
