// SPDX-License-Identifier: Apache-2.0
#pragma once
// Brute force answer to "is this program ordered?" for tests of sync insertion and its checker: the instances of one launch are unrolled, the
// k-th set of a flag meets the k-th wait, everything that must be complete before an instance starts is kept as a bit set, and every pair of
// overlapping accesses is looked up. Programs whose sets stand before their waits in program order only.
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "isa/access.h"
#include "isa/chip.h"
#include "isa/pipe_order.h"
#include "isa/walker.h"

namespace sfumato::testing {

struct OracleResult {
    std::vector<std::string> races;   ///< "vadd / mov_ub_gm"
    std::vector<std::string> faults;  ///< of the flag protocol
    bool clean() const { return races.empty() && faults.empty(); }
};

/// `skip` leaves sync instances out (a flag that is to be tried without); it sees the instruction and the id.
inline OracleResult brute_force(const isa::Program& p, const isa::Section& section, const isa::Chip& chip,
                                const std::map<std::string, std::int64_t>& params,
                                const std::function<bool(const isa::Instr&, std::int64_t)>& skip = {}) {
    using namespace isa;
    struct Node {
        const Instr* instr;
        Pipe pipe;
        AccessList work;
        std::vector<bool> before;  // complete when this one starts (a set: when it takes effect)
    };
    OracleResult out;
    std::vector<Node> nodes;
    std::vector<std::tuple<Op, Pipe, Pipe, std::int64_t>> syncs;
    Walker w(p, section, {params, 0, 1, 0});
    for (Step s = w.next(); s.kind != StepKind::end; s = w.next()) {
        if (s.kind != StepKind::instr) continue;
        const Instr& i = *s.instr->instr;
        Node n{&i, pipe_of(i), {}, {}};
        std::tuple<Op, Pipe, Pipe, std::int64_t> sync{Op::scalar_work, Pipe::s, Pipe::s, 0};
        if (const auto* f = std::get_if<SyncT<std::int64_t>>(&s.instr->operands)) {
            if (skip && skip(i, f->id)) continue;
            sync = {i.op, f->src, f->dst, f->id};
        } else {
            n.work = accesses(*s.instr);
        }
        nodes.push_back(n);
        syncs.push_back(sync);
    }
    const std::size_t count = nodes.size();
    const auto merge = [&](std::vector<bool>& into, std::size_t from, bool itself) {
        for (std::size_t k = 0; k < count; ++k)
            if (nodes[from].before[k]) into[k] = true;
        if (itself) into[from] = true;
    };
    std::map<std::tuple<Pipe, Pipe, std::int64_t>, std::pair<std::ptrdiff_t, std::ptrdiff_t>> flags;  // pending set, last wait; -1: none
    for (std::size_t n = 0; n < count; ++n) {
        nodes[n].before.assign(count, false);
        const auto [op, src, dst, id] = syncs[n];
        const bool all = op == Op::barrier && src == Pipe::all;
        for (std::size_t k = 0; k < n; ++k) {
            const auto [kop, ksrc, kdst, kid] = syncs[k];
            const bool kall = kop == Op::barrier && ksrc == Pipe::all;
            if (!all && !kall && nodes[k].pipe != nodes[n].pipe) continue;
            const bool k_blocks = kop == Op::wait_flag || kop == Op::barrier;  // nothing of the pipe starts before it
            const bool n_collects = op == Op::set_flag || op == Op::barrier;   // takes effect when all before is complete
            if (k_blocks || n_collects) merge(nodes[n].before, k, true);
        }
        if (op == Op::set_flag) {
            auto [it, fresh] = flags.try_emplace({src, dst, id}, -1, -1);
            if (it->second.first >= 0) out.faults.push_back("set twice");
            if (it->second.second >= 0 && !nodes[n].before[static_cast<std::size_t>(it->second.second)])
                out.faults.push_back("set may pass the wait");
            it->second.first = static_cast<std::ptrdiff_t>(n);
            if (id < 0 || id >= chip.flags.ids) out.faults.push_back("id " + std::to_string(id));
        }
        if (op == Op::wait_flag) {
            auto [it, fresh] = flags.try_emplace({src, dst, id}, -1, -1);
            if (it->second.first < 0) {
                out.faults.push_back("wait without set");
            } else {
                merge(nodes[n].before, static_cast<std::size_t>(it->second.first), true);
                it->second = {-1, static_cast<std::ptrdiff_t>(n)};
            }
        }
    }
    for (const auto& [key, f] : flags)
        if (f.first >= 0) out.faults.push_back("flag left set");
    for (std::size_t y = 0; y < count; ++y)
        for (std::size_t x = 0; x < y; ++x) {
            if (nodes[y].before[x]) continue;
            for (const Access& a : nodes[x].work)
                for (const Access& b : nodes[y].work) {
                    if (!a.write && !b.write) continue;
                    if (nodes[x].pipe == nodes[y].pipe && !same_pipe_needs_barrier(chip, nodes[x].pipe, a.space)) continue;
                    if (overlaps(a, b))
                        out.races.push_back(std::string(desc(nodes[x].instr->op).name) + " / " + std::string(desc(nodes[y].instr->op).name));
                }
        }
    return out;
}

}  // namespace sfumato::testing
