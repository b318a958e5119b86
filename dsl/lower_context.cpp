// SPDX-License-Identifier: Apache-2.0
#include "dsl/lower_context.h"

namespace sfumato::dsl {

void LowerContext::open_loop(const Region& r, isa::SymbolId loop, Expr trips, std::int32_t stages) {
    emit.open_loop(loop, trips, stages, r.source);
    scopes.push_back({&r, loop, -1, stages});
}

void LowerContext::close_loop() {
    if (scopes.back().counter >= 0) emit.bump(scopes.back().counter);
    scopes.pop_back();
    emit.close();
}

Scope& LowerContext::scope(const Region* r) {
    for (; r; r = analysis.parent(r))
        for (std::size_t i = scopes.size(); i-- > 0;)
            if (scopes[i].region == r) return scopes[i];
    throw isa::InternalError("a region is asked for that is not open");
}

Expr LowerContext::slot(Scope& s, std::int32_t slots) {
    if (slots <= 1) return constant(0);
    if (s.loop < 0) return constant(0);
    if (s.counter < 0) s.counter = emit.new_counter(kernel.frame.symbols[static_cast<std::size_t>(s.loop)].name + "_count");
    return emit.slot(s.counter, slots);
}

std::int32_t LowerContext::slots_of(const Region* r) const {
    while (r && r->kind == Region::Kind::when) r = analysis.parent(r);
    if (!r || r->kind == Region::Kind::body) return 1;
    if (r->kind == Region::Kind::cores) return r->stages > 0 ? r->stages : 2;
    return r->stages > 0 ? r->stages : 1;
}

void LowerContext::refuse(isa::SourceId source, std::string message, std::vector<std::string> notes) const {
    throw isa::Rejected({tile::diagnose(kernel.frame, source, isa::Code::unsupported, std::move(message), std::move(notes))});
}

Expr LowerContext::offset_of(const tile::View& v, Expr i, Expr j, Expr row) {
    isa::ExprPool& e = exprs();
    Expr r = e.mul(i, constant(v.tile_rows));
    if (row) r = e.add(r, row);
    const Expr element = e.add(v.base, e.add(e.mul(r, v.pitch), e.mul(j, constant(v.tile_cols))));
    return e.mul(element, constant(isa::bytes_of(dtype_of(v))));
}

}  // namespace sfumato::dsl
