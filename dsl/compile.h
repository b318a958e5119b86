// SPDX-License-Identifier: Apache-2.0
#pragma once
// From a kernel function to a Program: the function runs once under a Trace, then a visible list of passes completes the program, each verified
// after it ran.
#include <bit>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dsl/decision.h"
#include "dsl/passes/check.h"
#include "dsl/passes/plan.h"
#include "dsl/passes/sync.h"
#include "dsl/trace.h"
#include "dsl/types.h"
#include "dsl/view.h"

namespace sfumato::dsl {

struct CompileOptions {
    std::string name = "kernel";
    std::vector<std::string> tensors;  ///< names of the tensor arguments in order; missing ones are called t0, t1, ...
    std::int32_t stages = 0;           ///< 0: as the author says; otherwise the stages of every pipelined loop
    bool keep_texts = false;           ///< keep the program's text after each pass
    bool check = true;                 ///< run the independent checker of order
    std::string stop_after = {};       ///< name of the last pass to run; empty: all
};

struct PassText {
    std::string name, text;
};
struct Compiled {
    isa::Program program;
    CapacityReport capacity;
    SyncReport sync;
    DecisionLog decisions;
    std::vector<tile::Requirement> requirements;  ///< extents a launch must make equal
    std::vector<isa::Diagnostic> hints;
    std::vector<PassText> texts;
};

/// What the passes hand on to each other.
struct CompileState {
    const isa::Chip& chip;
    const CompileOptions& options;
    tile::Kernel kernel;
    bool lowered = false;  ///< `out.program` is the current form, not `kernel`
    Compiled out;
};
struct Pass {
    std::string_view name;
    std::string_view what;
    void (*run)(CompileState&);
};
/// All passes in order.
const std::vector<Pass>& passes();
/// Runs them. Throws Rejected with every diagnostic of the pass that found fault.
Compiled run_passes(tile::Kernel, const isa::Chip&, const CompileOptions&);

/// Adds a tensor argument to the running trace.
Tensor add_argument(isa::DType, isa::Role, const CompileOptions&);

namespace detail {
template <class Arg>
struct Argument {
    template <class Tile>
    static const Tile& make(const CompileOptions&, const Tile& tile) {
        return tile;  // the tile struct
    }
};
template <class T, isa::Role R>
struct Argument<TensorArg<T, R>> {
    template <class Tile>
    static TensorArg<T, R> make(const CompileOptions& o, const Tile&) {
        return {add_argument(dtype_of<T>, R, o)};
    }
};
}  // namespace detail

/// Records `kernel`, a function of tensors and (last) a struct of knobs.
template <class Tile, class... Args>
tile::Kernel record(void (*kernel)(Args...), const isa::Chip& chip, const Tile& tile, const CompileOptions& options = {}) {
    Trace trace(options.name, chip);
    trace.stages = options.stages;
    std::tuple<std::remove_cvref_t<Args>...> args{detail::Argument<std::remove_cvref_t<Args>>::make(options, tile)...};
    std::apply(kernel, args);
    return trace.finish();
}
template <class Tile, class... Args>
Compiled compile(void (*kernel)(Args...), const isa::Chip& chip, const Tile& tile, const CompileOptions& options = {}) {
    return run_passes(record(kernel, chip, tile, options), chip, options);
}

}  // namespace sfumato::dsl
