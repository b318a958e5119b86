// SPDX-License-Identifier: Apache-2.0
#pragma once
// The scalar unit of a core: runs the program's loops and hands instructions to the pipes. It runs ahead of simulated time, stamping each
// instruction with the cycle at which it is issued, and sleeps only on a full queue, a flag of its own or a value.
#include <memory>
#include <vector>

#include "sim/hw/instr_source.h"
#include "sim/hw/unit.h"

namespace sfumato::sim::hw {

class ScalarUnit : public sc_core::sc_module, public Sleeper {
public:
    ScalarUnit(sc_core::sc_module_name, CoreState&, std::vector<Unit*> units_by_pipe, const DeviceMemory&);
    sc_core::sc_port<MemoryIf> memory;
    sc_core::sc_port<CrossIf> cross;

    void begin_launch(Tick start, Tick first_instruction, std::unique_ptr<InstrSource>);
    void end_launch(Tick end);
    bool finished() const { return finished_; }
    Tick time() const { return time_; }
    const PipeStats& stats() const { return stats_; }
    /// What it is waiting for, in words; empty when it is not.
    std::string blocked_on() const;
    const isa::Instr* current() const { return work_.kind == Work::Kind::issue ? work_.instr->instr : nullptr; }

    void wake_at(Tick t) override { core_.wake(isa::Pipe::s, t); }
    /// Runs as far as it can at tick t.
    void advance(Tick);
    /// All pipes are empty.
    void pipes_idle();

private:
    enum class Blocked : std::uint8_t { no, room, flag, idle_pipes, cross };
    bool do_work(Tick);
    bool issue(const isa::BoundInstr&, Tick);
    bool issue_sync(const isa::BoundInstr&, const isa::SyncT<std::int64_t>&, Tick);
    bool own_sync(const isa::BoundInstr&, const isa::SyncT<std::int64_t>&, Tick);
    bool barrier_all(const isa::BoundInstr&, Tick);
    bool load(Tick);
    bool reach(Tick);
    bool block(Blocked);
    bool check_id(const isa::BoundInstr&, const isa::SyncT<std::int64_t>&);
    void fill_transfer(Unit&, Entry&, const isa::BoundInstr&);
    void fill_unit_flag(Entry&, const isa::BoundInstr&);
    void spend(Tick cycles) {
        time_ += cycles;
        stats_.busy += cycles;
    }
    bool idle_pipes() const;
    void say(EventKind, const isa::BoundInstr&, Tick begin, Tick end, std::int64_t flow = -1);

    CoreState& core_;
    std::vector<Unit*> units_;  ///< by pipe; S is null
    const DeviceMemory& device_;
    std::unique_ptr<InstrSource> source_;
    Work work_;
    bool have_ = false, charged_ = false, finished_ = true;
    std::optional<std::int64_t> loaded_;
    Tick time_ = 0;
    Blocked blocked_ = Blocked::no;
    std::int64_t silent_ = 0;  ///< steps since simulated time last moved
    Tick silent_since_ = -1;
    Tick accounted_end_ = 0;
    bool counted_ = false;
    PipeStats stats_;

    /// Latest unit-flag instructions on an accumulator, as counts of their pipe.
    struct Accumulator {
        std::int64_t begin = 0, end = 0, mmads = 0, drains = 0;
    };
    std::vector<Accumulator> accumulators_;
    std::int64_t flagged_mmads_ = 0, flagged_drains_ = 0;
};

}  // namespace sfumato::sim::hw
