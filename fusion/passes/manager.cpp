// SPDX-License-Identifier: Apache-2.0
// Runs passes: order by priority, levels and switches, a check of the graph after each, and the record of what each did.
#include <algorithm>
#include <chrono>
#include <numeric>

#include "fusion/pass.h"
#include "isa/diagnostic.h"

namespace sfumato::fusion {

namespace {
struct ReasonRow {
    std::string_view code, name, meaning;
};
constexpr auto kReasons = std::to_array<ReasonRow>({
#define REASON(code, name, meaning) {#code, #name, meaning},
#include "fusion/reasons.def"
});
constexpr std::array<std::string_view, 5> kKinds{"shape", "canonical", "pattern", "fuser", "memory"};
constexpr int kFirstPriority = 3000, kPriorityStep = 10;  // custom passes of other stacks use 0 to 2999: they come first here too

std::string first_lines(const std::vector<std::string>& lines) {
    std::string out;
    for (std::size_t i = 0; i < lines.size() && i < 3; ++i) out += (i ? "; " : "") + lines[i];
    return out + (lines.size() > 3 ? "; and " + std::to_string(lines.size() - 3) + " more" : "");
}

// Why a pass does not run; "" when it does.
std::string off(const PassRow& row, const Switches& s) {
    if (!s.enabled) return "fusion is off";
    if (const auto it = s.passes.find(row.name); it != s.passes.end()) return it->second.on ? "" : "off at " + it->second.where;
    if (const auto it = s.passes.find("ALL"); it != s.passes.end() && !it->second.on) return "ALL is off at " + it->second.where;
    return row.level > s.level ? "runs from level " + std::to_string(row.level) : "";
}
}  // namespace

std::string_view code(Reason r) { return kReasons[static_cast<std::size_t>(r)].code; }
std::string_view name(Reason r) { return kReasons[static_cast<std::size_t>(r)].name; }
std::string_view meaning(Reason r) { return kReasons[static_cast<std::size_t>(r)].meaning; }
std::string_view name(PassKind k) { return kKinds[static_cast<std::size_t>(k)]; }

void PassContext::refuse(NodeId root, Reason reason, std::string text, int depth) {
    record.refusals.push_back({record.pass, root == kNone ? "" : graph.node(root).name, reason, std::move(text), depth});
}

bool PassContext::allows(const std::string& fused_op, NodeId root) {
    if (!switches.allowed_ops || switches.allowed_ops->count(fused_op)) return true;
    refuse(root, Reason::not_in_op_list, fused_op + " is not in the list of fused operators");
    return false;
}

namespace {

struct Running {
    const PassRow* row;
    PassRecord record;
};

// One run of one pass. Returns whether it changed the graph.
bool run_one(Graph& graph, Running& r, const Switches& switches, const isa::Chip* chip, const PassObserver& observe) {
    if (observe) observe(*r.row, graph, false);
    const auto start = std::chrono::steady_clock::now();
    const int effective = r.record.effective;
    const std::size_t nodes = graph.node_count(), node_limit = graph.node_limit(), value_limit = graph.value_limit();
    r.record.refusals.clear();  // of an earlier round
    PassContext context{graph, switches, chip, r.record};
    r.row->run(context);
    r.record.milliseconds += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    const bool changed = r.record.effective != effective || graph.node_count() != nodes || graph.node_limit() != node_limit || graph.value_limit() != value_limit;
    if (changed)
        if (const auto lines = verify(graph); !lines.empty()) throw isa::InternalError("pass " + r.row->name + " left a broken graph: " + first_lines(lines));
    if (observe) observe(*r.row, graph, true);
    return changed;
}

constexpr int kMostRounds = 8;

}  // namespace

std::vector<PassRecord> run_passes(Graph& graph, const std::vector<PassRow>& rows, const Switches& switches, const isa::Chip* chip, const PassObserver& observe) {
    std::vector<std::size_t> sequence(rows.size());
    std::iota(sequence.begin(), sequence.end(), std::size_t{0});
    const auto priority = [&](std::size_t i) {
        const auto it = switches.priorities.find(rows[i].name);
        return it != switches.priorities.end() ? it->second : kFirstPriority + kPriorityStep * static_cast<int>(i);
    };
    std::stable_sort(sequence.begin(), sequence.end(), [&](std::size_t a, std::size_t b) { return priority(a) < priority(b); });
    std::vector<Running> running;
    std::vector<PassRecord> records;
    for (const std::size_t i : sequence) {
        PassRecord record;
        record.pass = rows[i].name;
        const std::string why = off(rows[i], switches);
        if (why.empty()) running.push_back({&rows[i], std::move(record)});
        if (!why.starts_with("off at") && !why.starts_with("ALL is off")) continue;
        record.refusals.push_back({rows[i].name, "", Reason::disabled_by_switch, why, 0});
        records.push_back(std::move(record));
    }
    for (std::size_t from = 0; from < running.size();) {
        std::size_t to = from + 1;
        if (running[from].row->kind == PassKind::canonical)
            while (to < running.size() && running[to].row->kind == PassKind::canonical) ++to;
        // canonical passes open the way for each other: rounds until nothing changes
        bool changed = true;
        for (int round = 0; changed && round < (to - from > 1 ? kMostRounds : 1); ++round) {
            changed = false;
            for (std::size_t i = from; i < to; ++i) changed |= run_one(graph, running[i], switches, chip, observe);
        }
        from = to;
    }
    for (Running& r : running) records.push_back(std::move(r.record));
    return records;
}

}  // namespace sfumato::fusion
