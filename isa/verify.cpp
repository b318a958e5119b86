// SPDX-License-Identifier: Apache-2.0
#include "isa/verify.h"

#include <algorithm>
#include <set>

#include "isa/enum_names.h"
#include "isa/fields.h"
#include "isa/rules.h"

namespace sfumato::isa {

namespace rules {

std::string object_name(const Program& p, Space space, std::int32_t object) {
    const auto i = static_cast<std::size_t>(object);
    return "'" + (space == Space::gm ? p.tensors[i].name : p.buffers[i].name) + "'";
}

void add(std::vector<Diagnostic>& out, const Program& p, Code code, std::string message, SourceId source) {
    Diagnostic d{code, std::move(message), "", 0, 0, {}};
    if (source >= 0 && static_cast<std::size_t>(source) < p.sources.size()) {
        const Source& s = p.sources[static_cast<std::size_t>(source)];
        d.file = s.file, d.line = s.line, d.column = s.column;
    }
    out.push_back(std::move(d));
}

void Context::fail(Code code, const std::string& message) const {
    add(out, program, code, std::string(desc(instr.op).name) + ": " + message, instr.source);
}

}  // namespace rules

namespace {

using I = std::int64_t;
constexpr I kAnySize = I{1} << 40;  ///< launch parameters are sizes
constexpr I kMaxBlocks = I{1} << 32;

class Verifier {
public:
    Verifier(const Program& p, const Chip& chip) : p_(p), chip_(chip), checked_(p.exprs.size(), false) {
        for (const Symbol& s : p.symbols) {
            switch (s.kind) {
                case SymbolKind::param:
                    ranges_.push_back({0, kAnySize});
                    break;
                case SymbolKind::block_id:
                    ranges_.push_back({0, kMaxBlocks});
                    break;
                case SymbolKind::block_num:
                    ranges_.push_back({1, kMaxBlocks});
                    break;
                case SymbolKind::sub_block:
                    ranges_.push_back({0, 1});
                    break;
                case SymbolKind::loop:
                    ranges_.push_back({0, 0});
                    break;  // widened inside its loop
                case SymbolKind::counter:
                    ranges_.push_back({0, kAnySize});
                    break;
                case SymbolKind::load:
                    ranges_.push_back({INT64_MIN, INT64_MAX});
                    break;
            }
        }
    }

    std::vector<Diagnostic> run() {
        for (const Buffer& b : p_.buffers) buffer(b);
        buffers_refused_ = !out_.empty();
        for (const Tensor& t : p_.tensors)
            for (Expr d : t.dims) divisions(d, "extent of tensor '" + t.name + "'", -1);
        if (p_.blocks) divisions(p_.blocks, "number of blocks", -1);
        std::set<CoreKind> kinds;
        for (const Section& s : p_.sections) {
            if (!kinds.insert(s.kind).second) fail(Code::unsupported, "section '" + std::string(name(s.kind)) + "' appears twice; merge the two", -1);
            if (chip_.count(s.kind) <= 0)
                fail(Code::unsupported,
                     "the program has a section for core kind '" + std::string(name(s.kind)) + "', " + chip_.name + " has no such core", -1);
            kind_ = s.kind;
            flags_.clear();
            block(s.body);
            flag_partners();
        }
        return std::move(out_);
    }

private:
    void fail(Code c, std::string message, SourceId source) { rules::add(out_, p_, c, std::move(message), source); }

