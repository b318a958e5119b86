// SPDX-License-Identifier: Apache-2.0
#include "sim/hw/context.h"

#include <systemc>

namespace sc_core {
extern sc_simcontext* sc_curr_simcontext;
extern sc_simcontext* sc_default_global_context;
}  // namespace sc_core

// The shared library of SystemC leaves this undefined; nobody calls it.
int sc_main(int, char**) { return 0; }

namespace sfumato::sim::hw {

namespace {
std::mutex& gate() {
    static std::mutex m;
    return m;
}

// SystemC's report handler is a plain function; the run that holds the gate collects.
std::vector<std::string>*& collector() {
    static std::vector<std::string>* list = nullptr;
    return list;
}

void collect(const sc_core::sc_report& r, const sc_core::sc_actions& actions) {
    if (actions & sc_core::SC_THROW) throw r;
    if (collector() && r.get_severity() >= sc_core::SC_WARNING) collector()->push_back(std::string(r.get_msg_type()) + ": " + r.get_msg());
}
}  // namespace

struct Context::Saved {
    sc_core::sc_simcontext* current;
    sc_core::sc_simcontext* fallback;
    std::unique_ptr<sc_core::sc_simcontext> fresh;
    sc_core::sc_report_handler_proc handler;
    std::vector<std::string> reports;
};

Context::Context() : lock_(gate()), saved_(std::make_unique<Saved>()) {
    saved_->current = sc_core::sc_curr_simcontext;
    saved_->fallback = sc_core::sc_default_global_context;
    saved_->fresh = std::make_unique<sc_core::sc_simcontext>();
    sc_core::sc_curr_simcontext = sc_core::sc_default_global_context = saved_->fresh.get();
    saved_->handler = sc_core::sc_report_handler::get_handler();
    sc_core::sc_report_handler::set_handler(collect);
    collector() = &saved_->reports;
}

Context::~Context() {
    collector() = nullptr;
    sc_core::sc_report_handler::set_handler(saved_->handler);
    saved_->fresh.reset();
    sc_core::sc_curr_simcontext = saved_->current;
    sc_core::sc_default_global_context = saved_->fallback;
}

std::vector<std::string> Context::reports() const { return saved_->reports; }

}  // namespace sfumato::sim::hw
