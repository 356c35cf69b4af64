#include "storage/detail/run.h"

#include <algorithm>

#include "base/bytes.h"

namespace orrery::storage::detail {
namespace {

__extension__ using Head = unsigned __int128;

/// Length of the common beginning.
size_t common_prefix(std::string_view a, std::string_view b) {
    const size_t end = std::min(a.size(), b.size());
    return static_cast<size_t>(
        std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(end), b.begin()).first -
        a.begin());
}

/// The 16 bytes after the part that all keys at hand have in common: most comparisons end here. A
/// short key is padded with zero bytes, so keys with equal heads must still be compared.
Head head_of(std::string_view key, size_t skip) {
    char padded[16] = {};
    const char* bytes = key.data() + skip;
    if (key.size() < skip + 16) [[unlikely]] {
        std::memcpy(padded, bytes, key.size() - skip);
        bytes = padded;
    }
    return static_cast<Head>(load_u64_be(bytes)) << 64 | load_u64_be(bytes + 8);
}

struct SortItem {
    Head head;
    const char* data;
    uint32_t size;
    uint32_t order;  ///< position in the group << 3 | repeats << 2 | change

    std::string_view key() const { return {data, size}; }
};

/// Merges runs by a tree of losers: one comparison per level for each entry.
class RunMerger {
public:
    explicit RunMerger(const std::vector<RunPtr>& runs) {
        std::string_view first;
        std::string_view last;
        for (const RunPtr& run : runs) {
            const size_t entries = run->size();
            if (entries == 0) continue;
            if (lanes_.empty() || run->key(0) < first) first = run->key(0);
            if (lanes_.empty() || run->key(entries - 1) > last) last = run->key(entries - 1);
            lanes_.push_back({0, {}, run.get(), 0});
        }
        skip_ = common_prefix(first, last);
        for (Lane& lane : lanes_) load(lane);
        losers_.assign(std::max<size_t>(lanes_.size(), 1), kNone);
        for (size_t i = 0; i < lanes_.size(); ++i) replay(static_cast<uint32_t>(i));
    }

    bool done() const { return winner_ == kNone || lanes_[winner_].run == nullptr; }
    std::string_view key() const { return lanes_[winner_].key; }
    Run::Change change() const { return lanes_[winner_].run->change(lanes_[winner_].position); }
    bool born() const { return lanes_[winner_].run->born(lanes_[winner_].position); }

    /// To the next entry; true when it has the same key (and is newer).
    bool next() {
        Lane& lane = lanes_[winner_];
        const Head head = lane.head;
        const std::string_view key = lane.key;
        ++lane.position;
        load(lane);
        const uint32_t moved = winner_;
        winner_ = kNone;
        replay(moved);
        return !done() && lanes_[winner_].head == head && lanes_[winner_].key == key;
    }

private:
    struct Lane {
        Head head;
        std::string_view key;
        const Run* run;  ///< null when used up
        size_t position;
    };
    static constexpr uint32_t kNone = UINT32_MAX;

    void load(Lane& lane) const {
        if (lane.position == lane.run->size()) {
            lane.run = nullptr;
            lane.head = ~Head{0};
            return;
        }
        lane.key = lane.run->key(lane.position);
        lane.head = head_of(lane.key, skip_);
    }

    /// Lanes stand in order of age: the older of two equal keys comes first.
    bool before(uint32_t a, uint32_t b) const {
        const Lane& left = lanes_[a];
        const Lane& right = lanes_[b];
        if (left.head != right.head) [[likely]]
            return left.head < right.head;
        if (left.run == nullptr || right.run == nullptr) return left.run != nullptr;
        const int order = left.key.compare(right.key);
        return order != 0 ? order < 0 : a < b;
    }

    /// Carries a lane up the tree; a place still free keeps it (while the tree is being built).
    void replay(uint32_t lane) {
        const size_t count = lanes_.size();
        for (size_t node = (lane + count) / 2; node > 0; node /= 2) {
            uint32_t& loser = losers_[node];
            if (loser == kNone) {
                loser = lane;
                return;
            }
            if (before(loser, lane)) std::swap(loser, lane);
        }
        winner_ = lane;
    }

