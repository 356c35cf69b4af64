#include "lab/storage_ranking.h"

#include <algorithm>

#include <cmath>

#include "base/bytes.h"
#include "base/hash.h"
#include "json/document.h"
#include "json/item.h"
#include "json/write.h"
#include "partition/record.h"

namespace orrery::lab {
namespace {

constexpr int64_t kFreshSeconds = 60;
constexpr size_t kWalksMax = 100;
constexpr uint64_t kLookAtClockEvery = 64;

bool larger(const StorageRanking::Entry& a, const StorageRanking::Entry& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.epk < b.epk;
}

/// First key in `ids` behind everything of that EPK.
std::string behind(storage::PartitionId partition, std::string_view epk) {
    return prefix_successor(
        storage::keys::ids_of_epk(partition, epk, static_cast<storage::IdKind>(0xFE)));
}

}  // namespace

Result<std::string> key_text_of(const storage::View& view, const catalog::Container& container,
                                const partition::Partition& part, std::string_view epk) {
    const auto id = part.identity().id;
    const std::string prefix = storage::keys::ids_of_epk(id, epk, storage::IdKind::kItem);
    const auto cursor = view.scan(storage::Family::kIds, prefix, prefix_successor(prefix));
    if (!cursor->valid()) {
        TRY_STATUS(cursor->status());
        return std::string();
    }
    TRY(const auto entry, partition::decode_id_entry(cursor->value()));
    TRY(const auto bytes, view.get(storage::Family::kItems, storage::keys::item(id, entry.docref)));
    if (!bytes) return std::string();
    TRY(const auto document, json::decode_document(*bytes));
    json::Arena arena;
    TRY(const auto values, document.values_at(container.settings->key.member_paths, arena));
    std::string text = "[";
    for (size_t i = 0; i < values.size(); ++i) {
        if (i > 0) text += ",";
        text += values[i].is_undefined() ? "{}" : json::to_text(values[i]);
    }
    return text + "]";
}

void StorageRanking::Buckets::add(uint64_t bytes) {
    // Twelve buckets for each doubling.
    const auto at =
        bytes < 1 ? size_t{0} : static_cast<size_t>(std::log2(static_cast<double>(bytes)) * 12) + 1;
    auto& bucket = buckets[std::min(at, kCount - 1)];
    ++bucket.first;
    bucket.second += bytes;
}

void StorageRanking::note_size(const catalog::Container& container, const std::string& epk,
                               int64_t bytes, Walk& walk) {
    if (bytes <= 0) return;
    walk.sizes.add(static_cast<uint64_t>(bytes));
    const size_t levels = container.settings->key.level_count();
    if (levels > 1) {
        constexpr size_t kHashBytes = 16;
        constexpr SipKey kLevelHash{0x6c6162, 0x6c657665};
        walk.level_distinct.resize(levels);
        for (size_t level = 0; level < levels; ++level) {
            const size_t size = (level + 1) * kHashBytes;
            if (walk.last_epk.empty() || walk.last_epk.compare(0, size, epk, 0, size) != 0)
                ++walk.level_distinct[level];
        }
        if (epk.size() >= 2 * kHashBytes) {
            const std::string_view second = std::string_view(epk).substr(kHashBytes, kHashBytes);
            walk.second_levels.add(siphash(kLevelHash, second), second, bytes);
        }
    }
    walk.last_epk = epk;
}

StorageRanking::Spread StorageRanking::spread_of(const Walk& walk) {
    Spread out;
    uint64_t keys = 0;
    uint64_t bytes = 0;
    for (const auto& [count, sum] : walk.sizes.buckets) {
        keys += count;
        bytes += sum;
    }
    out.level_distinct = walk.level_distinct;
    if (keys == 0 || bytes == 0) return out;
    if (walk.second_levels.total() > 0) {
        const auto top = walk.second_levels.top(1);
        out.second_level_share = static_cast<double>(top[0].weight - top[0].error) /
                                 static_cast<double>(walk.second_levels.total());
    }
    // The Lorenz curve goes straight through each bucket.
    double seen_keys = 0;
    double seen_bytes = 0;
    double area = 0;
    out.lorenz.push_back(0);
    for (const auto& [count, sum] : walk.sizes.buckets) {
        if (count == 0) continue;
        const double x0 = seen_keys / static_cast<double>(keys);
        const double y0 = seen_bytes / static_cast<double>(bytes);
        const double mean = static_cast<double>(sum) / static_cast<double>(count);
        if (seen_keys < 0.5 * static_cast<double>(keys)) out.median_bytes = std::llround(mean);
        if (seen_keys < 0.95 * static_cast<double>(keys)) out.p95_bytes = std::llround(mean);
        seen_keys += static_cast<double>(count);
        seen_bytes += static_cast<double>(sum);
        const double x1 = seen_keys / static_cast<double>(keys);
        const double y1 = seen_bytes / static_cast<double>(bytes);
        area += (x1 - x0) * (y0 + y1) / 2;
        while (out.lorenz.size() < 11 && static_cast<double>(out.lorenz.size()) / 10 <= x1 + 1e-9) {
            const double x = static_cast<double>(out.lorenz.size()) / 10;
            out.lorenz.push_back(x1 > x0 ? y0 + (y1 - y0) * (x - x0) / (x1 - x0) : y1);
        }
    }
    while (out.lorenz.size() < 11) out.lorenz.push_back(1);
    out.gini = std::max(0.0, 1 - 2 * area);
    return out;
}

Status StorageRanking::walk_range(const storage::View& view, const catalog::Container& container,
                                  const partition::Partition& part, Walk& walk, int64_t deadline_us,
                                  bool& out_of_time) {
    const auto id = part.identity().id;
    const std::string first = storage::keys::partition(id);
    const bool resumed = walk.begun && walk.resume_epk >= part.identity().range.min;
    const auto cursor = view.scan(storage::Family::kIds, first, prefix_successor(first));
    if (resumed && cursor->valid()) cursor->seek(behind(id, walk.resume_epk));
    while (cursor->valid()) {
        const auto key = storage::keys::decode_id(cursor->key());
        if (!key) break;
        walk.begun = true;
        walk.resume_epk = key->epk;
        ++walk.seen;
        TRY(const auto totals, part.logical_totals(view, key->epk));
        note_size(container, key->epk, totals.bytes, walk);
        if (totals.bytes > 0 &&
            (walk.heap.size() < kKept || totals.bytes > walk.heap.front().bytes)) {
            TRY(auto text, key_text_of(view, container, part, key->epk));
            walk.heap.push_back({key->epk, std::move(text), totals.items, totals.bytes});
            std::push_heap(walk.heap.begin(), walk.heap.end(), larger);
            if (walk.heap.size() > kKept) {
                std::pop_heap(walk.heap.begin(), walk.heap.end(), larger);
                walk.heap.pop_back();
            }
        }
        if (walk.seen % kLookAtClockEvery == 0 && clock_.monotonic_us() >= deadline_us) {
            out_of_time = true;
            return {};
        }
        cursor->seek(behind(id, key->epk));
    }
    return cursor->status();
}

Status StorageRanking::walk_on(const catalog::Container& container, Walk& walk,
                               int64_t deadline_us) {
    const auto view = store_.view();
    for (const auto& range : container.ranges->ranges) {
        const auto& bounds = range.partition->identity().range;
        if (walk.begun && !bounds.max.empty() && bounds.max <= walk.resume_epk) continue;
        bool out_of_time = false;
        TRY_STATUS(walk_range(*view, container, *range.partition, walk, deadline_us, out_of_time));
        if (out_of_time) return {};
    }
    walk.complete = true;
    walk.ended_seconds = clock_.wall_seconds();
    return {};
}

Result<StorageRanking::Answer> StorageRanking::largest(const catalog::Container& container,
                                                       size_t count, int64_t budget_us) {
    const std::lock_guard lock(mutex_);
    if (walks_.size() >= kWalksMax && !walks_.contains(container.rid_text)) walks_.clear();
    Walk& walk = walks_[container.rid_text];
    const bool stale = walk.complete && clock_.wall_seconds() - walk.ended_seconds >= kFreshSeconds;
    if (stale || walk.map_version != container.ranges->version) {
        walk = Walk{};
        walk.map_version = container.ranges->version;
    }
    if (!walk.complete) TRY_STATUS(walk_on(container, walk, clock_.monotonic_us() + budget_us));
    Answer answer;
    answer.largest = walk.heap;
    std::sort(answer.largest.begin(), answer.largest.end(), larger);
    if (answer.largest.size() > count) answer.largest.resize(count);
    answer.logical_partitions = walk.seen;
    answer.spread = spread_of(walk);
    answer.complete = walk.complete;
    answer.as_of_seconds = walk.complete ? walk.ended_seconds : clock_.wall_seconds();
    return answer;
}

}  // namespace orrery::lab
