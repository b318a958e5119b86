// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides on which row of a pipe a slice stands, so that the slices of a row nest or are apart (viewers disagree about partial overlaps and drop
// them). Transfers in flight together get extra rows; flag slices nest in the work that ends with them or fill the gap before the next.
#include <cstdint>
#include <optional>
#include <vector>

namespace sfumato::traces {

struct Span {
    std::int64_t begin = 0, end = 0;  ///< nanoseconds
};
struct Placement {
    int lane = 0;
    Span span;  ///< what to draw; a wait is drawn from where the pipe ran dry
};

/// The rows of one pipe of one core. Work arrives in order of its end, and completes in the order in which it began.
class RowLayout {
public:
    Placement place_work(Span);
    /// A flag or barrier slice; call it when every work slice that began before `span.end` is placed.
    Placement place_flag(Span);
    /// A slice that ends exactly with a work slice placed so far can nest in it at once.
    std::optional<Placement> place_with_work(std::int64_t end);
    int lanes() const { return static_cast<int>(lanes_.size()); }

private:
    struct Lane {
        Span work{0, 0};
        std::int64_t last_end = 0;   ///< end of everything placed
        std::int64_t child_end = 0;  ///< end of the last slice nested in `work`
    };
    int free_lane(std::int64_t begin);
    std::vector<Lane> lanes_;
    int latest_ = 0;  ///< lane of the work that began last
};

}  // namespace sfumato::traces
