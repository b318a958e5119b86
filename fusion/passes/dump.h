// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs as text that parses back, and dumps of every stage on request of the environment (DUMP_GE_GRAPH and the rest, as in CANN).
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "fusion/pass.h"

namespace sfumato::fusion {

enum class Detail : std::uint8_t {
    all,       ///< with the data of every constant: parses back to the same graph
    no_data,   ///< constants of more than 16 elements are printed, and parse back, as weights
    links,     ///< nodes with the names of what they read and write
};
std::string to_text(const Graph&, Detail = Detail::all);
/// The reverse of to_text (all, no_data). Throws isa::InputError with the line of what is wrong.
Graph parse_graph(std::string_view text);

/// What to dump, when and where: from DUMP_GE_GRAPH (1 all, 2 no data, 3 links), DUMP_GRAPH_LEVEL (1 all stages, 2 graphs that changed kind of pass, 3 last,
/// 4 first, or names joined by |), DUMP_GRAPH_PATH, DUMP_GRAPH_FORMAT (onnx, readable, joined by |) and DUMP_PASS_NAME (before and after these).
struct DumpOptions {
    bool on = false;
    Detail detail = Detail::all;
    int level = 2;
    std::set<std::string> stages, passes;
    std::filesystem::path folder;
    bool readable = true, onnx = false;
};
/// Reads the variables through `get`, null for those not set. A value that means nothing throws isa::InputError naming variable and choices.
DumpOptions dump_options(const std::function<const char*(const char*)>& get);
/// An observer for run_passes that writes NNNN_before_PASS.txt and so on into the folder.
PassObserver dumper(DumpOptions);

}  // namespace sfumato::fusion
