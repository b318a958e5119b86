// SPDX-License-Identifier: Apache-2.0
#include "dsl/loops.h"

#include <exception>

#include "dsl/recording.h"

namespace sfumato::dsl {

namespace {
using tile::Region;

Region region(Region::Kind kind, std::source_location at) {
    Region r;
    r.kind = kind;
    r.source = Trace::current(at).source(at);
    return r;
}
Region loop_region(Region::Kind kind, isa::Expr extent, std::source_location at) {
    Region r = region(kind, at);
    Trace& t = Trace::current();
    r.counter = t.frame().add_symbol("i" + std::to_string(t.frame().symbols.size()), isa::SymbolKind::loop);
    r.extent = extent;
    return r;
}
isa::SymbolId block_symbol(const char* name, isa::SymbolKind kind) {
    isa::Program& p = Trace::current().frame();
    const isa::SymbolId found = p.find_symbol(name);
    return found >= 0 ? found : p.add_symbol(name, kind);
}
isa::SourceId last_source(const Region& r) {
    for (std::size_t i = r.nodes.size(); i-- > 0;) {
        const auto& n = r.nodes[i].node;
        if (const auto* o = std::get_if<tile::Op>(&n)) return o->source;
        if (const auto* x = std::get_if<isa::Instr>(&n)) return x->source;
        if (const auto* inner = std::get_if<Region>(&n)) return inner->source;
    }
    return -1;
}
}  // namespace

void TracedBody::begin() {
    unwinding_ = std::uncaught_exceptions();
    pass_ = Pass::first;
    Trace::current().open(header_);
}

void TracedBody::end_of_pass() {
    Trace& t = Trace::current();
    Region recorded = t.take();
    if (pass_ == Pass::first && !t.rehearsing()) {
        first_ = std::move(recorded);
        mark_ = t.mark();
        pass_ = Pass::second;
        t.rehearse(true);
        t.open(header_);
        return;
    }
    if (pass_ == Pass::second) {
        t.rehearse(false);
        const Difference d = compare_recordings(t.kernel(), first_, recorded);
        t.forget(std::move(mark_));
        if (d.found)
            t.note(d.source >= 0 ? d.source : header_.source, isa::Code::trace,
                   "a host variable changed inside a loop: the second pass over the body says something else here; use the loop's index or a Counter",
                   {"the body is recorded once for all iterations of the loop at " + isa::where(t.frame(), header_.source)});
    } else {
        first_ = std::move(recorded);
    }
    t.add(tile::Node{std::move(first_)});
    pass_ = Pass::done;
}

TracedBody::~TracedBody() {
    if (pass_ == Pass::none || pass_ == Pass::done || !Trace::running()) return;
    Trace& t = Trace::current();
    Region r = t.take();
    if (pass_ == Pass::second) t.rehearse(false);
    if (std::uncaught_exceptions() > unwinding_) return;
    const isa::SourceId last = last_source(r);
    t.note(header_.source, isa::Code::trace,
           "the loop is left by break or return" +
               (last >= 0 ? " after " + isa::where(t.frame(), last) : std::string(", before it records anything")) +
               "; the body is recorded once for all iterations, so use when(condition, f) or a shorter loop");
    t.add(tile::Node{std::move(r)});
}

BodyRange<Index> loop(Index n, std::source_location at) {
    Region r = loop_region(Region::Kind::loop, n.expr(), at);
    const Index i(Trace::current().frame().symbol(r.counter));
    return {std::move(r), i};
}

BodyRange<Index> pipelined(Index n, int stages, std::int64_t per_transfer, std::source_location at) {
    Trace& t = Trace::current(at);
    if (stages < 1) t.fail(at, isa::Code::range, "pipelined() has " + std::to_string(stages) + " stages, at least 1 is allowed");
    Region r = loop_region(Region::Kind::loop, n.expr(), at);
    r.stages = t.stages > 0 ? t.stages : stages;
    r.per_transfer = per_transfer;
    const Index i(t.frame().symbol(r.counter));
    return {std::move(r), i};
}

namespace {
/// Trips of this core and the number of the tile that the running trip works on.
Region cores_region(Index tiles, Index& tile, std::source_location at) {
    Trace& t = Trace::current(at);
    const Index block(t.frame().symbol(block_symbol("block_id", isa::SymbolKind::block_id)));
    const Index blocks(t.frame().symbol(block_symbol("block_num", isa::SymbolKind::block_num)));
    Region r = loop_region(Region::Kind::cores, ceil_div(tiles - block, blocks).expr(), at);
    r.stages = t.stages;  // 0: the compiler decides
    t.frame().blocks = max(Index(t.frame().blocks), tiles).expr();
    tile = block + Index(t.frame().symbol(r.counter)) * blocks;
    return r;
}
}  // namespace

BodyRange<GridTile> cores(Index rows, Index cols, std::source_location at) {
    Index tile;
    Region r = cores_region(rows * cols, tile, at);
    return {std::move(r), GridTile{tile / cols, tile % cols}};
}

BodyRange<Index> cores(Index n, std::source_location at) {
    Index tile;
    Region r = cores_region(n, tile, at);
    return {std::move(r), tile};
}

Index every_core(std::source_location at) {
    constexpr std::int64_t most_blocks = 65535;  // of one launch; it is folded over the cores there are
    Trace& t = Trace::current(at);
    t.frame().blocks = max(Index(t.frame().blocks), Index(most_blocks)).expr();
    return Index(t.frame().symbol(block_symbol("block_id", isa::SymbolKind::block_id)));
}

tile::Region when_region(Index condition, std::source_location at) {
    Region r = region(Region::Kind::when, at);
    r.extent = condition.expr();
    return r;
}

OpenRegion::OpenRegion(tile::Region r) { Trace::current().open(std::move(r)); }
OpenRegion::~OpenRegion() { Trace::current().close(); }

HandRegion::HandRegion() : outer_(Trace::current().hand) { Trace::current().hand = true; }
HandRegion::~HandRegion() { Trace::current().hand = outer_; }

Counter::Counter(std::source_location at) {
    Trace& t = Trace::current(at);
    symbol_ = t.frame().add_symbol("c" + std::to_string(t.frame().symbols.size()), isa::SymbolKind::counter);
}

Index Counter::next() {
    Trace& t = Trace::current();
    const Index value = Index(t.frame().symbol(symbol_)) + Index(t.pending_bumps(symbol_));
    t.at_close(tile::Node{isa::Bump{symbol_}});
    return value;
}

}  // namespace sfumato::dsl
