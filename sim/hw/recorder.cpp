// SPDX-License-Identifier: Apache-2.0
#include "sim/hw/recorder.h"

#include <algorithm>
#include <tuple>

#include "sim/hw/interfaces.h"

namespace sfumato::sim::hw {

namespace {
// Heap order: the earliest event on top. The key is total over the events of a run, so the order of insertion does not matter.
bool later(const Event& a, const Event& b) {
    const auto key = [](const Event& e) {
        return std::make_tuple(e.end, e.core.ordinal, e.pipe, e.begin, e.kind, e.instr, e.flag_src, e.flag_dst, e.flag_id, e.track, e.bytes, e.flow);
    };
    return key(b) < key(a);
}
}  // namespace

void Recorder::emit(const Event& e, Tick now) {
    if (!listening()) return;
    while (!heap_.empty() && heap_.front().end < now) {
        for (EventSink* s : sinks_) s->on_event(heap_.front());
        std::pop_heap(heap_.begin(), heap_.end(), later);
        heap_.pop_back();
    }
    heap_.push_back(e);
    std::push_heap(heap_.begin(), heap_.end(), later);
}

void Recorder::flush() {
    std::sort(heap_.begin(), heap_.end(), [](const Event& a, const Event& b) { return later(b, a); });
    for (const Event& e : heap_)
        for (EventSink* s : sinks_) s->on_event(e);
    heap_.clear();
}

void Recorder::report_progress() { progress_(progress_user_, now()); }

void Recorder::fault(isa::Diagnostic d) {
    diagnostics_.push_back(std::move(d));
    faulted_ = stopped_ = true;
    sc_core::sc_stop();
}

void Recorder::fail(std::exception_ptr e) {
    if (!failure_) failure_ = e;
    stopped_ = true;
    sc_core::sc_stop();
}

}  // namespace sfumato::sim::hw
