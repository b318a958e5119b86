// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds pairs of overlapping accesses that nothing orders: vector clocks per (core, pipe), strided rectangles instead of bytes. The verdict rests
// on flags, barriers and program order only, never on the times at which things happened to run. Same-pipe order follows isa/pipe_order.h: in
// particular dependent vector instructions need barrier(V) on dav-c220 and older. mmad and a drain that both carry the unit flag are ordered.
// Two atomic adds to GM commute and are no race.
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "isa/access.h"
#include "isa/chip.h"
#include "isa/diagnostic.h"
#include "sim/placement.h"

namespace sfumato::sim {

/// Bytes to overwrite so that a race shows in the values; `access.object` is a DeviceMemory index for GM.
struct Poison {
    int core = 0;
    isa::Access access;
};

/// Call begin_launch, then for each core in any order that respects the pipes: on_issue when the scalar unit issues (only needed for flags to
/// S), on_start / on_complete of every instruction with memory accesses in pipe order, and the on_... of each sync instruction when it takes
/// effect. Cores are ordinals of hardware_cores().
class HazardTracker {
public:
    /// `poison`: collect bytes to poison (values mode).
    HazardTracker(const isa::Chip&, const DeviceMemory&, bool poison);
    ~HazardTracker();

    /// Everything before a launch is ordered before it. The program must outlive the launch.
    void begin_launch(const isa::Program&, std::span<const int> tensor_map, std::span<const PlacedCore>);

    void on_issue(int core, isa::Pipe);
    void on_start(int core, isa::Pipe, const isa::BoundInstr&, const isa::AccessList&);
    void on_complete(int core, isa::Pipe);  ///< the oldest started instruction of the pipe
    void on_set_flag(int core, isa::Pipe src, isa::Pipe dst, std::int64_t id);
    void on_wait_flag(int core, isa::Pipe src, isa::Pipe dst, std::int64_t id);
    void on_barrier(int core, isa::Pipe);  ///< `all` allowed
    void on_cross_set(int core, isa::Pipe src, std::int64_t id, int mode, std::span<const int> raised);  ///< `raised`: CrossFlags::set()
    void on_cross_wait(int core, isa::Pipe dst, std::int64_t id);

    /// Races found since the last call, each pair of static instructions once.
    std::vector<isa::Diagnostic> take_diagnostics();
    /// Bytes to poison now; call after on_start and after the effect of an instruction was applied and on_complete called.
    std::vector<Poison> take_poison();
    bool anything() const;  ///< take_diagnostics or take_poison would return something

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace sfumato::sim
