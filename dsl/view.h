// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors of a kernel and their cut into tiles. An extent is a launch parameter named "<tensor>.<axis>", so that one compiled program serves
// every shape; the last tile of a row or column is smaller, and each tile knows by how much.
#include <array>
#include <source_location>

#include "dsl/index.h"
#include "dsl/tile_ir.h"
#include "dsl/types.h"

namespace sfumato::dsl {

class Tile;  // math.h
struct Window;

/// A tensor argument. Its rank is settled by its first use: tiles(T, n) makes it a vector, tiles(T, rows, cols) a matrix.
struct Tensor {
    std::int32_t id = -1;

    Index rows(std::source_location = std::source_location::current()) const;  ///< extents of a matrix
    Index cols(std::source_location = std::source_location::current()) const;
    /// Columns [first, first + count) of a matrix.
    Window columns(Index first, Index count, std::source_location = std::source_location::current()) const;
    template <int N>
    std::array<Index, N> dims(std::source_location at = std::source_location::current()) const {
        std::array<Index, N> out;
        for (int i = 0; i < N; ++i) out[static_cast<std::size_t>(i)] = dim(N, i, at);
        return out;
    }
    Index dim(int rank, int axis, std::source_location) const;
};
/// The arguments of a kernel function.
template <class T, isa::Role R>
struct TensorArg : Tensor {
    using Element = T;
    static constexpr isa::Role kRole = R;
};
template <class T>
using In = TensorArg<T, isa::Role::in>;
template <class T>
using Out = TensorArg<T, isa::Role::out>;
template <class T>
using InOut = TensorArg<T, isa::Role::inout>;

/// Part of a matrix: element (r, c) lies at base + r * pitch + c.
struct Window {
    std::int32_t tensor = -1;
    Index base, pitch, rows, cols;
};

/// Tile (i, j) of a view: what is loaded and stored. Both levels take it: as a value (math.h) or as one end of a copy.
struct TileRef {
    std::int32_t view = -1;
    isa::Expr i, j;
    std::source_location at;

    /// Physical and valid extents.
    tile::Shape shape() const;
    isa::DType dtype() const;
    /// Stores a value (math.h).
    const TileRef& operator=(const Tile&) const;
    TileRef(std::int32_t v, isa::Expr i_, isa::Expr j_, std::source_location l) : view(v), i(i_), j(j_), at(l) {}
    TileRef(const TileRef&) = default;
    /// Copies a tile by value: `y(i) = x(i)` (math.h).
    const TileRef& operator=(const TileRef&) const;
};

class TileView {
public:
    explicit TileView(std::int32_t view) : view_(view) {}
    Index rows() const;  ///< number of tiles down
    Index cols() const;  ///< number of tiles across
    TileRef operator()(Index i, Index j, std::source_location at = std::source_location::current()) const;
    /// Tile j of a vector.
    TileRef operator()(Index j, std::source_location at = std::source_location::current()) const;
    std::int32_t id() const { return view_; }

private:
    std::int32_t view_;
};

TileView tiles(const Tensor&, std::int64_t rows, std::int64_t cols, std::source_location = std::source_location::current());
TileView tiles(const Tensor&, std::int64_t n, std::source_location = std::source_location::current());
TileView tiles(const Window&, std::int64_t rows, std::int64_t cols, std::source_location = std::source_location::current());

}  // namespace sfumato::dsl
