// SPDX-License-Identifier: Apache-2.0
#include "fusion/extent.h"

#include <algorithm>
#include <functional>
#include <set>

#include "isa/diagnostic.h"

namespace sfumato::fusion {

namespace {

using isa::InputError;

constexpr std::size_t kMostTerms = 256, kMostFactors = 32;
constexpr int kLargestOperation = 400;  // operands of one operation, those of nested ones included

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
    std::int64_t r;
    if (__builtin_add_overflow(a, b, &r)) throw InputError("a shape overflows 64 bits: " + std::to_string(a) + " + " + std::to_string(b));
    return r;
}
std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
    std::int64_t r;
    if (__builtin_mul_overflow(a, b, &r)) throw InputError("a shape overflows 64 bits: " + std::to_string(a) + " * " + std::to_string(b));
    return r;
}
std::int64_t floor_div(std::int64_t a, std::int64_t b) {
    if (b == 0) throw InputError("a shape divides by 0");
    if (b == -1) return checked_mul(a, -1);
    const std::int64_t q = a / b;
    return (a % b != 0 && (a % b < 0) != (b < 0)) ? q - 1 : q;
}

// Interval arithmetic that saturates at the ends of 64 bits: "unbounded" stays unbounded.
std::int64_t saturate(__int128 v) { return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : static_cast<std::int64_t>(v); }
Range scaled(Range r, std::int64_t c) {
    const auto times = [c](std::int64_t v) { return v == Range::kUnbounded && c > 0 ? Range::kUnbounded : saturate(static_cast<__int128>(v) * c); };
    return c >= 0 ? Range{times(r.low), times(r.high)} : Range{r.high == Range::kUnbounded ? INT64_MIN : times(r.high), times(r.low)};
}
Range product(Range a, Range b) {
    __int128 low = 0, high = 0;
    bool first = true;
    for (const std::int64_t x : {a.low, a.high})
        for (const std::int64_t y : {b.low, b.high}) {
            const __int128 p = static_cast<__int128>(x) * y;
            low = first ? p : std::min(low, p);
            high = first ? p : std::max(high, p);
            first = false;
        }
    return {saturate(low), saturate(high)};
}

}  // namespace

Extent::Extent(std::int64_t constant) {
    if (constant != 0) terms_.push_back({constant, {}});
}

Extent Extent::of(Atom a) {
    Extent e;
    e.terms_.push_back({1, {a}});
    return e;
}

std::optional<std::int64_t> Extent::constant() const {
    if (terms_.empty()) return 0;
    if (terms_.size() == 1 && terms_[0].factors.empty()) return terms_[0].coefficient;
    return std::nullopt;
}

void Extent::add(const Term& t) {
    const auto at = std::lower_bound(terms_.begin(), terms_.end(), t, [](const Term& x, const Term& y) { return x.factors < y.factors; });
    if (at == terms_.end() || at->factors != t.factors) {
        if (terms_.size() >= kMostTerms) throw InputError("a shape is a sum of more than " + std::to_string(kMostTerms) + " terms");
        if (t.coefficient != 0) terms_.insert(at, t);
        return;
    }
    at->coefficient = checked_add(at->coefficient, t.coefficient);
    if (at->coefficient == 0) terms_.erase(at);
}

Extent operator+(const Extent& a, const Extent& b) {
    Extent r = a;
    for (const auto& t : b.terms_) r.add(t);
    return r;
}

Extent operator-(const Extent& a, const Extent& b) { return a + b * Extent(-1); }

Extent operator*(const Extent& a, const Extent& b) {
    Extent r;
    for (const auto& x : a.terms_)
        for (const auto& y : b.terms_) {
            Extent::Term t{checked_mul(x.coefficient, y.coefficient), x.factors};
            t.factors.insert(t.factors.end(), y.factors.begin(), y.factors.end());
            if (t.factors.size() > kMostFactors) throw InputError("a shape is a product of more than " + std::to_string(kMostFactors) + " symbols");
            std::sort(t.factors.begin(), t.factors.end());
            r.add(t);
        }
    return r;
}

bool Extent::operator<(const Extent& other) const {
    return std::lexicographical_compare(terms_.begin(), terms_.end(), other.terms_.begin(), other.terms_.end(), [](const Term& x, const Term& y) {
        return x.factors != y.factors ? x.factors < y.factors : x.coefficient < y.coefficient;
    });
}

Extent Symbols::named(const std::string& name) {
    const auto [it, is_new] = by_name_.emplace(name, static_cast<Atom>(atoms_.size()));
    if (is_new) atoms_.push_back({Kind::named, name, {}, {}, {}});
    return Extent::of(it->second);
}

Extent Symbols::fresh(const std::string& prefix) {
    for (;;) {
        const std::string name = prefix + "_" + std::to_string(fresh_[prefix]++);
        if (!contains(name)) return named(name);
    }
}

