// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs drawn at random from a seed: every instruction, statement kind, symbol kind and operand type occurs. They are well formed as data
// (indices lie in their tables) but need not obey the rules of a chip; round-trip and robustness tests want exactly that.
#include <bit>
#include <cstdint>

#include "isa/enum_names.h"
#include "isa/fields.h"
#include "isa/program.h"

namespace sfumato::tests {

/// splitmix64: the same numbers on every platform.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t bits() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    /// In [0, n).
    int below(int n) { return static_cast<int>(bits() % static_cast<std::uint64_t>(n)); }
    bool chance(int percent) { return below(100) < percent; }

private:
    std::uint64_t state_;
};

class RandomProgram {
public:
    explicit RandomProgram(std::uint64_t seed) : random_(seed) {}

    isa::Program make() {
        p_.name = random_.chance(50) ? "random" : "a \"name\" with\\ odd\x01 characters";
        tables();
        for (isa::CoreKind k : {isa::CoreKind::aic, isa::CoreKind::aiv, isa::CoreKind::merged}) {
            isa::Section s{k, {}};
            block(s.body, 0);
            if (k == isa::CoreKind::aic)
                for (int op = 0; op < isa::kOpCount; ++op) s.body.push_back({instruction(static_cast<isa::Op>(op))});
            p_.sections.push_back(std::move(s));
        }
        isa::number_instructions(p_);
        return std::move(p_);
    }

private:
    template <class E>
    E any() {
        return static_cast<E>(random_.below(static_cast<int>(isa::EnumNames<E>::list.size())));
    }

    void tables() {
        for (const char* n : {"m", "n", "k.0"}) p_.add_symbol(n, isa::SymbolKind::param);
        p_.add_symbol("min", isa::SymbolKind::param);  // collides with an operator
        p_.add_symbol("block", isa::SymbolKind::block_id);
        p_.add_symbol("blocks", isa::SymbolKind::block_num);
        p_.add_symbol("half", isa::SymbolKind::sub_block);
        for (int i = 0; i < 3; ++i) counters_.push_back(p_.add_symbol(i == 2 ? "c" : "c " + std::to_string(i), isa::SymbolKind::counter));
        for (int i = 0; i < 2; ++i) loads_.push_back(p_.add_symbol("index", isa::SymbolKind::load));
        for (int i = 0; i < 3; ++i) p_.add_source({i == 2 ? "a file: \"1\"; #2.cpp" : "kernels/x-1.cpp", i * 10, i});
        for (int i = 0; i < 4; ++i)
            p_.tensors.push_back({i == 3 ? "9 lives" : "t" + std::to_string(i), any<isa::DType>(), {expr(2), expr(2)}, any<isa::Role>()});
        for (int i = 0; i < 8; ++i) {
            isa::Buffer b;
            b.name = i == 7 ? "" : "b" + std::to_string(i / 2);
            b.space = static_cast<isa::Space>(2 + random_.below(isa::kSpaceCount - 2));
            b.dtype = any<isa::DType>();
            for (int d = random_.below(4); d > 0; --d) b.shape.push_back(random_.below(1000));
            b.slot_bytes = 512 * random_.below(100);
            b.slots = 1 + random_.below(4);
            if (random_.chance(60)) b.base = 512 * random_.below(100);
            if (random_.chance(50)) b.why = "pipelined(\"x\", 2)";
            b.source = source();
            p_.buffers.push_back(std::move(b));
        }
        if (random_.chance(70)) p_.blocks = expr(2);
    }

    isa::SourceId source() { return random_.below(static_cast<int>(p_.sources.size()) + 1) - 1; }

    isa::Expr expr(int depth) {
        if (depth <= 0 || random_.chance(25)) {
            if (random_.chance(60)) return p_.symbol(random_.below(static_cast<int>(p_.symbols.size())));
            const int shift = random_.below(64);
            return p_.constant(static_cast<std::int64_t>(random_.bits()) >> shift);
        }
        const auto op = static_cast<isa::ExprOp>(2 + random_.below(12));
        if (op == isa::ExprOp::logical_not) return p_.exprs.logical_not(expr(depth - 1));
        if (random_.chance(20)) return p_.exprs.sub(expr(depth - 1), expr(depth - 1));
        isa::Expr a = expr(depth - 1), b = expr(depth - 1);
        // a program with a folded division by 0 has lost it already
        if ((op == isa::ExprOp::floor_div || op == isa::ExprOp::mod) && p_.exprs.is_constant(b, 0)) b = p_.constant(3);
        return p_.exprs.binary(op, a, b);
    }
    isa::Expr maybe_expr() { return random_.chance(30) ? isa::Expr{} : expr(random_.below(4)); }

    void draw(isa::Operand& o) {
        if (random_.chance(10)) return;
        o.space = any<isa::Space>();
        const std::size_t size = o.space == isa::Space::gm ? p_.tensors.size() : p_.buffers.size();
        o.object = random_.below(static_cast<int>(size) + 1) - 1;
        o.slot = maybe_expr();
        o.offset = maybe_expr();
    }
    void draw(isa::Expr& e) { e = maybe_expr(); }
    void draw(bool& b) { b = random_.chance(50); }
    void draw(double& d) {
        const double interesting[] = {0.0, -0.0, 1.5, -1e-320, 1e300 * 1e10, 123456789012345680000.0, 0.1};
        d = random_.chance(50) ? interesting[random_.below(7)] : std::bit_cast<double>(random_.bits());
        if (d != d) d = 0;
    }
    void draw(std::int32_t& v) { v = random_.below(3) - 1; }
    void draw(std::uint64_t& v) { v = random_.chance(30) ? 0 : random_.bits(); }
    template <class E>
    requires std::is_enum_v<E>
    void draw(E& e) { e = any<E>(); }

    isa::Instr instruction(isa::Op op) {
        isa::Instr i;
        i.op = op;
        i.operands = isa::default_operands<isa::Expr>(isa::desc(op).family);
        std::visit([&](auto& family) { isa::for_each_field(family, [&](const char*, auto& member) { draw(member); }); }, i.operands);
        i.source = source();
        i.hand = random_.chance(20);
        return i;
    }

    void block(isa::Block& b, int depth) {
        for (int n = 2 + random_.below(6); n > 0; --n) {
            const int what = depth < 4 ? random_.below(10) : 9;
            if (what < 2) {
                isa::Loop l;
                l.counter = p_.add_symbol("i" + std::to_string(depth), isa::SymbolKind::loop);
                l.trips = expr(2);
                l.stages = 1 + random_.below(3);
                l.source = source();
                block(l.body, depth + 1);
                b.push_back({std::move(l)});
            } else if (what < 4) {
                isa::When w{expr(3), {}, source()};
                block(w.body, depth + 1);
                b.push_back({std::move(w)});
            } else if (what == 4) {
                b.push_back({isa::Bump{counters_[static_cast<std::size_t>(random_.below(3))]}});
            } else if (what == 5) {
                b.push_back({isa::Load{loads_[static_cast<std::size_t>(random_.below(2))], random_.below(4), expr(2), source()}});
            } else {
                b.push_back({instruction(static_cast<isa::Op>(random_.below(isa::kOpCount)))});
            }
        }
    }

    Random random_;
    isa::Program p_;
    std::vector<isa::SymbolId> counters_, loads_;
};

inline isa::Program random_program(std::uint64_t seed) { return RandomProgram(seed).make(); }

}  // namespace sfumato::tests
