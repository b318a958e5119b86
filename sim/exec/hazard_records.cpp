// SPDX-License-Identifier: Apache-2.0
#include "sim/exec/hazard_records.h"

#include <algorithm>

namespace sfumato::sim {

namespace {
constexpr std::size_t kLeastRecords = 4096;
}

bool covers(const isa::Access& outer, const isa::Access& inner) {
    if (outer.start > inner.start || outer.end() < inner.end()) return false;
    if (outer.rows == 1 || outer.pitch <= outer.row_bytes) return true;
    const std::int64_t row = (inner.start - outer.start) / outer.pitch, column = (inner.start - outer.start) % outer.pitch;
    if (column + inner.row_bytes > outer.row_bytes) return false;
    return inner.rows == 1 || (inner.pitch == outer.pitch && row + inner.rows <= outer.rows);
}

void TensorRecords::reset(std::int64_t bytes, bool tracked) {
    constexpr std::int64_t kBuckets = 256, kLeastWidth = 4096;
    tracked_ = tracked;
    width_ = std::max(kLeastWidth, isa::ceil_div(bytes, kBuckets));
    buckets_.clear();
    records_.clear();
    stamps_.clear();
    stamp_ = 0;
    limit_ = kLeastRecords;
    if (tracked) buckets_.resize(static_cast<std::size_t>(bytes / width_ + 1));
}

std::size_t TensorRecords::bucket(std::int64_t byte) const {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(byte / width_, 0, static_cast<std::int64_t>(buckets_.size()) - 1));
}

void TensorRecords::index(std::int32_t record) {
    const isa::Access& a = records_[static_cast<std::size_t>(record)].access;
    for (std::size_t b = bucket(a.start), last = bucket(a.end() - 1); b <= last; ++b) buckets_[b].push_back(record);
}

void TensorRecords::compact() {
    std::erase_if(records_, [](const AccessRecord& r) { return !r.alive; });
    stamps_.assign(records_.size(), 0);
    stamp_ = 0;
    for (auto& b : buckets_) b.clear();
    for (std::size_t i = 0; i < records_.size(); ++i) index(static_cast<std::int32_t>(i));
    limit_ = std::max(kLeastRecords, 2 * records_.size());
}

void TensorRecords::add(const AccessRecord& r) {
    if (records_.size() >= limit_) compact();
    records_.push_back(r);
    stamps_.push_back(0);
    index(static_cast<std::int32_t>(records_.size()) - 1);
}

}  // namespace sfumato::sim
