// SPDX-License-Identifier: Apache-2.0
#pragma once
// What passes did, for people and for programs: fusion_result.json, tables, the story of one node, and the page of all passes.
#include <map>
#include <string>
#include <vector>

#include "fusion/pass.h"

namespace sfumato::fusion {

/// fusion_result.json: per pass match_times, effect_times, refused by reason, and each refusal (deepest first).
std::string fusion_result_json(const Graph&, const std::vector<PassRecord>&);
/// How often each fused operator stands in the graph; groups within groups count.
std::map<std::string, int> count_patterns(const Graph&);
/// Nodes of the graph by operator, groups by their fused operator.
std::map<std::string, int> count_operators(const Graph&);
/// What became of a node of the model: which pass took it into which operator, and for every pattern that reached it how far that came and the first
/// thing that did not fit. Runs the passes on a copy. An unknown node throws isa::InputError with the nearest name.
std::string explain(const Graph& imported, const std::vector<PassRow>&, const Switches&, const isa::Chip*, const std::string& node);
/// docs/passes.md.
std::string passes_page();

}  // namespace sfumato::fusion
