// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests that judge a graph by running it: random inputs that fit a graph for given sizes of its symbols, and the comparison of values by
// the budgets the suites use.
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fusion/interpreter.h"

namespace sfumato::fusion::test {

using Inputs = std::map<std::string, Datum>;

/// How values are compared: |got - want| <= absolute + relative * |want| element by element (as the runner of the ONNX project does), or, with
/// `of_largest`, <= absolute + relative * max |want| of the tensor. NaN equals NaN, infinities equal themselves, integers and strings are exact.
struct Budget {
    double relative = 1e-3, absolute = 1e-5;
    bool of_largest = false;
};
inline constexpr Budget kConformance{1e-3, 1e-5, false};
inline constexpr Budget kSingle{1e-5, 1e-7, true};
inline constexpr Budget kHalf{2e-2, 1e-4, true};

/// "" when equal, else the first difference: type, shape, or the place and the two values with the largest excess.
std::string difference(const Datum& got, const Datum& want, const Budget&);
/// The same for lists, with the index of the differing one in front.
std::string difference(const std::vector<Datum>& got, const std::vector<Datum>& want, const Budget&);

/// Random inputs (and weights without data) of a graph whose symbols have these sizes: floats near normal with deviation 1 (weights smaller with
/// fan-in, as networks are initialised), integers from 0 to `integers` - 1, bool 0 or 1. A symbol without a size throws isa::InputError; a
/// declared type that cannot be drawn (strings, sequences) does too. The same seed gives the same numbers everywhere.
struct Draw {
    std::uint32_t seed = 1;
    std::int64_t integers = 16;
    double scale = 1;
};
Inputs random_inputs(const Graph&, const Bindings&, const Draw& = {});

/// Runs both graphs on the same inputs and compares outputs in order; "" when they agree. Inputs that the second lacks are left out.
std::string difference(const Graph& got, const Graph& want, const Inputs&, const Budget&, Precision = Precision::as_declared);

/// Lines for values whose run-time type or shape contradicts what the graph says (declared or inferred), under these sizes.
std::vector<std::string> shape_contradictions(const Graph&, const Inputs&, const Bindings&);
/// Sizes of the named symbols that the inputs' shapes fix.
Bindings bindings_of(const Graph&, const Inputs&);

}  // namespace sfumato::fusion::test
