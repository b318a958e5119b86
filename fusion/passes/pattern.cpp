// SPDX-License-Identifier: Apache-2.0
#include "fusion/passes/pattern.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "fusion/passes/rewrite.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

namespace {

using Term = Pattern::Term;
using TermPtr = Pattern::TermPtr;

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    std::vector<std::pair<std::string, TermPtr>> rules() {
        std::vector<std::pair<std::string, TermPtr>> out;
        for (skip(true); at_ < text_.size(); skip(true)) {
            const std::string name = word();
            expect('=');
            out.emplace_back(name, alternatives());
            skip(false);
            if (at_ < text_.size() && text_[at_] != '\n') fail("expected the end of the rule");
        }
        return out;
    }

private:
    std::string_view text_;
    std::size_t at_ = 0;

    [[noreturn]] void fail(const std::string& what) const {
        const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
        throw isa::InputError("pattern line " + std::to_string(line) + ", position " + std::to_string(at_) + ": " + what);
    }
    void skip(bool lines) {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || (lines && text_[at_] == '\n'))) ++at_;
    }
    bool take(char c) {
        skip(false);
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    void expect(char c) {
        if (!take(c)) fail(std::string("expected ") + c);
    }
    std::string word() {
        skip(false);
        const std::size_t from = at_;
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
        if (from == at_) fail("expected a name");
        return std::string(text_.substr(from, at_ - from));
    }

    TermPtr alternatives() {
        std::vector<TermPtr> all{term()};
        while (take('|')) all.push_back(term());
        if (all.size() == 1) return all[0];
        auto t = std::make_shared<Term>();
        t->kind = Term::Kind::alternatives;
        t->args = std::move(all);
        return t;
    }

    TermPtr leaf(Term::Kind kind) {
        auto t = std::make_shared<Term>();
        t->kind = kind;
        t->capture = word();
        return t;
    }

    TermPtr term() {
        skip(false);
        if (take('(')) {
            TermPtr t = alternatives();
            expect(')');
            return t;
        }
        if (take('@')) return leaf(Term::Kind::any);
        if (take('#')) return leaf(Term::Kind::fixed);
        if (take('%')) return leaf(Term::Kind::scalar);
        if (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-')) return number();
        const std::string name = word();
        if (at_ < text_.size() && text_[at_] == ':') {
            ++at_;
            TermPtr inner = term();
            auto t = std::make_shared<Term>(*inner);
            if (!inner->capture.empty()) {  // two names for one value
                t = std::make_shared<Term>();
                t->kind = Term::Kind::alternatives;
                t->args = {inner};
            }
            t->capture = name;
            return t;
        }
        return node_or_rule(name);
    }

    TermPtr number() {
        auto t = std::make_shared<Term>();
        t->kind = Term::Kind::number;
        const auto end = std::from_chars(text_.data() + at_, text_.data() + text_.size(), t->number);
        if (end.ec != std::errc()) fail("expected a number");
        at_ = static_cast<std::size_t>(end.ptr - text_.data());
        return t;
    }

    TermPtr node_or_rule(const std::string& name) {
        auto t = std::make_shared<Term>();
        t->name = name;
        if (std::islower(static_cast<unsigned char>(name[0]))) {
            t->kind = Term::Kind::rule;
            return t;
        }
        t->kind = Term::Kind::node;
        t->op = parse_op(name);
        if (take('.')) t->output = static_cast<int>(std::stol(word()));
        if (take('?')) t->times = Term::Times::optional;
        else if (take('*')) t->times = Term::Times::repeated;
        expect('(');
        do t->args.push_back(alternatives());
        while (take(','));
        expect(')');
        return t;
    }
};

void resolve(Term& t, const std::vector<std::pair<std::string, TermPtr>>& rules) {
    for (const TermPtr& a : t.args) resolve(*a, rules);
    if (t.kind != Term::Kind::rule || t.target) return;
    for (const auto& [name, rule] : rules)
        if (name == t.name) t.target = rule.get();
    if (!t.target) throw isa::InputError("pattern: no rule is called " + t.name);
}

bool is_node(const Term& t, const Node& n) { return t.op ? n.op == *t.op : pattern_of(n) == t.name; }
bool commutative(Op op) {
    return op == Op::Add || op == Op::Mul || op == Op::And || op == Op::Or || op == Op::Max || op == Op::Min || op == Op::Sum || op == Op::Equal;
}

std::string describe(const Graph& g, ValueId v) {
    if (v == kNone) return "nothing";
    const Node* n = producer(g, v);
    if (n) return (pattern_of(*n).empty() ? std::string(name(n->op)) : pattern_of(*n)) + " " + n->name;
    return (g.value(v).constant ? "constant " : g.value(v).weight ? "weight " : "input ") + g.value(v).name;
}

std::string number_text(double d) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::general, 7);
    return std::string(buffer, end.ptr);
}

