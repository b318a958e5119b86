// SPDX-License-Identifier: Apache-2.0
#include "isa/encode.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "isa/diagnostic.h"
#include "isa/enum_names.h"
#include "isa/fields.h"

namespace sfumato::isa {

namespace {

constexpr std::string_view kMagic = "SFMB";
constexpr int kMaxNesting = 64;
// Shared subexpressions make trees that are exponentially larger than their encoding; later passes walk trees.
constexpr std::int64_t kMaxTree = 65536, kMaxDepth = 4096;

template <class E>
concept Enum = std::is_enum_v<E>;
template <Enum E>
constexpr std::size_t enum_count() {
    if constexpr (std::is_same_v<E, Op>)
        return kOpCount;
    else if constexpr (std::is_same_v<E, ExprOp>)
        return static_cast<std::size_t>(ExprOp::logical_not) + 1;
    else
        return EnumNames<E>::list.size();
}

class Writer {
public:
    static constexpr bool reading = false;
    void unsigned_value(std::uint64_t v) {
        while (v >= 0x80) {
            byte(static_cast<std::uint8_t>(v) | 0x80);
            v >>= 7;
        }
        byte(static_cast<std::uint8_t>(v));
    }
    void value(std::int64_t v) { unsigned_value((static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63)); }
    void value(std::int32_t v) { value(std::int64_t{v}); }
    void value(std::uint64_t v) { unsigned_value(v); }
    void value(bool v) { byte(v); }
    void value(double v) {
        const auto bits = std::bit_cast<std::uint64_t>(v);
        for (int i = 0; i < 8; ++i) byte(static_cast<std::uint8_t>(bits >> (8 * i)));
    }
    template <Enum E>
    void value(E e) {
        byte(static_cast<std::uint8_t>(e));
    }
    void value(Expr e) { unsigned_value(static_cast<std::uint64_t>(e.id + 1)); }
    void value(const std::string& s) {
        unsigned_value(s.size());
        for (char c : s) byte(static_cast<std::uint8_t>(c));
    }
    void byte(std::uint8_t b) { bytes.push_back(std::byte{b}); }

    std::vector<std::byte> bytes;
};

class Reader {
public:
    static constexpr bool reading = true;
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    [[noreturn]] void fail(const std::string& message) const {
        throw InputError("program encoding, byte " + std::to_string(position_) + ": " + message);
    }
    std::uint64_t unsigned_value() {
        std::uint64_t v = 0;
        for (int shift = 0; shift < 70; shift += 7) {
            const std::uint8_t b = byte();
            if (shift == 63 && b > 1) break;
            v |= static_cast<std::uint64_t>(b & 0x7f) << shift;
            if (b < 0x80) return v;
        }
        fail("a number has more than 64 bits");
    }
    void value(std::int64_t& v) {
        const std::uint64_t u = unsigned_value();
        v = static_cast<std::int64_t>((u >> 1) ^ (0 - (u & 1)));
    }
    void value(std::int32_t& v) {
        std::int64_t wide = 0;
        value(wide);
        if (wide < std::numeric_limits<std::int32_t>::min() || wide > std::numeric_limits<std::int32_t>::max())
            fail("number " + std::to_string(wide) + " does not fit in 32 bits");
        v = static_cast<std::int32_t>(wide);
    }
    void value(std::uint64_t& v) { v = unsigned_value(); }
    void value(bool& v) { v = small(2, "a truth value") != 0; }
    void value(double& v) {
        std::uint64_t bits = 0;
        for (int i = 0; i < 8; ++i) bits |= static_cast<std::uint64_t>(byte()) << (8 * i);
        v = std::bit_cast<double>(bits);
    }
    template <Enum E>
    void value(E& e) {
        if constexpr (requires { EnumNames<E>::what; })
            e = static_cast<E>(small(enum_count<E>(), std::string(EnumNames<E>::what)));
        else
            e = static_cast<E>(small(enum_count<E>(), "an operation"));
    }
    void value(Expr& e) {
        const std::uint64_t id = unsigned_value();
        if (id > expr_count) fail("expression " + std::to_string(id) + " of " + std::to_string(expr_count));
        e.id = static_cast<std::int32_t>(id) - 1;
    }
    void value(std::string& s) {
        const std::size_t n = count();
        s.resize(n);
        for (char& c : s) c = static_cast<char>(byte());
    }
    std::uint8_t byte() {
        if (position_ >= bytes_.size()) fail("the encoding ends early");
        return static_cast<std::uint8_t>(bytes_[position_++]);
    }
    /// A number of elements; each takes a byte at least, so that what is allocated is bounded by the input.
    std::size_t count() {
        const std::uint64_t n = unsigned_value();
        if (n > bytes_.size() - position_)
            fail(std::to_string(n) + " elements announced, " + std::to_string(bytes_.size() - position_) + " bytes left");
        return static_cast<std::size_t>(n);
    }
    std::uint8_t small(std::size_t limit, const std::string& what) {
        const std::uint8_t b = byte();
        if (b >= limit) fail(what + " has the value " + std::to_string(b) + ", allowed is 0 to " + std::to_string(limit - 1));
        return b;
    }
    void index(std::int64_t i, std::size_t size, const std::string& what) const {
        if (i < 0 || static_cast<std::uint64_t>(i) >= size) fail(what + " " + std::to_string(i) + " of " + std::to_string(size));
    }
    bool done() const { return position_ == bytes_.size(); }

