// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one call: compile a kernel of the library (or take a program in text form), run it on the model, compare its values, time it, trace it.
// The command line, the examples and the tests all run through here, so they say the same about the same run.
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/table.h"
#include "lab/shape_text.h"
#include "sim/simulator.h"
#include "traces/chrome_trace.h"
#include "traces/report.h"

namespace sfumato::lab {

/// What to run and how; the members are the options of the command line, in its words.
struct Request {
    std::string what;  ///< kernel of the library, or a file ending in .sfa
    /// Kernels that run behind it in the same run, in order: "swiglu", "swiglu:d=5504,tile.rows=8", "add:X=C,Y=1.A". A key is a size, a tensor with
    /// the tensor of an earlier kernel that it is, tile.KNOB, dtype, level or stages. Without a tensor the first input is the first output of the
    /// kernel before; sizes and type follow from the tensors.
    std::vector<std::string> then;
    std::string chip = "Ascend910B2";
    std::vector<std::string> sets;
    std::string chip_dir;
    std::string shape, tile;  ///< "m=128,n=256"; a shape's missing sizes are the kernel's defaults, a tile's missing knobs the chooser's
    std::string dtype, level;
    std::int32_t stages = 0;
    bool keep_texts = false;  ///< keep the program's text after each pass
    std::optional<sim::Mode> mode;  ///< absent: both for small problems, else time
    bool warm_l2 = false;
    std::int64_t repeat = 1;
    std::uint64_t seed = 1;
    std::map<std::string, std::string> inputs, dumps;  ///< tensor -> .npy file; "C", or "1.C" where two kernels have a C
    std::string trace, trace_window;                   ///< file; "begin:end" in us, or in cycles with the suffix "cycles"
    std::vector<int> trace_cores;
    std::int64_t trace_slices = traces::TraceOptions{}.max_slices;
    std::function<void(double done)> progress;  ///< estimated share of the run, 0 to 1
};

/// A program with everything a launch needs, and how it came about.
struct Prepared {
    isa::Chip chip;
    const kernels::Kernel* kernel = nullptr;  ///< null: a text file
    std::string name;
    isa::DType dtype = isa::DType::f16;
    Numbers shape, tile;
    std::map<std::string, std::int64_t> params;
    std::optional<kernels::Choice> choice;  ///< absent: nothing was left to the chooser
    dsl::Compiled compiled;                 ///< of a text file: only the program
    double compile_s = 0;
    /// Tensors that an earlier kernel of the run wrote: index here -> launch and index there.
    std::map<std::size_t, std::pair<std::size_t, std::size_t>> bound;
    const isa::Program& program() const { return compiled.program; }
};
/// Loads the chip, chooses a tiling and compiles. Throws InputError for unknown names, sizes below 1 and tensors beyond device memory, Rejected for
/// what the compiler or the verifier refuses.
Prepared prepare(const Request&);
/// A kernel of the author's own, described as the library's are; it must outlive the result. `Request::what` is ignored. Without `choose` every knob
/// must be given; without `reference` values are compared with program order; without `flops` no arithmetic is reported.
Prepared prepare(const kernels::Kernel& own, const Request&);
/// The kernel and those behind it.
std::vector<Prepared> prepare_all(const Request&);

struct Result {
    traces::RunReport report;
    std::optional<traces::TraceCounts> trace;
    bool ok() const { return report.status == "ok" && (!report.values.checked || report.values.equal) && report.hazards().empty(); }
};
/// Runs what was prepared, kernels behind each other on one device whose L2 keeps what it holds. Throws InputError for bad .npy files and
/// unwritable traces.
Result run(std::span<const Prepared>, const Request&);
Result run(const Prepared&, const Request&);
Result run(const Request&);
Result run(const kernels::Kernel& own, const Request&);

/// Above these a run is timed only, unless the author asks for values.
inline constexpr double kMostCheckedFlops = 4e9;
inline constexpr std::int64_t kMostCheckedBytes = std::int64_t{1} << 28;
/// Rounds of a repeated run; each keeps a line of statistics per launch.
inline constexpr std::int64_t kMostRounds = 10'000;

}  // namespace sfumato::lab
