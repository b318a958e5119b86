// SPDX-License-Identifier: Apache-2.0
#pragma once
// Patterns as text, matched from a value backwards. One rule a line, the first is the root:
//
//   y = Add(Mul(n, #gamma), #beta) | n        operators by name; alternatives; n is another rule
//   n = Div(c:Sub(@x, ReduceMean(@x)), s)     @x any value, the same one wherever it stands; c: names what a term matches
//   s = Sqrt(Add(Cast?(@v), %eps))            Cast? may be missing, Cast* may stand any number of times
//   e = Mul(@x, 0.5)                          a number: a constant of one element within 0.1 %; %eps any such constant; #gamma a constant or weight
//   h = Neg(Split.1(@x))                      the second output of a node; SwiGLUFused(...) a group made by another pass
//
// Operands of commutative operators are tried in both orders. Operands that a term leaves out are not looked at. A match that fails says how deep
// it came and why, so that a report can show the nearest miss.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fusion/pass.h"

namespace sfumato::fusion {

struct Match {
    NodeId root = kNone;
    std::vector<NodeId> nodes;  ///< root first, each once
    std::map<std::string, ValueId> values;
    ValueId at(const std::string& name) const {
        const auto it = values.find(name);
        return it == values.end() ? kNone : it->second;
    }
};

struct Miss {
    Reason reason = Reason::wrong_structure;
    std::string text;
    int depth = -1;              ///< nodes matched before the failure; -1: nothing tried
    std::vector<NodeId> nodes;   ///< those
};

class Pattern {
public:
    /// Throws isa::InputError with line and position when the text is no pattern.
    explicit Pattern(std::string_view text);
    /// Judges a complete match; a miss sends the search on to the next alternative.
    using Guard = std::function<std::optional<Miss>(const Graph&, const Match&)>;
    /// Matches the node whose first output is `value`. `exported` names inner values that may be used outside. Every guard's miss counts as deep.
    std::optional<Match> match(const Graph&, NodeId root, const std::vector<std::string>& exported, const Guard&, Miss& deepest) const;
    /// Operators (or groups) that a root may be: others need no attempt.
    bool may_start_at(const Node&) const;

    struct Term;
    using TermPtr = std::shared_ptr<Term>;

private:
    TermPtr root_;
    std::vector<TermPtr> rules_;  ///< owns rules that refer to each other
};

struct Pattern::Term {
    enum class Kind : std::uint8_t { any, fixed, scalar, number, node, rule, alternatives };
    enum class Times : std::uint8_t { once, optional, repeated };
    Kind kind = Kind::any;
    Times times = Times::once;
    std::string capture;       ///< "" for none
    std::string name;          ///< of a rule, an operator or a group
    std::optional<Op> op;
    int output = 0;
    double number = 0;
    std::vector<TermPtr> args; ///< operands or alternatives
    const Term* target = nullptr;  ///< of a rule
};

}  // namespace sfumato::fusion
