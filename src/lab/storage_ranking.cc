#include "lab/storage_ranking.h"

#include <algorithm>

#include "base/bytes.h"
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
    TRY(const auto values,
        json::extract(document.text, container.settings->key.member_paths, arena));
    std::string text = "[";
    for (size_t i = 0; i < values.size(); ++i) {
        if (i > 0) text += ",";
        text += values[i].is_undefined() ? "{}" : json::to_text(values[i]);
    }
    return text + "]";
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
    answer.complete = walk.complete;
    answer.as_of_seconds = walk.complete ? walk.ended_seconds : clock_.wall_seconds();
    return answer;
}

}  // namespace orrery::lab
