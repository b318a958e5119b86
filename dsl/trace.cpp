// SPDX-License-Identifier: Apache-2.0
#include "dsl/trace.h"

#include <algorithm>

namespace sfumato::dsl {

namespace {
thread_local Trace* current_trace = nullptr;  // the one exemption from "no global mutable state": loops and zeros find the kernel through it

isa::Diagnostic at_place(std::source_location at, isa::Code code, std::string message, std::vector<std::string> notes) {
    isa::Diagnostic d;
    d.code = code;
    d.message = std::move(message);
    d.file = at.file_name();
    d.line = static_cast<int>(at.line());
    d.column = static_cast<int>(at.column());
    d.notes = std::move(notes);
    return d;
}
}  // namespace

Trace::Trace(std::string name, const isa::Chip& chip) : chip_(chip), outer_(current_trace) {
    kernel_.frame.name = std::move(name);
    kernel_.frame.blocks = num(1);
    open_.emplace_back();
    current_trace = this;
}

Trace::~Trace() { current_trace = outer_; }

bool Trace::running() { return current_trace != nullptr; }

Trace& Trace::current(std::source_location at) {
    if (current_trace) return *current_trace;
    throw isa::Rejected({at_place(at, isa::Code::trace, "tiles, buffers and loops exist only inside a kernel function that compile() runs", {})});
}

isa::SourceId Trace::source(std::source_location at) {
    return frame().add_source({at.file_name(), static_cast<std::int32_t>(at.line()), static_cast<std::int32_t>(at.column())});
}

void Trace::instr(isa::Op op, isa::Operands operands, isa::SourceId source) {
    isa::Instr i;
    i.op = op;
    i.operands = std::move(operands);
    i.source = source;
    i.hand = hand;
    add(tile::Node{std::move(i)});
}

void Trace::open(tile::Region r) { open_.push_back({std::move(r), {}}); }

tile::Region Trace::take() {
    isa::check(open_.size() > 1, "a region is closed that was not opened");
    Frame f = std::move(open_.back());
    open_.pop_back();
    for (tile::Node& n : f.last) f.region.nodes.push_back(std::move(n));
    return std::move(f.region);
}

void Trace::close() {
    tile::Region r = take();
    add(tile::Node{std::move(r)});
}

std::int64_t Trace::pending_bumps(isa::SymbolId counter) const {
    return std::count_if(open_.back().last.begin(), open_.back().last.end(), [&](const tile::Node& n) {
        const auto* b = std::get_if<isa::Bump>(&n.node);
        return b && b->counter == counter;
    });
}

Trace::Mark Trace::mark() const {
    return {kernel_.values.size(),
            kernel_.views.size(),
            kernel_.cells.size(),
            kernel_.frame.buffers.size(),
            kernel_.frame.symbols.size(),
            events_,
            contents_};
}

void Trace::forget(Mark m) {
    kernel_.values.resize(m.values);
    kernel_.views.resize(m.views);
    kernel_.cells.resize(m.cells);
    kernel_.frame.buffers.resize(m.buffers);
    kernel_.frame.symbols.resize(m.symbols);
    events_ = std::move(m.events);
    contents_ = std::move(m.contents);
}

std::int64_t Trace::take_event_ids(isa::Pipe src, isa::Pipe dst, std::int64_t count, isa::SourceId source) {
    std::int64_t& next = events_[{src, dst}];
    const std::int64_t first = next, have = chip_.flags.ids;
    next += count;
    if (next > have)
        throw isa::Rejected(
            {tile::diagnose(frame(), source, isa::Code::event_id,
                            "events " + std::string(isa::name(src)) + " >> " + std::string(isa::name(dst)) + " need " + std::to_string(next) +
                                " ids, " + chip_.name + " has " + std::to_string(have) +
                                " for each pair of pipes; use fewer slots or share an event between buffers that are filled together")});
    return first;
}

std::int32_t Trace::add_buffer(isa::Buffer b, BufferContent c) {
    frame().buffers.push_back(std::move(b));
    contents_.push_back(std::move(c));
    return static_cast<std::int32_t>(contents_.size() - 1);
}

std::int64_t Trace::pitch_unit() const {
    int narrowest = 4;
    for (const isa::Tensor& t : kernel_.frame.tensors) narrowest = std::min(narrowest, isa::bytes_of(t.dtype));
    return isa::kBlockBytes / narrowest;
}

void Trace::fail(std::source_location at, isa::Code code, std::string message, std::vector<std::string> notes) {
    throw isa::Rejected({at_place(at, code, std::move(message), std::move(notes))});
}

void Trace::note(isa::SourceId source, isa::Code code, std::string message, std::vector<std::string> notes) {
    noted_.push_back(tile::diagnose(frame(), source, code, std::move(message), std::move(notes)));
}

tile::Kernel Trace::finish() {
    if (!noted_.empty()) throw isa::Rejected(noted_);
    isa::check(open_.size() == 1, "a region is still open at the end of a kernel");
    Frame f = std::move(open_.back());
    for (tile::Node& n : f.last) f.region.nodes.push_back(std::move(n));
    kernel_.body = std::move(f.region);
    open_.back() = {};
    for (isa::Tensor& t : kernel_.frame.tensors)
        if (t.dims.empty()) t.dims.push_back(frame().symbol(frame().add_symbol(t.name + ".0", isa::SymbolKind::param)));
    return std::move(kernel_);
}

}  // namespace sfumato::dsl
