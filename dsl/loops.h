// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops, conditions and counters of a kernel. `for (auto k : loop(n))` runs its body while recording, not n times: leaving the iterator closes
// the loop record. What a recording cannot follow is refused with the line: break, return, and host variables that change from one pass
// over the body to the next (which includes a `continue` that is taken only sometimes).
#include <iterator>
#include <source_location>

#include "dsl/index.h"
#include "dsl/trace.h"

namespace sfumato::dsl {

/// The recording of one loop body, twice (trace.h says why).
class TracedBody {
public:
    explicit TracedBody(tile::Region header) : header_(std::move(header)) {}
    TracedBody(const TracedBody&) = delete;
    ~TracedBody();

    void begin();
    void end_of_pass();
    bool done() const { return pass_ == Pass::done; }

private:
    enum class Pass { none, first, second, done };
    tile::Region header_, first_;
    Pass pass_ = Pass::none;
    Trace::Mark mark_;
    int unwinding_ = 0;
};

/// Lets range-for drive a TracedBody; `value` is what each iteration gets.
template <class Value>
class BodyRange {
public:
    BodyRange(tile::Region header, Value value) : body_(std::move(header)), value_(value) {}
    struct iterator {
        BodyRange* range;
        Value operator*() const { return range->value_; }
        iterator& operator++() {
            range->body_.end_of_pass();
            return *this;
        }
        friend bool operator==(const iterator& i, std::default_sentinel_t) { return i.range->done(); }
    };
    iterator begin() {
        body_.begin();
        return {this};
    }
    std::default_sentinel_t end() const { return {}; }
    bool done() const { return body_.done(); }

private:
    TracedBody body_;
    Value value_;
};

/// A tile of the grid.
struct GridTile {
    Index row, col;
};

/// n iterations, one after the other.
BodyRange<Index> loop(Index n, std::source_location = std::source_location::current());
/// As loop; buffers filled in it get `stages` slots so that iterations overlap. `per_transfer`: iterations of a reduction that one transfer to
/// L1 brings (0: the compiler chooses).
BodyRange<Index> pipelined(Index n, int stages, std::int64_t per_transfer = 0, std::source_location = std::source_location::current());
/// The tiles of a grid that this core works on: row-major over the cores of the launch.
BodyRange<GridTile> cores(Index rows, Index cols, std::source_location = std::source_location::current());
BodyRange<Index> cores(Index n, std::source_location = std::source_location::current());

/// Number of the block this core works on, in a kernel where every core does the same work on its own: the launch takes all cores.
Index every_core(std::source_location = std::source_location::current());

/// Keeps a region open while `f` runs; closes it also when `f` throws.
class OpenRegion {
public:
    explicit OpenRegion(tile::Region);
    ~OpenRegion();
    OpenRegion(const OpenRegion&) = delete;
};
tile::Region when_region(Index condition, std::source_location);

/// Runs what `f` records only when the condition holds.
template <class F>
void when(Index condition, F&& f, std::source_location at = std::source_location::current()) {
    OpenRegion open(when_region(condition, at));
    f();
}

/// Everything recorded by `f` is ordered by the author: the compiler adds no flag, the checker still checks.
class HandRegion {
public:
    HandRegion();
    ~HandRegion();

private:
    bool outer_;
};
template <class F>
void hand_synchronised(F&& f) {
    HandRegion hand;
    f();
}

/// A running counter: next() gives its value and advances it at the end of the enclosing loop body.
class Counter {
public:
    explicit Counter(std::source_location = std::source_location::current());
    Index next();

private:
    isa::SymbolId symbol_;
};

}  // namespace sfumato::dsl
