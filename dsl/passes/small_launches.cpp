// SPDX-License-Identifier: Apache-2.0
// Launches that give every loop of a program 0, 1, 2, slots and slots + 1 iterations: parameter values are multiples of the constants that trip
// counts divide by.
#include <algorithm>
#include <set>

#include "dsl/passes/check.h"

namespace sfumato::dsl {

using namespace isa;

namespace {

using Values = std::map<std::string, std::vector<std::int64_t>>;

// Constants that divide something with the symbol in it.
void divisors(const ExprPool& pool, Expr e, SymbolId symbol, std::set<std::int64_t>& out) {
    if (!e || !pool.uses(e, symbol)) return;
    const ExprNode& n = pool.node(e);
    if (n.op == ExprOp::symbol) return;
    if (n.op == ExprOp::floor_div && pool.is_constant(n.b) && pool.node(n.b).value > 1) out.insert(pool.node(n.b).value);
    divisors(pool, n.a, symbol, out);
    divisors(pool, n.b, symbol, out);
}

template <class F>
void for_each_trip(const Block& b, F&& f) {
    for (const Stmt& s : b) {
        if (const Loop* l = std::get_if<Loop>(&s.node)) {
            f(l->trips);
            for_each_trip(l->body, f);
        } else if (const When* w = std::get_if<When>(&s.node)) {
            f(w->condition);
            for_each_trip(w->body, f);
        }
    }
}

std::vector<std::int64_t> values_of(const Program& p, SymbolId symbol, int slots) {
    std::set<std::int64_t> steps;
    bool used = false;
    for (const Section& s : p.sections)
        for_each_trip(s.body, [&](Expr e) {
            used = used || (e && p.exprs.uses(e, symbol));
            divisors(p.exprs, e, symbol, steps);
        });
    if (!used) return {16};
    bool extent = false;  // a tensor's extent is at least 1, any other length may be 0
    for (const Tensor& t : p.tensors)
        for (const Expr d : t.dims) extent = extent || p.exprs.uses(d, symbol);
    if (steps.empty()) steps.insert(1);
    std::set<std::int64_t> out{1};
    if (!extent) out.insert(0);
    for (const std::int64_t c : steps) out.insert(c + 1);  // a second step of one element
    for (const std::int64_t c : steps)
        for (const std::int64_t k : {std::int64_t{1}, std::int64_t{2}, static_cast<std::int64_t>(slots), static_cast<std::int64_t>(slots) + 1})
            out.insert(k * c);
    return {out.begin(), out.end()};
}

}  // namespace

std::vector<std::map<std::string, std::int64_t>> small_launches(const Program& p, int limit) {
    int slots = 1;
    for (const Buffer& b : p.buffers) slots = std::max(slots, b.slots);
    Values values;
    for (std::size_t s = 0; s < p.symbols.size(); ++s)
        if (p.symbols[s].kind == SymbolKind::param) values[p.symbols[s].name] = values_of(p, static_cast<SymbolId>(s), std::min(slots, 4));
    const auto product = [&] {
        double n = 1;
        for (const auto& [name, v] : values) n *= static_cast<double>(v.size());
        return n;
    };
    // too many: thin the longest lists out, keeping 0, the smallest real extent and the largest
    while (product() > limit) {
        auto longest = std::max_element(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
        if (longest->second.size() <= 2) break;
        longest->second.erase(longest->second.begin() + static_cast<std::ptrdiff_t>(longest->second.size() / 2));
    }
    std::vector<std::map<std::string, std::int64_t>> out{{}};
    for (const auto& [name, list] : values) {
        std::vector<std::map<std::string, std::int64_t>> next;
        for (const auto& launch : out)
            for (const std::int64_t v : list) {
                next.push_back(launch);
                next.back()[name] = v;
            }
        out = std::move(next);
    }
    const auto size = [](const auto& launch) {
        std::int64_t n = 0;
        for (const auto& [name, v] : launch) n += v;
        return n;
    };
    std::stable_sort(out.begin(), out.end(), [&](const auto& a, const auto& b) { return size(a) < size(b); });
    return out;
}

}  // namespace sfumato::dsl
