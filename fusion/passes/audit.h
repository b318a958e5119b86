// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checking of rewrites by execution: the same random inputs through the graph before and after, and, when they differ, which pass is to blame.
#include <map>
#include <string>
#include <vector>

#include "fusion/interpreter.h"
#include "fusion/pass.h"

namespace sfumato::fusion {

using Inputs = std::map<std::string, Datum>;

/// Small values for every symbol of the inputs' shapes, distinct where ranges allow, `given` ones as they are.
Bindings small_bindings(const Graph&, const Bindings& given = {});
/// Random inputs of these sizes: floats in [-1, 1], ids below the tables they index, masks of 0 and 1. A function of the seed.
Inputs random_inputs(const Graph&, const Bindings&, std::uint64_t seed);

/// Largest difference of two results relative to the largest magnitude of the first; equal NaNs and infinities count as equal. `where` names the worst.
struct Difference {
    double error = 0;
    std::string where;
};
Difference difference(const Graph&, const std::vector<Datum>& expected, const std::vector<Datum>& found);

struct Audit {
    int runs = 0;             ///< executions compared
    double max_error = 0, budget = 0;
    std::string where;        ///< output and element of the largest error
    std::string guilty;       ///< the pass after which values were wrong first; "" when all are right
    std::string skipped;      ///< why nothing was compared
};
/// Budget by the narrowest floating type of the graph: 1e-5 of the largest value, 2e-2 for f16 and bf16.
double error_budget(const Graph&);
/// Runs the passes over `graph` and compares before with after on `count` sets of random inputs. Wrong values are traced to the pass by running again.
std::vector<PassRecord> run_audited(Graph& graph, const std::vector<PassRow>&, const Switches&, const isa::Chip*, const PassObserver&, const Bindings&, int count, Audit&);

}  // namespace sfumato::fusion
