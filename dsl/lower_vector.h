// SPDX-License-Identifier: Apache-2.0
#pragma once
// The vector part of the lowering: tiles GM -> UB, chains of vector instructions over temporaries that are reused as values die, UB -> GM.
// On merged cores it also drains accumulators through UB, in row chunks that fit.
#include "dsl/lower_cube.h"
#include "dsl/vector.h"

namespace sfumato::dsl {

inline constexpr int kForever = 1 << 20;  ///< uses of a value that stays where it is: read by an inner loop, or in a buffer of its own

class VectorLowering {
public:
    VectorLowering(LowerContext&, CubeLowering&);

    /// Writes a load or store; everything else is computed when a store needs it.
    void lower(const tile::Op&, const Region&);
    /// Computes what an inner region reads of the values defined before it, and gives its carried values a place.
    void enter(const Region& inner);
    /// At the end of the body of a region: next values of its carried variables.
    void leave(const Region&);

private:
    /// Where a value is, in one element type.
    struct Held {
        UbTile tile;
        std::int32_t temp = -1;  ///< index into temps_; -1: a buffer of its own
    };
    struct Temp {
        std::int32_t buffer;
        std::int64_t bytes;
        bool free;
    };
    /// Rows of an accumulator that are in UB at a time.
    struct Window {
        Expr first, rows;
        std::int64_t max_rows = 0;
    };

    const Held& need(ValueId, isa::DType as);
    const Held& need(ValueId v) { return need(v, compute_type(v)); }
    const Held* any(ValueId) const;
    void compute(ValueId);
    void prepare(const tile::Op&);
    /// Writes a value into a tile; its operations end there when the types agree.
    void produce(ValueId, const UbTile& into);
    void expand(const tile::Op&, const UbTile& out);
    void logistic(const tile::Op&, const UbTile& x, const UbTile& out);
    /// The buffer that a load fills or a store empties, made on first use.
    std::int32_t transfer_buffer(const tile::Op&, const std::string& name, const UbTile&, std::int32_t slots);
    void row_reduction(const tile::Op&, const UbTile& x, const UbTile& out);
    void binary(const tile::Op&, const UbTile& out);
    void convert(const UbTile& from, const UbTile& into, isa::SourceId);
    bool drain(ValueId, const UbTile& into);

    void load(const tile::Op&, Expr first_row);
    void store(const tile::Op&);
    void store_accumulated(const tile::Op&);
    void column_is_dense(const tile::Op&, const tile::View&);
    std::int64_t window_rows(const tile::Op& store);
    std::int64_t row_bytes(ValueId, int& temps);
    void count_local(ValueId);
    bool feeds_accumulated(ValueId) const;
    bool depends(ValueId v, ValueId on) const;

    UbTile extents(ValueId, isa::DType) const;
    std::int64_t bytes(const UbTile& t) const { return isa::round_up(t.max_rows * t.max_pitch * isa::bytes_of(t.dtype), isa::kBlockBytes); }
    std::int32_t take(std::int64_t bytes);
    UbTile placed(UbTile, std::int32_t temp);
    void release(std::int32_t temp) {
        if (temp >= 0) temps_[static_cast<std::size_t>(temp)].free = true;
    }
    void used(ValueId);
    isa::DType compute_type(ValueId) const;
    bool is_column(ValueId v) const { return analysis_.value(v).shape.cols == 1 && analysis_.value(v).shape.rows > 1; }
    void choose_width();

    LowerContext& context_;
    CubeLowering& cube_;
    const Analysis& analysis_;
    Emitter& emit_;
    std::int64_t unit_ = 16;  ///< pitches are multiples of this many elements
    bool narrow_ = false;     ///< f16 arithmetic stays f16
    std::map<std::pair<ValueId, isa::DType>, Held> held_;
    std::map<ValueId, int> left_;  ///< uses that are still to come
    std::vector<Temp> temps_;
    std::map<const tile::Op*, std::int32_t> buffers_;
    std::map<ValueId, Held> carried_;  ///< by result
    const Window* window_ = nullptr;
    const Region* region_ = nullptr;  ///< being written
};

}  // namespace sfumato::dsl
