// SPDX-License-Identifier: Apache-2.0
#include "sim/exec/hazard.h"

#include <deque>
#include <map>
#include <set>
#include <utility>

#include "isa/pipe_order.h"
#include "sim/exec/clocks.h"
#include "sim/exec/hazard_records.h"

namespace sfumato::sim {

namespace {

constexpr std::size_t kMostReports = 64;  // a broken protocol races everywhere; the first pairs tell the story

std::size_t at(isa::Pipe p) { return static_cast<std::size_t>(p); }

struct PipeState {
    Clock clock;
    std::int64_t issued = 0, started = 0, completed = 0;
    std::deque<std::pair<std::int64_t, Clock>> from_scalar;  ///< what instructions issued after the first `first` ones know
};

struct CoreState {
    bool used = false;
    CoreRef ref;
    int group = 0;
    std::array<PipeState, isa::kPipeCount> pipes;
    std::array<bool, isa::kPipeCount> active{};  ///< pipes with work in this core's section
    std::map<std::int64_t, std::deque<Clock>> flags;
    std::array<SpaceRecords, isa::kSpaceCount> spaces;
    std::map<std::int64_t, std::deque<std::shared_ptr<const Clock::Table>>> cross;
};

/// Sets of a collective cross-core flag, gathered until all members of a round have set.
struct Rounds {
    std::map<int, std::int64_t> sets;
    std::int64_t first = 0;
    std::deque<Clock::Table> open;
};

struct Pending {
    Poison poison;
    int cores[2];
    isa::Pipe pipes[2];
    std::int64_t epochs[2];
    bool done[2];
};

std::int64_t flag_key(isa::Pipe src, isa::Pipe dst, std::int64_t id) {
    return (id * isa::kPipeCount + static_cast<std::int64_t>(src)) * isa::kPipeCount + static_cast<std::int64_t>(dst);
}

bool is_atomic(const isa::BoundOperands& o) {
    const auto* c = std::get_if<isa::CopyT<std::int64_t>>(&o);
    const auto* d = std::get_if<isa::DrainT<std::int64_t>>(&o);
    return (c && c->atomic == isa::Atomic::add) || (d && d->atomic == isa::Atomic::add);
}
bool has_unit_flag(const isa::BoundOperands& o) {
    const auto* c = std::get_if<isa::CubeT<std::int64_t>>(&o);
    const auto* d = std::get_if<isa::DrainT<std::int64_t>>(&o);
    return (c && c->unit_flag) || (d && d->unit_flag);
}

}  // namespace

struct HazardTracker::State {
    State(const isa::Chip& chip, const DeviceMemory& memory, bool wants_poison)
        : poison(wants_poison), cores(hardware_cores(chip).size()), tensors(memory.tensors.size()) {
        for (int p = 0; p < isa::kPipeCount; ++p)
            for (int s = 0; s < isa::kSpaceCount; ++s)
                needs_barrier[static_cast<std::size_t>(p)][static_cast<std::size_t>(s)] =
                    isa::same_pipe_needs_barrier(chip, static_cast<isa::Pipe>(p), static_cast<isa::Space>(s));
        for (const DeviceTensor& t : memory.tensors) sizes.push_back(t.size);
    }

    CoreState& core(int c) { return cores[static_cast<std::size_t>(c)]; }
    bool ordered(const AccessRecord& old, const AccessRecord& now) {
        const Clock& clock = core(now.core).pipes[at(now.pipe)].clock;
        if (old.core != now.core) return clock.known(static_cast<std::size_t>(old.core), old.pipe) >= old.epoch;
        if (clock.own[at(old.pipe)] >= old.epoch) return true;
        if (old.unit_flag && now.unit_flag && now.access.space == isa::Space::l0c) return true;
        return old.pipe == now.pipe && (old.epoch == now.epoch || !needs_barrier[at(now.pipe)][static_cast<std::size_t>(now.access.space)]);
    }
    bool compare(const AccessRecord& old, const AccessRecord& now);
    void report(const AccessRecord& old, const AccessRecord& now);
    void add_on_chip(CoreState&, const AccessRecord&);
    void add_in_gm(const AccessRecord&);
    void forget(CoreState&, SpaceRecords&);
    std::string describe(const AccessRecord&) const;
    std::string object_name(const isa::Access&, std::int32_t object) const;

