// SPDX-License-Identifier: Apache-2.0
#pragma once
// Integers that are known up to named symbols: `batch`, `past + seq`, `4 * seq`, `floor(n / 2)`. An extent is a polynomial in canonical form
// over atoms; an atom is a named symbol or an operation that no polynomial holds. Two extents are provably equal exactly when they are
// identical, so a shape rule compares with `==`. Symbols belong to one model and are shared by its graphs and subgraphs.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sfumato::fusion {

using Atom = std::uint32_t;  ///< index in Symbols

class Extent {
public:
    Extent() = default;
    Extent(std::int64_t constant);  // NOLINT: an integer is an extent
    static Extent of(Atom);

    struct Term {
        std::int64_t coefficient = 0;
        std::vector<Atom> factors;  ///< sorted; empty for the constant term
        bool operator==(const Term&) const = default;
    };
    const std::vector<Term>& terms() const { return terms_; }
    std::optional<std::int64_t> constant() const;  ///< the value when no symbol is in it

    friend Extent operator+(const Extent&, const Extent&);
    friend Extent operator-(const Extent&, const Extent&);
    friend Extent operator*(const Extent&, const Extent&);
    bool operator==(const Extent&) const = default;
    bool operator<(const Extent&) const;  ///< an order for containers, not of values

private:
    std::vector<Term> terms_;  ///< sorted by factors, no zero coefficients; empty is 0
    void add(const Term&);
};

/// Values of named symbols: what a run or a shape class binds.
using Bindings = std::map<std::string, std::int64_t>;

struct Range {
    std::int64_t low = 0, high = kUnbounded;
    static constexpr std::int64_t kUnbounded = INT64_MAX;
    bool operator==(const Range&) const = default;
};

/// The symbols of one model. Operations that leave the polynomials (floor division, modulo, minimum, maximum, broadcast) are interned, so the
/// same operation on the same operands is the same atom. Overflow of 64 bits throws isa::InputError, and so do polynomials of more than 256
/// terms or of degree above 32; an operation nested beyond any use becomes a new symbol. So hostile models stay small.
class Symbols {
public:
    enum class Kind : std::uint8_t { named, floor_div, modulo, minimum, maximum, broadcast };
    Extent named(const std::string& name);           ///< the symbol of this name, made when new
    Extent fresh(const std::string& prefix);         ///< a new symbol prefix_0, prefix_1...: an unknown or data-dependent size
    Extent floor_div(const Extent&, const Extent&);  ///< exact where the divisor divides every term; division by 0 throws InputError
    Extent ceil_div(const Extent&, const Extent&);
    Extent modulo(const Extent&, const Extent&);
    Extent minimum(const Extent&, const Extent&);
    Extent maximum(const Extent&, const Extent&);
    /// Two extents that meet in a broadcast and are not known to be equal: at run time they are, or one is 1 and gives way to the other.
    Extent broadcast(const Extent&, const Extent&);
    /// Tells that a broadcast equals one of its operands, as when it is contracted with it: from now on it is that operand. False when `e` is no
    /// such broadcast, or known already.
    bool settle(const Extent& e, const Extent& operand);
    /// The extent with symbols replaced by others, through operations too.
    Extent substitute(const Extent&, const std::map<std::string, Extent>&);

    bool contains(const std::string& name) const { return by_name_.count(name) != 0; }
    void set_range(const std::string& name, Range);  ///< narrows; an empty intersection throws InputError with both ranges
    Range range(const std::string& name) const;
    Range range(const Extent&) const;  ///< interval bound over the ranges of the symbols; conservative
    std::vector<std::string> names() const;                     ///< named symbols in order of creation
    std::vector<std::string> names_in(const Extent&) const;     ///< those an extent depends on, also through atoms
    std::int64_t evaluate(const Extent&, const Bindings&) const;  ///< a missing symbol throws InputError naming it
    std::string to_text(const Extent&) const;                   ///< "past + seq", "4*batch*seq", "floor(seq / 2)"

private:
    struct Definition {
        Kind kind = Kind::named;
        std::string name;  ///< of named symbols
        Range range;      ///< of operations: what the operands' ranges give
        Extent a, b;      ///< operands of the rest
        int size = 1;     ///< operands in all, repeated ones counted again: bounds depth and text
    };
    bool is_operand(const Extent& broadcast, const Extent& operand) const;
    Range bound(const Definition&) const;
    int size(const Extent&) const;
    Extent intern(Kind, const Extent& a, const Extent& b);
    std::vector<Definition> atoms_;
    std::map<std::string, Atom> by_name_;
    std::map<std::pair<Kind, std::pair<Extent, Extent>>, Atom> interned_;
    std::map<std::string, int> fresh_;
    std::map<Atom, Extent> settled_;  ///< broadcasts that equal an operand
};

/// The reverse of Symbols::to_text. Other text, a dim_param as it stands in files, is the name of one symbol as a whole.
Extent parse_extent(Symbols&, std::string_view);

}  // namespace sfumato::fusion
