// SPDX-License-Identifier: Apache-2.0
#pragma once
// The maths-like level: tiles are values, operators work element by element, `dot` multiplies matrices. Reading a tile of a view reads a value;
// a Tile that is assigned inside a loop and outlives it is carried from iteration to iteration.
#include <source_location>

#include "dsl/tile_ir.h"
#include "dsl/trace.h"
#include "dsl/types.h"
#include "dsl/view.h"

namespace sfumato::dsl {

class Tile;

/// What an operator takes: a tile, a tile of a view, or a number. It remembers the line on which it was written.
class TileArg {
public:
    TileArg(const Tile& t, std::source_location at = std::source_location::current());
    TileArg(const TileRef& t, std::source_location at = std::source_location::current());
    TileArg(double number, std::source_location at = std::source_location::current()) : scalar(number), at(at) {}
    bool is_number() const { return value < 0; }

    tile::ValueId value = -1;
    double scalar = 0;
    std::source_location at;
};

/// A tile variable.
class Tile {
public:
    Tile(const TileRef&);  ///< loads it
    Tile(const Tile&);
    Tile& operator=(const TileArg&);
    Tile& operator=(const Tile&);
    Tile& operator=(const TileRef&);
    Tile& operator+=(const TileArg&);
    Tile& operator-=(const TileArg&);
    Tile& operator*=(const TileArg&);
    Tile& operator/=(const TileArg&);

    const tile::Shape& shape() const;
    isa::DType dtype() const;

    Tile(tile::ValueId, std::source_location);
    tile::CellId cell() const { return cell_; }

private:
    tile::CellId cell_;
};

Tile operator+(const TileArg&, const TileArg&);
Tile operator-(const TileArg&, const TileArg&);
Tile operator*(const TileArg&, const TileArg&);
Tile operator/(const TileArg&, const TileArg&);
Tile operator-(const TileArg&);
Tile max(const TileArg&, const TileArg&);
Tile min(const TileArg&, const TileArg&);

Tile exp(const TileArg&);
Tile log(const TileArg&);
Tile sqrt(const TileArg&);
Tile rsqrt(const TileArg&);
Tile abs(const TileArg&);
Tile relu(const TileArg&);
Tile sigmoid(const TileArg&);
Tile silu(const TileArg&);
Tile gelu(const TileArg&);
Tile tanh(const TileArg&);

/// Matrix product; sums are f32 (i32 for i8).
Tile dot(const TileArg& a, const TileArg& b);
Tile transpose(const TileArg&);
/// One element a row: only what is valid counts, so ragged tiles need no fill. Sums are f32.
Tile row_sum(const TileArg&);
Tile row_max(const TileArg&);
/// The extents of one element a row, for variables that hold what a row reduction gives.
tile::Shape column(const TileRef&);

Tile cast(isa::DType, const TileArg&);
template <class T>
Tile cast(const TileArg& a) {
    return cast(dtype_of<T>, a);
}
Tile full(isa::DType, const tile::Shape&, double, std::source_location);
/// Every element is `value`.
template <class T>
Tile full(const tile::Shape& shape, double value, std::source_location at = std::source_location::current()) {
    return full(dtype_of<T>, shape, value, at);
}
template <class T>
Tile zeros(const tile::Shape& shape, std::source_location at = std::source_location::current()) {
    return full(dtype_of<T>, shape, 0, at);
}

}  // namespace sfumato::dsl
