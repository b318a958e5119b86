// SPDX-License-Identifier: Apache-2.0
#include "isa/expr_parse.h"

#include <limits>
#include <optional>

#include "isa/text.h"

namespace sfumato::isa {

namespace {

// Bounds on one expression keep every later recursion over it shallow, whatever a file says.
constexpr int kMaxDepth = 128, kMaxSize = 2048;

struct Infix {
    std::string_view sign;
    int strength;  ///< as in print: 0 or, 1 and, 2 comparison, 3 sum, 4 product
    ExprOp op;
    bool negate_right = false;
};
constexpr Infix kInfix[] = {{"||", 0, ExprOp::logical_or}, {"&&", 1, ExprOp::logical_and}, {"==", 2, ExprOp::eq},       {"<", 2, ExprOp::lt},
                            {"<=", 2, ExprOp::le},         {"+", 3, ExprOp::add},          {"-", 3, ExprOp::add, true}, {"*", 4, ExprOp::mul},
                            {"/", 4, ExprOp::floor_div},   {"%", 4, ExprOp::mod}};
constexpr int kStrongest = 4;

}  // namespace

SymbolId ExprParser::find(std::string_view name) const {
    const auto it = symbols_.find(name);
    return it == symbols_.end() ? -1 : it->second;
}

std::vector<std::string> ExprParser::names() const {
    std::vector<std::string> out;
    for (const auto& [name, id] : symbols_) out.push_back(name);
    return out;
}

void ExprParser::enter(const Token& at) {
    if (++depth_ > kMaxDepth) lexer_.fail(at, "expression nested deeper than " + std::to_string(kMaxDepth) + " levels");
}

Expr ExprParser::combine(ExprOp op, Expr a, Expr b, const Token& at) {
    if (++size_ > kMaxSize) lexer_.fail(at, "expression has more than " + std::to_string(kMaxSize) + " operators");
    // folding would hide this one from the verifier
    if ((op == ExprOp::floor_div || op == ExprOp::mod) && program_.exprs.is_constant(a) && program_.exprs.is_constant(b, 0))
        lexer_.fail(at, "division of a constant by 0");
    return program_.exprs.binary(op, a, b);
}

Expr ExprParser::parse() {
    depth_ = size_ = 0;
    return level(0);
}

Expr ExprParser::level(int strength) {
    if (strength > kStrongest) return unary();
    Expr left = level(strength + 1);
    for (;;) {
        const Infix* found = nullptr;
        for (const Infix& i : kInfix)
            if (i.strength == strength && lexer_.at_sign(i.sign)) found = &i;
        if (!found) return left;
        const Token at = lexer_.take();
        Expr right = level(strength + 1);
        if (found->negate_right) right = combine(ExprOp::mul, right, program_.constant(-1), at);
        left = combine(found->op, left, right, at);
    }
}

Expr ExprParser::unary() {
    const Token at = lexer_.peek();
    if (lexer_.accept_sign("!")) {
        enter(at);
        const Expr e = unary();
        --depth_;
        if (++size_ > kMaxSize) lexer_.fail(at, "expression has more than " + std::to_string(kMaxSize) + " operators");
        return program_.exprs.logical_not(e);
    }
    if (lexer_.at_sign("-")) {
        lexer_.take();
        if (lexer_.at(TokenKind::number) && lexer_.peek().value == std::uint64_t{1} << 63) {
            lexer_.take();
            return program_.constant(std::numeric_limits<std::int64_t>::min());
        }
        enter(at);
        const Expr e = unary();
        --depth_;
        return combine(ExprOp::mul, e, program_.constant(-1), at);
    }
    return atom();
}

Expr ExprParser::atom() {
    const Token at = lexer_.peek();
    if (at.kind == TokenKind::number) {
        if (at.value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            lexer_.fail(at, "number '" + std::string(at.spelling) + "' does not fit in a signed 64-bit integer");
        lexer_.take();
        return program_.constant(static_cast<std::int64_t>(at.value));
    }
    if (lexer_.accept_sign("(")) {
        enter(at);
        const Expr e = level(0);
        --depth_;
        lexer_.expect_sign(")");
        return e;
    }
    if (at.kind != TokenKind::word) lexer_.fail_expected("an expression");
    if (at.spelling == "min" || at.spelling == "max") {
        lexer_.take();
        enter(at);
        lexer_.expect_sign("(");
        const Expr a = level(0);
        lexer_.expect_sign(",");
        const Expr b = level(0);
        lexer_.expect_sign(")");
        --depth_;
        return combine(at.spelling == "min" ? ExprOp::min : ExprOp::max, a, b, at);
    }
    const SymbolId s = find(at.spelling);
    if (s < 0) lexer_.fail_expected("a declared symbol", names());
    lexer_.take();
    return program_.symbol(s);
}

Expr parse_expr(std::string_view text, Program& program, const std::string& file) {
    Lexer lexer(text, file);
    ExprParser parser(lexer, program);
    for (std::size_t i = 0; i < program.symbols.size(); ++i) parser.declare(static_cast<SymbolId>(i));
    const Expr e = parser.parse();
    lexer.expect_end_of_line();
    return e;
}

}  // namespace sfumato::isa
