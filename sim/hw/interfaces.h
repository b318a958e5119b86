// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the modules of a chip ask of each other, as SystemC interfaces bound through ports and exports.
#include <systemc>

#include "isa/access.h"
#include "sim/hw/fixed.h"

namespace sfumato::sim::hw {

inline constexpr Tick kNever = INT64_MAX;
inline constexpr std::uint64_t kPicosecondsPerTick = 1000;  ///< a tick is one SystemC nanosecond

inline Tick now() { return static_cast<Tick>(sc_core::sc_time_stamp().value() / kPicosecondsPerTick); }
/// Distance from the present moment to the start of a tick (which may lie a picosecond step behind us inside the current tick).
inline sc_core::sc_time until(Tick t) { return sc_core::sc_time::from_value(static_cast<std::uint64_t>(t) * kPicosecondsPerTick - sc_core::sc_time_stamp().value()); }
/// The end of the current tick: after every process of the tick has run, however many delta cycles that takes.
inline sc_core::sc_time end_of_tick() { return sc_core::sc_time::from_value(1); }

/// A transfer as the memory system sees it: rows of GM bytes by absolute address.
struct Transfer {
    std::int64_t address = 0, rows = 1, row_bytes = 0, pitch = 0;
    bool write = false, bypass = false;
    std::int64_t bytes = 0;
    Fixed port = 0;   ///< ticks the port needs when memory is no limit
    Tick first = 0;   ///< earliest tick of the first byte, memory latency not counted
};

/// Who is told that the oldest transfer of a port has completed.
class TransferClient {
public:
    virtual ~TransferClient() = default;
    virtual void transfer_done() = 0;
};

/// Something that sleeps until a cross-core flag rises.
class Sleeper {
public:
    virtual ~Sleeper() = default;
    virtual void wake_at(Tick) = 0;
};

class MemoryIf : public virtual sc_core::sc_interface {
public:
    /// Queues a transfer on a port; transfers of a port move their bytes one after the other and complete in order.
    virtual void submit(int port, const Transfer&) = 0;
    /// The oldest transfer of a port completes at this tick or later.
    virtual Tick soonest(int port) const = 0;
    /// GM address of the first byte of a launch's tensor.
    virtual std::int64_t base_of(int launch, int tensor) const = 0;
};

}  // namespace sfumato::sim::hw