Extent Symbols::intern(Kind kind, const Extent& a, const Extent& b) {
    const auto [it, is_new] = interned_.try_emplace({kind, {a, b}}, static_cast<Atom>(atoms_.size()));
    if (!is_new) return Extent::of(it->second);
    const int operands = 1 + size(a) + size(b);
    if (operands > kLargestOperation) {  // the result is any size, and the same one each time
        const Extent unknown = fresh("unk");
        it->second = unknown.terms()[0].factors[0];
        return unknown;
    }
    atoms_.push_back({kind, "", {}, a, b, operands});
    atoms_.back().range = bound(atoms_.back());
    return Extent::of(it->second);
}

int Symbols::size(const Extent& e) const {
    int n = 0;
    for (const auto& t : e.terms()) {
        ++n;
        for (const Atom f : t.factors) n += atoms_[f].size;
    }
    return n;
}

Extent Symbols::floor_div(const Extent& a, const Extent& b) {
    if (b == Extent(0)) throw InputError("a shape divides by 0: " + to_text(a) + " / 0");
    if (a == b) return 1;
    if (const auto x = a.constant(), y = b.constant(); x && y) return fusion::floor_div(*x, *y);
    // Exact where one monomial divides every term: (6*s*h) / (2*h) is 3*s.
    if (b.terms().size() == 1) {
        const auto& d = b.terms()[0];
        Extent quotient;
        bool exact = true;
        for (const auto& t : a.terms()) {
            std::vector<Atom> rest;
            std::set_difference(t.factors.begin(), t.factors.end(), d.factors.begin(), d.factors.end(), std::back_inserter(rest));
            exact = exact && t.coefficient % d.coefficient == 0 && rest.size() + d.factors.size() == t.factors.size();
            if (!exact) break;
            Extent term = t.coefficient / d.coefficient;
            for (const Atom f : rest) term = term * Extent::of(f);
            quotient = quotient + term;
        }
        if (exact) return quotient;
    }
    return intern(Kind::floor_div, a, b);
}

Extent Symbols::ceil_div(const Extent& a, const Extent& b) { return floor_div(a + b - Extent(1), b); }

Extent Symbols::modulo(const Extent& a, const Extent& b) {
    if (b == Extent(0)) throw InputError("a shape takes a remainder by 0: " + to_text(a));
    if (const auto x = a.constant(), y = b.constant(); x && y) return *x - fusion::floor_div(*x, *y) * *y;
    const Extent q = floor_div(a, b);
    return a - q * b;
}

Extent Symbols::minimum(const Extent& a, const Extent& b) {
    if (a == b) return a;
    const Range x = range(a - b);
    if (x.high <= 0) return a;
    if (x.low >= 0) return b;
    return a < b ? intern(Kind::minimum, a, b) : intern(Kind::minimum, b, a);
}

Extent Symbols::broadcast(const Extent& a, const Extent& b) {
    if (a == b || b == Extent(1)) return a;
    if (a == Extent(1) || is_operand(b, a)) return b;
    if (is_operand(a, b)) return a;
    const Extent e = a < b ? intern(Kind::broadcast, a, b) : intern(Kind::broadcast, b, a);
    const auto it = settled_.find(e.terms()[0].factors[0]);
    return it == settled_.end() ? e : it->second;
}

bool Symbols::is_operand(const Extent& broadcast, const Extent& operand) const {
    if (broadcast.terms().size() != 1 || broadcast.terms()[0].coefficient != 1 || broadcast.terms()[0].factors.size() != 1) return false;
    const Definition& d = atoms_[broadcast.terms()[0].factors[0]];
    return d.kind == Kind::broadcast && (d.a == operand || d.b == operand || is_operand(d.a, operand) || is_operand(d.b, operand));
}

bool Symbols::settle(const Extent& e, const Extent& operand) { return is_operand(e, operand) && settled_.emplace(e.terms()[0].factors[0], operand).second; }

Extent Symbols::maximum(const Extent& a, const Extent& b) {
    if (a == b) return a;
    const Range x = range(a - b);
    if (x.low >= 0) return a;
    if (x.high <= 0) return b;
    return a < b ? intern(Kind::maximum, a, b) : intern(Kind::maximum, b, a);
}

void Symbols::set_range(const std::string& name, Range r) {
    named(name);
    Range& old = atoms_[by_name_.at(name)].range;
    const Range both{std::max(old.low, r.low), std::min(old.high, r.high)};
    const auto text = [](Range x) { return std::to_string(x.low) + "~" + (x.high == Range::kUnbounded ? "-1" : std::to_string(x.high)); };
    if (both.low > both.high) throw InputError("symbol " + name + ": the range " + text(r) + " leaves nothing of " + text(old));
    old = both;
    for (Definition& d : atoms_)  // operands stand before the operations on them
        if (d.kind != Kind::named) d.range = bound(d);
}

