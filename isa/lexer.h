// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tokens of the text form, with the place each came from, and the one way to say what was found and what was expected there.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sfumato::isa {

enum class TokenKind : std::uint8_t { word, directive, number, text, sign, end_of_line, end_of_file };

struct Token {
    TokenKind kind = TokenKind::end_of_file;
    std::string_view spelling;  ///< as written, for a text with its quotes
    std::uint64_t value = 0;    ///< of a number
    bool overflow = false;      ///< a number beyond 64 bits, which only a floating-point value may be
    int line = 1, column = 1;
};

class Lexer {
public:
    Lexer(std::string_view text, std::string file) : text_(text), file_(std::move(file)) { take(); }

    const Token& peek() const { return next_; }
    Token take();
    bool at(TokenKind k) const { return next_.kind == k; }
    bool at_sign(std::string_view s) const { return next_.kind == TokenKind::sign && next_.spelling == s; }
    bool at_word(std::string_view s) const { return next_.kind == TokenKind::word && next_.spelling == s; }
    bool accept_sign(std::string_view s);
    bool accept_word(std::string_view s);
    void expect_sign(std::string_view s);
    void expect_word(std::string_view s);
    Token expect(TokenKind, std::string_view what);
    /// An optionally signed integer of at most [lo, hi].
    std::int64_t expect_integer(std::string_view what, std::int64_t lo, std::int64_t hi);
    std::string expect_text(std::string_view what);
    /// What is not made of tokens (a number with a fraction, a file name): takes word characters and those of `allowed_extra`.
    Token take_raw(std::string_view allowed_extra);
    void expect_end_of_line();

    /// "file:line:column: expected <expected>, found 'token'" (with a suggestion when `known` holds a name near the token).
    [[noreturn]] void fail_expected(std::string_view expected, const std::vector<std::string>& known = {}) const;
    [[noreturn]] void fail(const Token& at, const std::string& message) const;
    const std::string& file() const { return file_; }

private:
    void skip_blanks();
    Token scan();
    Token finish(TokenKind, std::size_t length);

    std::string_view text_;
    std::string file_;
    std::size_t position_ = 0, line_start_ = 0;
    int line_ = 1;
    Token next_;
};

}  // namespace sfumato::isa
