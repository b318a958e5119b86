// SPDX-License-Identifier: Apache-2.0
#pragma once
// Running a kernel from a main of one's own: tensors on the host, `compile` a kernel function, call the result with tensors, check and trace what
// came out. The command line runs the library's kernels through lab.h; both meet in the same simulator and the same report.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dsl/compile.h"
#include "isa/chip.h"
#include "lab/npy.h"
#include "traces/chrome_trace.h"
#include "traces/report.h"

namespace sfumato::lab {

/// A tensor on the host. Elements go in and out as double, whatever their type.
template <class T>
struct Tensor : Array {
    explicit Tensor(std::vector<std::int64_t> extents) : Array{dsl::dtype_of<T>, std::move(extents), {}} {
        std::size_t size = static_cast<std::size_t>(isa::bytes_of(dtype));
        for (std::int64_t d : shape) size *= static_cast<std::size_t>(d);
        bytes.resize(size);
    }
};
std::vector<double> values(const Array&);
void set_values(Array&, const std::vector<double>&);
/// Fills with seeded numbers in [-1, 1), for integers with whole numbers from -8 to 8.
void randomise(Array&, std::uint64_t seed);
template <class T>
Tensor<T> random(std::vector<std::int64_t> shape, std::uint64_t seed = 1) {
    Tensor<T> out(std::move(shape));
    randomise(out, seed);
    return out;
}

/// Tensor values in double, in the order of the kernel's arguments; a reference fills in the outputs.
using Reference = std::function<void(std::vector<std::vector<double>>&)>;

/// What one call of a kernel did.
class Run {
public:
    const traces::RunReport& report() const { return report_; }
    std::int64_t cycles() const { return report_.cycles; }
    /// The report as text: cycles per pipe, bytes, capacity, hottest lines.
    std::string summary() const { return traces::to_text(report_); }
    /// Compares every output with the reference: |error| <= relative * |expected| + absolute. Throws InputError with the first mismatch.
    const Run& check(const Reference&, double relative, double absolute = 0);
    /// Runs the call again, timed only, and writes its Chrome trace.
    traces::TraceCounts trace(const std::string& file) const;

private:
    friend class Compiled;
    struct State;
    std::shared_ptr<State> state_;
    traces::RunReport report_;
};

/// A kernel compiled for a chip; call it with one host tensor per argument.
class Compiled {
public:
    Compiled(isa::Chip chip, dsl::Compiled compiled);
    template <class... Arrays>
    Run operator()(Arrays&... tensors) const {
        return launch({static_cast<Array*>(&tensors)...});
    }
    const isa::Program& program() const;
    /// Capacity, flags with their conflicts, decisions.
    std::string explain() const;

private:
    Run launch(std::vector<Array*>) const;
    std::shared_ptr<const std::pair<isa::Chip, dsl::Compiled>> code_;
};

template <class Tile, class... Args>
Compiled compile(void (*kernel)(Args...), const isa::Chip& chip, const Tile& tile, const dsl::CompileOptions& options = {}) {
    return Compiled(chip, dsl::compile(kernel, chip, tile, options));
}

}  // namespace sfumato::lab