    bool poison;
    std::array<std::array<bool, isa::kSpaceCount>, isa::kPipeCount> needs_barrier{};
    std::vector<CoreState> cores;
    std::vector<TensorRecords> tensors;
    std::vector<std::int64_t> sizes;
    const isa::Program* program = nullptr;
    std::vector<int> tensor_map;
    std::map<std::tuple<int, int, int, std::int64_t>, Rounds> rounds;
    std::set<std::pair<const isa::Instr*, const isa::Instr*>> reported;
    std::size_t reports = 0;
    std::vector<isa::Diagnostic> diagnostics;
    std::vector<Poison> poisons;
    std::vector<Pending> pending;
};

std::string HazardTracker::State::object_name(const isa::Access& a, std::int32_t object) const {
    if (a.space == isa::Space::gm) {
        for (std::size_t i = 0; i < tensor_map.size(); ++i)
            if (tensor_map[i] == a.object) return "tensor '" + program->tensors[i].name + "'";
        return "GM";
    }
    const std::string space(name(a.space));
    if (object < 0 || static_cast<std::size_t>(object) >= program->buffers.size()) return space;
    return space + " (buffer '" + program->buffers[static_cast<std::size_t>(object)].name + "')";
}

std::string HazardTracker::State::describe(const AccessRecord& r) const {
    const CoreState& c = cores[static_cast<std::size_t>(r.core)];
    std::string out(desc(r.instr->op).name);
    out += std::string(r.access.write ? " writes" : " reads") + " on pipe " + std::string(name(r.pipe)) + " of " + std::string(name(c.ref.kind)) + " " +
           std::to_string(c.ref.index);
    const std::string line = isa::where(*program, r.instr->source);
    return line.empty() ? out : out + " at " + line;
}

void HazardTracker::State::report(const AccessRecord& old, const AccessRecord& now) {
    const std::pair key = std::less<>{}(old.instr, now.instr) ? std::pair(old.instr, now.instr) : std::pair(now.instr, old.instr);
    if (reports >= kMostReports || !reported.insert(key).second) return;
    ++reports;
    std::int64_t from = -1, to = -1;
    for_each_shared_run(old.access, now.access, [&](std::int64_t start, std::int64_t bytes) {
        from = from < 0 ? start : std::min(from, start);
        to = std::max(to, start + bytes);
    });
    isa::Diagnostic d;
    d.code = isa::Code::race;
    const std::string way_out = old.core != now.core    ? "order the cores with a cross-core flag"
                                : old.pipe == now.pipe ? "put barrier(" + std::string(name(now.pipe)) + ") between them"
                                                       : "set a flag " + std::string(name(old.pipe)) + " to " + std::string(name(now.pipe)) +
                                                             " after the first and wait for it before the second";
    d.message = "bytes " + std::to_string(from) + " to " + std::to_string(to) + " (excluded) of " + object_name(now.access, now.access.object) + ": " +
                std::string(desc(now.instr->op).name) + (now.access.write ? " writes" : " reads") + " what " + std::string(desc(old.instr->op).name) +
                (old.access.write ? " writes" : " reads") + " and nothing orders them; " + way_out;
    if (now.instr->source >= 0) {
        const isa::Source& s = program->sources[static_cast<std::size_t>(now.instr->source)];
        d.file = s.file;
        d.line = s.line;
        d.column = s.column;
    }
    d.notes = {describe(old), describe(now)};
    diagnostics.push_back(std::move(d));
}

// Reports and poisons if the two race; true when the older record is no longer needed.
bool HazardTracker::State::compare(const AccessRecord& old, const AccessRecord& now) {
    if (old.access.end() <= now.access.start || now.access.end() <= old.access.start) return false;
    const bool conflict = (old.access.write || now.access.write) && !(old.atomic && now.atomic && old.access.write && now.access.write);
    if (!conflict && !now.access.write) return old.core == now.core && old.pipe == now.pipe && covers(now.access, old.access);
    if (ordered(old, now)) return now.access.write && covers(now.access, old.access);
    if (!conflict || !isa::overlaps(old.access, now.access)) return false;
    report(old, now);
    if (poison) {
        for_each_shared_run(old.access, now.access, [&](std::int64_t start, std::int64_t bytes) {
            Poison p{now.core, now.access};
            p.access.start = start;
            p.access.rows = 1;
            p.access.row_bytes = bytes;
            poisons.push_back(p);
            const bool complete = core(old.core).pipes[at(old.pipe)].completed >= old.epoch;
            pending.push_back({p, {old.core, now.core}, {old.pipe, now.pipe}, {old.epoch, now.epoch}, {complete, false}});
        });
    }
    return false;
}

// What every working pipe knows to be complete can race with nothing any more.
void HazardTracker::State::forget(CoreState& c, SpaceRecords& s) {
    std::erase_if(s.records, [&](const AccessRecord& r) {
        for (std::size_t q = 0; q < c.pipes.size(); ++q) {
            if (!c.active[q]) continue;
            const bool in_order = static_cast<isa::Pipe>(q) == r.pipe && !needs_barrier[q][static_cast<std::size_t>(r.access.space)];
            if (!in_order && c.pipes[q].clock.own[at(r.pipe)] < r.epoch) return false;
        }
        return true;
    });
    s.limit = std::max<std::size_t>(64, 2 * s.records.size());
}

void HazardTracker::State::add_on_chip(CoreState& c, const AccessRecord& now) {
    SpaceRecords& s = c.spaces[static_cast<std::size_t>(now.access.space)];
    for (std::size_t i = 0; i < s.records.size();) {
        if (!compare(s.records[i], now)) {
            ++i;
            continue;
        }
        s.records[i] = s.records.back();
        s.records.pop_back();
    }
    s.records.push_back(now);
    if (s.records.size() > s.limit) forget(c, s);
}

void HazardTracker::State::add_in_gm(const AccessRecord& now) {
    TensorRecords& t = tensors[static_cast<std::size_t>(now.access.object)];
    if (!t.tracked()) return;
    t.for_each_near(now.access, [&](AccessRecord& old) {
        if (compare(old, now)) old.alive = false;
    });
    t.add(now);
}

HazardTracker::HazardTracker(const isa::Chip& chip, const DeviceMemory& memory, bool poison) : state_(std::make_unique<State>(chip, memory, poison)) {}
HazardTracker::~HazardTracker() = default;

void HazardTracker::begin_launch(const isa::Program& p, std::span<const int> tensor_map, std::span<const PlacedCore> cores) {
    State& s = *state_;
    s.program = &p;
    s.tensor_map.assign(tensor_map.begin(), tensor_map.end());
    for (CoreState& c : s.cores) c = CoreState{};
    s.rounds.clear();
    s.reported.clear();
    s.pending.clear();
    std::vector<bool> written(s.tensors.size());
    for (const isa::Section& section : p.sections)
        isa::for_each_instr(section.body, [&](const isa::Instr& i) {
            std::visit([&](const auto& o) {
                if constexpr (requires { o.dst.space; })
                    if (o.dst.space == isa::Space::gm) written[static_cast<std::size_t>(tensor_map[static_cast<std::size_t>(o.dst.object)])] = true;
            }, i.operands);
        });
    for (std::size_t t = 0; t < s.tensors.size(); ++t) s.tensors[t].reset(s.sizes[t], written[t]);
    for (const PlacedCore& placed : cores) {
        CoreState& c = s.core(placed.core.ordinal);
        c.used = true;
        c.ref = placed.core;
        c.group = placed.group;
        isa::for_each_instr(placed.section->body, [&](const isa::Instr& i) {
            const isa::Pipe pipe = isa::pipe_of(i);
            if (pipe != isa::Pipe::all && desc(i.op).family != isa::Family::Sync) c.active[at(pipe)] = true;
        });
    }
}

void HazardTracker::on_issue(int core, isa::Pipe pipe) { ++state_->core(core).pipes[at(pipe)].issued; }

void HazardTracker::on_start(int core, isa::Pipe pipe, const isa::BoundInstr& b, const isa::AccessList& accesses) {
    State& s = *state_;
    CoreState& c = s.core(core);
    PipeState& p = c.pipes[at(pipe)];
    ++p.started;
    while (!p.from_scalar.empty() && p.from_scalar.front().first < p.started) {
        p.clock.learn(p.from_scalar.front().second);
        p.from_scalar.pop_front();
    }
    AccessRecord r;
    r.core = core;
    r.pipe = pipe;
    r.epoch = p.started;
    r.instr = b.instr;
    r.unit_flag = has_unit_flag(b.operands);
    const bool atomic = is_atomic(b.operands);
    for (const isa::Access& a : accesses) {
        r.access = a;
        r.atomic = atomic && a.write;
        if (a.space == isa::Space::gm) {
            r.access.object = s.tensor_map[static_cast<std::size_t>(a.object)];
            s.add_in_gm(r);
        } else {
            s.add_on_chip(c, r);
        }
    }
}

void HazardTracker::on_complete(int core, isa::Pipe pipe) {
    State& s = *state_;
    const std::int64_t epoch = ++s.core(core).pipes[at(pipe)].completed;
    if (s.pending.empty()) return;
    std::erase_if(s.pending, [&](Pending& p) {
        for (int i = 0; i < 2; ++i) {
            if (p.done[i] || p.cores[i] != core || p.pipes[i] != pipe || p.epochs[i] != epoch) continue;
            p.done[i] = true;
            s.poisons.push_back(p.poison);
        }
        return p.done[0] && p.done[1];
    });
}

void HazardTracker::on_set_flag(int core, isa::Pipe src, isa::Pipe dst, std::int64_t id) {
    CoreState& c = state_->core(core);
    Clock message = c.pipes[at(src)].clock;
    message.own[at(src)] = c.pipes[at(src)].started;
    c.flags[flag_key(src, dst, id)].push_back(std::move(message));
}

void HazardTracker::on_wait_flag(int core, isa::Pipe src, isa::Pipe dst, std::int64_t id) {
    CoreState& c = state_->core(core);
    auto& queue = c.flags[flag_key(src, dst, id)];
    if (queue.empty()) return;
    Clock& clock = c.pipes[at(dst)].clock;
    clock.learn(queue.front());
    queue.pop_front();
    if (dst != isa::Pipe::s) return;
    // the scalar unit issues what follows after the wait
    for (PipeState& p : c.pipes)
        if (&p != &c.pipes[at(isa::Pipe::s)]) p.from_scalar.emplace_back(std::max(p.issued, p.started), clock);
}

void HazardTracker::on_barrier(int core, isa::Pipe pipe) {
    CoreState& c = state_->core(core);
    if (pipe != isa::Pipe::all) {
        c.pipes[at(pipe)].clock.own[at(pipe)] = c.pipes[at(pipe)].started;
        return;
    }
    Clock all;
    for (std::size_t p = 0; p < c.pipes.size(); ++p) {
        all.learn(c.pipes[p].clock);
        all.own[p] = std::max(all.own[p], c.pipes[p].started);
    }
    for (PipeState& p : c.pipes) p.clock = all;
}

void HazardTracker::on_cross_set(int core, isa::Pipe src, std::int64_t id, int mode, std::span<const int> raised) {
    State& s = *state_;
    CoreState& c = s.core(core);
    Clock message = c.pipes[at(src)].clock;
    message.own[at(src)] = c.pipes[at(src)].started;
    Clock::Table table = message.table(static_cast<std::size_t>(core), s.cores.size());
    if (!(mode == 2 && c.ref.kind != isa::CoreKind::aiv)) {
        Rounds& r = s.rounds[{mode, static_cast<int>(c.ref.kind), mode == 0 ? 0 : c.group, id}];
        const auto round = static_cast<std::size_t>(r.sets[core]++ - r.first);
        if (round >= r.open.size()) r.open.resize(round + 1, Clock::Table(s.cores.size()));
        for (std::size_t i = 0; i < table.size(); ++i) join(r.open[round][i], table[i]);
        if (raised.empty()) return;
        table = std::move(r.open.front());
        r.open.pop_front();
        ++r.first;
    }
    const auto shared = std::make_shared<const Clock::Table>(std::move(table));
    for (const int to : raised) s.core(to).cross[id].push_back(shared);
}

void HazardTracker::on_cross_wait(int core, isa::Pipe dst, std::int64_t id) {
    CoreState& c = state_->core(core);
    auto& queue = c.cross[id];
    if (queue.empty()) return;
    c.pipes[at(dst)].clock.learn_cross(queue.front(), static_cast<std::size_t>(core));
    queue.pop_front();
    if (dst != isa::Pipe::s) return;
    for (PipeState& p : c.pipes)
        if (&p != &c.pipes[at(isa::Pipe::s)]) p.from_scalar.emplace_back(std::max(p.issued, p.started), c.pipes[at(isa::Pipe::s)].clock);
}

bool HazardTracker::anything() const { return !state_->diagnostics.empty() || !state_->poisons.empty(); }
std::vector<isa::Diagnostic> HazardTracker::take_diagnostics() { return std::exchange(state_->diagnostics, {}); }
std::vector<Poison> HazardTracker::take_poison() { return std::exchange(state_->poisons, {}); }

}  // namespace sfumato::sim
