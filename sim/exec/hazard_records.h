// SPDX-License-Identifier: Apache-2.0
#pragma once
// Accesses that later ones must be compared with. A record is dropped when a later write that is ordered behind it covers it, or a later read of
// the same pipe repeats it: whoever is ordered behind the newer one is ordered behind the older one too.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "isa/access.h"
#include "isa/program.h"

namespace sfumato::sim {

struct AccessRecord {
    isa::Access access;
    std::int32_t core = 0;
    isa::Pipe pipe = isa::Pipe::s;
    std::int64_t epoch = 0;  ///< the how-many-th instruction of its pipe, from 1
    const isa::Instr* instr = nullptr;
    bool atomic = false, unit_flag = false;
    bool alive = true;
};

/// Every byte of `inner` lies in `outer` (sufficient, not necessary).
bool covers(const isa::Access& outer, const isa::Access& inner);

/// Calls f(start, bytes) for the runs that two overlapping rectangles share.
template <class F>
void for_each_shared_run(const isa::Access& a, const isa::Access& b, F&& f) {
    for (std::int64_t r = 0; r < a.rows; ++r) {
        const std::int64_t lo = a.start + r * a.pitch, hi = lo + a.row_bytes;
        const std::int64_t first = b.pitch > 0 ? std::max<std::int64_t>(0, (lo - b.start - b.row_bytes) / b.pitch) : 0;
        for (std::int64_t j = first; j < b.rows; ++j) {
            const std::int64_t other = b.start + j * b.pitch;
            if (other >= hi) break;
            const std::int64_t from = std::max(lo, other), to = std::min(hi, other + b.row_bytes);
            if (from < to) f(from, to - from);
        }
    }
}

/// Records of one memory space of one core.
struct SpaceRecords {
    std::vector<AccessRecord> records;
    std::size_t limit = 64;  ///< size at which records that all pipes know to be complete are dropped
};

/// Records of one device tensor, found by the part of the tensor they touch.
class TensorRecords {
public:
    void reset(std::int64_t bytes, bool tracked);
    bool tracked() const { return tracked_; }  ///< false: nothing in this launch writes the tensor

    /// Calls f(record) once for every living record whose extent meets that of `a`.
    template <class F>
    void for_each_near(const isa::Access& a, F&& f) {
        ++stamp_;
        for (std::size_t b = bucket(a.start), last = bucket(a.end() - 1); b <= last; ++b) {
            auto& list = buckets_[b];
            std::size_t kept = 0;
            for (const std::int32_t i : list) {
                AccessRecord& r = records_[static_cast<std::size_t>(i)];
                if (!r.alive) continue;
                list[kept++] = i;
                if (stamps_[static_cast<std::size_t>(i)] == stamp_) continue;
                stamps_[static_cast<std::size_t>(i)] = stamp_;
                f(r);
            }
            list.resize(kept);
        }
    }
    void add(const AccessRecord&);

private:
    std::size_t bucket(std::int64_t byte) const;
    void index(std::int32_t record);
    void compact();
    bool tracked_ = false;
    std::int64_t width_ = 1;
    std::uint32_t stamp_ = 0;
    std::size_t limit_ = 0;  ///< number of records at which dead ones are given up
    std::vector<std::vector<std::int32_t>> buckets_;
    std::vector<AccessRecord> records_;
    std::vector<std::uint32_t> stamps_;
};

}  // namespace sfumato::sim
