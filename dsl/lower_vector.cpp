// SPDX-License-Identifier: Apache-2.0
#include "dsl/lower_vector.h"

#include <algorithm>
#include <functional>

namespace sfumato::dsl {

using isa::DType;
using isa::Space;
using tile::Op;

VectorLowering::VectorLowering(LowerContext& c, CubeLowering& cube) : context_(c), cube_(cube), analysis_(c.analysis), emit_(c.emit) {
    int narrowest = 4;
    for (const isa::Tensor& t : c.kernel.frame.tensors) narrowest = std::min(narrowest, isa::bytes_of(t.dtype));
    unit_ = isa::kBlockBytes / narrowest;
    choose_width();
}

// One f16 operation rounds as often as its result must anyway; a chain in f16 would round at every step.
void VectorLowering::choose_width() {
    int rounding = 0, other = 0;
    isa::SourceId source = -1;
    const std::function<void(const Region&)> walk = [&](const Region& r) {
        for (const tile::Carried& c : r.carried)
            if (analysis_.value(c.result).dtype == DType::f16) ++other;
        for (const tile::Node& n : r.nodes) {
            if (const auto* inner = std::get_if<Region>(&n.node)) walk(*inner);
            const auto* op = std::get_if<Op>(&n.node);
            if (!op || op->result < 0 || analysis_.uses(op->result) == 0 || cube_.owns(*op) || analysis_.value(op->result).dtype != DType::f16)
                continue;
            switch (op->kind) {
                case OpKind::load:
                case OpKind::full:
                case OpKind::cast:
                case OpKind::max:
                case OpKind::min:
                case OpKind::relu:
                case OpKind::abs:
                case OpKind::max_scalar:
                case OpKind::min_scalar:
                    break;
                case OpKind::add:
                case OpKind::sub:
                case OpKind::mul:
                case OpKind::add_scalar:
                case OpKind::mul_scalar:
                    ++rounding;
                    source = op->source;
                    break;
                default:
                    ++other;
                    source = op->source;
            }
        }
    };
    walk(context_.kernel.body);
    narrow_ = other == 0 && rounding <= 1;
    if (source < 0) return;
    if (narrow_)
        context_.decide("arithmetic of f16 tiles", "f16", "f32", "one operation rounds once in either type", source);
    else
        context_.decide("arithmetic of f16 tiles", "f32", "f16", "a chain in f16 would round after every operation", source);
}

DType VectorLowering::compute_type(ValueId v) const {
    const DType t = analysis_.value(v).dtype;
    if (t == DType::bf16) return DType::f32;
    return t == DType::f16 && !narrow_ ? DType::f32 : t;
}

// ---- places

UbTile VectorLowering::extents(ValueId v, DType t) const {
    const tile::Shape& s = analysis_.value(v).shape;
    isa::ExprPool& e = context_.exprs();
    UbTile u;
    u.dtype = t;
    if (is_column(v)) {  // stored densely
        u.rows = context_.constant(1);
        u.cols = context_.rewritten(s.valid_rows);
        u.max_pitch = isa::round_up(s.rows, unit_);
    } else {
        u.rows = window_ && s.rows > 1 ? window_->rows : context_.rewritten(s.valid_rows);
        u.max_rows = window_ && s.rows > 1 ? window_->max_rows : s.rows;
        u.cols = context_.rewritten(s.valid_cols);
        u.max_pitch = isa::round_up(s.cols, unit_);
    }
    u.pitch = e.round_up(u.cols, unit_);
    return u;
}

std::int32_t VectorLowering::take(std::int64_t bytes) {
    std::int32_t best = -1;
    for (std::size_t i = 0; i < temps_.size(); ++i) {
        if (!temps_[i].free) continue;
        const auto fits = [&](const Temp& t) { return t.bytes >= bytes; };
        const Temp* b = best < 0 ? nullptr : &temps_[static_cast<std::size_t>(best)];
        if (!b || (fits(temps_[i]) && (!fits(*b) || temps_[i].bytes < b->bytes)) || (!fits(temps_[i]) && !fits(*b) && temps_[i].bytes > b->bytes))
            best = static_cast<std::int32_t>(i);
    }
    if (best < 0) {
        const std::int32_t buffer = emit_.buffer({.name = "temp",
                                                  .space = Space::ub,
                                                  .dtype = DType::f32,
                                                  .shape = {},
                                                  .slot_bytes = 0,
                                                  .slots = 1,
                                                  .base = {},
                                                  .why = "intermediate values",
                                                  .source = -1});
        temps_.push_back({buffer, 0, true});
        best = static_cast<std::int32_t>(temps_.size() - 1);
    }
    Temp& t = temps_[static_cast<std::size_t>(best)];
    t.free = false;
    t.bytes = std::max(t.bytes, bytes);
    isa::Buffer& b = context_.kernel.frame.buffers[static_cast<std::size_t>(t.buffer)];
    b.slot_bytes = t.bytes;
    b.shape = {t.bytes / 4};
    return best;
}

UbTile VectorLowering::placed(UbTile t, std::int32_t temp) {
    t.at = emit_.at(temps_[static_cast<std::size_t>(temp)].buffer, context_.constant(0));
    return t;
}

void VectorLowering::used(ValueId v) {
    const auto it = left_.find(v);
    if (it == left_.end() || --it->second > 0) return;
    for (auto h = held_.begin(); h != held_.end();) {
        if (h->first.first == v) {
            release(h->second.temp);
            h = held_.erase(h);
        } else {
            ++h;
        }
    }
}

const VectorLowering::Held* VectorLowering::any(ValueId v) const {
    const auto it = held_.lower_bound({v, DType::f16});
    return it != held_.end() && it->first.first == v ? &it->second : nullptr;
}

// ---- values

const VectorLowering::Held& VectorLowering::need(ValueId v, DType as) {
    if (!any(v)) compute(v);
    if (const auto it = held_.find({v, as}); it != held_.end()) return it->second;
    const UbTile from = any(v)->tile;
    UbTile into = extents(v, as);
    const std::int32_t t = take(bytes(into));
    into = placed(into, t);
    convert(from, into, analysis_.value(v).source);
    return held_[{v, as}] = {into, t};
}

void VectorLowering::convert(const UbTile& from, const UbTile& into, isa::SourceId source) {
    if (from.dtype == into.dtype && from.at == into.at) return;
    const auto change = [&](const UbTile& a, const UbTile& b) {
        vector_unary(emit_, a.dtype == b.dtype ? isa::Op::vcopy : isa::Op::vconv, b, a, 0, source);
    };
    const bool halves = isa::bytes_of(from.dtype) == 2 && isa::bytes_of(into.dtype) == 2 && from.dtype != into.dtype;
    if (!halves) return change(from, into);
    UbTile wide = into;  // f16 and bf16 convert through f32
    wide.dtype = DType::f32;
    const std::int32_t t = take(bytes(wide));
    wide = placed(wide, t);
    change(from, wide);
    change(wide, into);
    release(t);
}

// Arguments in the type they are computed in; a conversion takes them in whatever type they are.
void VectorLowering::prepare(const Op& op) {
    for (ValueId a : op.args)
        if (op.kind != OpKind::cast || !any(a)) need(a);
}

void VectorLowering::compute(ValueId v) {
    if (!left_.count(v)) left_[v] = analysis_.used_deeper(v) ? kForever : analysis_.uses(v);
    const Op* op = analysis_.definition(v);
    const DType type = op && op->kind == OpKind::cast ? analysis_.value(v).dtype : analysis_.accumulator(v) >= 0 ? DType::f32 : compute_type(v);
    UbTile out = extents(v, type);
    std::int32_t t = -1;
    if (analysis_.accumulator(v) >= 0) {
        t = take(bytes(out));
        isa::check(drain(v, out = placed(out, t)), "an accumulator is read outside of a drain");
        held_[{v, type}] = {out, t};
        return;
    }
    isa::check(op != nullptr, "a carried tile has no place");
    if (op->kind == OpKind::load) {
        isa::check(window_ != nullptr, "a load was passed over");
        return load(*op, window_->first);
    }
    if (window_ && analysis_.reads_accumulator(v)) {
        t = take(bytes(out));
        if (drain(v, placed(out, t))) {
            held_[{v, type}] = {placed(out, t), t};
            return;
        }
        release(t);
    }
    prepare(*op);
    // the result takes the place of an argument that dies here, if that is as wide
    for (ValueId a : op->args) {
        const auto it = held_.find({a, compute_type(a)});
        if (t >= 0 || it == held_.end() || it->second.temp < 0 || tile::is_row_reduction(op->kind)) continue;  // a reduction fills its result first
        const bool dies = left_[a] == static_cast<int>(std::count(op->args.begin(), op->args.end(), a));
        const bool same =
            it->second.tile.max_rows == out.max_rows && it->second.tile.max_pitch == out.max_pitch && it->second.tile.pitch == out.pitch;
        if (!dies || !same || isa::bytes_of(type) > isa::bytes_of(it->second.tile.dtype)) continue;
        t = it->second.temp;
    }
    const bool in_place = t >= 0;
    if (!in_place) t = take(bytes(out));
    out = placed(out, t);
    expand(*op, out);
    if (in_place)
        for (auto& [key, held] : held_)
            if (held.temp == t) held.temp = -1;  // the place now belongs to the result
    for (ValueId a : op->args) used(a);
    held_[{v, type}] = {out, t};
}

void VectorLowering::produce(ValueId v, const UbTile& into) {
    const isa::SourceId source = analysis_.value(v).source;
    const Op* op = analysis_.definition(v);
    const auto here = held_.find({v, into.dtype});
    if (here != held_.end()) return convert(here->second.tile, into, source);
    if (any(v)) return convert(any(v)->tile, into, source);
    if (window_ && analysis_.reads_accumulator(v) && drain(v, into)) return;
    const bool direct = op && op->kind != OpKind::load && (op->kind == OpKind::cast ? analysis_.value(v).dtype : compute_type(v)) == into.dtype;
    if (!direct) {
        compute(v);
        return convert(any(v)->tile, into, source);
    }
    prepare(*op);
    expand(*op, into);
    for (ValueId a : op->args) used(a);
    if (!left_.count(v)) left_[v] = analysis_.used_deeper(v) ? kForever : analysis_.uses(v);
    held_[{v, into.dtype}] = {into, -1};
}

// ---- regions

bool VectorLowering::depends(ValueId v, ValueId on) const {
    if (v == on) return true;
    const Op* d = analysis_.definition(v);
    return d && std::any_of(d->args.begin(), d->args.end(), [&](ValueId a) { return depends(a, on); });
}

void VectorLowering::enter(const Region& inner) {
    const std::function<void(const Region&)> walk = [&](const Region& r) {
        const auto outside = [&](ValueId v) {
            if (analysis_.is_inside(analysis_.home(v), &inner) || any(v) || analysis_.accumulator(v) >= 0 || analysis_.reads_accumulator(v)) return;
            const Op* d = analysis_.definition(v);
            if (d && d->kind != OpKind::load && !cube_.owns(*d)) need(v);
        };
        for (const tile::Node& n : r.nodes) {
            const auto* op = std::get_if<Op>(&n.node);
            if (op && (op->kind == OpKind::store || analysis_.uses(op->result) > 0) && !cube_.owns(*op))
                for (ValueId a : op->args) outside(a);
            if (const auto* deeper = std::get_if<Region>(&n.node)) walk(*deeper);
        }
    };
    walk(inner);
    for (const tile::Carried& c : inner.carried) {
        if (analysis_.accumulator(c.result) >= 0) continue;
        const DType t = compute_type(c.result);
        UbTile tile = extents(c.result, t);
        const tile::Cell& cell = context_.kernel.cells[static_cast<std::size_t>(c.cell)];
        const std::int32_t buffer = emit_.buffer({.name = cell.name.empty() ? "carried" : cell.name,
                                                  .space = Space::ub,
                                                  .dtype = t,
                                                  .shape = {cell.shape.rows, cell.shape.cols},
                                                  .slot_bytes = bytes(tile),
                                                  .slots = 1,
                                                  .base = {},
                                                  .why = "lives across iterations",
                                                  .source = cell.source});
        tile.at = emit_.at(buffer, context_.constant(0));
        produce(c.init, tile);
        // the variable changes, so the first value must not be found here
        if (const auto it = held_.find({c.init, t}); it != held_.end() && it->second.tile.at == tile.at) held_.erase(it);
        used(c.init);
        carried_[c.result] = {tile, -1};
        if (c.inside >= 0) {
            held_[{c.inside, t}] = {tile, -1};
            left_[c.inside] = kForever;
        }
    }
}

void VectorLowering::leave(const Region& r) {
    std::vector<const tile::Carried*> mine;
    for (const tile::Carried& c : r.carried)
        if (analysis_.accumulator(c.result) < 0) mine.push_back(&c);
    if (mine.size() > 1)  // one variable may be read to compute the next value of another
        for (const tile::Carried* c : mine) {
            const UbTile from = need(c->yield).tile;
            const bool moves =
                std::any_of(mine.begin(), mine.end(), [&](const tile::Carried* o) { return carried_.at(o->result).tile.at == from.at; });
            if (!moves || carried_.at(c->result).tile.at == from.at) continue;
            const std::int32_t t = take(bytes(from));  // a variable takes over another one's value: set it aside first
            convert(from, placed(from, t), r.source);
            held_[{c->yield, from.dtype}] = {placed(from, t), t};
        }
    for (const tile::Carried* c : mine) {
        const Held& h = carried_.at(c->result);
        const ValueId yield = c->yield;
        produce(yield, h.tile);
        for (auto it = held_.begin(); it != held_.end();)  // what was in the variable is gone
            it = it->second.tile.at == h.tile.at && it->first.first != c->result ? held_.erase(it) : std::next(it);
        used(yield);
    }
    for (const tile::Carried* c : mine) {
        held_[{c->result, compute_type(c->result)}] = carried_.at(c->result);
        left_[c->result] = kForever;
    }
}

}  // namespace sfumato::dsl
