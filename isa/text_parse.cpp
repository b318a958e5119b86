// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "isa/enum_names.h"
#include "isa/expr_parse.h"
#include "isa/fields.h"
#include "isa/text.h"

namespace sfumato::isa {

namespace {

constexpr int kMaxNesting = 64;
constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int32_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();

template <class Names>
std::vector<std::string> as_strings(const Names& names) {
    std::vector<std::string> out;
    for (const auto& n : names) out.emplace_back(n);
    return out;
}

using Index = std::map<std::string, std::int32_t, std::less<>>;

class Parser {
public:
    Parser(std::string_view text, const std::string& file) : lexer_(text, file), exprs_(lexer_, program_) {}

    Program parse() {
        skip_empty_lines();
        if (!lexer_.at(TokenKind::directive) || lexer_.peek().spelling != ".program") lexer_.fail_expected("'.program' as the first statement");
        while (!at_end()) {
            if (lexer_.at(TokenKind::directive))
                directive();
            else if (program_.sections.empty())
                lexer_.fail_expected("'.section' before the first statement");
            else
                statement(program_.sections.back().body);
        }
        number_instructions(program_);
        return std::move(program_);
    }

private:
    void skip_empty_lines() {
        while (lexer_.at(TokenKind::end_of_line)) lexer_.take();
    }
    bool at_end() {
        skip_empty_lines();
        return lexer_.at(TokenKind::end_of_file);
    }

    // --- pieces
    template <class E>
    E enumerator() {
        using N = EnumNames<E>;
        if (lexer_.at(TokenKind::word))
            for (std::size_t i = 0; i < N::list.size(); ++i)
                if (lexer_.accept_word(N::list[i])) return static_cast<E>(i);
        std::string what = std::string(N::what) + " (";
        for (std::size_t i = 0; i < N::list.size(); ++i) what += (i ? ", " : "") + std::string(N::list[i]);
        lexer_.fail_expected(what + ")", as_strings(N::list));
    }

    std::string new_name(std::string_view what, bool taken_already, const Token& t) {
        if (taken_already) lexer_.fail(t, std::string(what) + " '" + std::string(t.spelling) + "' is declared twice");
        return std::string(t.spelling);
    }

    SymbolId declare_symbol(SymbolKind kind) {
        const Token t = lexer_.expect(TokenKind::word, "a symbol name");
        if (t.spelling == "min" || t.spelling == "max") lexer_.fail(t, "'" + std::string(t.spelling) + "' is an operator and cannot name a symbol");
        const SymbolId s = program_.add_symbol(new_name("symbol", exprs_.find(t.spelling) >= 0, t), kind);
        exprs_.declare(s);
        return s;
    }

    SymbolId use_symbol(SymbolKind kind) {
        const Token t = lexer_.peek();
        const SymbolId s = lexer_.at(TokenKind::word) ? exprs_.find(t.spelling) : -1;
        const std::string what(enum_name(kind));
        if (s < 0) lexer_.fail_expected("a symbol of kind " + what, exprs_.names());
        const SymbolKind found = program_.symbols[static_cast<std::size_t>(s)].kind;
        if (found != kind)
            lexer_.fail(t, "symbol '" + std::string(t.spelling) + "' is of kind " + std::string(enum_name(found)) + ", expected kind " + what);
        lexer_.take();
        return s;
    }

    std::int32_t entry(const Index& index, std::string_view what) {
        const auto it = lexer_.at(TokenKind::word) ? index.find(lexer_.peek().spelling) : index.end();
        if (it == index.end()) {
            std::vector<std::string> names;
            for (const auto& [name, i] : index) names.push_back(name);
            lexer_.fail_expected(what, names);
        }
        lexer_.take();
        return it->second;
    }

    SourceId end_of_statement() {
        SourceId source = -1;
        if (lexer_.accept_sign(";")) {
            Source s;
            const Token at = lexer_.peek();
            s.file = lexer_.at(TokenKind::text) ? lexer_.expect_text("a file name") : std::string(lexer_.take_raw("/-+").spelling);
            if (s.file.empty() && !at.spelling.starts_with('"')) lexer_.fail(at, "expected file:line:column after ';'");
            lexer_.expect_sign(":");
            s.line = static_cast<std::int32_t>(lexer_.expect_integer("a line number", std::numeric_limits<std::int32_t>::min(), kMaxInt32));
            lexer_.expect_sign(":");
            s.column = static_cast<std::int32_t>(lexer_.expect_integer("a column number", std::numeric_limits<std::int32_t>::min(), kMaxInt32));
            const auto [it, fresh] = sources_.try_emplace({s.file, s.line, s.column}, static_cast<SourceId>(program_.sources.size()));
            if (fresh) program_.sources.push_back(std::move(s));
            source = it->second;
        }
        lexer_.expect_end_of_line();
        return source;
    }

