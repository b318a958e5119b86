// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes a Chrome trace while the model runs, in the dialect that MindStudio Insight, chrome://tracing and Perfetto all read: one process per
// core, one row per pipe, slices with exact cycles and source lines, arrows from flag sets to the waits they release, bandwidth counters.
// Nothing but open arrows and the counters' bins stays in memory.
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "isa/chip.h"
#include "isa/program.h"
#include "sim/event.h"

namespace sfumato::traces {

struct TraceOptions {
    sim::Tick begin = 0, end = std::numeric_limits<sim::Tick>::max();  ///< only slices that touch [begin, end) are written
    std::set<int> cores;                                               ///< core numbers ("core3" is 3); empty: all
    std::int64_t max_slices = 1'000'000;                               ///< viewers of JSON give up somewhat above; what is left out is said
};

/// What a trace holds, in the terms of the viewers.
struct TraceCounts {
    std::int64_t slices = 0, rows = 0, arrows = 0, series = 0, samples = 0;
    std::int64_t left_out = 0;  ///< slices outside the window, the cores or the limit
    std::string note;           ///< what was left out and why, for the console; empty: nothing
};

class ChromeTrace : public sim::EventSink {
public:
    /// `programs`: one per launch; they and the chip must outlive the trace. Throws InputError when the file cannot be created.
    ChromeTrace(const std::string& path, const isa::Chip& chip, std::vector<const isa::Program*> programs, TraceOptions options = {});
    ~ChromeTrace() override;
    void on_event(const sim::Event&) override;
    /// Completes the file. Throws InputError if it could not be written; then nothing is left behind.
    TraceCounts finish();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Name of a core in traces and reports: "core3.cubecore0", "core3.veccore1", "core3" on merged cores.
std::string core_name(const isa::Chip&, const sim::CoreRef&);
/// How many numbers those names use: core0 to core<N-1>.
std::int64_t numbered_cores(const isa::Chip&);

/// Microseconds of a time in nanoseconds, from integers, with at most three decimals; where a reader that cuts after multiplying by 1000 would lose
/// the last nanosecond, 0.0001 ns are added.
std::string microseconds(std::int64_t ns);

/// Nanosecond nearest to a tick.
class TickClock {
public:
    explicit TickClock(const isa::Chip&);
    std::int64_t ns(sim::Tick t) const { return (t * kScale + khz_ / 2) / khz_; }
    sim::Tick ticks(double us) const;

private:
    static constexpr std::int64_t kScale = 1'000'000;
    std::int64_t khz_;
};

}  // namespace sfumato::traces
