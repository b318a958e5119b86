// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the simulator says while it runs: plain values in integer ticks, delivered to passive listeners in a deterministic order.
#include <cstdint>

#include "isa/types.h"

namespace sfumato::sim {

using Tick = std::int64_t;

/// Index of a core in its run: cores are numbered in hardware order (AIC 0, AIV 0, AIV 1, AIC 1, ... on split chips).
struct CoreRef {
    isa::CoreKind kind = isa::CoreKind::aic;
    std::int16_t index = 0;      ///< among the cores of its kind
    std::int16_t ordinal = 0;    ///< position in hardware order, dense over all cores of the run
};

enum class EventKind : std::uint8_t {
    instr,      ///< an instruction occupied its pipe from begin to end
    set_flag,   ///< a flag was set at `end`; `flow` names the arrow it starts
    wait_flag,  ///< a pipe waited from begin to end for a flag; `flow` names the arrow it ends
    barrier,    ///< a pipe waited for its own earlier work
    counter,    ///< bytes moved through a server in [begin, end): `op` unused, `bytes` the amount, `track` which
    launch,     ///< a core worked on one launch from begin to end
};
enum class Track : std::uint8_t { gm_read, gm_write, l2_read, l2_write, hbm_read, hbm_write };

struct Event {
    EventKind kind = EventKind::instr;
    Track track = Track::gm_read;
    isa::Pipe pipe = isa::Pipe::s;
    std::uint8_t flag_id = 0;
    isa::Pipe flag_src = isa::Pipe::s, flag_dst = isa::Pipe::s;
    CoreRef core;
    std::int32_t launch = 0;
    std::int32_t instr = -1;      ///< Instr::id in the launch's program
    Tick issued = 0, begin = 0, end = 0;
    std::int64_t bytes = 0;       ///< moved by a transfer
    std::int64_t flow = -1;       ///< id shared by a set and the wait that consumed it
};

/// Receives events in the order in which their `end` is reached (ties by core ordinal, then pipe).
class EventSink {
public:
    virtual ~EventSink() = default;
    virtual void on_event(const Event&) = 0;
};

}  // namespace sfumato::sim
