// SPDX-License-Identifier: Apache-2.0
#include "dsl/lower_cube.h"

#include <algorithm>

namespace sfumato::dsl {

using isa::DType;
using isa::Space;
using tile::Op;

namespace {
constexpr std::int64_t rows_of(std::int64_t n) { return isa::round_up(n, isa::kFractalRows); }
}  // namespace

CubeLowering::CubeLowering(LowerContext& c, std::map<const Op*, Fold> folds) : context_(c), analysis_(c.analysis), folds_(std::move(folds)) {}

bool CubeLowering::owns(const Op& op) const {
    if (op.kind == OpKind::transpose || op.kind == OpKind::load) {
        const auto& users = analysis_.users(op.result);
        return std::any_of(users.begin(), users.end(),
                           [&](const Op* u) { return u->kind == OpKind::dot || (u->kind == OpKind::transpose && owns(*u)); });
    }
    if (op.kind == OpKind::dot) return analysis_.uses(op.result) > 0;
    if (op.kind == OpKind::add && analysis_.site(&op)) return true;
    return folds_.count(&op) > 0;
}

void CubeLowering::lower(const Op& op) {
    if (op.kind == OpKind::load)
        load(op);
    else if (op.kind == OpKind::store)
        drain(op);
    else if (const DotSite* s = analysis_.site(&op); s && s->add == &op)
        product(*s);
}

bool CubeLowering::is_dot_loop(const Region& r) const {
    if (r.kind != Region::Kind::loop && r.kind != Region::Kind::cores) return false;
    return std::any_of(r.nodes.begin(), r.nodes.end(), [&](const tile::Node& n) {
        const auto* op = std::get_if<Op>(&n.node);
        return op && op->kind == OpKind::dot && analysis_.uses(op->result) > 0;
    });
}

std::vector<const Op*> CubeLowering::loads_of(const Region& r) const {
    std::vector<const Op*> out;
    const auto add = [&](const Op* load) {
        if (load && analysis_.home(load->result) == &r && std::find(out.begin(), out.end(), load) == out.end()) out.push_back(load);
    };
    for (const tile::Node& n : r.nodes) {
        const auto* op = std::get_if<Op>(&n.node);
        if (!op || op->kind != OpKind::dot || analysis_.uses(op->result) == 0) continue;
        bool transposed = false;
        for (ValueId a : op->args) add(analysis_.load_behind(a, transposed));  // left first, whatever order C++ evaluated them in
    }
    return out;
}

// The extent of the tile that grows when one transfer brings several steps of the loop: the one the loop counter indexes.
bool CubeLowering::scales(const Op& load, const Region& r, bool& rows, bool& cols) const {
    isa::ExprPool& e = context_.exprs();
    const Expr k = context_.symbol(r.counter);
    rows = load.i == k;
    cols = load.j == k;
    const bool elsewhere = (!rows && e.uses(load.i, r.counter)) || (!cols && e.uses(load.j, r.counter));
    return !elsewhere && !(rows && cols);
}

// 0: the loop stays one loop.
std::int64_t CubeLowering::steps_per_transfer(const Region& r) {
    if (r.kind != Region::Kind::loop) return 0;
    // every operation must be a load or a product: anything else would see the author's counter change its pace
    for (const tile::Node& n : r.nodes) {
        const auto* op = std::get_if<Op>(&n.node);
        if (!op || (!owns(*op) && op->kind != OpKind::full)) return 0;
    }
    std::int64_t step_bytes = 0, fixed = 0, burst = 0;
    for (const Op* load : loads_of(r)) {
        bool rows = false, cols = false;
        const tile::View& v = context_.view(*load);
        const DType t = context_.dtype_of(v);
        if (!scales(*load, r, rows, cols)) return 0;
        const std::int64_t depth = rows ? v.tile_rows : v.tile_cols;
        if ((rows || cols) && depth % isa::kFractalRows) {
            if (r.per_transfer > 1)
                context_.refuse(r.source, "one transfer cannot bring " + std::to_string(r.per_transfer) + " steps of " + std::to_string(depth) +
                                              ": a step must be a multiple of 16");
            return 0;
        }
        (rows || cols ? step_bytes : fixed) += rows_of(v.tile_rows) * rows_of(v.tile_cols) * isa::bytes_of(t);
        if (cols) burst = std::max(burst, v.tile_cols * isa::bytes_of(t));
        if (rows) burst = std::max(burst, v.tile_rows * isa::bytes_of(t));
    }
    if (r.per_transfer > 0) return r.per_transfer;
    const std::int64_t slots = context_.slots_of(&r), room = context_.chip.bytes(Space::l1) * 15 / 16 - slots * fixed;
    const std::int64_t fits = step_bytes > 0 ? room / (slots * step_bytes) : 1;
    const std::int64_t wanted = burst > 0 ? isa::ceil_div(std::max<std::int64_t>(context_.chip.gm.full_burst, 512), burst) : 1;
    const std::int64_t steps = std::max<std::int64_t>(1, std::min(fits, wanted));
    const std::string why = steps < wanted ? "more does not fit L1 with " + std::to_string(slots) + " slots"
                                           : "rows of " + std::to_string(steps * burst) + " bytes reach full burst length";
    context_.decide("L0 steps per transfer to L1", std::to_string(steps), std::to_string(steps > 1 ? steps / 2 : 2), why, r.source);
    return steps;
}

void CubeLowering::begin_loop(const Region& r) {
    isa::ExprPool& e = context_.exprs();
    const std::int32_t stages = context_.slots_of(&r);
    const Expr trips = context_.rewritten(r.extent);
    steps_ = steps_per_transfer(r);
    cut_ = &r;
    filled_.clear();
    if (steps_ == 0) {
        outer_ = inner_ = -1;
        context_.open_loop(r, r.counter, trips, stages);
    } else {
        const std::string stem = context_.kernel.frame.symbols[static_cast<std::size_t>(r.counter)].name;
        outer_ = context_.emit.new_loop_symbol(stem + "_k1");
        inner_ = context_.emit.new_loop_symbol(stem + "_k0");
        context_.open_loop(r, outer_, e.ceil_div(trips, steps_), stages);
    }
    for (const Op* l : loads_of(r)) load(*l);
    for (const Accumulator& acc : analysis_.accumulators)
        if (acc.bias && acc.sites.front().region == &r) load_bias(acc, r);
    if (steps_ == 0) return;
    const Expr done = e.mul(context_.symbol(outer_), context_.constant(steps_));
    context_.open_loop(r, inner_, e.min(e.sub(trips, done), context_.constant(steps_)), 2);
    context_.replace(r.counter, e.add(done, context_.symbol(inner_)));
}

void CubeLowering::end_loop(const Region& r) {
    if (steps_ > 0) {
        context_.restore(r.counter);
        context_.close_loop();
    }
    context_.close_loop();
    outer_ = inner_ = -1;
    steps_ = 0;
    cut_ = nullptr;
    filled_.clear();
}

// GM -> L1 in NZ order. In a cut loop the tile holds `steps_` steps along the extent that the loop counter indexes.
void CubeLowering::load(const Op& op) {
    if (analysis_.uses(op.result) == 0) return;
    const Region* region = analysis_.home(op.result);
    tile::View v = context_.view(op);
    const DType t = context_.dtype_of(v);
    Expr i = context_.rewritten(op.i), j = context_.rewritten(op.j);
    Tile tile;
    if (cut_ == region && steps_ > 0) {
        scales(op, *region, tile.rows_scaled, tile.cols_scaled);
        if (tile.rows_scaled) v.tile_rows *= steps_;
        if (tile.cols_scaled) v.tile_cols *= steps_;
        if (tile.rows_scaled) i = context_.symbol(outer_);
        if (tile.cols_scaled) j = context_.symbol(outer_);
    }
    const tile::Shape shape = tile::tile_shape(context_.kernel, v, i, j);
    tile.rows = v.tile_rows;
    tile.pitch = rows_of(v.tile_rows);
    tile.valid_rows = shape.valid_rows;
    tile.valid_cols = shape.valid_cols;
    Scope& scope = context_.scope(region);
    const std::int32_t slots = scope.loop < 0 ? 1 : context_.slots_of(region);
    if (const auto it = tiles_.find(&op); it != tiles_.end())
        tile.buffer = it->second.buffer;
    else
        tile.buffer = context_.emit.buffer({.name = v.name + "_l1",
                                            .space = Space::l1,
                                            .dtype = t,
                                            .shape = {v.tile_rows, v.tile_cols},
                                            .slot_bytes = tile.pitch * isa::round_up(v.tile_cols, isa::fractal_cols(t)) * isa::bytes_of(t),
                                            .slots = slots,
                                            .base = {},
                                            .why = slots > 1 ? "stages " + std::to_string(slots) : "",
                                            .source = op.source});
    tile.slot = context_.slot(scope, slots);
    isa::Copy c;
    c.dst = context_.emit.at(tile.buffer, tile.slot);
    c.src = context_.emit.tensor(v.tensor, context_.offset_of(v, i, j));
    c.dtype = t;
    c.rows = tile.valid_rows;
    c.cols = tile.valid_cols;
    c.dst_pitch = context_.constant(tile.pitch);
    c.src_pitch = v.pitch;
    context_.emit.instr(isa::Op::mov_gm_l1_nz, c, op.source);
    tiles_[&op] = tile;
}

// The loops between the start of an accumulator and a product of it are all in their first iteration.
Expr CubeLowering::first_step(const Accumulator& acc, const DotSite& site, bool transfer_only) {
    isa::ExprPool& e = context_.exprs();
    const auto is_first = [&](isa::SymbolId s) { return e.binary(isa::ExprOp::eq, context_.symbol(s), context_.constant(0)); };
    Expr first = context_.constant(1);
    std::vector<Expr> terms;
    for (const Region* r = site.region; r != acc.home && r; r = analysis_.parent(r)) {
        if (r->kind == Region::Kind::when)
            context_.refuse(site.add->source, "a product is added to an accumulator under `when`; move the condition into the loop's trip count");
        if (r->kind == Region::Kind::body) continue;
        if (r == cut_ && steps_ > 0) {
            if (!transfer_only) terms.push_back(is_first(inner_));
            terms.push_back(is_first(outer_));
        } else {
            terms.push_back(is_first(r->counter));
        }
    }
    for (std::size_t i = terms.size(); i-- > 0;) first = e.binary(isa::ExprOp::logical_and, terms[i], first);
    return first;
}

void CubeLowering::load_bias(const Accumulator& acc, const Region& r) {
    const Op& op = *acc.bias;
    const tile::View& v = context_.view(op);
    const DType t = context_.dtype_of(v);
    Scope& scope = context_.scope(&r);
    const std::int32_t slots = scope.loop < 0 ? 1 : context_.slots_of(&r);
    const std::int64_t bytes = v.tile_cols * isa::bytes_of(t);
    if (!bias_l1_.count(&op)) {
        isa::Buffer b{.name = v.name + "_l1",
                      .space = Space::l1,
                      .dtype = t,
                      .shape = {1, v.tile_cols},
                      .slot_bytes = isa::round_up(bytes, 64),
                      .slots = slots,
                      .base = {},
                      .why = slots > 1 ? "stages " + std::to_string(slots) : "",
                      .source = op.source};
        bias_l1_[&op].first = context_.emit.buffer(b);
        b.name = v.name + "_bt";
        b.space = Space::bt;
        b.slots = 1;
        b.why.clear();
        bias_table_[&op] = context_.emit.buffer(b);
    }
    bias_l1_[&op].second = context_.slot(scope, slots);
    const Expr i = context_.rewritten(op.i), j = context_.rewritten(op.j);
    isa::Copy c;
    c.dst = context_.emit.at(bias_l1_[&op].first, bias_l1_[&op].second);
    c.src = context_.emit.tensor(v.tensor, context_.offset_of(v, i, j));
    c.dtype = t;
    c.rows = context_.constant(1);
    c.cols = tile::tile_shape(context_.kernel, v, i, j).valid_cols;
    c.dst_pitch = c.src_pitch = context_.constant(v.tile_cols);
    const Expr first = first_step(acc, acc.sites.front(), true);
    const bool guarded = !context_.exprs().is_constant(first);
    if (guarded) context_.emit.open_when(first, op.source);
    context_.emit.instr(isa::Op::mov_gm_l1, c, op.source);
    if (guarded) context_.emit.close();
}

// L1 -> L0A or L0B, once an iteration for each operand.
CubeLowering::Filled CubeLowering::fill(const Operand& o, const Region* region, isa::SourceId source) {
    if (const auto it = filled_.find(o); it != filled_.end()) return it->second;
    isa::ExprPool& e = context_.exprs();
    const Tile& tile = tiles_.at(o.load);
    const tile::View& v = context_.view(*o.load);
    const DType t = context_.dtype_of(v);
    const int size = isa::bytes_of(t), c0 = isa::fractal_cols(t);
    const std::int64_t rows = o.transposed ? v.tile_cols : v.tile_rows, cols = o.transposed ? v.tile_rows : v.tile_cols;
    Scope& scope = context_.scope(region);
    const std::int32_t slots = scope.loop < 0 ? 1 : 2;
    if (!l0_buffers_.count(o)) {
        const std::int64_t other = o.left ? rows : cols, depth = o.left ? cols : rows;
        l0_buffers_[o] = context_.emit.buffer({.name = v.name + (o.left ? "_l0a" : "_l0b"),
                                               .space = o.left ? Space::l0a : Space::l0b,
                                               .dtype = t,
                                               .shape = {rows, cols},
                                               .slot_bytes = rows_of(other) * isa::round_up(depth, c0) * size,
                                               .slots = slots,
                                               .base = {},
                                               .why = slots > 1 ? "L0 operands alternate" : "",
                                               .source = o.load->source});
    }
    // extents of the step as stored in L1
    Expr stored_rows = tile.valid_rows, stored_cols = tile.valid_cols, offset = context_.constant(0);
    const auto cut = [&](std::int64_t step, std::int64_t bytes, Expr valid) {
        const Expr done = e.mul(context_.symbol(inner_), context_.constant(step));
        offset = e.mul(context_.symbol(inner_), context_.constant(step * bytes));
        return e.min(e.sub(valid, done), context_.constant(step));
    };
    if (inner_ >= 0 && tile.rows_scaled) stored_rows = cut(v.tile_rows, isa::kBlockBytes, tile.valid_rows);
    if (inner_ >= 0 && tile.cols_scaled) stored_cols = cut(v.tile_cols, tile.pitch * size, tile.valid_cols);
    isa::Copy c;
    const Filled filled{l0_buffers_[o], context_.slot(scope, slots), (o.left != o.transposed) ? stored_cols : stored_rows};
    c.dst = context_.emit.at(filled.buffer, filled.slot);
    c.src = context_.emit.at(tile.buffer, tile.slot, offset);
    c.dtype = t;
    c.rows = o.transposed ? stored_cols : stored_rows;
    c.cols = o.transposed ? stored_rows : stored_cols;
    c.dst_pitch = context_.constant(0);
    c.src_pitch = context_.constant(tile.pitch);
    c.transpose = o.transposed;
    context_.emit.instr(o.left ? isa::Op::mov_l1_l0a : isa::Op::mov_l1_l0b, c, source);
    return filled_[o] = filled;
}

void CubeLowering::product(const DotSite& site) {
    const int number = analysis_.accumulator(site.add->result);
    const Accumulator& acc = analysis_.accumulators[static_cast<std::size_t>(number)];
    const bool leading = &acc.sites.front() == &site;
    if (!leading && acc.sites.front().region != site.region)
        context_.refuse(site.add->source, "one accumulator sums products of two different loops; use one accumulator for each and add them");
    const Home home = this->home(number);
    Operand left{nullptr, false, true}, right{nullptr, false, false};
    left.load = analysis_.load_behind(site.dot->args[0], left.transposed);
    right.load = analysis_.load_behind(site.dot->args[1], right.transposed);
    if (!left.load || !right.load)
        context_.refuse(site.dot->source,
                        "an operand of dot is computed by vector instructions; only tiles of tensors, plain or transposed, can be multiplied yet");
    if (!is_dot_loop(*site.region)) filled_.clear();
    const Expr first = leading ? first_step(acc, site, false) : context_.constant(0);
    isa::Cube c;
    c.bias.slot = c.bias.offset = context_.constant(0);
    if (acc.bias && leading) {
        if (!bias_l1_.count(acc.bias)) load_bias(acc, *site.region);
        isa::Copy b;
        b.dst = context_.emit.at(bias_table_.at(acc.bias), context_.constant(0));
        b.src = context_.emit.at(bias_l1_.at(acc.bias).first, bias_l1_.at(acc.bias).second);
        const tile::View& v = context_.view(*acc.bias);
        b.dtype = context_.dtype_of(v);
        b.rows = context_.constant(1);
        b.cols = tile::tile_shape(context_.kernel, v, context_.rewritten(acc.bias->i), context_.rewritten(acc.bias->j)).valid_cols;
        b.dst_pitch = b.src_pitch = context_.constant(v.tile_cols);
        const bool guarded = !context_.exprs().is_constant(first);
        if (guarded) context_.emit.open_when(first, acc.bias->source);
        context_.emit.instr(isa::Op::mov_l1_bt, b, acc.bias->source);
        if (guarded) context_.emit.close();
        c.bias = b.dst;
    }
    const Filled a = fill(left, site.region, site.dot->source), b = fill(right, site.region, site.dot->source);
    const tile::Shape &sa = analysis_.value(site.dot->args[0]).shape, &sb = analysis_.value(site.dot->args[1]).shape;
    c.dst = context_.emit.at(home.buffer, home.slot);
    c.a = context_.emit.at(a.buffer, a.slot);
    c.b = context_.emit.at(b.buffer, b.slot);
    c.dtype = analysis_.value(site.dot->args[0]).dtype;
    c.m = context_.rewritten(sa.valid_rows);
    c.k = a.depth;
    c.n = context_.rewritten(sb.valid_cols);
    c.init = first;
    context_.emit.instr(isa::Op::mmad, c, site.add->source);
}

void CubeLowering::drain(const Op& store) {
    const Fold& fold = folds_.at(&store);
    const Accumulator& acc = analysis_.accumulators[static_cast<std::size_t>(fold.accumulator)];
    const Home from = home(fold.accumulator);
    const tile::View& v = context_.view(store);
    const Expr i = context_.rewritten(store.i), j = context_.rewritten(store.j);
    const tile::Shape shape = tile::tile_shape(context_.kernel, v, i, j);
    isa::Drain d;
    d.src = context_.emit.at(from.buffer, from.slot);
    d.dst = context_.emit.tensor(v.tensor, context_.offset_of(v, i, j));
    d.dtype = acc.dtype;
    d.dst_dtype = fold.to;
    d.rows = shape.valid_rows;
    d.cols = shape.valid_cols;
    d.dst_pitch = v.pitch;
    d.src_pitch = context_.exprs().round_up(shape.valid_rows, isa::kFractalRows);
    d.relu = fold.relu;
    context_.emit.instr(isa::Op::fix_l0c_gm, d, store.source);
}

// As many tiles in turn as L0C holds, at most two: with two the drain of one tile hides behind the products of the next.
std::int32_t CubeLowering::accumulator_slots() {
    if (accumulator_slots_) return accumulator_slots_;
    std::int64_t bytes = 0;
    for (const Accumulator& a : analysis_.accumulators) bytes += rows_of(a.shape.rows) * rows_of(a.shape.cols) * 4;
    const std::int64_t room = context_.chip.bytes(Space::l0c);
    accumulator_slots_ = 2 * bytes <= room ? 2 : 1;
    const isa::SourceId source = analysis_.accumulators.front().source;
    if (accumulator_slots_ == 2)
        context_.decide("slots of the accumulators in L0C", "2", "1",
                        std::to_string(2 * bytes) + " of " + std::to_string(room) + " bytes; the drain of a tile overlaps the next", source);
    else
        context_.decide("slots of the accumulators in L0C", "1", "2",
                        "2 would need " + std::to_string(2 * bytes) + " of " + std::to_string(room) + " bytes; the drain is exposed", source);
    return accumulator_slots_;
}

CubeLowering::Home CubeLowering::home(int number) {
    const Accumulator& acc = analysis_.accumulators[static_cast<std::size_t>(number)];
    Scope& scope = context_.scope(acc.home);
    const std::int32_t slots = scope.loop < 0 ? 1 : accumulator_slots();
    if (!homes_.count(number)) {
        homes_[number] = context_.emit.buffer({.name = "acc",
                                               .space = Space::l0c,
                                               .dtype = acc.dtype,
                                               .shape = {acc.shape.rows, acc.shape.cols},
                                               .slot_bytes = rows_of(acc.shape.rows) * rows_of(acc.shape.cols) * 4,
                                               .slots = slots,
                                               .base = {},
                                               .why = slots > 1 ? "drain overlaps the next tile" : "",
                                               .source = acc.source});
    }
    return {homes_[number], context_.slot(context_.scope(acc.home), slots)};
}

}  // namespace sfumato::dsl