    void buffer(const Buffer& b) {
        const std::string who = "buffer '" + b.name + "' (" + std::string(name(b.space)) + ")";
        const std::string why = b.why.empty() ? "" : ", asked for by " + b.why;
        if (b.space == Space::none || b.space == Space::gm) {
            fail(Code::space, who + " must lie in an on-chip memory space", b.source);
            return;
        }
        if (b.slots < 1 || b.slot_bytes < 0) {
            fail(Code::shape,
                 who + " has " + std::to_string(b.slots) + " slots of " + std::to_string(b.slot_bytes) + " bytes; at least one slot is needed",
                 b.source);
            return;
        }
        const I capacity = chip_.bytes(b.space), align = chip_.align(b.space);
        const I base = b.base.value_or(0);
        const __int128 end = __int128{base} + __int128{b.slots} * b.slot_bytes;
        if (base < 0 || end > capacity)
            fail(Code::capacity,
                 who + " needs " + std::to_string(b.slots) + " x " + std::to_string(b.slot_bytes) + " bytes" +
                     (b.base ? " at address " + std::to_string(base) : "") + why + "; " + chip_.name + " has " + std::to_string(capacity) +
                     " bytes of " + std::string(name(b.space)) + ", use fewer slots or a smaller tile",
                 b.source);
        if (align > 0 && base % align != 0)
            fail(Code::alignment,
                 who + " has base " + std::to_string(base) + ", which is not a multiple of " + std::to_string(align) + " bytes; the next is " +
                     std::to_string(round_up(base, align)),
                 b.source);
        if (align > 0 && b.slots > 1 && b.slot_bytes % align != 0)
            fail(Code::alignment,
                 who + " has slots of " + std::to_string(b.slot_bytes) + " bytes, so that later slots are not aligned to " + std::to_string(align) +
                     " bytes; use " + std::to_string(round_up(b.slot_bytes, align)),
                 b.source);
        const I box = b.space == Space::l0a || b.space == Space::l0b ? kL0Box : b.space == Space::l0c ? kL0cBox : 1;
        if (b.slot_bytes % box != 0)
            fail(Code::alignment,
                 who + " has slots of " + std::to_string(b.slot_bytes) + " bytes, the matrix unit works in boxes of " + std::to_string(box) +
                     " bytes (16 rows); give the tile its physical size " + std::to_string(round_up(b.slot_bytes, box)),
                 b.source);
        __int128 bytes = bytes_of(b.dtype);
        for (I extent : b.shape) bytes = extent < 0 || bytes > INT64_MAX ? bytes : bytes * extent;
        if (!b.shape.empty() && bytes > b.slot_bytes)
            fail(Code::shape,
                 who + " has a shape of " + (bytes > INT64_MAX ? "more than 2**63" : std::to_string(static_cast<I>(bytes))) + " bytes but slots of " +
                     std::to_string(b.slot_bytes),
                 b.source);
    }

    void divisions(Expr e, const std::string& what, SourceId source) {
        if (!e || checked_[static_cast<std::size_t>(e.id)]) return;
        checked_[static_cast<std::size_t>(e.id)] = true;
        const ExprNode& n = p_.exprs.node(e);
        if (n.op == ExprOp::constant || n.op == ExprOp::symbol) return;
        if ((n.op == ExprOp::floor_div || n.op == ExprOp::mod) && p_.exprs.is_constant(n.b, 0))
            fail(Code::divide_by_zero, what + " divides by 0: " + print(p_.exprs, e, p_.symbols), source);
        divisions(n.a, what, source);
        divisions(n.b, what, source);
    }

    Interval range_of(Expr e) const { return e ? range(p_.exprs, e, ranges_) : Interval{0, 0}; }

    void block(const Block& b) {
        for (const Stmt& s : b) std::visit([&](const auto& node) { statement(node); }, s.node);
    }
    bool symbol(SymbolId s, SymbolKind kind, const char* what, SourceId source) {
        if (s >= 0 && static_cast<std::size_t>(s) < p_.symbols.size() && p_.symbols[static_cast<std::size_t>(s)].kind == kind) return true;
        fail(Code::unsupported, std::string(what) + " needs a symbol of kind " + std::string(enum_name(kind)), source);
        return false;
    }

    void statement(const Loop& l) {
        if (!symbol(l.counter, SymbolKind::loop, "a loop", l.source)) return;
        const std::string counter = "'" + p_.symbols[static_cast<std::size_t>(l.counter)].name + "'";
        if (!open_.insert(l.counter).second)
            return fail(Code::unsupported, "loop counter " + counter + " already counts an enclosing loop", l.source);
        if (l.stages < 1) fail(Code::range, "loop over " + counter + " has " + std::to_string(l.stages) + " stages, at least 1 is needed", l.source);
        divisions(l.trips, "trip count of the loop over " + counter, l.source);
        const Interval trips = range_of(l.trips);
        if (trips.hi > 0) {
            ranges_[static_cast<std::size_t>(l.counter)] = {0, trips.hi - 1};
            block(l.body);
            ranges_[static_cast<std::size_t>(l.counter)] = {0, 0};
        }
        open_.erase(l.counter);
    }
    void statement(const When& w) {
        divisions(w.condition, "condition", w.source);
        if (range_of(w.condition) != Interval{0, 0}) block(w.body);
    }
    void statement(const Bump& b) { symbol(b.counter, SymbolKind::counter, "bump", -1); }
    void statement(const Load& l) {
        symbol(l.symbol, SymbolKind::load, "load", l.source);
        divisions(l.index, "index of a load", l.source);
        if (l.tensor < 0 || static_cast<std::size_t>(l.tensor) >= p_.tensors.size()) {
            fail(Code::space, "load names tensor " + std::to_string(l.tensor) + " of " + std::to_string(p_.tensors.size()), l.source);
            return;
        }
        const Tensor& t = p_.tensors[static_cast<std::size_t>(l.tensor)];
        if (t.dtype != DType::i32 && t.dtype != DType::u32)
            fail(Code::dtype, "load reads tensor '" + t.name + "' of " + std::string(name(t.dtype)) + ", control loads read i32 or u32", l.source);
    }

