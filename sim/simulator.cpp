// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator.h"

#include <algorithm>
#include <chrono>

#include "sim/exec/interpreter.h"
#include "sim/hw/context.h"
#include "sim/hw/device.h"

namespace sfumato::sim {

namespace {

// Tensors without an address lie one behind the other, each on a boundary that suits every burst.
void assign_addresses(const isa::Chip& chip, DeviceMemory& memory) {
    const std::int64_t boundary = std::max<std::int64_t>({1, chip.l2.line, chip.gm.full_burst});
    std::int64_t next = 0;
    for (const DeviceTensor& t : memory.tensors)
        if (t.address >= 0) next = std::max(next, t.address + t.size);
    for (DeviceTensor& t : memory.tensors) {
        if (t.address >= 0) continue;
        t.address = isa::round_up(next, boundary);
        next = t.address + t.size;
    }
    if (const std::int64_t room = chip.bytes(isa::Space::gm); room > 0 && next > room)
        throw isa::InputError("tensors need " + std::to_string(next) + " bytes of GM; " + chip.name + " has " + std::to_string(room));
}

RunResult run_timed(const isa::Chip& chip, std::span<const Launch> launches, DeviceMemory& memory, const RunOptions& options) {
    RunResult result;
    assign_addresses(chip, memory);
    hw::Recorder recorder(options);
    hw::Context context;
    {
        hw::Device device("chip", chip, launches, memory, options, recorder);
        sc_core::sc_start();
        device.finish(result);
    }
    recorder.flush();
    recorder.rethrow();
    for (const std::string& text : context.reports())
        if (!recorder.stopped()) throw isa::InternalError("SystemC reports " + text);
    result.instructions = recorder.instructions;
    result.events = recorder.activations;
    result.ticks_per_us = chip.cores.clock_mhz;
    return result;
}

}  // namespace

RunResult run(const isa::Chip& chip, std::span<const Launch> launches, DeviceMemory& memory, const RunOptions& options) {
    const auto begin = std::chrono::steady_clock::now();
    RunResult result = options.mode == Mode::values ? run_values(chip, launches, memory, options) : run_timed(chip, launches, memory, options);
    result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
}

}  // namespace sfumato::sim
