// SPDX-License-Identifier: Apache-2.0
// The operations of VectorLowering: what each becomes, and how tiles come and go.
#include <algorithm>

#include "dsl/lower_vector.h"
#include "isa/limits.h"

namespace sfumato::dsl {

using isa::DType;
using isa::Space;
using tile::Op;

namespace {

isa::Op instruction(OpKind k) {
    switch (k) {
        case OpKind::add:
            return isa::Op::vadd;
        case OpKind::sub:
            return isa::Op::vsub;
        case OpKind::mul:
            return isa::Op::vmul;
        case OpKind::div:
            return isa::Op::vdiv;
        case OpKind::max:
            return isa::Op::vmax;
        case OpKind::min:
            return isa::Op::vmin;
        case OpKind::add_scalar:
            return isa::Op::vadds;
        case OpKind::mul_scalar:
            return isa::Op::vmuls;
        case OpKind::max_scalar:
            return isa::Op::vmaxs;
        case OpKind::min_scalar:
            return isa::Op::vmins;
        case OpKind::exp:
            return isa::Op::vexp;
        case OpKind::log:
            return isa::Op::vln;
        case OpKind::sqrt:
            return isa::Op::vsqrt;
        case OpKind::rsqrt:
            return isa::Op::vrsqrt;
        case OpKind::abs:
            return isa::Op::vabs;
        case OpKind::relu:
            return isa::Op::vrelu;
        default:
            throw isa::InternalError("no vector instruction for " + std::string(tile::name(k)));
    }
}

}  // namespace

void VectorLowering::expand(const Op& op, const UbTile& out) {
    const auto argument = [&]() -> UbTile { return need(op.args[0]).tile; };
    switch (op.kind) {
        case OpKind::full:
            return vector_fill(emit_, out, op.scalar, op.source);
        case OpKind::cast: {
            const auto exact = held_.find({op.args[0], out.dtype});
            return convert(exact != held_.end() ? exact->second.tile : any(op.args[0])->tile, out, op.source);
        }
        case OpKind::sigmoid:
        case OpKind::silu:
        case OpKind::gelu:
        case OpKind::tanh:
            return logistic(op, argument(), out);
        case OpKind::rdiv_scalar:
            vector_unary(emit_, isa::Op::vrec, out, argument(), 0, op.source);
            if (op.scalar != 1) vector_unary(emit_, isa::Op::vmuls, out, out, op.scalar, op.source);
            return;
        case OpKind::row_sum:
        case OpKind::row_max:
            return row_reduction(op, argument(), out);
        case OpKind::transpose:
            context_.refuse(op.source, "transpose of a tile in vector code is not supported; transpose is folded into the operands of dot only");
        case OpKind::dot:
            throw isa::InternalError("a product reached the vector unit");
        default:
            if (op.args.size() == 2) return binary(op, out);
            vector_unary(emit_, instruction(op.kind), out, argument(), op.scalar, op.source);
    }
}

// The family of exp(-x): out may lie where x lies, so x is kept until the last instruction when it is read there.
void VectorLowering::logistic(const Op& op, const UbTile& x, const UbTile& out) {
    const auto unary = [&](isa::Op o, const UbTile& d, const UbTile& s, double scalar) { vector_unary(emit_, o, d, s, scalar, op.source); };
    const auto two = [&](isa::Op o, const UbTile& d, const UbTile& a, const UbTile& b) {
        vector_binary(emit_, o, d, a, b, Spread::none, false, nullptr, op.source);
    };
    std::int32_t temp = -1;
    UbTile t = out;
    if (out.at == x.at && (op.kind == OpKind::silu || op.kind == OpKind::gelu)) {
        temp = take(bytes(out));
        t = placed(out, temp);
    }
    if (op.kind == OpKind::gelu) {
        two(isa::Op::vmul, t, x, x);
        two(isa::Op::vmul, t, t, x);
        unary(isa::Op::vmuls, t, t, 0.044715);
        two(isa::Op::vadd, t, t, x);
        unary(isa::Op::vmuls, t, t, -1.5957691216057308);
    } else {
        unary(isa::Op::vmuls, t, x, op.kind == OpKind::tanh ? 2 : -1);
    }
    unary(isa::Op::vexp, t, t, 0);
    unary(isa::Op::vadds, t, t, 1);
    if (op.kind == OpKind::silu || op.kind == OpKind::gelu) {
        two(isa::Op::vdiv, out, x, t);
    } else {
        unary(isa::Op::vrec, out, t, 0);
        if (op.kind == OpKind::tanh) {
            unary(isa::Op::vmuls, out, out, -2);
            unary(isa::Op::vadds, out, out, 1);
        }
    }
    release(temp);
}

void VectorLowering::row_reduction(const Op& op, const UbTile& x, const UbTile& out) {
    if (window_)
        context_.refuse(op.source,
                        std::string(tile::name(op.kind)) + " of a result of dot is not supported yet; store it and reduce it in a second kernel");
    if (is_column(op.args[0])) return vector_unary(emit_, isa::Op::vcopy, out, x, 0, op.source);  // one element a row is what there is
    UbTile scratch = x;
    std::int32_t temp = -1;
    if (const std::int64_t elements = row_reduction_scratch(x); elements > 0) {
        temp = take(elements * isa::bytes_of(x.dtype));
        scratch = placed(scratch, temp);
    }
    vector_row_reduction(emit_, op.kind == OpKind::row_sum ? isa::Op::vcadd : isa::Op::vcmax, out, x, scratch, op.source);
    release(temp);
}

void VectorLowering::binary(const Op& op, const UbTile& out) {
    const tile::Shape &a = analysis_.value(op.args[0]).shape, &b = analysis_.value(op.args[1]).shape, &r = analysis_.value(op.result).shape;
    const auto spread = [&](const tile::Shape& s) {
        if (s.rows == r.rows && s.cols == r.cols) return Spread::none;
        if (s.cols == r.cols) return Spread::row;
        if (s.rows == r.rows) return Spread::column;
        context_.refuse(op.source, "broadcast of a tile of " + std::to_string(s.rows) + " x " + std::to_string(s.cols) + " to " +
                                       std::to_string(r.rows) + " x " + std::to_string(r.cols) + " is not supported; one extent must be equal");
    };
    const Spread sa = spread(a), sb = spread(b);
    if (sa != Spread::none && sb != Spread::none)
        context_.refuse(op.source, "both operands of " + std::string(tile::name(op.kind)) + " are broadcast; add one of them to a full tile first");
    const UbTile x = need(op.args[0], out.dtype).tile, y = need(op.args[1], out.dtype).tile;
    const bool swapped = sa != Spread::none;
    const Spread s = swapped ? sa : sb;
    if (s != Spread::none && out.max_rows > 1 && out.max_pitch * isa::bytes_of(out.dtype) / isa::kBlockBytes > isa::kMaxRepeatStrideBinary)
        context_.refuse(op.source, "a row of " + std::to_string(out.max_pitch) + " elements is too long for a broadcast: at most " +
                                       std::to_string(isa::kMaxRepeatStrideBinary * isa::kBlockBytes / isa::bytes_of(out.dtype)) +
                                       "; use a narrower tile");
    if (s == Spread::column && window_) context_.refuse(op.source, "broadcast of a column over a result of dot is not supported yet");
    UbTile scratch = out;
    std::int32_t temp = -1;
    if (s == Spread::column) {
        scratch.max_rows = isa::round_up(out.max_rows, 8);
        scratch.max_pitch = isa::kBlockBytes / isa::bytes_of(out.dtype);
        temp = take(bytes(scratch));
        scratch = placed(scratch, temp);
    }
    vector_binary(emit_, instruction(op.kind), out, swapped ? y : x, swapped ? x : y, s, swapped, &scratch, op.source);
    release(temp);
}

// ---- tiles in and out

// Elements of a column are adjacent in GM only in a tensor of one column; that is asked of the launch when it cannot be seen here.
void VectorLowering::column_is_dense(const Op& op, const tile::View& view) {
    if (context_.exprs().is_constant(view.pitch, 1)) return;
    if (context_.exprs().is_constant(view.pitch) || view.pitch != view.cols || !context_.exprs().is_constant(op.j, 0))
        context_.refuse(
            op.source,
            "a column of a matrix cannot be a tile of vector code: its elements are not adjacent in GM; store it as a tensor of one column");
    context_.requirements.push_back({view.pitch, context_.constant(1), "columns of " + view.name + ", whose tiles are columns, and 1", op.source});
}

std::int32_t VectorLowering::transfer_buffer(const Op& op, const std::string& name, const UbTile& tile, std::int32_t slots) {
    if (const auto it = buffers_.find(&op); it != buffers_.end()) return it->second;
    return buffers_[&op] = emit_.buffer({.name = name,
                                         .space = Space::ub,
                                         .dtype = tile.dtype,
                                         .shape = {tile.max_rows, tile.max_pitch},
                                         .slot_bytes = bytes(tile),
                                         .slots = slots,
                                         .base = {},
                                         .why = slots > 1 ? "stages " + std::to_string(slots) : "",
                                         .source = op.source});
}

void VectorLowering::load(const Op& op, Expr first_row) {
    const ValueId v = op.result;
    const tile::View& view = context_.view(op);
    UbTile tile = extents(v, analysis_.value(v).dtype);
    const bool windowed = window_ && analysis_.value(v).shape.rows > 1;
    Scope& scope = windowed ? context_.scopes.back() : context_.scope(analysis_.home(v));
    const std::int32_t slots = scope.loop < 0 ? 1 : windowed ? scope.stages : context_.slots_of(analysis_.home(v));
    if (is_column(v)) column_is_dense(op, view);
    tile.at = emit_.at(transfer_buffer(op, view.name + "_ub", tile, slots), context_.slot(scope, slots));
    isa::Copy c;
    c.dst = tile.at;
    c.src = emit_.tensor(view.tensor, context_.offset_of(view, context_.rewritten(op.i), context_.rewritten(op.j), windowed ? first_row : Expr{}));
    c.dtype = tile.dtype;
    c.rows = tile.rows;
    c.cols = tile.cols;
    c.dst_pitch = tile.pitch;
    c.src_pitch = tile.max_rows == 1 ? tile.cols : view.pitch;
    c.pad = true;
    emit_.instr(isa::Op::mov_gm_ub, c, op.source);
    held_[{v, tile.dtype}] = {tile, -1};
    if (!left_.count(v)) left_[v] = analysis_.used_deeper(v) ? kForever : analysis_.uses(v);
}

void VectorLowering::store(const Op& op) {
    const ValueId v = op.args[0];
    const tile::View& view = context_.view(op);
    const DType t = context_.dtype_of(view);
    UbTile tile = extents(v, t);
    const auto held = held_.find({v, t});
    const bool there = held != held_.end() && held->second.temp < 0 && !window_;
    if (there) {
        tile = held->second.tile;  // a tile that needs no work goes out from where it is
    } else {
        Scope& scope = window_ ? context_.scopes.back() : context_.scope(region_);
        const std::int32_t slots = scope.loop < 0 ? 1 : scope.region ? context_.slots_of(scope.region) : scope.stages;
        tile.at = emit_.at(transfer_buffer(op, view.name + "_out", tile, slots), context_.slot(scope, slots));
        produce(v, tile);
    }
    isa::Copy c;
    c.src = tile.at;
    c.dst =
        emit_.tensor(view.tensor, context_.offset_of(view, context_.rewritten(op.i), context_.rewritten(op.j), window_ ? window_->first : Expr{}));
    c.dtype = t;
    c.rows = tile.rows;
    c.cols = tile.cols;
    c.src_pitch = tile.pitch;
    c.dst_pitch = tile.max_rows == 1 ? tile.cols : view.pitch;
    if (is_column(v)) column_is_dense(op, view);
    emit_.instr(isa::Op::mov_ub_gm, c, op.source);
    used(v);
}

bool VectorLowering::feeds_accumulated(ValueId v) const {
    const auto& users = analysis_.users(v);
    return std::any_of(users.begin(), users.end(), [&](const Op* u) {
        if (u->kind == OpKind::store) return analysis_.reads_accumulator(u->args[0]);
        return analysis_.reads_accumulator(u->result) || feeds_accumulated(u->result);
    });
}

void VectorLowering::lower(const Op& op, const Region& r) {
    region_ = &r;
    if (op.kind == OpKind::load) {
        if (analysis_.uses(op.result) == 0) return;
        const auto& users = analysis_.users(op.result);
        const bool only_cube = !users.empty() && static_cast<int>(users.size()) == analysis_.uses(op.result) &&
                               std::all_of(users.begin(), users.end(), [&](const Op* u) { return cube_.owns(*u); });
        const bool windowed = analysis_.value(op.result).shape.rows > 1 && feeds_accumulated(op.result);
        const bool folded = !context_.merged() && feeds_accumulated(op.result);  // into the bias table
        if (!only_cube && !windowed && !folded) load(op, {});
    } else if (op.kind == OpKind::store) {
        if (analysis_.reads_accumulator(op.args[0]))
            store_accumulated(op);
        else
            store(op);
    }
}

// ---- accumulators on cores without a fix-pipe

// One move from L0C does ReLU and conversion when nothing else reads the values between.
bool VectorLowering::drain(ValueId v, const UbTile& into) {
    bool relu = false;
    isa::SourceId source = analysis_.value(v).source;
    while (analysis_.accumulator(v) < 0) {
        const Op* op = analysis_.definition(v);
        const bool clamps = op && (op->kind == OpKind::relu || (op->kind == OpKind::max_scalar && op->scalar == 0));
        if (!clamps && !(op && op->kind == OpKind::cast)) return false;
        relu = relu || clamps;
        v = op->args[0];
        if (left_[v] > 1) return false;
    }
    const int number = analysis_.accumulator(v);
    const Accumulator& acc = analysis_.accumulators[static_cast<std::size_t>(number)];
    if (!window_ || !(isa::drain_types(acc.dtype) & isa::type_bit(into.dtype))) return false;
    const CubeLowering::Home home = cube_.home(number);
    isa::ExprPool& e = context_.exprs();
    isa::Drain d;
    d.src = emit_.at(home.buffer, home.slot, e.mul(window_->first, context_.constant(isa::kFractalRows * 4)));
    d.dst = into.at;
    d.dtype = acc.dtype;
    d.dst_dtype = into.dtype;
    d.rows = into.rows;
    d.cols = e.round_up(into.cols, isa::kFractalRows);  // whole fractals, so that the row's tail is defined
    d.dst_pitch = into.pitch;
    d.src_pitch = e.round_up(context_.rewritten(acc.shape.valid_rows), isa::kFractalRows);
    d.relu = relu;
    emit_.instr(isa::Op::mov_l0c_ub, d, source);
    return true;
}

// Uses inside one window: each window computes its values anew.
void VectorLowering::count_local(ValueId v) {
    if (left_[v]++ > 0) return;
    const Op* d = analysis_.definition(v);
    if (analysis_.accumulator(v) >= 0 || !d) return;
    for (ValueId a : d->args) count_local(a);
}

std::int64_t VectorLowering::row_bytes(ValueId v, int& temps) {
    const Op* d = analysis_.definition(v);
    if (analysis_.accumulator(v) >= 0) {
        ++temps;
        return 0;
    }
    if (!d) return 0;
    const tile::Shape& s = analysis_.value(v).shape;
    if (d->kind == OpKind::load) return s.rows > 1 ? 2 * isa::round_up(s.cols, unit_) * isa::bytes_of(analysis_.value(v).dtype) : 0;
    std::int64_t sum = 0;
    for (ValueId a : d->args) sum += row_bytes(a, temps);
    if (d->kind == OpKind::silu || d->kind == OpKind::gelu || d->kind == OpKind::full) ++temps;
    return sum;
}

std::int64_t VectorLowering::window_rows(const Op& store) {
    const tile::Shape& s = analysis_.value(store.args[0]).shape;
    const std::int64_t pitch = isa::round_up(s.cols, unit_);
    int temps = 1;
    const std::int64_t loads = row_bytes(store.args[0], temps);
    const std::int64_t row = loads + pitch * (temps * 4 + 2 * isa::bytes_of(analysis_.value(store.args[0]).dtype));
    std::int64_t taken = 0;
    for (const isa::Buffer& b : context_.kernel.frame.buffers)
        if (b.space == Space::ub) taken += b.slots * isa::round_up(b.slot_bytes, isa::kBlockBytes);
    const std::int64_t room = std::max<std::int64_t>(context_.chip.bytes(Space::ub) - taken, 0);
    const std::int64_t whole = isa::round_up(s.rows, isa::kFractalRows);
    const std::int64_t fits = std::clamp<std::int64_t>(room / row / isa::kFractalRows * isa::kFractalRows, isa::kFractalRows, whole);
    context_.decide("rows of a result of dot drained at a time", std::to_string(fits),
                    fits < whole ? std::to_string(whole) : std::to_string(std::max<std::int64_t>(whole / 2, 16)),
                    fits < whole ? "all rows would need " + std::to_string(row * whole) + " of " + std::to_string(room) + " bytes of UB"
                                 : "the whole tile fits UB",
                    store.source);
    return fits;
}

void VectorLowering::store_accumulated(const Op& op) {
    const auto held = held_;
    const auto left = left_;
    for (auto& [v, n] : left_) n = any(v) ? kForever : 0;
    count_local(op.args[0]);
    const tile::Shape& s = analysis_.value(op.args[0]).shape;
    const std::int64_t step = window_rows(op), whole = isa::round_up(s.rows, isa::kFractalRows);
    isa::ExprPool& e = context_.exprs();
    const Expr valid = context_.rewritten(s.valid_rows);
    Window w{context_.constant(0), valid, s.rows};
    if (step < whole) {
        const isa::SymbolId loop = emit_.new_loop_symbol("w");
        emit_.open_loop(loop, e.ceil_div(valid, step), 2, op.source);
        context_.scopes.push_back({nullptr, loop, -1, 2});
        w.first = e.mul(context_.symbol(loop), context_.constant(step));
        w.rows = e.min(e.sub(valid, w.first), context_.constant(step));
        w.max_rows = step;
    }
    window_ = &w;
    store(op);
    window_ = nullptr;
    if (step < whole) context_.close_loop();
    for (Temp& t : temps_) t.free = true;
    for (const auto& [key, h] : held)
        if (h.temp >= 0) temps_[static_cast<std::size_t>(h.temp)].free = false;
    held_ = held;
    left_ = left;
}

}  // namespace sfumato::dsl