    std::size_t expr_count = 0;
    int nesting = 0;

private:
    std::span<const std::byte> bytes_;
    std::size_t position_ = 0;
};

// One list of members per structure, for both directions: `A` is Writer with a const structure or Reader with a mutable one.
template <class S, class T>
concept As = std::is_same_v<std::remove_const_t<S>, T>;

template <class A, class V, class F>
void list(A& a, V& items, F&& each) {
    if constexpr (A::reading) {
        for (std::size_t n = a.count(); n > 0; --n) each(items.emplace_back());
    } else {
        a.unsigned_value(items.size());
        for (auto& item : items) each(item);
    }
}

template <class A, class I>
void index(A& a, I& i, std::size_t size, const char* what, std::int32_t absent = 0) {
    a.value(i);
    if constexpr (A::reading)
        if (i != absent || absent == 0) a.index(i, size, what);
}
template <class A, class I>
void source(A& a, I& id, const Program& p) {
    index(a, id, p.sources.size(), "source", -1);
}
template <class A, class E>
void present(A& a, E& e, const char* what) {
    a.value(e);
    if constexpr (A::reading)
        if (!e) a.fail(std::string(what) + " is absent");
}

template <class A, As<Symbol> S>
void members(A& a, S& s, const Program&) {
    a.value(s.name), a.value(s.kind);
}
template <class A, As<Source> S>
void members(A& a, S& s, const Program&) {
    a.value(s.file), a.value(s.line), a.value(s.column);
}
template <class A, As<Tensor> S>
void members(A& a, S& s, const Program&) {
    a.value(s.name), a.value(s.dtype), a.value(s.role);
    list(a, s.dims, [&](auto& d) { present(a, d, "a tensor extent"); });
}
template <class A, As<Buffer> S>
void members(A& a, S& s, const Program& p) {
    a.value(s.name), a.value(s.space), a.value(s.dtype), a.value(s.slot_bytes), a.value(s.slots), a.value(s.why);
    list(a, s.shape, [&](auto& d) { a.value(d); });
    bool placed = s.base.has_value();
    a.value(placed);
    if constexpr (A::reading)
        if (placed) s.base.emplace();
    if (placed) a.value(*s.base);
    source(a, s.source, p);
}

template <class A, class B>
void block(A& a, B& b, const Program& p);

template <class A, class O>
void operand(A& a, O& o, const Program& p) {
    a.value(o.space);
    const bool gm = o.space == Space::gm;
    index(a, o.object, gm ? p.tensors.size() : p.buffers.size(), gm ? "tensor" : "buffer", -1);
    a.value(o.slot), a.value(o.offset);
}

template <class A, As<Instr> S>
void members(A& a, S& s, const Program& p) {
    a.value(s.op);
    if constexpr (A::reading) s.operands = default_operands<Expr>(desc(s.op).family);
    a.value(s.hand), source(a, s.source, p);
    std::visit(
        [&](auto& family) {
            for_each_field(family, [&](const char*, auto& member) {
                if constexpr (IsOperand<std::remove_cvref_t<decltype(member)>>::value)
                    operand(a, member, p);
                else
                    a.value(member);
            });
        },
        s.operands);
}
template <class A, As<Loop> S>
void members(A& a, S& s, const Program& p) {
    index(a, s.counter, p.symbols.size(), "symbol");
    a.value(s.stages), present(a, s.trips, "the trip count of a loop"), source(a, s.source, p);
    block(a, s.body, p);
}
template <class A, As<When> S>
void members(A& a, S& s, const Program& p) {
    present(a, s.condition, "a condition"), source(a, s.source, p);
    block(a, s.body, p);
}
template <class A, As<Bump> S>
void members(A& a, S& s, const Program& p) {
    index(a, s.counter, p.symbols.size(), "symbol");
}
template <class A, As<Load> S>
void members(A& a, S& s, const Program& p) {
    index(a, s.symbol, p.symbols.size(), "symbol");
    index(a, s.tensor, p.tensors.size(), "tensor");
    present(a, s.index, "the index of a load"), source(a, s.source, p);
}

template <class A, class B>
void block(A& a, B& b, const Program& p) {
    if constexpr (A::reading)
        if (++a.nesting > kMaxNesting) a.fail("statements nested deeper than " + std::to_string(kMaxNesting) + " levels");
    list(a, b, [&](auto& stmt) {
        if constexpr (A::reading) {
            static constexpr std::size_t kKinds = std::variant_size_v<decltype(Stmt::node)>;
            const std::size_t kind = a.small(kKinds, "a statement kind");
            [&]<std::size_t... I>(std::index_sequence<I...>) { ((kind == I ? void(stmt.node.template emplace<I>()) : void()), ...); }
            (std::make_index_sequence<kKinds>{});
        } else {
            a.byte(static_cast<std::uint8_t>(stmt.node.index()));
        }
        std::visit([&](auto& n) { members(a, n, p); }, stmt.node);
    });
    if constexpr (A::reading) --a.nesting;
}

void write_exprs(Writer& w, const ExprPool& pool) {
    w.unsigned_value(pool.size());
    for (std::size_t i = 0; i < pool.size(); ++i) {
        const ExprNode& n = pool.node(Expr{static_cast<std::int32_t>(i)});
        w.value(n.op);
        if (n.op == ExprOp::constant || n.op == ExprOp::symbol)
            w.value(n.value);
        else
            w.value(n.a), w.value(n.b);
    }
}

// Rebuilds the pool through its own constructors: what folds or was stored before is not an encoding of a pool.
void read_exprs(Reader& r, ExprPool& pool, std::size_t symbols) {
    struct Extent {
        std::int64_t tree = 1, depth = 1;
    };
    const std::size_t count = r.count();
    std::vector<Extent> extents;
    for (std::size_t i = 0; i < count; ++i) {
        ExprNode n;
        Extent e;
        r.value(n.op);
        Expr made;
        if (n.op == ExprOp::constant || n.op == ExprOp::symbol) {
            r.value(n.value);
            if (n.op == ExprOp::symbol) r.index(n.value, symbols, "symbol");
            made = n.op == ExprOp::constant ? pool.constant(n.value) : pool.symbol(static_cast<SymbolId>(n.value));
        } else {
            r.expr_count = i;
            r.value(n.a), r.value(n.b);
            if (!n.a || (static_cast<bool>(n.b) == (n.op == ExprOp::logical_not))) r.fail("an expression lacks an operand or has one too many");
            for (Expr part : {n.a, n.b}) {
                if (!part) continue;
                const Extent& x = extents[static_cast<std::size_t>(part.id)];
                e = {e.tree + x.tree, std::max(e.depth, x.depth + 1)};
            }
            if (e.tree > kMaxTree || e.depth > kMaxDepth) r.fail("an expression is larger than " + std::to_string(kMaxTree) + " nodes or too deep");
            made = n.b ? pool.binary(n.op, n.a, n.b) : pool.logical_not(n.a);
        }
        if (made.id != static_cast<std::int32_t>(i)) r.fail("expression " + std::to_string(i) + " is not in normal form");
        extents.push_back(e);
    }
    r.expr_count = count;
}

template <class A, class P>
void program(A& a, P& p) {
    const auto tables = [&](auto& items) { list(a, items, [&](auto& item) { members(a, item, p); }); };
    a.value(p.name);
    tables(p.symbols);
    if constexpr (A::reading)
        read_exprs(a, p.exprs, p.symbols.size());
    else
        write_exprs(a, p.exprs);
    tables(p.sources);
    tables(p.tensors);
    tables(p.buffers);
    a.value(p.blocks);
    list(a, p.sections, [&](auto& s) {
        a.value(s.kind);
        block(a, s.body, p);
    });
}

}  // namespace

std::vector<std::byte> encode(const Program& p) {
    Writer w;
    for (char c : kMagic) w.byte(static_cast<std::uint8_t>(c));
    w.unsigned_value(kEncodingVersion);
    program(w, p);
    return std::move(w.bytes);
}

Program decode(std::span<const std::byte> bytes) {
    Reader r(bytes);
    for (char c : kMagic)
        if (bytes.size() < kMagic.size() || r.byte() != static_cast<std::uint8_t>(c))
            r.fail("not an encoded program: it does not begin with " + std::string(kMagic));
    const std::uint64_t version = r.unsigned_value();
    if (version != kEncodingVersion)
        r.fail("encoding version " + std::to_string(version) + ", this build reads version " + std::to_string(kEncodingVersion));
    Program p;
    program(r, p);
    if (!r.done()) r.fail("bytes follow the end of the program");
    number_instructions(p);
    return p;
}

}  // namespace sfumato::isa
