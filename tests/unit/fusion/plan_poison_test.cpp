// SPDX-License-Identifier: Apache-2.0
// Random graphs executed on poisoned memory: every value is a pattern of tags, one a byte, written where the plan says; a read must find them.
#include <catch2/catch.hpp>

#include <map>

#include "fusion/memory_plan.h"
#include "tests/unit/fusion/plan_graphs.h"

using namespace sfumato;
using namespace sfumato::fusion;
using namespace sfumato::fusion::test;

namespace {

using Bytes = std::vector<std::uint64_t>;

// Executes movement on tags: what a view, a part or a concatenation holds are its operand's tags; everything else makes new ones.
struct Poisoned {
    const Graph& g;
    const MemoryPlan& plan;
    const Bindings& sizes;
    std::map<ValueId, Bytes> spaces{};  ///< kNone: the arena
    std::map<ValueId, const PlannedValue*> rows{};
    std::map<ValueId, Bytes> tags{};
    std::string wrong{};

    std::vector<std::int64_t> dims(ValueId v) const {
        std::vector<std::int64_t> out;
        for (const Extent& d : *g.value(v).shape) out.push_back(g.symbols().evaluate(d, sizes));
        return out;
    }
    std::size_t size(ValueId v) const {
        std::int64_t n = info(g.value(v).type).bits / 8;
        for (const std::int64_t d : dims(v)) n *= d;
        return static_cast<std::size_t>(n);
    }
    std::pair<Bytes*, std::size_t> place(ValueId v) {
        const PlannedValue& p = *rows.at(v);
        const PlannedValue& root = p.placement == Placement::alias ? *rows.at(p.root) : p;
        const ValueId space = root.placement == Placement::planned ? kNone : root.value;
        const std::int64_t at = root.offset + (p.placement == Placement::alias ? g.symbols().evaluate(p.inner, sizes) : 0);
        return {&spaces[space], static_cast<std::size_t>(at)};
    }
    void write(ValueId v, Bytes data) {
        auto [space, at] = place(v);
        if (space->size() < at + data.size()) space->resize(at + data.size(), 0);
        std::copy(data.begin(), data.end(), space->begin() + static_cast<std::ptrdiff_t>(at));
        tags[v] = std::move(data);
    }
    void read(ValueId v, const std::string& who) {
        auto [space, at] = place(v);
        const Bytes& want = tags.at(v);
        for (std::size_t i = 0; i < want.size() && wrong.empty(); ++i)
            if (at + i >= space->size() || (*space)[at + i] != want[i])
                wrong = who + " reads byte " + std::to_string(i) + " of " + g.value(v).name + ", which something has overwritten";
    }
    Bytes fresh(ValueId v) const {
        Bytes b(size(v));
        for (std::size_t i = 0; i < b.size(); ++i) b[i] = (std::uint64_t{v} + 1) << 32 | i;
        return b;
    }
    // All values are [1, rows, columns]: rows along axis 1 are stretches.
    void run(NodeId id) {
        const Node& n = g.node(id);
        for (const ValueId v : n.inputs) read(v, n.name);
        std::vector<Bytes> results;
        const ValueId in = n.inputs[0];
        switch (n.op) {
            case Op::Identity:
            case Op::Reshape:
                results = {tags[in]};
                break;
            case Op::Concat:
                results.emplace_back();
                for (const ValueId v : n.inputs) results[0].insert(results[0].end(), tags[v].begin(), tags[v].end());
                break;
            case Op::Split: {
                const auto cut = static_cast<std::ptrdiff_t>(size(n.outputs[0]));
                results = {Bytes(tags[in].begin(), tags[in].begin() + cut), Bytes(tags[in].begin() + cut, tags[in].end())};
                break;
            }
            case Op::Slice: {
                const auto length = static_cast<std::ptrdiff_t>(size(n.outputs[0]));
                const bool last = g.value(n.inputs[1]).constant->ints()[0] < 0;
                results = {last ? Bytes(tags[in].end() - length, tags[in].end()) : Bytes(tags[in].begin(), tags[in].begin() + length)};
                break;
            }
            default:
                for (const ValueId v : n.outputs) results.push_back(fresh(v));
        }
        for (std::size_t i = 0; i < results.size(); ++i) write(n.outputs[i], results[i]);
        for (const ValueId v : n.outputs) read(v, n.name + " (its own result)");
    }
    std::string all() {
        for (const PlannedValue& p : plan.values) rows[p.value] = &p;
        spaces[kNone].resize(static_cast<std::size_t>(plan.arena_bytes), 0);
        for (ValueId v = 0; v < g.value_limit(); ++v)
            if (g.value(v).producer == kNone && rows.count(v)) write(v, fresh(v));
        for (const NodeId id : plan.schedule) run(id);
        for (const ValueId v : g.outputs()) read(v, "the caller");
        for (const ValueId v : g.inputs)
            if (rows.count(v)) read(v, "the caller after the run");
        if (spaces[kNone].size() > static_cast<std::size_t>(plan.arena_bytes)) wrong = "a write left the arena";
        return wrong;
    }
};

}  // namespace

TEST_CASE("1,000 random graphs run on poisoned memory at every size of the range, and the checker agrees") {
    int views = 0, in_place = 0;
    double worst = 1;
    for (unsigned seed = 0; seed < 1000; ++seed) {
        RandomGraph r(seed, 4 + static_cast<int>(seed % 40));
        MemoryOptions options;
        options.alignment = seed % 3 ? 32 : 512;
        options.zero_copy_alignment = seed % 5 ? 32 : 4;
        options.any_order = seed % 7 == 0;
        const MemoryPlan plan = plan_memory(r.g, options);
        views += plan.view_bytes > 0;
        in_place += plan.in_place_bytes > 0;
        if (!options.any_order && plan.lower_bound_bytes > 0)
            worst = std::max(worst, static_cast<double>(plan.arena_bytes) / static_cast<double>(plan.lower_bound_bytes));
        for (std::int64_t seq = 1; seq <= 9; ++seq) {
            const Bindings sizes{{"seq", seq}};
            const auto lines = check_plan(r.g, plan, sizes);
            INFO("seed " << seed << " seq " << seq);
            REQUIRE((lines.empty() ? "" : lines[0]) == std::string());
            REQUIRE(Poisoned{r.g, plan, sizes}.all() == "");
        }
    }
    CHECK(views > 500);
    CHECK(in_place > 500);
    CHECK(worst <= 1.25);
}

TEST_CASE("a plan that poisoned memory shows to be wrong is wrong for the checker too") {
    int shown = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        RandomGraph r(seed, 30);
        MemoryPlan plan = plan_memory(r.g, {});
        const Bindings sizes{{"seq", 9}};
        for (PlannedValue& v : plan.values) v.offset = 0;
        if (Poisoned{r.g, plan, sizes}.all().empty()) continue;
        ++shown;
        CHECK_FALSE(check_plan(r.g, plan, sizes).empty());
    }
    CHECK(shown > 50);
}
