// SPDX-License-Identifier: Apache-2.0
#pragma once
// Recursive descent over the expression grammar, used by the text form wherever an integer may depend on symbols.
#include <map>
#include <string>

#include "isa/lexer.h"
#include "isa/program.h"

namespace sfumato::isa {

class ExprParser {
public:
    ExprParser(Lexer& lexer, Program& program) : lexer_(lexer), program_(program) {}
    /// Makes a symbol of the program known by its name.
    void declare(SymbolId s) { symbols_[program_.symbols[static_cast<std::size_t>(s)].name] = s; }
    /// The symbol, or -1.
    SymbolId find(std::string_view name) const;
    std::vector<std::string> names() const;
    Expr parse();

private:
    Expr level(int strength);
    Expr unary();
    Expr atom();
    Expr combine(ExprOp, Expr, Expr, const Token& at);
    void enter(const Token& at);

    Lexer& lexer_;
    Program& program_;
    std::map<std::string, SymbolId, std::less<>> symbols_;
    int depth_ = 0, size_ = 0;
};

}  // namespace sfumato::isa
