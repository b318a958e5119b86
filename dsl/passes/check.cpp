// SPDX-License-Identifier: Apache-2.0
#include "dsl/passes/check.h"

#include <algorithm>
#include <numeric>

#include "dsl/passes/replay.h"

namespace sfumato::dsl {

using namespace isa;
using replay::Fault;
using replay::Finding;
using replay::Item;

namespace {

using Launch = std::map<std::string, std::int64_t>;

std::string launch_text(const Launch& l) {
    std::string out;
    for (const auto& [name, v] : l) out += (out.empty() ? "" : ", ") + name + " = " + std::to_string(v);
    return out.empty() ? "any launch" : out;
}

std::string loops_text(const std::vector<std::int64_t>& loops) {
    if (loops.empty()) return "";
    std::string out = "iteration (";
    for (std::size_t i = 0; i < loops.size(); ++i) out += (i ? ", " : "") + std::to_string(loops[i]);
    return out + ")";
}

// One fault with every launch that shows it and every launch that does not.
struct Case {
    Diagnostic diagnostic;
    std::vector<Launch> seen;
    // of a race: the later instruction, what it touches, and whether both are of one pipe
    int later = -1;
    std::string object;
    bool same_pipe = false;
};

class Checker {
public:
    Checker(const Program& p, const Chip& chip, const CheckOptions& o) : program_(p), options_(o), rules_{chip} {
        launches_ = o.launches.empty() ? small_launches(p, o.max_launches) : o.launches;
    }

    std::vector<Diagnostic> run() {
        for (const Section& s : program_.sections)
            for (const Launch& l : launches_)
                for (const int half : halves()) {
                    const replay::Trace t = replay::walk(program_, s, {l, 0, 1, half}, options_.max_instances);
                    for (const Finding& f : replay::run(t, rules_)) note(f, l);
                }
        std::vector<Diagnostic> out;
        for (const auto& key : order_) {
            Case& c = cases_[key];
            if (follows(c)) continue;
            c.diagnostic.notes.insert(c.diagnostic.notes.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(2, c.diagnostic.notes.size())),
                                      when(c));
            out.push_back(std::move(c.diagnostic));
        }
        if (options_.hints && out.empty()) add_hints(out);
        return out;
    }

private:
    using Key = std::tuple<int, int, int>;

    // Vector cores of a pair, when the program tells them apart.
    std::vector<int> halves() const {
        for (const Symbol& s : program_.symbols)
            if (s.kind == SymbolKind::sub_block) return {0, 1};
        return {0};
    }

    void note(Finding f, const Launch& l) {
        // the replay may meet the later instruction of the program first; the missing flag runs in the program's direction
        if (f.fault == Fault::race && f.second < f.first) {
            std::swap(f.first, f.second);
            std::swap(f.a, f.b);
        }
        const int a = f.first->instr->id, b = f.second ? f.second->instr->id : -1;
        const Key key{static_cast<int>(f.fault), f.fault == Fault::race ? std::min(a, b) : a, f.fault == Fault::race ? std::max(a, b) : -1};
        auto [it, fresh] = cases_.try_emplace(key);
        if (fresh) {
            Case& c = it->second;
            c.diagnostic = describe(f);
            if (f.fault == Fault::race) {
                c.later = b;
                c.object = object(f.b, *f.second);
                c.same_pipe = pipe_of(*f.first->instr) == pipe_of(*f.second->instr);
            }
            order_.push_back(key);
        }
        if (it->second.seen.empty() || it->second.seen.back() != l) it->second.seen.push_back(l);
    }

    // A race inside one pipe is the shadow of one with another pipe at the same place: ordering that one orders both.
    bool follows(const Case& c) const {
        return c.same_pipe && std::any_of(cases_.begin(), cases_.end(), [&](const auto& kv) {
                   return kv.second.later == c.later && !kv.second.same_pipe && kv.second.object == c.object;
               });
    }

    std::string line(const Item& i) const {
        const std::string at = where(program_, i.instr->source);
        return std::string(desc(i.instr->op).name) + (at.empty() ? "" : "  " + at);
    }
    std::string object(const Access& a, const Item& i) const {
        if (a.space == Space::gm) return program_.tensors[static_cast<std::size_t>(a.object)].name;
        if (a.object >= 0) return program_.buffers[static_cast<std::size_t>(a.object)].name;
        return std::string(name(a.space)) + " of " + std::string(desc(i.instr->op).name);
    }
    Diagnostic at(Code code, const Item& i, std::string message) const {
        Diagnostic d;
        d.code = code;
        d.message = std::move(message);
        if (i.instr->source >= 0 && static_cast<std::size_t>(i.instr->source) < program_.sources.size()) {
            const Source& s = program_.sources[static_cast<std::size_t>(i.instr->source)];
            d.file = s.file;
            d.line = s.line;
            d.column = s.column;
        }
        return d;
    }
    std::string flag(const Item& i) const { return std::string(name(i.src)) + " >> " + std::string(name(i.dst)) + " id " + std::to_string(i.id); }

