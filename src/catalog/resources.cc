#include "catalog/resources.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace orrery::catalog {

std::string Database::self() const {
    return "dbs/" + rid.text() + "/";
}

const PartitionRange& RangeMap::of_epk(std::string_view epk) const {
    CHECK(!ranges.empty());
    const auto after = std::upper_bound(ranges.begin(), ranges.end(), epk,
                                        [](std::string_view key, const PartitionRange& range) {
                                            return key < range.partition->identity().range.min;
                                        });
    // The first range begins at "", so that nothing lies before it.
    return after == ranges.begin() ? ranges.front() : *std::prev(after);
}

double RangeMap::fraction(const PartitionRange& range) const {
    uint64_t sum = 0;
    for (const PartitionRange& one : ranges) sum += one.weight;
    return sum == 0 ? 1.0 / static_cast<double>(ranges.size())
                    : static_cast<double>(range.weight) / static_cast<double>(sum);
}

bool ThroughputBuckets::valid() const {
    for (const uint8_t part : percent)
        if (part > 100) return false;
    return standard <= percent.size() && (standard == 0 || percent[standard - 1] != 0);
}

const PartitionRange* RangeMap::find(std::string_view range_id) const {
    for (const PartitionRange& range : ranges)
        if (range.id == range_id) return &range;
    return nullptr;
}

std::vector<const PartitionRange*> RangeMap::overlapping(const partition::EpkRange& wanted) const {
    std::vector<const PartitionRange*> out;
    if (wanted.min >= wanted.max) return out;
    for (const PartitionRange& range : ranges) {
        const partition::EpkRange& own = range.partition->identity().range;
        if (own.min < wanted.max && wanted.min < own.max) out.push_back(&range);
    }
    return out;
}

std::string Container::self() const {
    return database->self() + "colls/" + rid_text + "/";
}

std::vector<const PartitionRange*> Container::ranges_since(uint64_t since) const {
    const bool known = since >= ranges->known_from && since <= ranges->version;
    std::vector<const PartitionRange*> out;
    for (const PartitionRange& range : ranges->ranges)
        if (!known || range.since > since) out.push_back(&range);
    return out;
}

std::string_view trigger_operation_name(TriggerOperation operation) {
    constexpr std::array<std::string_view, 5> kNames = {"All", "Create", "Update", "Delete",
                                                        "Replace"};
    return kNames[static_cast<size_t>(operation)];
}

}  // namespace orrery::catalog
