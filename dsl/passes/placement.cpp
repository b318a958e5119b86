// SPDX-License-Identifier: Apache-2.0
#include "dsl/passes/placement.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace sfumato::dsl {

using namespace isa;

namespace {

using Order = std::vector<std::size_t>;

class Placer {
public:
    Placer(const std::vector<PlaceRequest>& r, std::int64_t capacity) : requests_(r), capacity_(capacity), base_(r.size(), 0) {}

    std::vector<std::int64_t> run() {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            base_[i] = sum;
            sum += requests_[i].bytes;
        }
        best_ = base_;
        best_peak_ = sum;
        if (sum <= capacity_) return best_;
        Order order(requests_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto try_sorted = [&](auto before) {
            Order o = order;
            std::stable_sort(o.begin(), o.end(), before);
            greedy(o);
        };
        try_sorted([&](std::size_t a, std::size_t b) { return requests_[a].bytes > requests_[b].bytes; });
        try_sorted([&](std::size_t a, std::size_t b) { return length(a) > length(b); });
        try_sorted([&](std::size_t a, std::size_t b) { return requests_[a].live.first < requests_[b].live.first; });
        if (best_peak_ > capacity_ && requests_.size() <= 10 && most_alive() <= capacity_) search(0);
        return best_;
    }

private:
    // Bytes alive at once: no plan is smaller.
    std::int64_t most_alive() const {
        std::int64_t most = 0;
        for (const PlaceRequest& at : requests_) {
            std::int64_t sum = 0;
            for (const PlaceRequest& r : requests_)
                if (r.live.first <= at.live.first && at.live.first <= r.live.last) sum += r.bytes;
            most = std::max(most, sum);
        }
        return most;
    }
    int length(std::size_t i) const { return requests_[i].live.last - requests_[i].live.first; }

    // Lowest address where request i fits beside the placed ones.
    std::int64_t lowest(std::size_t i, const Order& placed) const {
        std::vector<std::pair<std::int64_t, std::int64_t>> taken;
        for (std::size_t j : placed)
            if (requests_[i].live.meets(requests_[j].live) && requests_[j].bytes > 0) taken.push_back({base_[j], base_[j] + requests_[j].bytes});
        std::sort(taken.begin(), taken.end());
        std::int64_t at = 0;
        for (const auto& [from, to] : taken) {
            if (from - at >= requests_[i].bytes) break;
            at = std::max(at, to);
        }
        return at;
    }
    void keep(std::int64_t peak) {
        if (peak >= best_peak_) return;
        best_peak_ = peak;
        best_ = base_;
    }
    void greedy(const Order& order) {
        Order placed;
        std::int64_t peak = 0;
        for (std::size_t i : order) {
            base_[i] = lowest(i, placed);
            placed.push_back(i);
            peak = std::max(peak, base_[i] + requests_[i].bytes);
        }
        keep(peak);
    }
    // Every order of first-fit placements; the peak so far bounds the branch.
    void search(std::int64_t peak) {
        if (++nodes_ > 5000 || best_peak_ <= capacity_ || peak >= best_peak_) return;
        if (placed_.size() == requests_.size()) return keep(peak);
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            if (std::find(placed_.begin(), placed_.end(), i) != placed_.end()) continue;
            base_[i] = lowest(i, placed_);
            placed_.push_back(i);
            search(std::max(peak, base_[i] + requests_[i].bytes));
            placed_.pop_back();
        }
    }

    const std::vector<PlaceRequest>& requests_;
    std::int64_t capacity_ = 0, best_peak_ = 0;
    std::vector<std::int64_t> base_, best_;
    Order placed_;
    int nodes_ = 0;
};

}  // namespace

std::vector<std::int64_t> place(const std::vector<PlaceRequest>& requests, std::int64_t alignment, std::int64_t capacity) {
    std::vector<PlaceRequest> aligned = requests;
    for (PlaceRequest& r : aligned) r.bytes = round_up(std::max<std::int64_t>(r.bytes, 0), std::max<std::int64_t>(alignment, 1));
    return Placer(aligned, capacity).run();
}

CapacityReport place_buffers(const Program& p, const Chip& chip) {
    std::vector<LiveRange> live = live_ranges(p);
    for (LiveRange& r : live)
        if (r.last < r.first) r = {0, std::numeric_limits<int>::max() - 1};  // nothing is known of it: it shares with nobody
    CapacityReport report;
    for (int s = static_cast<int>(Space::l1); s < kSpaceCount; ++s) {
        SpaceUse use;
        use.space = static_cast<Space>(s);
        use.capacity = chip.bytes(use.space);
        const std::int64_t align = std::max<std::int64_t>(chip.align(use.space), 1);
        std::vector<PlaceRequest> requests;
        for (std::size_t b = 0; b < p.buffers.size(); ++b) {
            const Buffer& buffer = p.buffers[b];
            if (buffer.space != use.space) continue;
            const std::int64_t bytes = round_up(std::max<std::int64_t>(buffer.slot_bytes, 0), align) * std::max(buffer.slots, 1);
            use.rows.push_back({static_cast<int>(b), bytes, 0, live[b]});
            requests.push_back({bytes, live[b]});
            use.sum += bytes;
        }
        if (use.rows.empty()) continue;
        const std::vector<std::int64_t> base = place(requests, align, use.capacity);
        for (std::size_t i = 0; i < base.size(); ++i) {
            use.rows[i].base = base[i];
            use.used = std::max(use.used, base[i] + use.rows[i].bytes);
        }
        std::stable_sort(use.rows.begin(), use.rows.end(), [](const CapacityRow& a, const CapacityRow& b) { return a.bytes > b.bytes; });
        report.spaces.push_back(std::move(use));
    }
    return report;
}

}  // namespace sfumato::dsl
