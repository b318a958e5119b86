// SPDX-License-Identifier: Apache-2.0
#include "dsl/passes/replay.h"

#include <algorithm>
#include <deque>

#include "isa/pipe_order.h"

namespace sfumato::dsl::replay {

using namespace isa;

Trace walk(const Program& p, const Section& s, const WalkContext& context, int limit) {
    Trace out;
    Walker w(p, s, context);
    std::int64_t loads = 0;
    for (Step step = w.next(); step.kind != StepKind::end; step = w.next()) {
        if (step.kind == StepKind::load) w.give(loads++ % 3);
        if (step.kind != StepKind::instr) continue;
        if (static_cast<int>(out.items.size()) >= limit) {
            out.cut = true;
            return out;
        }
        Item item;
        item.instr = step.instr->instr;
        item.loops = w.loop_vector();
        if (const auto* sync = std::get_if<SyncT<std::int64_t>>(&step.instr->operands)) {
            item.src = sync->src;
            item.dst = sync->dst;
            item.id = sync->id;
        } else {
            item.accesses = accesses(*step.instr);
        }
        out.items.push_back(std::move(item));
    }
    return out;
}

namespace {

using Clock = std::array<int, kPipeCount>;  // items of each pipe that are known to be complete
using FlagKey = std::tuple<Pipe, Pipe, std::int64_t>;

std::size_t at(Pipe p) { return static_cast<std::size_t>(p); }
void join(Clock& a, const Clock& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::max(a[i], b[i]);
}

struct FlagState {
    const Item* set = nullptr;  // pending
    Clock clock{};
    const Item* waited = nullptr;  // last wait, as the n-th item of its pipe
    int wait_number = 0;
};
struct Live {
    const Item* item;
    Access access;
    Pipe pipe;
    int number;
};

class Replay {
public:
    Replay(const Trace& t, const Rules& r, const std::set<int>& without) : rules_(r), cut_(t.cut) {
        for (const Item& i : t.items) {
            if (without.contains(i.instr->id)) continue;
            const Op op = i.instr->op;
            if (op == Op::cross_set || op == Op::cross_wait || op == Op::scalar_work) continue;
            const int order = next_++;
            if (op == Op::barrier && i.src == Pipe::all) {
                for (auto& q : queues_) q.push_back({&i, order});
                continue;
            }
            if (op == Op::set_flag) ++sets_left_[{i.src, i.dst, i.id}];
            queues_[at(pipe_of(*i.instr))].push_back({&i, order});
            if (i.accesses.count > 0) uses_memory_[at(pipe_of(*i.instr))] = true;
        }
    }

    std::vector<Finding> run() {
        for (bool progress = true; progress && !broken_;) {
            progress = meet();
            for (std::size_t p = 0; p < queues_.size(); ++p)
                while (!broken_ && !queues_[p].empty() && execute(static_cast<Pipe>(p))) progress = true;
        }
        if (!broken_) finish();
        return std::move(found_);
    }

private:
    struct Queued {
        const Item* item;
        int order;
    };

    // A barrier of all pipes: everybody stands before the same one.
    bool meet() {
        const Item* all = nullptr;
        for (const auto& q : queues_) {
            if (q.empty() || q.front().item->instr->op != Op::barrier || q.front().item->src != Pipe::all) return false;
            if (all && q.front().order != order_of_barrier_) return false;
            all = q.front().item;
            order_of_barrier_ = q.front().order;
        }
        Clock joined{};
        for (std::size_t p = 0; p < queues_.size(); ++p) {
            join(joined, known_[p]);
            joined[p] = count_[p];
        }
        for (std::size_t p = 0; p < queues_.size(); ++p) {
            known_[p] = joined;
            queues_[p].pop_front();
        }
        return true;
    }

    bool execute(Pipe p) {
        auto& queue = queues_[at(p)];
        const auto [item, order] = queue.front();
        // the scalar unit issues in order: what lies behind one of its own waits is not issued yet
        const auto& scalar = queues_[at(Pipe::s)];
        if (p != Pipe::s && !scalar.empty() && scalar.front().order < order && scalar.front().item->instr->op == Op::wait_flag) return false;
        const Op op = item->instr->op;
        Clock& known = known_[at(p)];
        if (op == Op::barrier) {
            if (item->src == Pipe::all) return false;
            known[at(p)] = count_[at(p)];
        } else if (op == Op::set_flag) {
            set(*item, p);
        } else if (op == Op::wait_flag) {
            FlagState& f = flags_[{item->src, item->dst, item->id}];
            if (!f.set) return false;
            join(known, f.clock);
            f.set = nullptr;
            f.waited = item;
            f.wait_number = count_[at(p)] + 1;
            check_id(*item);
        } else {
            for (const Access& a : item->accesses) look(*item, p, a);
        }
        ++count_[at(p)];
        queue.pop_front();
        return true;
    }

    void check_id(const Item& i) {
        if (i.id < 0 || i.id >= rules_.chip.flags.ids) found_.push_back({Fault::id_range, &i, nullptr, {}, {}});
    }

