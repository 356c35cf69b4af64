#include "storage/detail/run.h"

#include <algorithm>

#include "base/bytes.h"

namespace orrery::storage::detail {
namespace {

/// First 16 bytes of a key as two integers: most comparisons end here.
struct Prefix {
    uint64_t high = 0;
    uint64_t low = 0;

    explicit Prefix(std::string_view key) {
        if (key.size() >= 16) [[likely]] {
            high = load_u64_be(key.data());
            low = load_u64_be(key.data() + 8);
        } else {
            char padded[16] = {};
            std::memcpy(padded, key.data(), key.size());
            high = load_u64_be(padded);
            low = load_u64_be(padded + 8);
        }
    }
};

int compare(const Prefix& a, std::string_view a_key, const Prefix& b, std::string_view b_key) {
    if (a.high != b.high) return a.high < b.high ? -1 : 1;
    if (a.low != b.low) return a.low < b.low ? -1 : 1;
    return a_key.compare(b_key);
}

struct SortItem {
    Prefix prefix;
    const char* data;
    uint32_t size;
    uint32_t order;  ///< position in the group << 3 | repeats << 2 | change

    std::string_view key() const { return {data, size}; }
};

/// A position in one of the runs being merged.
struct MergeItem {
    Prefix prefix;
    std::string_view key;
    size_t run;
    size_t position;
};

/// Heap order: smallest key on top, among equal keys the oldest run.
bool later(const MergeItem& a, const MergeItem& b) {
    const int order = compare(a.prefix, a.key, b.prefix, b.key);
    return order != 0 ? order > 0 : a.run > b.run;
}

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

size_t Run::lower_bound(std::string_view key) const {
    size_t low = 0;
    size_t high = entries_.size();
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
    for (const IndexDelta& delta : deltas) {
        for (const IndexDelta::Entry& entry : delta.entries()) {
            const std::string_view key = delta.key(entry);
            items.push_back({Prefix(key), key.data(), static_cast<uint32_t>(key.size()),
                             static_cast<uint32_t>(items.size()) << 3 |
                                 (delta.repeats() ? 4U : 0U) |
                                 static_cast<uint32_t>(entry.change)});
        }
    }
    std::sort(items.begin(), items.end(), [](const SortItem& a, const SortItem& b) {
        const int order = compare(a.prefix, a.key(), b.prefix, b.key());
        return order != 0 ? order < 0 : a.order < b.order;
    });
    auto run = std::make_shared<Run>(table);
    run->reserve(count, key_bytes);
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
    std::vector<MergeItem> heap;
    for (size_t i = 0; i < runs.size(); ++i) {
        const Run& run = *runs[i];
        DCHECK(run.table() == runs[0]->table());
        count += run.size();
        counters.insert(counters.end(), run.counters().begin(), run.counters().end());
        if (run.size() == 0) continue;
        key_bytes += static_cast<size_t>(run.key(run.size() - 1).data() - run.key(0).data()) +
                     run.key(run.size() - 1).size();
        heap.push_back({Prefix(run.key(0)), run.key(0), i, 0});
    }
    std::make_heap(heap.begin(), heap.end(), later);
    auto merged = std::make_shared<Run>(runs[0]->table());
    merged->reserve(count, key_bytes);
    const auto advance = [&] {
        std::pop_heap(heap.begin(), heap.end(), later);
        MergeItem& item = heap.back();
        const Run& run = *runs[item.run];
        if (++item.position == run.size()) {
            heap.pop_back();
            return;
        }
        item.key = run.key(item.position);
        item.prefix = Prefix(item.key);
        std::push_heap(heap.begin(), heap.end(), later);
    };
    while (!heap.empty()) {
        const MergeItem oldest = heap.front();
        Run::Change change = runs[oldest.run]->change(oldest.position);
        const bool born = runs[oldest.run]->born(oldest.position);
        advance();
        while (!heap.empty() && heap.front().key == oldest.key) {
            change = runs[heap.front().run]->change(heap.front().position);
            advance();
        }
        merged->append(oldest.key, change, born);
    }
    merged->set_counters(sum_counters(std::move(counters)));
    return merged;
}

}  // namespace orrery::storage::detail