Range Symbols::bound(const Definition& d) const {
    const Range a = range(d.a), b = range(d.b);
    switch (d.kind) {
        case Kind::named: return d.range;
        case Kind::minimum: return {std::min(a.low, b.low), std::min(a.high, b.high)};
        case Kind::maximum:
        case Kind::broadcast: return {d.kind == Kind::broadcast ? std::min(a.low, b.low) : std::max(a.low, b.low), std::max(a.high, b.high)};
        case Kind::modulo: return {0, b.high == Range::kUnbounded ? b.high : std::max<std::int64_t>(b.high - 1, 0)};
        case Kind::floor_div: break;  // by a positive divisor, which is what shapes do; anything else is not bounded
    }
    if (b.low < 1) return {INT64_MIN, Range::kUnbounded};
    return {fusion::floor_div(a.low, a.low < 0 ? b.low : b.high), a.high == Range::kUnbounded ? a.high : fusion::floor_div(a.high, a.high < 0 ? b.high : b.low)};
}

Range Symbols::range(const std::string& name) const {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? Range{} : atoms_[it->second].range;
}

Range Symbols::range(const Extent& e) const {
    Range sum{0, 0};
    for (const auto& t : e.terms()) {
        Range p{1, 1};
        for (const Atom f : t.factors) p = product(p, atoms_[f].range);
        p = scaled(p, t.coefficient);
        sum = {p.low == INT64_MIN || sum.low == INT64_MIN ? INT64_MIN : saturate(static_cast<__int128>(sum.low) + p.low),
               p.high == Range::kUnbounded || sum.high == Range::kUnbounded ? Range::kUnbounded : saturate(static_cast<__int128>(sum.high) + p.high)};
    }
    return sum;
}

std::vector<std::string> Symbols::names() const {
    std::vector<std::string> out;
    for (const auto& d : atoms_)
        if (d.kind == Kind::named) out.push_back(d.name);
    return out;
}

std::vector<std::string> Symbols::names_in(const Extent& e) const {
    std::set<Atom> seen;
    const std::function<void(const Extent&)> visit = [&](const Extent& x) {
        for (const auto& t : x.terms())
            for (const Atom f : t.factors) {
                if (!seen.insert(f).second || atoms_[f].kind == Kind::named) continue;
                visit(atoms_[f].a);
                visit(atoms_[f].b);
            }
    };
    visit(e);
    std::vector<std::string> out;
    for (const Atom a : seen)
        if (atoms_[a].kind == Kind::named) out.push_back(atoms_[a].name);
    return out;
}

std::int64_t Symbols::evaluate(const Extent& e, const Bindings& bindings) const {
    std::int64_t sum = 0;
    for (const auto& t : e.terms()) {
        std::int64_t p = t.coefficient;
        for (const Atom f : t.factors) {
            const Definition& d = atoms_[f];
            std::int64_t v = 0;
            if (d.kind == Kind::named) {
                const auto it = bindings.find(d.name);
                if (it == bindings.end()) throw InputError("symbol " + d.name + " has no value here; give it one through the model's input shapes");
                v = it->second;
            } else {
                const std::int64_t a = evaluate(d.a, bindings), b = evaluate(d.b, bindings);
                switch (d.kind) {
                    case Kind::floor_div: v = fusion::floor_div(a, b); break;
                    case Kind::modulo: v = a - fusion::floor_div(a, b) * b; break;
                    case Kind::minimum: v = std::min(a, b); break;
                    case Kind::broadcast:
                        if (a != b && a != 1 && b != 1)
                            throw InputError("extents " + to_text(d.a) + " = " + std::to_string(a) + " and " + to_text(d.b) + " = " + std::to_string(b) + " do not broadcast");
                        v = a == 1 ? b : a;
                        break;
                    default: v = std::max(a, b);
                }
            }
            p = checked_mul(p, v);
        }
        sum = checked_add(sum, p);
    }
    return sum;
}

std::string Symbols::to_text(const Extent& e) const {
    if (e.terms().empty()) return "0";
    const auto atom = [&](Atom a) -> std::string {
        const Definition& d = atoms_[a];
        const auto call = [&](const char* f, const char* between) { return std::string(f) + "(" + to_text(d.a) + between + to_text(d.b) + ")"; };
        switch (d.kind) {
            case Kind::named: return d.name;
            case Kind::floor_div: return call("floor", " / ");
            case Kind::modulo: return call("mod", ", ");
            case Kind::minimum: return call("min", ", ");
            case Kind::maximum: return call("max", ", ");
            case Kind::broadcast: return call("broadcast", ", ");
        }
        return "?";
    };
    std::string out;
    // symbols first, the constant last: "seq - 1"
    for (int constants = 0; constants < 2; ++constants)
        for (const auto& t : e.terms()) {
            if (t.factors.empty() != (constants == 1)) continue;
            const bool negative = t.coefficient < 0;
            if (!out.empty()) out += negative ? " - " : " + ";
            else if (negative) out += "-";
            const std::string magnitude = std::to_string(t.coefficient).substr(negative ? 1 : 0);
            if (t.factors.empty() || magnitude != "1") out += magnitude;
            bool star = !t.factors.empty() && magnitude != "1";
            for (const Atom f : t.factors) {
                out += (star ? "*" : "") + atom(f);
                star = true;
            }
        }
    return out;
}

}  // namespace sfumato::fusion
