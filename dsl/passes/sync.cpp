// SPDX-License-Identifier: Apache-2.0
#include "dsl/passes/sync.h"

#include <algorithm>
#include <map>
#include <set>

#include "dsl/passes/order_emit.h"
#include "isa/diagnostic.h"

namespace sfumato::dsl {

using namespace isa;

namespace {

using PipePair = std::pair<Pipe, Pipe>;

// Ids the author's own flags use in a section, as a count from 0.
std::map<PipePair, int> ids_taken(const Program& p, const Section& s) {
    std::map<PipePair, int> out;
    const std::vector<Interval> any(p.symbols.size(), Interval{0, std::int64_t{1} << 40});
    for_each_instr(s.body, [&](const Instr& i) {
        if (i.op != Op::set_flag && i.op != Op::wait_flag) return;
        const Sync& f = std::get<Sync>(i.operands);
        const std::int64_t most = f.id ? range(p.exprs, f.id, any).hi : 0;
        int& taken = out[{f.src, f.dst}];
        taken = std::max(taken, static_cast<int>(std::min<std::int64_t>(most, 15)) + 1);
    });
    return out;
}

ConflictKind kind_of(const order::Access& a, const order::Access& b) {
    if (!a.writes) return ConflictKind::war;
    return b.reads ? ConflictKind::raw : ConflictKind::waw;
}

SourceId line_of(const order::Model& m, const order::Flag& f, bool set, const order::Solution& s) {
    if (f.pair < 0) return -1;
    const order::Pair& p = s.pairs[static_cast<std::size_t>(f.pair)];
    return m.accesses[static_cast<std::size_t>(set ? p.a : p.b)].source;
}

void add_section(SyncReport& out, const order::Model& m, const order::Solution& s, int section, const std::vector<std::string>& reasons) {
    std::vector<int> number(s.flags.size(), -1);
    for (std::size_t i = 0; i < s.flags.size(); ++i) {
        const order::Flag& f = s.flags[i];
        if (f.dropped) continue;
        number[i] = static_cast<int>(out.flags.size());
        const SourceId loop = f.loop < 0 ? -1 : m.loop(f.loop).source;
        out.flags.push_back({f.src, f.dst, f.barrier, f.distance, f.ids, f.base, section, line_of(m, f, true, s), line_of(m, f, false, s), loop,
                             !f.guards.empty(), reasons[i]});
    }
    for (std::size_t i = 0; i < s.pairs.size(); ++i) {
        const order::Pair& p = s.pairs[i];
        const order::Access &a = m.accesses[static_cast<std::size_t>(p.a)], &b = m.accesses[static_cast<std::size_t>(p.b)];
        Conflict c{kind_of(a, b), b.buffer, a.tensor, a.pipe, b.pipe, a.source, b.source, p.distance, {}};
        for (int f : s.chains[i]) c.chain.push_back(number[static_cast<std::size_t>(f)]);
        out.conflicts.push_back(std::move(c));
    }
    out.pairs += s.all_pairs;
    out.notes.insert(out.notes.end(), s.notes.begin(), s.notes.end());
}

std::string pair_text(Pipe a, Pipe b) { return std::string(name(a)) + " > " + std::string(name(b)); }

std::string flag_text(const FlagInfo& f, const Program& p) {
    std::string out;
    if (f.barrier) {
        out = "barrier " + std::string(name(f.src)) + " before " + where(p, f.wait_before);
    } else {
        out = pair_text(f.src, f.dst) + "  id";
        if (f.ids == 1)
            out += " " + std::to_string(f.base);
        else
            out += "s " + std::to_string(f.base) + ".." + std::to_string(f.base + f.ids - 1);
        out += "  set after " + where(p, f.set_after) + ", wait before " + where(p, f.wait_before);
        if (f.distance > 0) out += ", " + std::to_string(f.distance) + (f.distance == 1 ? " iteration later" : " iterations later");
        if (f.guarded) out += ", guarded";
    }
    return out + "   " + f.reason;
}

}  // namespace

int SyncReport::barriers() const {
    return static_cast<int>(std::count_if(flags.begin(), flags.end(), [](const FlagInfo& f) { return f.barrier; }));
}
int SyncReport::ids(Pipe src, Pipe dst) const {
    std::map<int, std::set<int>> by_section;  // flags that follow each other may use the same ids
    for (const FlagInfo& f : flags)
        if (!f.barrier && f.src == src && f.dst == dst)
            for (int i = 0; i < f.ids; ++i) by_section[f.section].insert(f.base + i);
    std::size_t most = 0;
    for (const auto& [section, used] : by_section) most = std::max(most, used.size());
    return static_cast<int>(most);
}

SyncReport insert_sync(Program& p, const Chip& chip, const SyncOptions& options) {
    std::int64_t ids = options.only_ids > 0 ? options.only_ids : chip.flags.ids;
    if (options.only_ids > chip.flags.ids)
        throw InputError("sync insertion was told to use " + std::to_string(options.only_ids) + " event ids per pipe pair; " + chip.name + " has " +
                         std::to_string(chip.flags.ids));
    ids = std::max<std::int64_t>(0, ids - options.reserved_ids);
    SyncReport report;
    for (std::size_t i = 0; i < p.sections.size(); ++i) {
        Section& section = p.sections[i];
        order::Model model(p, section);
        order::Solver solver(model, chip, static_cast<int>(ids), ids_taken(p, section));
        const order::Solution solution = solver.run();
        std::vector<std::string> reasons;
        for (const order::Flag& f : solution.flags) reasons.push_back(solver.describe(f, solution));
        add_section(report, model, solution, static_cast<int>(i), reasons);
        order::emit(model, solution.flags);
    }
    number_instructions(p);
    return report;
}

std::string to_text(const SyncReport& r, const Program& p, bool explain) {
    int flags = 0;
    for (const FlagInfo& f : r.flags) flags += !f.barrier;
    std::string out = std::to_string(r.pairs) + " conflicts, " + std::to_string(flags) + " flags, " + std::to_string(r.barriers()) + " barriers\n";
    for (std::size_t i = 0; i < r.flags.size(); ++i) out += "   [" + std::to_string(i) + "] " + flag_text(r.flags[i], p) + "\n";
    for (const std::string& n : r.notes) out += "   note: " + n + "\n";
    if (!explain) return out;
    static constexpr const char* kKinds[] = {"RAW", "WAR", "WAW"};
    for (const Conflict& c : r.conflicts) {
        const std::string object = c.buffer >= 0   ? p.buffers[static_cast<std::size_t>(c.buffer)].name
                                   : c.tensor >= 0 ? p.tensors[static_cast<std::size_t>(c.tensor)].name
                                                   : "";
        out += "   " + std::string(kKinds[static_cast<int>(c.kind)]) + " " + object + "  " + std::string(name(c.a_pipe)) + " " + where(p, c.a) +
               " -> " + std::string(name(c.b_pipe)) + " " + where(p, c.b) + "  distance " + std::to_string(c.distance) + "  by";
        for (int f : c.chain) out += " [" + std::to_string(f) + "]";
        out += "\n";
    }
    return out;
}

}  // namespace sfumato::dsl