    // --- header
    void directive() {
        static constexpr std::string_view kDirectives[] = {".program", ".param", ".symbol", ".tensor", ".buffer", ".blocks", ".section"};
        const std::string_view d = lexer_.peek().spelling;
        const Token at = lexer_.peek();
        if (std::find(std::begin(kDirectives), std::end(kDirectives), d) == std::end(kDirectives))
            lexer_.fail_expected("a directive or a statement", as_strings(kDirectives));
        lexer_.take();
        if (d != ".section" && !program_.sections.empty()) lexer_.fail(at, std::string(d) + " must stand before the first .section");
        if (d == ".program") {
            if (named_) lexer_.fail(at, ".program appears twice");
            named_ = true;
            program_.name = lexer_.at(TokenKind::word) ? std::string(lexer_.take().spelling) : lexer_.expect_text("a program name");
        } else if (d == ".param") {
            declare_symbol(SymbolKind::param);
        } else if (d == ".symbol") {
            const SymbolId s = declare_symbol(SymbolKind::param);
            program_.symbols[static_cast<std::size_t>(s)].kind = enumerator<SymbolKind>();
        } else if (d == ".tensor") {
            tensor();
        } else if (d == ".buffer") {
            buffer();
            return;
        } else if (d == ".blocks") {
            if (program_.blocks) lexer_.fail(at, ".blocks appears twice");
            program_.blocks = exprs_.parse();
        } else {
            section();
        }
        lexer_.expect_end_of_line();
    }

    void section() {
        const Token at = lexer_.peek();
        const CoreKind kind = enumerator<CoreKind>();
        for (const Section& s : program_.sections)
            if (s.kind == kind) lexer_.fail(at, "section '" + std::string(at.spelling) + "' appears twice");
        program_.sections.push_back({kind, {}});
    }

    void tensor() {
        const Token t = lexer_.expect(TokenKind::word, "a tensor name");
        Tensor tensor;
        tensor.name = new_name("tensor", tensors_.contains(t.spelling), t);
        tensor.dtype = enumerator<DType>();
        lexer_.expect_sign("[");
        while (!lexer_.accept_sign("]")) {
            if (!tensor.dims.empty()) lexer_.expect_sign(",");
            tensor.dims.push_back(exprs_.parse());
        }
        tensor.role = enumerator<Role>();
        tensors_[tensor.name] = static_cast<std::int32_t>(program_.tensors.size());
        program_.tensors.push_back(std::move(tensor));
    }

    void buffer() {
        const Token t = lexer_.expect(TokenKind::word, "a buffer name");
        Buffer b;
        b.name = new_name("buffer", buffers_.contains(t.spelling), t);
        b.space = enumerator<Space>();
        b.dtype = enumerator<DType>();
        lexer_.expect_sign("[");
        while (!lexer_.accept_sign("]")) {
            if (!b.shape.empty()) lexer_.expect_sign(",");
            b.shape.push_back(lexer_.expect_integer("an extent", 0, kMaxInt64));
        }
        lexer_.expect_word("slots");
        b.slots = static_cast<std::int32_t>(lexer_.expect_integer("a number of slots", 0, kMaxInt32));
        lexer_.expect_word("slot_bytes");
        b.slot_bytes = lexer_.expect_integer("a number of bytes", 0, kMaxInt64);
        if (lexer_.accept_word("base")) b.base = lexer_.expect_integer("a base address", 0, kMaxInt64);
        if (lexer_.accept_word("why")) b.why = lexer_.expect_text("a reason in quotes");
        b.source = end_of_statement();
        buffers_[b.name] = static_cast<std::int32_t>(program_.buffers.size());
        program_.buffers.push_back(std::move(b));
    }

    // --- statements
    void statement(Block& block) {
        const Token head = lexer_.peek();
        if (head.kind != TokenKind::word) lexer_.fail_expected("a statement");
        if (head.spelling == "loop")
            loop(block);
        else if (head.spelling == "when")
            when(block);
        else if (head.spelling == "bump") {
            lexer_.take();
            block.push_back({Bump{use_symbol(SymbolKind::counter)}});
            lexer_.expect_end_of_line();
        } else if (head.spelling == "load") {
            load(block);
        } else {
            instruction(block);
        }
    }

    Block body(const Token& head) {
        if (++nesting_ > kMaxNesting) lexer_.fail(head, "statements nested deeper than " + std::to_string(kMaxNesting) + " levels");
        Block block;
        for (;;) {
            if (at_end()) lexer_.fail(head, "'" + std::string(head.spelling) + "' is not closed by '}' before the end of the file");
            if (lexer_.accept_sign("}")) break;
            if (lexer_.at(TokenKind::directive)) lexer_.fail_expected("a statement or '}'");
            statement(block);
        }
        lexer_.expect_end_of_line();
        --nesting_;
        return block;
    }

