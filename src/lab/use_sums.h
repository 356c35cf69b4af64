#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "engine/observer.h"

namespace orrery::lab {

/// Requests of one second that agree in everything by which they are counted.
struct UseSum {
    int64_t wall_seconds = 0;
    uint64_t container = 0;
    uint32_t range = engine::RequestRecord::kNoRange;
    uint16_t status = 0;
    engine::OperationClass operation = engine::OperationClass::kMetadata;
    bool part = false;
    bool inner = false;
    uint64_t requests = 0;
    meter::Charge charge = {};
    uint64_t request_bytes = 0;
    uint64_t response_bytes = 0;
    int64_t range_bytes = 0;  ///< as the last of them knew it; 0: not known

    bool counts(const engine::RequestRecord& record) const {
        return wall_seconds == record.wall_seconds && container == record.container &&
               range == record.range && status == record.status && operation == record.operation &&
               part == record.part && inner == record.inner;
    }
};

/// Adds records up before they are looked up in what lasts, of which many have the same places. Not
/// thread-safe.
class UseSums {
public:
    UseSums() { used_.reserve(kSums); }

    /// `take` is called with a sum that has to make room for another.
    template <typename Take>
    void add(const engine::RequestRecord& record, const Take& take) {
        const size_t at = place_of(record);
        UseSum& sum = sums_[at];
        if (!sum.counts(record) || sum.requests == 0) {
            if (sum.requests != 0)
                take(sum);
            else
                used_.push_back(static_cast<uint8_t>(at));
            sum = {record.wall_seconds, record.container, record.range, record.status,
                   record.operation,    record.part,      record.inner};
        }
        ++sum.requests;
        sum.charge += record.charge;
        sum.request_bytes += record.request_bytes;
        sum.response_bytes += record.response_bytes;
        if (record.range_bytes != 0) sum.range_bytes = record.range_bytes;
    }

    /// All that there are, the oldest second first. Afterwards there are none.
    template <typename Take>
    void take_all(const Take& take) {
        std::sort(used_.begin(), used_.end(), [this](uint8_t a, uint8_t b) {
            return sums_[a].wall_seconds < sums_[b].wall_seconds;
        });
        for (const uint8_t at : used_) {
            take(sums_[at]);
            sums_[at].requests = 0;
        }
        used_.clear();
    }

private:
    static constexpr size_t kSums = 256;

    static size_t place_of(const engine::RequestRecord& record) {
        const uint64_t what = uint64_t{record.range} << 32 | uint64_t{record.status} << 16 |
                              static_cast<uint64_t>(record.operation) << 8 |
                              (record.part ? 2U : 0U) | (record.inner ? 1U : 0U);
        uint64_t mixed = (record.container ^ what) * 0x9E3779B97F4A7C15ULL;
        mixed = (mixed ^ mixed >> 32 ^ static_cast<uint64_t>(record.wall_seconds)) *
                0xD6E8FEB86659FD93ULL;
        return mixed >> 56;
    }

    std::array<UseSum, kSums> sums_;
    std::vector<uint8_t> used_;  ///< places of those that count anything
};

}  // namespace orrery::lab