    std::vector<Lane> lanes_;
    std::vector<uint32_t> losers_;
    uint32_t winner_ = kNone;
    size_t skip_ = 0;
};

CounterSums sum_counters(CounterSums counters) {
    std::stable_sort(counters.begin(), counters.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    CounterSums sums;
    for (auto& [key, count] : counters) {
        if (!sums.empty() && sums.back().first == key) {
            sums.back().second.items += count.items;
            sums.back().second.bytes += count.bytes;
        } else {
            sums.emplace_back(std::move(key), count);
        }
    }
    return sums;
}

}  // namespace

void Run::reserve(size_t entries, size_t key_bytes) {
    entries_.reserve(entries);
    keys_.reserve(key_bytes);
}

void Run::append(std::string_view key, Change change, bool born) {
    CHECK(keys_.size() + key.size() < (1ULL << 32) && key.size() < (1U << 29));
    entries_.push_back({static_cast<uint32_t>(keys_.size()),
                        static_cast<uint32_t>(key.size()) << 3 | (born ? 4U : 0U) |
                            static_cast<uint32_t>(change)});
    keys_.append(key);
}

size_t Run::bytes() const {
    size_t bytes = keys_.capacity() + entries_.capacity() * sizeof(Entry);
    for (const auto& [key, count] : counters_) bytes += key.size() + sizeof(Count) + 32;
    return bytes;
}

size_t Run::lower_bound(std::string_view key, size_t from) const {
    size_t low = from;
    size_t high = entries_.size();
    if (from > 0) {
        // The second search usually looks for something near.
        for (size_t step = 1; low + step < high; step *= 2) {
            if (this->key(low + step) >= key) {
                high = low + step;
                break;
            }
            low += step;
        }
    }
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (this->key(middle) < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

Count Run::counter(std::string_view key) const {
    const auto it =
        std::lower_bound(counters_.begin(), counters_.end(), key,
                         [](const auto& entry, std::string_view k) { return entry.first < k; });
    return it != counters_.end() && it->first == key ? it->second : Count{};
}

RunPtr sort_run(uint64_t table, const std::vector<IndexDelta>& deltas,
                CounterSums unsorted_counters) {
    size_t count = 0;
    size_t key_bytes = 0;
    for (const IndexDelta& delta : deltas) {
        count += delta.entries().size();
        key_bytes += delta.bytes();
    }
    std::vector<SortItem> items;
    items.reserve(count);
    size_t skip = SIZE_MAX;
    for (const IndexDelta& delta : deltas) {
        for (const IndexDelta::Entry& entry : delta.entries()) {
            const std::string_view key = delta.key(entry);
            if (skip != 0)
                skip =
                    items.empty() ? key.size() : std::min(skip, common_prefix(items[0].key(), key));
            items.push_back({0, key.data(), static_cast<uint32_t>(key.size()),
                             static_cast<uint32_t>(items.size()) << 3 |
                                 (delta.repeats() ? 4U : 0U) |
                                 static_cast<uint32_t>(entry.change)});
        }
    }
    for (SortItem& item : items) item.head = head_of(item.key(), skip);
    std::sort(items.begin(), items.end(), [](const SortItem& a, const SortItem& b) {
        if (a.head != b.head) [[likely]]
            return a.head < b.head;
        const int order = a.key().compare(b.key());
        return order != 0 ? order < 0 : a.order < b.order;
    });
    auto run = std::make_shared<Run>(table);
    run->reserve(count, key_bytes);
    if (std::any_of(deltas.begin(), deltas.end(),
                    [](const IndexDelta& delta) { return delta.repeats() && !delta.empty(); }))
        run->set_vague();
    for (size_t i = 0; i < items.size();) {
        const SortItem& oldest = items[i];
        size_t newest = i;
        while (newest + 1 < items.size() && items[newest + 1].key() == oldest.key()) ++newest;
        const bool born = (oldest.order & 4) == 0 &&
                          static_cast<Run::Change>(oldest.order & 3) != Run::Change::kRemove;
        run->append(oldest.key(), static_cast<Run::Change>(items[newest].order & 3), born);
        i = newest + 1;
    }
    run->set_counters(sum_counters(std::move(unsorted_counters)));
    return run;
}

RunPtr merge_runs(const std::vector<RunPtr>& runs) {
    DCHECK(!runs.empty());
    size_t count = 0;
    size_t key_bytes = 0;
    CounterSums counters;
    for (const RunPtr& run : runs) {
        DCHECK(run->table() == runs[0]->table());
        count += run->size();
        key_bytes += run->key_bytes();
        counters.insert(counters.end(), run->counters().begin(), run->counters().end());
    }
    auto merged = std::make_shared<Run>(runs[0]->table());
    merged->reserve(count, key_bytes);
    if (std::any_of(runs.begin(), runs.end(), [](const RunPtr& run) { return run->is_vague(); }))
        merged->set_vague();
    for (RunMerger merger(runs); !merger.done();) {
        const std::string_view key = merger.key();
        const bool born = merger.born();
        Run::Change change = merger.change();
        while (merger.next()) change = merger.change();
        merged->append(key, change, born);
    }
    merged->set_counters(sum_counters(std::move(counters)));
    return merged;
}

}  // namespace orrery::storage::detail
