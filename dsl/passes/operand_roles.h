// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which operands of a symbolic instruction are read and which are written. (isa::accesses answers the same for bound instructions, in bytes.)
#include "isa/program.h"

namespace sfumato::dsl {

/// Calls f(operand, writes, condition) for every operand that is present. `condition` is absent when the access always happens, otherwise
/// an expression that must not be 0 (the bias of a matrix step is read only on `init`).
template <class F>
void for_each_role(const isa::Instr& i, F&& f) {
    using namespace isa;
    const auto call = [&](const Operand& o, bool write, Expr condition = {}) {
        if (o.space != Space::none) f(o, write, condition);
    };
    if (const auto* c = std::get_if<Copy>(&i.operands)) {
        call(c->src, false);
        call(c->dst, true);
    } else if (const auto* d = std::get_if<Drain>(&i.operands)) {
        call(d->src, false);
        call(d->dst, true);
    } else if (const auto* m = std::get_if<Cube>(&i.operands)) {
        call(m->a, false);
        call(m->b, false);
        call(m->bias, false, m->init);
        call(m->dst, true);
    } else if (const auto* v = std::get_if<Vector>(&i.operands)) {
        call(v->src0, false);
        call(v->src1, false);
        if (i.op == Op::vmla || i.op == Op::vaxpy) call(v->dst, false);
        call(v->dst, true);
    }
}

}  // namespace sfumato::dsl