    void statement(const Instr& i) {
        const rules::Context c{p_, chip_, i, out_};
        const std::size_t before = out_.size();
        rules::structure(c, kind_);
        bool constant = true;
        OperandsT<Interval> ranges = default_operands<Interval>(static_cast<Family>(i.operands.index()));
        std::visit(
            [&](const auto& symbolic) {
                using Bound = typename Rebind<std::remove_cvref_t<decltype(symbolic)>>::type;
                zip_fields(symbolic, std::get<Bound>(ranges), [&](const auto& s, auto& r) {
                    using S = std::remove_cvref_t<decltype(s)>;
                    if constexpr (std::is_same_v<S, Expr>)
                        r = range_field(s, i, constant);
                    else if constexpr (IsOperand<S>::value)
                        r = {s.space, s.object, range_field(s.slot, i, constant), range_field(s.offset, i, constant)};
                    else
                        r = s;
                });
            },
            i.operands);
        if (const Sync* s = std::get_if<Sync>(&i.operands)) note_flag(i, *s, range_of(s->id));
        if (out_.size() != before) return;  // values of ill-formed operands mean nothing
        rules::fields(c, ranges);
        if (!constant) return rules::symbolic_alignment(c);
        if (out_.size() != before || buffers_refused_) return;
        const std::vector<I> zeros(p_.symbols.size(), 0);
        rules::addresses(c, bind_operands(p_, i, zeros));
    }
    template <class>
    struct Rebind;
    template <template <class> class FamilyOf>
    struct Rebind<FamilyOf<Expr>> {
        using type = FamilyOf<Interval>;
    };
    Interval range_field(Expr e, const Instr& i, bool& constant) {
        if (!e) return {0, 0};
        divisions(e, std::string(desc(i.op).name) + ": an operand", i.source);
        constant = constant && p_.exprs.is_constant(e);
        return range_of(e);
    }

    // --- flags: every set needs a wait of the same pair and id somewhere, and the other way round
    struct Flag {
        const Instr* instr;
        Pipe src, dst;
        Interval id;
        bool set;
    };
    void note_flag(const Instr& i, const Sync& s, Interval id) {
        if (i.op == Op::set_flag || i.op == Op::wait_flag) flags_.push_back({&i, s.src, s.dst, id, i.op == Op::set_flag});
    }
    static bool may_meet(const Flag& a, const Flag& b) { return a.set != b.set && a.id.lo <= b.id.hi && b.id.lo <= a.id.hi; }
    static std::string pair(const Flag& f) { return std::string(name(f.src)) + " to " + std::string(name(f.dst)); }

    void flag_partners() {
        for (const Flag& f : flags_) {
            const auto same_pair = [&](const Flag& o) { return may_meet(f, o) && o.src == f.src && o.dst == f.dst; };
            if (std::ranges::any_of(flags_, same_pair)) continue;
            std::string message = std::string(desc(f.instr->op).name) + ": flag " + (f.id.lo == f.id.hi ? std::to_string(f.id.lo) + " " : "") +
                                  "of the pair " + pair(f);
            message += f.set ? " is set but never waited for" : " is waited for but never set";
            const auto other = std::ranges::find_if(flags_, [&](const Flag& o) { return may_meet(f, o); });
            if (other != flags_.end())
                message += "; " + std::string(f.set ? "a wait" : "a set") + " with this id names the pair " + pair(*other) +
                           ", both ends must name the same pair";
            else
                message += f.set ? "; add the wait or remove the set" : "; add the set or remove the wait";
            fail(Code::flag_balance, message, f.instr->source);
        }
    }

    const Program& p_;
    const Chip& chip_;
    std::vector<bool> checked_;
    std::vector<Interval> ranges_;
    std::vector<Diagnostic> out_;
    std::set<SymbolId> open_;
    std::vector<Flag> flags_;
    CoreKind kind_ = CoreKind::aic;
    bool buffers_refused_ = false;  ///< addresses would be meaningless
};

}  // namespace

std::vector<Diagnostic> verify(const Program& p, const Chip& chip) { return Verifier(p, chip).run(); }

std::vector<Diagnostic> verify_bound(const Program& p, const Chip& chip, const BoundInstr& b) {
    std::vector<Diagnostic> out;
    const rules::Context c{p, chip, *b.instr, out};
    rules::fields(c, b.operands);
    if (out.empty()) rules::addresses(c, b.operands);
    return out;
}

}  // namespace sfumato::isa
