// SPDX-License-Identifier: Apache-2.0
// Live ranges over the statement tree. A buffer is private to one iteration of a loop only when its first access there is an unguarded write;
// everything else is live over the whole loop (its back-edge carries the value).
#include <algorithm>
#include <utility>

#include "dsl/passes/operand_roles.h"
#include "dsl/passes/plan.h"

namespace sfumato::dsl {

using namespace isa;

namespace {

struct LoopSpan {
    int first = 0, last = -1;  ///< positions of its instructions
    int parent = -1;           ///< enclosing loop
};
struct Touch {
    int position = 0, loop = -1;
    bool guarded = false;  ///< inside a When, or a read-modify-write: does not start a new value
    bool fresh = false;    ///< a write that does not read the buffer
};

class Scan {
public:
    explicit Scan(const Program& p) : touches_(p.buffers.size()), program_(p) {
        for (const Section& s : p.sections) block(s.body, -1, false);
    }
    LiveRange range(std::size_t buffer) const {
        const std::vector<Touch>& t = touches_[buffer];
        if (t.empty()) return {};
        LiveRange r{t.front().position, t.back().position};
        const bool rotates = program_.buffers[buffer].slots > 1;
        // outwards from each access: a loop is included when the buffer is also used outside of it or carries a value around it
        for (const Touch& touch : t)
            for (int l = touch.loop; l >= 0; l = loops_[static_cast<std::size_t>(l)].parent) {
                const LoopSpan& loop = loops_[static_cast<std::size_t>(l)];
                const bool inside = loop.first <= t.front().position && t.back().position <= loop.last;
                if (inside && !rotates && starts_fresh(t, l)) continue;
                r.first = std::min(r.first, loop.first);
                r.last = std::max(r.last, loop.last);
            }
        return r;
    }

private:
    // The first access is a plain write, directly in loop `l`: each iteration begins with a value of its own.
    static bool starts_fresh(const std::vector<Touch>& t, int l) { return t.front().fresh && !t.front().guarded && t.front().loop == l; }

    void block(const Block& b, int loop, bool guarded) {
        for (const Stmt& s : b) {
            if (const Instr* i = std::get_if<Instr>(&s.node)) {
                instr(*i, loop, guarded);
            } else if (const Loop* l = std::get_if<Loop>(&s.node)) {
                const int me = static_cast<int>(loops_.size());
                loops_.push_back({next_, -1, loop});
                block(l->body, me, false);
                loops_[static_cast<std::size_t>(me)].last = next_ - 1;
            } else if (const When* w = std::get_if<When>(&s.node)) {
                block(w->body, loop, true);
            }
        }
    }
    void instr(const Instr& i, int loop, bool guarded) {
        std::vector<std::pair<int, Touch>> mine;
        for_each_role(i, [&](const Operand& o, bool write, Expr) {
            if (o.space == Space::none || o.space == Space::gm || o.object < 0) return;
            auto it = std::find_if(mine.begin(), mine.end(), [&](const auto& m) { return m.first == o.object; });
            if (it == mine.end())
                mine.push_back({o.object, {next_, loop, guarded, write}});
            else
                it->second.fresh = it->second.fresh && write;
        });
        for (const auto& [buffer, touch] : mine) touches_[static_cast<std::size_t>(buffer)].push_back(touch);
        ++next_;
    }

    std::vector<std::vector<Touch>> touches_;
    std::vector<LoopSpan> loops_;
    int next_ = 0;
    const Program& program_;
};

}  // namespace

std::vector<LiveRange> live_ranges(const Program& p) {
    const Scan scan(p);
    std::vector<LiveRange> out;
    for (std::size_t b = 0; b < p.buffers.size(); ++b) out.push_back(scan.range(b));
    return out;
}

}  // namespace sfumato::dsl
