// SPDX-License-Identifier: Apache-2.0
#include "sim/cross_flags.h"

#include <algorithm>

namespace sfumato::sim {

CrossFlags::CrossFlags(const isa::Chip& chip, std::span<const PlacedCore> cores) : ids_(chip.cross.ids), max_count_(chip.cross.max_count) {
    for (const PlacedCore& c : cores) members_.push_back({c.core, c.group});
}

const CrossFlags::Member& CrossFlags::member(int core) const {
    const auto it = std::find_if(members_.begin(), members_.end(), [&](const Member& m) { return m.core.ordinal == core; });
    isa::check(it != members_.end(), "a core outside the launch uses a cross-core flag");
    return *it;
}

std::vector<int> CrossFlags::set(int core, std::int64_t id, int mode) {
    const Member& self = member(core);
    const bool to_vectors = mode == 2 && self.core.kind != isa::CoreKind::aiv;
    std::vector<int> setters, receivers;
    for (const Member& m : members_) {
        const bool same_kind = m.core.kind == self.core.kind, same_group = m.group == self.group;
        if (same_kind && (mode == 0 || same_group) && !to_vectors) setters.push_back(m.core.ordinal);
        const bool receives = mode == 0 ? same_kind : same_group && (mode == 1) == same_kind;
        if (receives) receivers.push_back(m.core.ordinal);
    }
    if (to_vectors) return receivers;
    const std::tuple key{mode, static_cast<int>(self.core.kind), id, mode == 0 ? 0 : self.group};
    auto& sets = rounds_[key];
    ++sets[core];
    std::int64_t complete = sets[core];
    for (int s : setters) complete = std::min(complete, sets[s]);
    if (complete <= done_[key]) return {};
    done_[key] = complete;
    return receivers;
}

std::optional<isa::Diagnostic> CrossFlags::raise(int core, std::int64_t id) {
    if (id < 0 || id >= ids_)
        return isa::Diagnostic{isa::Code::event_id,
                               ids_ == 0 ? std::string("the chip has no cross-core flags")
                                         : "cross-core flag " + std::to_string(id) + " does not exist, the chip has 0 to " + std::to_string(ids_ - 1),
                               {}, 0, 0, {}};
    std::int64_t& count = counters_[{core, id}];
    ++count;
    if (count > max_count_)
        return isa::Diagnostic{isa::Code::flag_balance,
                               "cross-core flag " + std::to_string(id) + " counts " + std::to_string(count) + " sets without a wait, it can hold " +
                                   std::to_string(max_count_) + "; wait for it or hand back a credit",
                               {}, 0, 0, {}};
    return std::nullopt;
}

bool CrossFlags::ready(int core, std::int64_t id) const {
    const auto it = counters_.find({core, id});
    return it != counters_.end() && it->second > 0;
}

void CrossFlags::take(int core, std::int64_t id) { --counters_[{core, id}]; }

std::vector<std::tuple<int, std::int64_t, std::int64_t>> CrossFlags::left_over() const {
    std::vector<std::tuple<int, std::int64_t, std::int64_t>> out;
    for (const auto& [key, count] : counters_)
        if (count > 0) out.emplace_back(key.first, key.second, count);
    return out;
}

}  // namespace sfumato::sim
