// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which order the flags chosen so far already guarantee: a shortest-path search over (iteration distance, position) per pipe.
#include <array>

#include "dsl/passes/order_model.h"

namespace sfumato::dsl::order {

/// A flag or barrier. Set after statement `after` and waited for before statement `before`, both children of `block`; `distance` iterations of
/// `loop` later.
struct Flag {
    isa::Pipe src = isa::Pipe::s, dst = isa::Pipe::s;
    bool barrier = false;  ///< src == dst: of one pipe; Pipe::all: of all
    int loop = -1, block = 0;
    int after = -1, before = -1;  ///< statements; a barrier has only `before`
    int set_at = 0, wait_at = 0;  ///< their positions
    int distance = 0;
    Guards guards;  ///< relative to `loop`
    Guards wrap;    ///< the part of `guards` that is not given by `block`
    int ids = 1, base = 0;
    int pair = -1;        ///< the conflict it was inserted for
    bool bounds = false;  ///< orders no conflict; keeps the sets of another flag from running ahead
    bool dropped = false;
};

/// A point after which work counts as ordered, and what must be reached.
struct Query {
    isa::Pipe from = isa::Pipe::s, to = isa::Pipe::s;
    int loop = -1, distance = 0, guarded = 0;
    int start = 0, goal = 0;  ///< positions: end of a, begin of b
    int start_stmt = -1, goal_stmt = -1;
    Guards start_guards, goal_guards, common;  ///< all that hold at a, at b, and at both
};

class Cover {
public:
    Cover(const Model& m, const std::vector<Flag>& flags) : m_(m), flags_(flags) {}
    /// True when some chain of flags orders the query; `without` is left out. The chain is written to `chain` when given.
    bool covered(const Query&, int without = -1, std::vector<int>* chain = nullptr) const;

private:
    struct State {
        int iteration = 0, position = 0;
        int flag = -1, previous = -1;  ///< how it was reached: flag, and the step before it
    };
    bool step(const Query&, const State& from, const Flag&, State& to) const;
    void index() const;

    const Model& m_;
    const std::vector<Flag>& flags_;
    mutable std::array<std::vector<int>, isa::kPipeCount> by_source_;  ///< follows `flags_`, which only grows
    mutable std::size_t indexed_ = 0;
};

}  // namespace sfumato::dsl::order
