// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes over graphs, listed once in pass_table() (name, kind, default level, what it does, the term of the literature). The manager runs them
// in the table's order, verifies the graph after each, and records what matched, what took effect and what was refused, with reasons.
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fusion/graph.h"
#include "isa/chip.h"

namespace sfumato::fusion {

enum class Reason : std::uint8_t {
#define REASON(code, name, meaning) name,
#include "fusion/reasons.def"
};
std::string_view code(Reason);
std::string_view name(Reason);
std::string_view meaning(Reason);

enum class PassKind : std::uint8_t { shape, canonical, pattern, fuser, memory };
std::string_view name(PassKind);

struct Refusal {
    std::string pass, node;  ///< the pattern's root node by its name in the model
    Reason reason{};
    std::string text;        ///< what was found, what was wanted: "Mul constant is 0.5, wanted 0.7071 within 1e-4"
    int depth = 0;           ///< nodes matched before the failure: the deepest refusal is the one shown first
};

struct PassRecord {
    std::string pass;
    int matched = 0, effective = 0;  ///< candidates that matched; those that changed the graph
    std::vector<Refusal> refusals;
    double milliseconds = 0;         ///< not part of dumps
};

/// What the user switched, after reading the four formats of switch files. Keys of `passes` are pass names or "ALL".
struct Switches {
    bool enabled = true;
    int level = 2;  ///< 0 none, 1 canonical and vertical element-wise, 2 named patterns, 3 aggressive: general fuser and horizontal
    struct Entry {
        bool on = true;
        std::string where;  ///< "file:line" of the entry, for messages
    };
    std::map<std::string, Entry> passes;
    std::map<std::string, int> priorities;
    std::optional<std::set<std::string>> allowed_ops;  ///< with it, only these fused operators are made
};
/// Reads a switch file of any of the four formats (INI switch, INI op list, JSON, colon lines), told apart by content, into `into`. Errors
/// (unknown pass or operator with the nearest name, duplicate key, value other than on/off) name file, line and key.
void read_switches(const std::string& text, const std::string& file, Switches& into);

struct PassContext {
    Graph& graph;
    const Switches& switches;
    const isa::Chip* chip = nullptr;  ///< for passes that price; null: those that need it refuse
    PassRecord& record;

    void refuse(NodeId root, Reason, std::string text, int depth = 0);
    bool allows(const std::string& fused_op, NodeId root);  ///< the op list; records the refusal
};

struct PassRow {
    std::string name;
    PassKind kind{};
    int level = 1;           ///< lowest fusion level at which it runs by default
    std::string summary;
    std::string article_term;  ///< the name under which the literature knows it; "" when none
    std::function<void(PassContext&)> run;
};
/// The built-in passes in order. Custom passes are appended to a copy of it.
const std::vector<PassRow>& pass_table();
/// Every fused operator that some pass makes (AttentionFused, LayerNormFused, ...), for op lists and nearest names.
const std::vector<std::string>& fused_operators();

/// Called before and after each pass that ran: dumps.
using PassObserver = std::function<void(const PassRow&, const Graph&, bool after)>;
/// Runs the passes that the switches leave on. A graph that does not verify after a pass throws isa::InternalError naming the pass.
std::vector<PassRecord> run_passes(Graph&, const std::vector<PassRow>&, const Switches&, const isa::Chip*, const PassObserver& = {});

}  // namespace sfumato::fusion
