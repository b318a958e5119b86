// SPDX-License-Identifier: Apache-2.0
// Extents from text, and extents with symbols replaced.
#include "fusion/extent.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

Extent Symbols::substitute(const Extent& e, const std::map<std::string, Extent>& by) {
    Extent sum;
    for (const auto& t : e.terms()) {
        Extent product = t.coefficient;
        for (const Atom f : t.factors) {
            const Definition d = atoms_[f];  // a copy: operations below add atoms
            const auto replaced = [&]() -> Extent {
                if (d.kind == Kind::named) {
                    const auto it = by.find(d.name);
                    return it == by.end() ? Extent::of(f) : it->second;
                }
                const Extent a = substitute(d.a, by), b = substitute(d.b, by);
                if (a == d.a && b == d.b) return Extent::of(f);
                switch (d.kind) {
                    case Kind::floor_div: return floor_div(a, b);
                    case Kind::modulo: return modulo(a, b);
                    case Kind::minimum: return minimum(a, b);
                    case Kind::maximum: return maximum(a, b);
                    default: return broadcast(a, b);
                }
            };
            product = product * replaced();
        }
        sum = sum + product;
    }
    return sum;
}

namespace {

/// sum := ["-"] product {(" + " | " - ") product}; product := factor {"*" factor}; factor := integer | name | call. Without symbols the text is
/// only checked, so text that turns out to be no expression leaves no symbols behind.
class Parser {
public:
    Parser(std::string_view text, Symbols* symbols) : text_(text), symbols_(symbols) {}

    std::optional<Extent> whole() {
        const Extent e = sum();
        if (failed_ || at_ != text_.size()) return std::nullopt;
        return e;
    }

private:
    static constexpr int kDeepest = 32;

    bool take(std::string_view token) {
        if (!text_.substr(at_).starts_with(token)) return false;
        at_ += token.size();
        return true;
    }

    Extent sum() {
        Extent e;
        bool minus = take("-");
        do {
            const Extent p = product();
            e = minus ? e - p : e + p;
            if (failed_) return e;
            minus = text_.substr(at_).starts_with(" - ");
        } while (take(" + ") || take(" - "));
        return e;
    }

    Extent product() {
        Extent e = factor();
        while (!failed_ && take("*")) e = e * factor();
        return e;
    }

    Extent factor() {
        const std::size_t end = std::min(text_.find_first_of(" *(),/+", at_), text_.size());
        const std::string_view word = text_.substr(at_, end - at_);
        at_ = end;
        if (word.empty()) return fail();
        if (word.find_first_not_of("0123456789") == std::string_view::npos) return word.size() > 18 ? fail() : Extent(std::stoll(std::string(word)));
        if (!take("(")) return symbols_ ? symbols_->named(std::string(word)) : Extent(1);
        if (++depth_ > kDeepest) return fail();
        const Extent a = sum();
        if (failed_ || !take(word == "floor" ? " / " : ", ")) return fail();
        const Extent b = sum();
        if (failed_ || !take(")")) return fail();
        --depth_;
        return call(word, a, b);
    }

    Extent call(std::string_view word, const Extent& a, const Extent& b) {
        if (word != "floor" && word != "mod" && word != "min" && word != "max" && word != "broadcast") return fail();
        if (!symbols_) return 1;
        if (word == "floor") return symbols_->floor_div(a, b);
        if (word == "mod") return symbols_->modulo(a, b);
        if (word == "min") return symbols_->minimum(a, b);
        return word == "max" ? symbols_->maximum(a, b) : symbols_->broadcast(a, b);
    }

    Extent fail() {
        failed_ = true;
        return 0;
    }

    std::string_view text_;
    Symbols* symbols_;
    std::size_t at_ = 0;
    int depth_ = 0;
    bool failed_ = false;
};

}  // namespace

Extent parse_extent(Symbols& symbols, std::string_view text) {
    if (text.find_first_of(" *()") == std::string_view::npos && text.find_first_not_of("0123456789") != std::string_view::npos) return symbols.named(std::string(text));
    try {
        if (Parser(text, nullptr).whole())
            if (const auto e = Parser(text, &symbols).whole()) return *e;
    } catch (const isa::InputError&) {  // an overflow or a division by 0: no expression of extents
    }
    return symbols.named(std::string(text));
}

}  // namespace sfumato::fusion