    Diagnostic race(const Finding& f) const {
        const Item &x = *f.first, &y = *f.second;
        const std::string px(name(pipe_of(*x.instr))), py(name(pipe_of(*y.instr))), what = object(f.b, y);
        std::string message;
        if (f.a.write && f.b.write)
            message = py + " may write " + what + " while " + px + " still writes it";
        else if (f.b.write)
            message = py + " may overwrite " + what + " while " + px + " still reads it";
        else
            message = py + " may read " + what + " before " + px + " has written it";
        if (object(f.a, x) != what) message += " (as " + object(f.a, x) + ", which shares its bytes)";
        Diagnostic d = at(Code::race, y, message);
        const auto row = [&](const Item& i, const Access& a, const std::string& pipe) {
            return std::string(a.write ? "write" : "read ") + " by " + pipe + "  " + line(i) + "  " + loops_text(i.loops);
        };
        d.notes = {row(x, f.a, px), row(y, f.b, py)};
        if (px == py) {
            d.notes.push_back("fix   barrier(" + px + ") between " + where(program_, x.instr->source) + " and " + where(program_, y.instr->source));
        } else {
            const bool backwards = y.instr->id < x.instr->id;
            d.notes.push_back("fix   an event " + px + " >> " + py + (backwards ? ", primed once" : "") + ": set after " +
                              where(program_, x.instr->source) + ", wait before " + where(program_, y.instr->source));
        }
        return d;
    }

    Diagnostic describe(const Finding& f) const {
        const Item& i = *f.first;
        const std::string other = f.second ? line(*f.second) : "";
        switch (f.fault) {
            case Fault::race:
                return race(f);
            case Fault::set_twice: {
                Diagnostic d = at(Code::event_id, i, "flag " + flag(i) + " may be set twice before a wait");
                d.notes = {"set   " + line(i) + "  " + loops_text(i.loops),
                           (f.second->instr->op == Op::set_flag ? "set   " : "nothing orders the set after the wait   ") + other,
                           "fix   one id per outstanding set, or a flag back from " + std::string(name(i.dst)) + " to " + std::string(name(i.src))};
                return d;
            }
            case Fault::never_set: {
                const bool wrong_pair = f.second && (f.second->src != i.src || f.second->dst != i.dst);
                Diagnostic d = at(wrong_pair ? Code::deadlock : Code::flag_balance, i,
                                  wrong_pair ? "nothing sets flag " + flag(i) + "; id " + std::to_string(i.id) + " is set on the pair " +
                                                   std::string(name(f.second->src)) + " >> " + std::string(name(f.second->dst))
                                             : "more waits than sets of flag " + flag(i) + ": this wait never returns");
                d.notes = {"wait  " + line(i) + "  " + loops_text(i.loops)};
                if (f.second) d.notes.push_back("set   " + other);
                d.notes.push_back(wrong_pair ? "fix   name one pair in both" : "fix   set and wait on the same paths, under the same condition");
                return d;
            }
            case Fault::unprimed: {
                Diagnostic d = at(Code::deadlock, i, "nobody primes flag " + flag(i) + ": its first wait comes before its first set");
                d.notes = {"wait  " + line(i) + "  " + loops_text(i.loops), "set   " + other,
                           "fix   set it once before the loop (.primed()) and wait once behind it"};
                return d;
            }
            case Fault::left_set: {
                Diagnostic d = at(Code::flag_balance, i, "flag " + flag(i) + " is still set when the kernel ends");
                d.notes = {"set   " + line(i) + "  " + loops_text(i.loops), "fix   a wait for every set, on every path"};
                return d;
            }
            case Fault::id_range: {
                Diagnostic d = at(Code::event_id, i,
                                  "event id " + std::to_string(i.id) + " of " + std::string(name(i.src)) + " >> " + std::string(name(i.dst)) +
                                      " is out of range: the chip has ids 0 to " + std::to_string(rules_.chip.flags.ids - 1));
                d.notes = {line(i) + "  " + loops_text(i.loops)};
                return d;
            }
            case Fault::stuck:
                break;
        }
        Diagnostic d =
            at(Code::deadlock, i,
               std::string(name(pipe_of(*i.instr))) + " waits for ever" + (i.instr->op == Op::wait_flag ? " for flag " + flag(i) : " at a barrier"));
        d.notes = {line(i) + "  " + loops_text(i.loops)};
        return d;
    }