constexpr double kTolerance = 1e-3;
constexpr int kMostSteps = 20000;  // a bound on the search of one root

struct Matcher {
    const Graph& g;
    const std::vector<std::string>& exported;
    const Pattern::Guard& guard;
    Miss& deepest;
    Match m;
    int steps = 0;
    using Next = std::function<bool()>;

    bool miss(Reason reason, std::string text) {
        const int depth = static_cast<int>(m.nodes.size());
        if (depth > deepest.depth) deepest = {reason, std::move(text), depth, m.nodes};
        return false;
    }

    bool bound(const std::string& name, ValueId v, const Next& next) {
        if (name.empty()) return next();
        const auto [it, is_new] = m.values.emplace(name, v);
        if (!is_new) {
            if (it->second == v) return next();
            return miss(Reason::wrong_structure, name + " is " + describe(g, it->second) + " in one place and " + describe(g, v) + " in another");
        }
        if (next()) return true;
        m.values.erase(name);
        return false;
    }

    bool match(const Term& t, ValueId v, const Next& next) {
        if (++steps > kMostSteps) return miss(Reason::group_too_large, "the search for the pattern was given up");
        if (v == kNone) return miss(Reason::wrong_structure, "an operand is left out");
        return bound(t.capture, v, [&] { return inner(t, v, next); });
    }

    bool inner(const Term& t, ValueId v, const Next& next) {
        switch (t.kind) {
            case Term::Kind::any: return next();
            case Term::Kind::fixed: return settled(g, v) ? next() : miss(Reason::wrong_constant, t.capture + " is no constant but " + describe(g, v));
            case Term::Kind::scalar: return scalar(g, v) ? next() : miss(Reason::wrong_constant, t.capture + " is no constant of one element but " + describe(g, v));
            case Term::Kind::number: return number(t, v, next);
            case Term::Kind::rule: return match(*t.target, v, next);
            case Term::Kind::alternatives:
                for (const TermPtr& a : t.args)
                    if (match(*a, v, next)) return true;
                return false;
            case Term::Kind::node: return node(t, v, next);
        }
        return false;
    }

    bool number(const Term& t, ValueId v, const Next& next) {
        const auto x = scalar(g, v);
        const double scale = std::max(std::abs(t.number), 1e-12);
        if (x && std::abs(*x - t.number) <= kTolerance * scale) return next();
        if (x) return miss(Reason::wrong_constant, "the constant is " + number_text(*x) + ", wanted " + number_text(t.number) + " within 0.1 %");
        return miss(Reason::wrong_constant, "wanted the constant " + number_text(t.number) + ", found " + describe(g, v));
    }

    bool node(const Term& t, ValueId v, const Next& next) {
        const NodeId id = g.value(v).producer;
        const bool here = id != kNone && is_node(t, g.node(id)) && static_cast<int>(g.node(id).outputs.size()) > t.output && g.node(id).outputs[static_cast<std::size_t>(t.output)] == v;
        if (here && operands(t, id, next)) return true;
        if (t.times != Term::Times::once) return match(*t.args[0], v, next);
        if (here) return false;
        const Node* n = id == kNone ? nullptr : &g.node(id);
        if (n && n->body && t.op)
            for (NodeId i = 0; i < n->body->node_limit(); ++i)
                if (n->body->node(i).op == *t.op) return miss(Reason::taken_by_other_pass, "wanted " + t.name + ", which is part of " + describe(g, v) + " already");
        return miss(Reason::wrong_structure, "wanted " + t.name + ", found " + describe(g, v));
    }

