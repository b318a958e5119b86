// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>
#include <cstring>
#include <set>

#include "isa/enum_names.h"
#include "isa/fields.h"
#include "isa/text.h"

namespace sfumato::isa {

namespace {

bool is_word_char(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.'; }

// An identifier near `name` that nobody in `taken` has; takes it.
std::string unique_word(const std::string& name, std::set<std::string>& taken) {
    std::string word;
    for (char c : name) word += is_word_char(c) ? c : '_';
    if (word.empty() || word[0] == '.' || (word[0] >= '0' && word[0] <= '9')) word.insert(word.begin(), '_');
    std::string candidate = word;
    for (int n = 2; !taken.insert(candidate).second; ++n) candidate = word + "." + std::to_string(n);
    return candidate;
}

std::string quoted(std::string_view s) {
    static constexpr char kHex[] = "0123456789abcdef";
    std::string out = "\"";
    for (char c : s) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            out += "\\x";
            out += kHex[static_cast<unsigned char>(c) >> 4];
            out += kHex[c & 15];
        } else {
            out += c;
        }
    }
    return out + "\"";
}

std::string number(double d) {
    char text[40];
    const auto end = std::to_chars(text, text + sizeof text, d);
    return {text, end.ptr};
}

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

class Printer {
public:
    explicit Printer(const Program& p) : p_(p), symbols_(p.symbols) {
        std::set<std::string> taken{"min", "max"};  // what the expression grammar keeps for itself
        for (Symbol& s : symbols_) s.name = unique_word(s.name, taken);
        taken.clear();
        for (const Tensor& t : p.tensors) tensors_.push_back(unique_word(t.name, taken));
        taken.clear();
        for (const Buffer& b : p.buffers) buffers_.push_back(unique_word(b.name, taken));
    }

    std::string print() {
        header();
        for (const Section& s : p_.sections) {
            line(0, ".section " + std::string(name(s.kind)), -1);
            block(s.body, 1);
        }
        return std::move(out_);
    }

private:
    void line(int depth, const std::string& text, SourceId source) {
        out_.append(static_cast<std::size_t>(depth) * 2, ' ');
        out_ += text;
        if (source >= 0 && static_cast<std::size_t>(source) < p_.sources.size()) {
            const Source& s = p_.sources[static_cast<std::size_t>(source)];
            bool plain = !s.file.empty() && (s.file[0] == '/' || (is_word_char(s.file[0]) && s.file[0] > '9'));
            for (char c : s.file) plain = plain && (is_word_char(c) || c == '/' || c == '-' || c == '+');
            out_ += " ; " + (plain ? s.file : quoted(s.file)) + ":" + std::to_string(s.line) + ":" + std::to_string(s.column);
        }
        out_ += '\n';
    }

    // What is absent or out of its table cannot be named; the parser refuses the question mark.
    std::string text(Expr e) const { return e ? isa::print(p_.exprs, e, symbols_) : "?"; }
    std::string symbol(SymbolId s) const { return static_cast<std::size_t>(s) < symbols_.size() ? symbols_[static_cast<std::size_t>(s)].name : "?"; }
    static std::string entry(const std::vector<std::string>& names, std::int32_t i) {
        return static_cast<std::size_t>(i) < names.size() ? names[static_cast<std::size_t>(i)] : "?" + std::to_string(i);
    }

    void header() {
        line(0, ".program " + quoted(p_.name), -1);
        for (const Symbol& s : symbols_) {
            if (s.kind == SymbolKind::param)
                line(0, ".param " + s.name, -1);
            else
                line(0, ".symbol " + s.name + " " + std::string(enum_name(s.kind)), -1);
        }
        for (std::size_t i = 0; i < p_.tensors.size(); ++i) {
            const Tensor& t = p_.tensors[i];
            std::string dims;
            for (Expr d : t.dims) dims += (dims.empty() ? "" : ", ") + text(d);
            line(0, ".tensor " + tensors_[i] + " " + std::string(name(t.dtype)) + " [" + dims + "] " + std::string(enum_name(t.role)), -1);
        }
        for (std::size_t i = 0; i < p_.buffers.size(); ++i) buffer(p_.buffers[i], buffers_[i]);
        if (p_.blocks) line(0, ".blocks " + text(p_.blocks), -1);
    }

    void buffer(const Buffer& b, const std::string& word) {
        std::string t = ".buffer " + word + " " + std::string(name(b.space)) + " " + std::string(name(b.dtype)) + " [";
        for (std::size_t i = 0; i < b.shape.size(); ++i) t += (i ? ", " : "") + std::to_string(b.shape[i]);
        t += "] slots " + std::to_string(b.slots) + " slot_bytes " + std::to_string(b.slot_bytes);
        if (b.base) t += " base " + std::to_string(*b.base);
        if (!b.why.empty()) t += " why " + quoted(b.why);
        line(0, t, b.source);
    }

    void block(const Block& b, int depth) {
        for (const Stmt& s : b) std::visit([&](const auto& node) { statement(node, depth); }, s.node);
    }
    void statement(const Instr& i, int depth) {
        std::string t(desc(i.op).name);
        std::visit(
            [&](const auto& family) {
                for_each_field_with_default(family, [&](const auto& fresh, const char* field, const auto& value) {
                    if (!is_default(fresh, value)) t += std::string(" ") + field + "=" + show(value);
                });
            },
            i.operands);
        if (i.hand) t += " hand";
        line(depth, t, i.source);
    }
    void statement(const Loop& l, int depth) {
        std::string t = "loop " + symbol(l.counter) + " < " + text(l.trips);
        if (l.stages != 1) t += " stages " + std::to_string(l.stages);
        line(depth, t + " {", l.source);
        block(l.body, depth + 1);
        line(depth, "}", -1);
    }
    void statement(const When& w, int depth) {
        line(depth, "when " + text(w.condition) + " {", w.source);
        block(w.body, depth + 1);
        line(depth, "}", -1);
    }
    void statement(const Bump& b, int depth) { line(depth, "bump " + symbol(b.counter), -1); }
    void statement(const Load& l, int depth) {
        line(depth, "load " + symbol(l.symbol) + " = " + entry(tensors_, l.tensor) + "[" + text(l.index) + "]", l.source);
    }

    template <class T>
    static bool is_default(const T& fresh, const T& value) {
        if constexpr (std::is_same_v<T, double>)
            return same_bits(fresh, value);
        else
            return fresh == value;
    }
    std::string show(const Operand& o) const {
        std::string t(name(o.space));
        if (o.object >= 0) t += ":" + entry(o.space == Space::gm ? tensors_ : buffers_, o.object);
        if (o.slot) t += "[" + text(o.slot) + "]";
        if (o.offset) t += "+" + text(o.offset);
        return t;
    }
    std::string show(Expr e) const { return text(e); }
    static std::string show(double d) { return number(d); }
    static std::string show(bool b) { return b ? "true" : "false"; }
    static std::string show(std::int32_t v) { return std::to_string(v); }
    static std::string show(std::uint64_t v) {
        char text[20];
        const auto end = std::to_chars(text, text + sizeof text, v, 16);
        return "0x" + std::string(text, end.ptr);
    }
    template <class E>
    requires std::is_enum_v<E>
    static std::string show(E e) { return std::string(enum_name(e)); }

    const Program& p_;
    std::vector<Symbol> symbols_;  ///< with printable names
    std::vector<std::string> tensors_, buffers_;
    std::string out_;
};

}  // namespace

std::string print_program(const Program& p) { return Printer(p).print(); }

}  // namespace sfumato::isa
