// SPDX-License-Identifier: Apache-2.0
#pragma once
// The recording of one kernel. The author's function runs once under a Trace; loops open regions, operations are appended to the innermost
// one. The running trace is the one thread_local of the project (trace.cpp). The body of a loop is recorded twice and the second recording is
// compared with the first and dropped: a difference means that a host variable changed inside, which no program could follow.
#include <cstdint>
#include <map>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "dsl/tile_ir.h"
#include "isa/chip.h"

namespace sfumato::dsl {

/// What the tracer knows about a buffer beyond isa::Buffer: the extents of what was last put there.
struct BufferContent {
    isa::Expr rows, cols;  ///< absent until first filled
    std::string root;      ///< tensor the data came from; the buffer's default name follows from it
    bool named = false;
    bool vector = false;  ///< one row, stored plainly
};

class Trace {
public:
    Trace(std::string name, const isa::Chip&);
    Trace(const Trace&) = delete;
    ~Trace();

    /// The running trace. Throws Rejected when none is: tiles, buffers and loops exist only inside a kernel.
    static Trace& current(std::source_location at = std::source_location::current());
    static bool running();

    tile::Kernel& kernel() { return kernel_; }
    isa::Program& frame() { return kernel_.frame; }
    isa::ExprPool& exprs() { return kernel_.frame.exprs; }
    const isa::Chip& chip() const { return chip_; }
    isa::Expr num(std::int64_t v) { return exprs().constant(v); }
    isa::SourceId source(std::source_location);

    /// Innermost open region.
    tile::Region& region() { return open_.back().region; }
    void add(tile::Node n) { region().nodes.push_back(std::move(n)); }
    void add(tile::Op o) { add(tile::Node{std::move(o)}); }
    /// An instruction of the explicit level; marked `hand` inside hand_synchronised.
    void instr(isa::Op, isa::Operands, isa::SourceId);
    void open(tile::Region);
    /// Ends the innermost region and puts it into its parent.
    void close();
    /// Ends the innermost region and hands it out instead.
    tile::Region take();
    /// Appended to the innermost region when it ends (advancing counters, draining flags).
    void at_close(tile::Node n) { open_.back().last.push_back(std::move(n)); }
    /// Times `counter` was advanced so far in the innermost region.
    std::int64_t pending_bumps(isa::SymbolId counter) const;

    /// Objects created during a second recording are forgotten; see loops.cpp.
    struct Mark {
        std::size_t values, views, cells, buffers, symbols;
        std::map<std::pair<isa::Pipe, isa::Pipe>, std::int64_t> events;
        std::vector<BufferContent> contents;
    };
    Mark mark() const;
    void forget(Mark);
    bool rehearsing() const { return rehearsing_; }
    void rehearse(bool on) { rehearsing_ = on; }

    /// Ids of events per ordered pipe pair, given in order of declaration; returns the first of `count`.
    std::int64_t take_event_ids(isa::Pipe src, isa::Pipe dst, std::int64_t count, isa::SourceId);

    BufferContent& content(std::int32_t buffer) { return contents_[static_cast<std::size_t>(buffer)]; }
    std::int32_t add_buffer(isa::Buffer, BufferContent);
    /// Elements that row pitches of UB tiles are rounded to: 32 bytes of the narrowest type among the tensors.
    std::int64_t pitch_unit() const;

    /// Throws Rejected with one diagnostic at the author's place.
    [[noreturn]] void fail(std::source_location, isa::Code, std::string message, std::vector<std::string> notes = {});
    /// Kept until the end of the trace, for faults found in destructors.
    void note(isa::SourceId, isa::Code, std::string message, std::vector<std::string> notes = {});

    bool hand = false;        ///< inside hand_synchronised
    std::int32_t stages = 0;  ///< 0: as the author says; otherwise replaces the stages of every pipelined loop
    std::int64_t blocks_seen = 0;

    /// Ends the recording. Throws Rejected with everything noted.
    tile::Kernel finish();

private:
    struct Frame {
        tile::Region region;
        std::vector<tile::Node> last;
    };
    const isa::Chip& chip_;
    tile::Kernel kernel_;
    std::vector<Frame> open_;
    std::vector<BufferContent> contents_;
    std::map<std::pair<isa::Pipe, isa::Pipe>, std::int64_t> events_;
    std::vector<isa::Diagnostic> noted_;
    bool rehearsing_ = false;
    Trace* outer_ = nullptr;
};

}  // namespace sfumato::dsl
