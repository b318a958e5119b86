// SPDX-License-Identifier: Apache-2.0
#include "isa/lexer.h"

#include <algorithm>
#include <limits>

#include "isa/diagnostic.h"

namespace sfumato::isa {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word_char(char c) { return is_letter(c) || is_digit(c) || c == '.'; }
int hex_digit(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string shown(const Token& t) {
    if (t.kind == TokenKind::end_of_line) return "the end of the line";
    if (t.kind == TokenKind::end_of_file) return "the end of the file";
    std::string s = "'";
    for (char c : t.spelling.substr(0, 40)) s += static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f ? '?' : c;
    return s + (t.spelling.size() > 40 ? "...'" : "'");
}

constexpr std::string_view kTwoCharSigns[] = {"==", "<=", "&&", "||"};
constexpr std::string_view kOneCharSigns = "=<+-*/%!()[]{},:;";

}  // namespace

void Lexer::skip_blanks() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t' || text_[position_] == '\r')) ++position_;
    if (position_ < text_.size() && text_[position_] == '#')
        while (position_ < text_.size() && text_[position_] != '\n') ++position_;
}

Token Lexer::finish(TokenKind kind, std::size_t length) {
    Token t{kind, text_.substr(position_, length), 0, false, line_, static_cast<int>(position_ - line_start_) + 1};
    position_ += length;
    return t;
}

Token Lexer::scan() {
    skip_blanks();
    if (position_ >= text_.size()) return finish(TokenKind::end_of_file, 0);
    const char c = text_[position_];
    if (c == '\n') {
        const Token t = finish(TokenKind::end_of_line, 1);
        ++line_;
        line_start_ = position_;
        return t;
    }
    std::size_t end = position_ + 1;
    if (is_letter(c) || (c == '.' && end < text_.size() && is_letter(text_[end]))) {
        while (end < text_.size() && is_word_char(text_[end])) ++end;
        return finish(c == '.' ? TokenKind::directive : TokenKind::word, end - position_);
    }
    if (is_digit(c)) {
        const bool hex = c == '0' && end < text_.size() && text_[end] == 'x';
        if (hex) ++end;
        while (end < text_.size() && (hex ? hex_digit(text_[end]) >= 0 : is_digit(text_[end]))) ++end;
        Token t = finish(TokenKind::number, end - position_);
        const std::string_view digits = hex ? t.spelling.substr(2) : t.spelling;
        if (digits.empty()) fail(t, "a hexadecimal number needs digits after 0x");
        const unsigned base = hex ? 16 : 10;
        for (char d : digits) {
            const auto v = static_cast<unsigned>(hex_digit(d));
            t.overflow = t.overflow || t.value > (std::numeric_limits<std::uint64_t>::max() - v) / base;
            t.value = t.value * base + v;
        }
        return t;
    }
    if (c == '"') {
        while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
        if (end >= text_.size() || text_[end] != '"') fail(finish(TokenKind::text, 1), "a quoted text is not closed on its line");
        return finish(TokenKind::text, end + 1 - position_);
    }
    for (std::string_view two : kTwoCharSigns)
        if (text_.substr(position_, 2) == two) return finish(TokenKind::sign, 2);
    const Token t = finish(TokenKind::sign, 1);
    if (kOneCharSigns.find(c) == std::string_view::npos) fail(t, "unexpected character " + shown(t));
    return t;
}

Token Lexer::take() {
    const Token taken = next_;
    if (taken.overflow) fail(taken, "number " + shown(taken) + " does not fit in 64 bits");
    next_ = scan();
    return taken;
}

Token Lexer::take_raw(std::string_view allowed_extra) {
    // next_ has been scanned already: go back to its first character
    position_ = static_cast<std::size_t>(next_.spelling.data() - text_.data());
    line_ = next_.line;
    line_start_ = position_ - static_cast<std::size_t>(next_.column - 1);
    std::size_t end = position_;
    while (end < text_.size() && (is_word_char(text_[end]) || allowed_extra.find(text_[end]) != std::string_view::npos)) ++end;
    const Token t = finish(TokenKind::word, end - position_);
    next_ = scan();
    return t;
}

bool Lexer::accept_sign(std::string_view s) { return at_sign(s) && (take(), true); }
bool Lexer::accept_word(std::string_view s) { return at_word(s) && (take(), true); }
void Lexer::expect_sign(std::string_view s) {
    if (!accept_sign(s)) fail_expected("'" + std::string(s) + "'");
}
void Lexer::expect_word(std::string_view s) {
    if (!accept_word(s)) fail_expected("'" + std::string(s) + "'");
}

Token Lexer::expect(TokenKind k, std::string_view what) {
    if (!at(k)) fail_expected(what);
    return take();
}

std::int64_t Lexer::expect_integer(std::string_view what, std::int64_t lo, std::int64_t hi) {
    const bool negative = accept_sign("-");
    const Token t = expect(TokenKind::number, what);
    const auto limit = static_cast<std::uint64_t>(negative ? -(lo + 1) : hi) + (negative ? 1u : 0u);
    if ((negative && lo >= 0) || t.value > limit)
        fail(t, std::string(what) + " " + (negative ? "-" : "") + std::string(t.spelling) + " is out of range, allowed is " + std::to_string(lo) +
                    " to " + std::to_string(hi));
    return static_cast<std::int64_t>(negative ? 0 - t.value : t.value);
}

std::string Lexer::expect_text(std::string_view what) {
    const Token t = expect(TokenKind::text, what);
    const std::string_view s = t.spelling.substr(1, t.spelling.size() - 2);
    std::string out;
    for (std::size_t i = 0; i < s.size(); ++i) {
        if (s[i] != '\\') {
            out += s[i];
        } else if (i + 1 < s.size() && (s[i + 1] == '"' || s[i + 1] == '\\')) {
            out += s[++i];
        } else if (i + 3 < s.size() && s[i + 1] == 'x' && hex_digit(s[i + 2]) >= 0 && hex_digit(s[i + 3]) >= 0) {
            out += static_cast<char>(hex_digit(s[i + 2]) * 16 + hex_digit(s[i + 3]));
            i += 3;
        } else {
            fail(t, "unknown escape in " + shown(t) + "; known are \\\", \\\\ and \\xHH");
        }
    }
    return out;
}

void Lexer::expect_end_of_line() {
    if (at(TokenKind::end_of_file)) return;
    expect(TokenKind::end_of_line, "the end of the line");
}

void Lexer::fail_expected(std::string_view expected, const std::vector<std::string>& known) const {
    std::string message = "expected " + std::string(expected) + ", found " + shown(next_);
    const std::string near = known.empty() ? "" : nearest(next_.spelling.substr(0, 80), known);
    if (!near.empty()) message += "; did you mean '" + near + "'?";
    fail(next_, message);
}

void Lexer::fail(const Token& at, const std::string& message) const {
    throw InputError(file_ + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + message);
}

}  // namespace sfumato::isa