    bool operands(const Term& t, NodeId id, const Next& next) {
        const bool is_new = std::find(m.nodes.begin(), m.nodes.end(), id) == m.nodes.end();
        if (is_new) m.nodes.push_back(id);
        const Node& n = g.node(id);
        bool found = false;
        if (n.inputs.size() < t.args.size()) {
            miss(Reason::wrong_structure, n.name + " has " + std::to_string(n.inputs.size()) + " operands");
        } else if (t.times == Term::Times::repeated) {
            found = inner(t, n.inputs[0], next);
        } else {
            found = argument(t, n, 0, false, next);
            if (!found && t.args.size() == 2 && commutative(n.op)) found = argument(t, n, 0, true, next);
        }
        if (!found && is_new) m.nodes.erase(std::find(m.nodes.begin(), m.nodes.end(), id));
        return found;
    }

    bool argument(const Term& t, const Node& n, std::size_t i, bool swapped, const Next& next) {
        if (i == t.args.size()) return next();
        return match(*t.args[i], n.inputs[swapped ? 1 - i : i], [&, i] { return argument(t, n, i + 1, swapped, next); });
    }

    bool complete() {
        for (const NodeId id : m.nodes)
            for (const ValueId v : g.node(id).outputs) {
                if (v == kNone || id == m.root || is_exported(v)) continue;
                if (g.value(v).outputs > 0) return miss_at_end(Reason::graph_output_inside, g.value(v).name + " is an output of the graph");
                for (const NodeId user : g.value(v).users)
                    if (std::find(m.nodes.begin(), m.nodes.end(), user) == m.nodes.end())
                        return miss_at_end(Reason::inner_value_used_outside, g.value(v).name + " is used by " + g.node(user).name + " too");
            }
        if (guard)
            if (auto why = guard(g, m)) return miss_at_end(why->reason, std::move(why->text));
        return true;
    }
    bool is_exported(ValueId v) const {
        return std::any_of(exported.begin(), exported.end(), [&](const std::string& name) { return m.at(name) == v; });
    }
    bool miss_at_end(Reason reason, std::string text) {
        const int depth = static_cast<int>(m.nodes.size()) + 1;  // a complete match that a guard stops is the deepest of its size
        if (depth > deepest.depth) deepest = {reason, std::move(text), depth, m.nodes};
        return false;
    }
};

bool starts(const Term& t, const Node& n, int depth = 0) {
    if (depth > 8) return true;
    switch (t.kind) {
        case Term::Kind::node: return is_node(t, n) || (t.times != Term::Times::once && starts(*t.args[0], n, depth + 1));
        case Term::Kind::rule: return starts(*t.target, n, depth + 1);
        case Term::Kind::alternatives: return std::any_of(t.args.begin(), t.args.end(), [&](const TermPtr& a) { return starts(*a, n, depth + 1); });
        default: return false;
    }
}

}  // namespace

Pattern::Pattern(std::string_view text) {
    const auto rules = Parser(text).rules();
    if (rules.empty()) throw isa::InputError("pattern: no rule");
    for (const auto& [name, rule] : rules) {
        resolve(*rule, rules);
        rules_.push_back(rule);
    }
    root_ = rules_[0];
}

bool Pattern::may_start_at(const Node& n) const { return starts(*root_, n); }

std::optional<Match> Pattern::match(const Graph& g, NodeId root, const std::vector<std::string>& exported, const Guard& guard, Miss& deepest) const {
    if (g.node(root).outputs.empty() || g.node(root).outputs[0] == kNone) return std::nullopt;
    Matcher matcher{g, exported, guard, deepest, {}, 0};
    matcher.m.root = root;
    if (!matcher.match(*root_, g.node(root).outputs[0], [&] { return !matcher.m.nodes.empty() && matcher.m.nodes[0] == root && matcher.complete(); })) return std::nullopt;
    return std::move(matcher.m);
}

}  // namespace sfumato::fusion