    // The shapes that show a fault: the smallest one without an empty extent, and a bound when one parameter separates good from bad.
    std::string when(const Case& c) const {
        const auto full = std::find_if(c.seen.begin(), c.seen.end(),
                                       [](const Launch& l) { return std::all_of(l.begin(), l.end(), [](const auto& kv) { return kv.second > 0; }); });
        std::string bound;
        if (c.seen.size() < launches_.size())
            for (const auto& [param, value] : c.seen.front()) {
                std::int64_t bad_high = value, bad_low = value, good_high = -1, good_low = INT64_MAX;
                for (const Launch& l : c.seen) {
                    bad_high = std::max(bad_high, l.at(param));
                    bad_low = std::min(bad_low, l.at(param));
                }
                for (const Launch& l : launches_) {
                    // launches that differ in this parameter only from one that shows the fault
                    const bool shown = std::find(c.seen.begin(), c.seen.end(), l) != c.seen.end();
                    const bool near = std::any_of(c.seen.begin(), c.seen.end(), [&](Launch s) {
                        s[param] = l.at(param);
                        return s == l;
                    });
                    if (shown || !near) continue;
                    good_low = std::min(good_low, l.at(param));
                    good_high = std::max(good_high, l.at(param));
                }
                if (good_low != INT64_MAX && good_low > bad_high)
                    bound += (bound.empty() ? "" : ", ") + param + " <= " + std::to_string(bad_high);
                else if (good_high >= 0 && good_high < bad_low)
                    bound += (bound.empty() ? "" : ", ") + param + " >= " + std::to_string(bad_low);
            }
        return "when  " + (bound.empty() ? std::string() : bound + ", ") + "for example " +
               launch_text(full != c.seen.end() ? *full : c.seen.front());
    }

    // Flags whose removal leaves no race: sets and waits that share ids are one group.
    void add_hints(std::vector<Diagnostic>& out) {
        for (const Section& s : program_.sections) {
            std::map<std::pair<Pipe, Pipe>, std::map<std::int64_t, std::set<int>>> uses;  // pair -> id -> instructions
            std::vector<replay::Trace> traces;
            for (const Launch& l : launches_) traces.push_back(replay::walk(program_, s, {l, 0, 1, 0}, options_.max_instances));
            for (const replay::Trace& t : traces)
                for (const Item& i : t.items)
                    if (i.instr->op == Op::set_flag || i.instr->op == Op::wait_flag) uses[{i.src, i.dst}][i.id].insert(i.instr->id);
            for (const auto& [pair, by_id] : uses)
                for (const std::set<int>& group : groups(by_id)) hint(pair, group, s, traces, out);
        }
    }
    static std::vector<std::set<int>> groups(const std::map<std::int64_t, std::set<int>>& by_id) {
        std::vector<std::set<int>> out;
        for (const auto& [id, instrs] : by_id) {
            std::set<int> merged = instrs;
            for (auto it = out.begin(); it != out.end();) {
                const bool meets = std::any_of(it->begin(), it->end(), [&](int x) { return merged.contains(x); });
                if (meets) merged.insert(it->begin(), it->end());
                it = meets ? out.erase(it) : it + 1;
            }
            out.push_back(std::move(merged));
        }
        return out;
    }
    void hint(const std::pair<Pipe, Pipe>& pair, const std::set<int>& group, const Section& s, const std::vector<replay::Trace>& traces,
              std::vector<Diagnostic>& out) const {
        for (const replay::Trace& t : traces)
            if (!replay::run(t, rules_, group).empty()) return;
        const Instr* first = nullptr;
        for_each_instr(s.body, [&](const Instr& i) {
            if (!first && group.contains(i.id)) first = &i;
        });
        Item item;
        item.instr = first;
        Diagnostic d = at(Code::hint, item,
                          "the flag " + std::string(name(pair.first)) + " >> " + std::string(name(pair.second)) +
                              " can be dropped: other flags give the same order");
        out.push_back(std::move(d));
    }

    const Program& program_;
    CheckOptions options_;
    replay::Rules rules_;
    std::vector<Launch> launches_;
    std::map<Key, Case> cases_;
    std::vector<Key> order_;
};

}  // namespace

std::vector<Diagnostic> check_sync(const Program& p, const Chip& chip, const CheckOptions& options) { return Checker(p, chip, options).run(); }

}  // namespace sfumato::dsl
