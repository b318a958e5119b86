// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chooses the flags of one section: insert for uncovered pairs, drop what is redundant, count event ids, fit them to the chip.
#include <map>
#include <string>

#include "dsl/passes/order_conflicts.h"
#include "dsl/passes/order_cover.h"

namespace sfumato::dsl::order {

struct Solution {
    std::vector<Flag> flags;
    std::vector<Pair> pairs;
    std::vector<std::vector<int>> chains;  ///< by pair
    int all_pairs = 0;
    std::vector<std::string> notes;
};

class Solver {
public:
    /// `ids` event ids per ordered pipe pair; `taken`: ids below this are the author's.
    Solver(const Model&, const isa::Chip&, int ids, const std::map<std::pair<isa::Pipe, isa::Pipe>, int>& taken);
    Solution run();
    /// The conflict a flag was inserted for, in words.
    std::string describe(const Flag&, const Solution&) const;

private:
    using PipePair = std::pair<isa::Pipe, isa::Pipe>;
    const Access& access(int i) const { return m_.accesses[static_cast<std::size_t>(i)]; }
    Query query(const Pair&) const;
    Flag flag_for(const Pair&) const;
    Flag barrier_before(const Flag&, isa::Pipe) const;
    void insert();
    void drop_redundant();
    bool droppable(int flag);
    void refresh_chains();
    void rename(int from, int to);
    int ids_needed(const Flag&, std::vector<int>* way_back = nullptr) const;  ///< 0: sets may run ahead without bound
    void count_ids();
    int used(PipePair);  ///< ids the pair needs once flags that follow each other share theirs; sets their bases
    bool may_follow(const Flag& first, const Flag& then, int distance) const;
    int excess(PipePair&);
    void fit_ids();
    bool merge(PipePair);
    bool share(PipePair);
    bool tighten(PipePair);
    void to_barrier(PipePair);
    void bound_unbounded();
    int limit(PipePair) const;
    std::string describe(const Flag& f) const { return describe(f, s_); }
    std::vector<int> of_pair(PipePair) const;

    const Model& m_;
    const isa::Chip& chip_;
    int ids_;
    std::map<PipePair, int> taken_;
    Solution s_;
    Cover cover_;
    std::vector<PipePair> shared_;  ///< pairs whose flags were made to follow each other already
};

}  // namespace sfumato::dsl::order