    void loop(Block& block) {
        const Token head = lexer_.take();
        Loop l;
        // a loop written by hand may introduce its counter
        const bool known = !lexer_.at(TokenKind::word) || exprs_.find(lexer_.peek().spelling) >= 0;
        const Token counter = lexer_.peek();
        l.counter = known ? use_symbol(SymbolKind::loop) : declare_symbol(SymbolKind::loop);
        if (!open_counters_.insert(l.counter).second)
            lexer_.fail(counter, "'" + std::string(counter.spelling) + "' already counts an enclosing loop");
        lexer_.expect_sign("<");
        l.trips = exprs_.parse();
        if (lexer_.accept_word("stages")) l.stages = static_cast<std::int32_t>(lexer_.expect_integer("a number of stages", 0, kMaxInt32));
        lexer_.expect_sign("{");
        l.source = end_of_statement();
        l.body = body(head);
        open_counters_.erase(l.counter);
        block.push_back({std::move(l)});
    }

    void when(Block& block) {
        const Token head = lexer_.take();
        When w;
        w.condition = exprs_.parse();
        lexer_.expect_sign("{");
        w.source = end_of_statement();
        w.body = body(head);
        block.push_back({std::move(w)});
    }

    void load(Block& block) {
        lexer_.take();
        Load l;
        l.symbol = use_symbol(SymbolKind::load);
        lexer_.expect_sign("=");
        l.tensor = entry(tensors_, "a declared tensor");
        lexer_.expect_sign("[");
        l.index = exprs_.parse();
        lexer_.expect_sign("]");
        l.source = end_of_statement();
        block.push_back({std::move(l)});
    }

    void instruction(Block& block) {
        const std::optional<Op> op = parse_op(lexer_.peek().spelling);
        if (!op) {
            std::vector<std::string> names{"loop", "when", "bump", "load"};
            for (const InstrDesc& d : kInstructions) names.emplace_back(d.name);
            lexer_.fail_expected("a mnemonic, loop, when, bump or load", names);
        }
        lexer_.take();
        Instr i;
        i.op = *op;
        i.operands = default_operands<Expr>(desc(*op).family);
        std::visit([&](auto& family) { fields(family, desc(*op).name); }, i.operands);
        i.hand = lexer_.accept_word("hand");
        i.source = end_of_statement();
        block.push_back({std::move(i)});
    }

    template <class FamilyStruct>
    void fields(FamilyStruct& family, std::string_view mnemonic) {
        std::set<std::string_view> seen;
        while (lexer_.at(TokenKind::word) && !lexer_.at_word("hand")) {
            const Token name = lexer_.peek();
            bool known = false;
            for_each_field(family, [&](const char* field, auto& member) {
                if (known || name.spelling != field) return;
                known = true;
                if (!seen.insert(name.spelling).second) lexer_.fail(name, "field '" + std::string(field) + "' is given twice");
                lexer_.take();
                lexer_.expect_sign("=");
                read(member);
            });
            if (known) continue;
            std::vector<std::string> names;
            for_each_field(family, [&](const char* field, auto&) { names.emplace_back(field); });
            lexer_.fail_expected("a field of " + std::string(mnemonic), names);
        }
    }

    // --- field values, one reader per type
    void read(Operand& o) {
        o.space = enumerator<Space>();
        if (lexer_.accept_sign(":")) o.object = o.space == Space::gm ? entry(tensors_, "a declared tensor") : entry(buffers_, "a declared buffer");
        if (lexer_.accept_sign("[")) {
            o.slot = exprs_.parse();
            lexer_.expect_sign("]");
        }
        if (lexer_.accept_sign("+")) o.offset = exprs_.parse();
    }
    void read(Expr& e) { e = exprs_.parse(); }
    void read(bool& b) {
        if (!lexer_.at_word("true") && !lexer_.at_word("false")) lexer_.fail_expected("true or false");
        b = lexer_.take().spelling == "true";
    }
    void read(double& d) {
        const Token t = lexer_.take_raw("+-");
        const char* end = t.spelling.data() + t.spelling.size();
        const auto [stop, error] = std::from_chars(t.spelling.data(), end, d);
        if (t.spelling.empty() || error != std::errc() || stop != end) lexer_.fail(t, "expected a number, found '" + std::string(t.spelling) + "'");
    }
    void read(std::int32_t& v) {
        v = static_cast<std::int32_t>(lexer_.expect_integer("an integer", std::numeric_limits<std::int32_t>::min(), kMaxInt32));
    }
    void read(std::uint64_t& v) { v = lexer_.expect(TokenKind::number, "a bit mask").value; }
    template <class E>
    requires std::is_enum_v<E>
    void read(E& e) { e = enumerator<E>(); }

    Program program_;
    Lexer lexer_;
    ExprParser exprs_;
    Index tensors_, buffers_;
    std::map<std::tuple<std::string, std::int32_t, std::int32_t>, SourceId> sources_;
    std::set<SymbolId> open_counters_;
    int nesting_ = 0;
    bool named_ = false;
};

}  // namespace

Program parse_program(std::string_view text, const std::string& file) { return Parser(text, file).parse(); }

}  // namespace sfumato::isa
