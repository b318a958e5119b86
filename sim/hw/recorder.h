// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything a run says: events to the sinks in one fixed order, faults, and the exception that ended a process, kept until SystemC has returned.
#include <exception>
#include <vector>

#include "isa/diagnostic.h"
#include "sim/event.h"
#include "sim/simulator.h"

namespace sfumato::sim::hw {

class Recorder {
public:
    explicit Recorder(const RunOptions& o) : sinks_(o.sinks), progress_(o.progress), progress_user_(o.progress_user) {}

    bool listening() const { return !sinks_.empty(); }
    /// Takes an event that ends now or later; it is delivered once its end lies in the past, ties by core, pipe and begin.
    void emit(const Event&, Tick now);
    /// Delivers what is left.
    void flush();

    /// A fault of the program under test: the run stops.
    void fault(isa::Diagnostic);
    /// A fault after which the run can go on.
    void report(isa::Diagnostic d) {
        diagnostics_.push_back(std::move(d));
        faulted_ = true;
    }
    /// An exception inside a process: kept, and the run stops.
    void fail(std::exception_ptr);
    bool stopped() const { return stopped_; }
    bool faulted() const { return faulted_; }
    void rethrow() const {
        if (failure_) std::rethrow_exception(failure_);
    }
    const std::vector<isa::Diagnostic>& diagnostics() const { return diagnostics_; }

    /// Called at every activation of a process; tells the progress listener now and then.
    void activated() {
        if ((++activations & kProgressMask) == 0 && progress_) report_progress();
    }
    std::int64_t activations = 0;   ///< of all processes
    std::int64_t instructions = 0;  ///< instances completed
    std::vector<LineStats> lines;   ///< by instruction id of the launch that runs

private:
    static constexpr std::int64_t kProgressMask = (1 << 18) - 1;
    void report_progress();
    std::vector<EventSink*> sinks_;
    void (*progress_)(void*, Tick);
    void* progress_user_;
    std::vector<Event> heap_;
    std::vector<isa::Diagnostic> diagnostics_;
    std::exception_ptr failure_;
    bool stopped_ = false, faulted_ = false;
};

/// Runs a process body: counts it, and keeps what it throws.
template <class F>
void guarded(Recorder& r, F&& body) {
    if (r.stopped()) return;
    r.activated();
    try {
        body();
    } catch (...) {
        r.fail(std::current_exception());
    }
}

}  // namespace sfumato::sim::hw
