// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one door to the model: run a list of launches on a chip. SystemC stays behind it.
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "isa/chip.h"
#include "isa/program.h"
#include "sim/report.h"

namespace sfumato::sim {

/// Device memory of a run: tensors by index, as bytes. In time-only mode `bytes` may be empty; `size` then still bounds accesses.
struct DeviceTensor {
    std::string name;
    std::int64_t size = 0;  ///< bytes
    std::vector<std::byte> bytes;
    std::int64_t address = -1;  ///< GM byte address; -1: assigned in order, 512-byte aligned
};
struct DeviceMemory {
    std::vector<DeviceTensor> tensors;
};

/// One kernel of a task queue.
struct Launch {
    const isa::Program* program = nullptr;
    std::map<std::string, std::int64_t> params;
    std::vector<int> tensors;   ///< DeviceMemory index of each program tensor
    std::int64_t blocks = 0;    ///< cores to use; 0: as many as the program wants, at most as many as there are
};

enum class Mode {
    both,    ///< values and time
    time,    ///< time only; tensors need no bytes except those of control loads
    values,  ///< values in program order, without time
};
struct RunOptions {
    Mode mode = Mode::both;
    bool warm_l2 = false;    ///< warm: every tensor's lines are in L2 before the first launch, in order, as far as they fit
    bool hazards = true;     ///< look for unordered overlapping accesses (and poison them in values mode)
    bool shuffle = false;    ///< test aid: process events of equal time in another order; results must not change
    std::uint64_t seed = 0;
    std::vector<EventSink*> sinks{};
    /// Called now and then with ticks reached; for progress bars.
    void (*progress)(void* user, Tick now) = nullptr;
    void* progress_user = nullptr;
};

/// Runs the launches one after the other on one device and one L2. Throws InputError for launches that do not fit the program (missing
/// parameter, wrong number of tensors, no core of the needed kind); everything that goes wrong while running is in RunResult.
RunResult run(const isa::Chip&, std::span<const Launch>, DeviceMemory&, const RunOptions& = {});

/// Version of the timing model, part of every report's assumptions.
inline constexpr const char* kModelVersion = "2";

}  // namespace sfumato::sim