    void set(const Item& i, Pipe p) {
        check_id(i);
        const FlagKey key{i.src, i.dst, i.id};
        FlagState& f = flags_[key];
        --sets_left_[key];
        const bool wait_is_past = !f.waited || known_[at(p)][at(i.dst)] >= f.wait_number;
        if (f.set || !wait_is_past) {
            found_.push_back({Fault::set_twice, &i, f.set ? f.set : f.waited, {}, {}});
            broken_ = true;  // what the hardware does from here on is undefined
        }
        f.set = &i;
        f.clock = known_[at(p)];
        f.clock[at(p)] = count_[at(p)];
        last_set_[key] = &i;
    }

    static bool unit_flag(const Item& i) {
        if (const Cube* c = std::get_if<Cube>(&i.instr->operands)) return c->unit_flag;
        if (const Drain* d = std::get_if<Drain>(&i.instr->operands)) return d->unit_flag;
        return false;
    }

    void look(const Item& item, Pipe p, const Access& a) {
        std::vector<Live>& list = live_[{a.space, a.space == Space::gm ? a.object : -1}];
        const Clock& known = known_[at(p)];
        for (const Live& x : list) {
            if (x.item == &item || (!x.access.write && !a.write)) continue;
            if (known[at(x.pipe)] >= x.number) continue;
            if (x.pipe == p && !same_pipe_needs_barrier(rules_.chip, p, a.space)) continue;
            if (a.space == Space::l0c && x.pipe != p && unit_flag(*x.item) && unit_flag(item)) continue;
            if (!overlaps(x.access, a)) continue;
            if (x.item < &item)
                found_.push_back({Fault::race, x.item, &item, x.access, a});  // as the text has them
            else
                found_.push_back({Fault::race, &item, x.item, a, x.access});
        }
        std::erase_if(list, [&](const Live& x) {
            for (std::size_t q = 0; q < known_.size(); ++q) {
                if (!uses_memory_[q]) continue;
                const bool own = q == at(x.pipe) && !same_pipe_needs_barrier(rules_.chip, x.pipe, a.space);
                if (!own && known_[q][at(x.pipe)] < x.number) return false;
            }
            return true;
        });
        list.push_back({&item, a, p, count_[at(p)] + 1});
    }

    void finish() {
        if (cut_) return;
        if (std::all_of(queues_.begin(), queues_.end(), [](const auto& q) { return q.empty(); })) {
            for (const auto& [key, f] : flags_)
                if (f.set) found_.push_back({Fault::left_set, f.set, nullptr, {}, {}});
            return;
        }
        // the waits at fault are those whose set is missing or stands behind them in the text; the others only follow
        const std::size_t before = found_.size();
        for (const auto& q : queues_)
            if (!q.empty() && q.front().item->instr->op == Op::wait_flag) blocked(q.front());
        if (found_.size() > before) return;
        for (const auto& q : queues_)
            if (!q.empty()) found_.push_back({Fault::stuck, q.front().item, nullptr, {}, {}});
    }
    void blocked(const Queued& wait) {
        const Item& i = *wait.item;
        const FlagKey key{i.src, i.dst, i.id};
        if (sets_left_[key] == 0) {
            const auto last = last_set_.find(key);
            found_.push_back({Fault::never_set, &i, last != last_set_.end() ? last->second : set_of_id(i.id), {}, {}});
            return;
        }
        for (const Queued& x : queues_[at(i.src)]) {
            if (x.item->instr->op != Op::set_flag || x.item->src != i.src || x.item->dst != i.dst || x.item->id != i.id) continue;
            if (x.order > wait.order) found_.push_back({last_set_.contains(key) ? Fault::stuck : Fault::unprimed, &i, x.item, {}, {}});
            return;
        }
    }
    // A set of this id on some other pair, for a wait that names the wrong one.
    const Item* set_of_id(std::int64_t id) const {
        for (const auto& q : queues_)
            for (const Queued& x : q)
                if (x.item->instr->op == Op::set_flag && x.item->id == id) return x.item;
        for (const auto& [key, item] : last_set_)
            if (std::get<2>(key) == id) return item;
        return nullptr;
    }

    Rules rules_;
    bool cut_;
    std::array<std::deque<Queued>, kPipeCount> queues_;
    std::array<Clock, kPipeCount> known_{};
    std::array<int, kPipeCount> count_{};
    std::array<bool, kPipeCount> uses_memory_{};
    std::map<FlagKey, FlagState> flags_;
    std::map<FlagKey, int> sets_left_;
    std::map<FlagKey, const Item*> last_set_;
    std::map<std::pair<Space, std::int32_t>, std::vector<Live>> live_;
    std::vector<Finding> found_;
    int next_ = 0, order_of_barrier_ = 0;
    bool broken_ = false;
};

}  // namespace

std::vector<Finding> run(const Trace& t, const Rules& r, const std::set<int>& without) { return Replay(t, r, without).run(); }

}  // namespace sfumato::dsl::replay
