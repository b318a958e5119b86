// SPDX-License-Identifier: Apache-2.0
#include "traces/row_layout.h"

#include <algorithm>

namespace sfumato::traces {

int RowLayout::free_lane(std::int64_t begin) {
    for (std::size_t i = 0; i < lanes_.size(); ++i)
        if (lanes_[i].last_end <= begin) return static_cast<int>(i);
    lanes_.emplace_back();
    return lanes() - 1;
}

Placement RowLayout::place_work(Span s) {
    latest_ = free_lane(s.begin);
    Lane& lane = lanes_[static_cast<std::size_t>(latest_)];
    lane = {s, s.end, s.begin};
    return {latest_, s};
}

std::optional<Placement> RowLayout::place_with_work(std::int64_t end) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        Lane& lane = lanes_[i];
        if (lane.work.end != end || lane.last_end != end || lane.work.begin == end) continue;
        lane.child_end = end;
        return Placement{static_cast<int>(i), {end - 1, end}};
    }
    return std::nullopt;
}

Placement RowLayout::place_flag(Span s) {
    if (lanes_.empty()) lanes_.emplace_back();
    s.begin = std::min(s.begin, s.end - 1);  // an arrow needs a slice it can stand in
    Lane& lane = lanes_[static_cast<std::size_t>(latest_)];
    if (lane.work.begin < s.end && s.end <= lane.work.end) {  // the pipe was still working: nest
        // Siblings end in order, so a later one starts where the earlier one ended unless both end together.
        const std::int64_t from = lane.child_end < s.end ? lane.child_end : s.end - 1;
        s.begin = std::max({s.begin, lane.work.begin, from});
        lane.child_end = s.end;
        return {latest_, s};
    }
    if (lane.last_end < s.end) {
        s.begin = std::max({s.begin, lane.last_end, std::int64_t{0}});
        lane.last_end = s.end;
        return {latest_, s};
    }
    if (lane.last_end == s.end && lane.work.end < s.end) return {latest_, {s.end - 1, s.end}};  // beside a flag slice that ends with it
    const int other = free_lane(std::max<std::int64_t>(s.begin, 0));
    s.begin = std::max<std::int64_t>(s.begin, 0);
    lanes_[static_cast<std::size_t>(other)].last_end = s.end;
    return {other, s};
}

}  // namespace sfumato::traces
