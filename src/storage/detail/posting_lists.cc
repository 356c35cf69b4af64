#include "storage/detail/posting_lists.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>

#include "base/bytes.h"
#include "storage/detail/view.h"

namespace orrery::storage::detail {
namespace {

constexpr std::string_view kCacheKeyName = "orrery.postings";

/// Steps through a term before a list is considered; then again after twice as many.
constexpr uint64_t kStepsMin = 512;
/// Beyond this no list is tried: the term has too many entries.
constexpr uint64_t kStepsMax = 1ULL << 40;

size_t place_of(std::string_view prefix, size_t places) {
    return std::hash<std::string_view>()(prefix) % places;
}

/// Of the cursor's budget.
constexpr size_t kMovesPerStep = 16;

class ListCursor final : public Cursor {
public:
    ListCursor(PostingListPtr list, std::string_view begin, std::string_view end,
               ReadBudget* budget)
        : list_(std::move(list)),
          budget_(budget),
          begin_(list_->lower_bound(begin, 0)),
          end_(list_->lower_bound(end, begin_)),
          at_(begin_),
          key_(list_->prefix()) {
        if (valid()) key_.append(list_->rest(at_));
    }
    bool valid() const override { return at_ < end_; }
    std::string_view key() const override { return key_; }
    std::string_view value() const override { return list_->value(); }
    void next() override {
        ++at_;
        arrive();
    }
    void seek(std::string_view key) override {
        const bool back = !valid() || key < key_;
        at_ = std::min(end_, list_->lower_bound(key, back ? begin_ : at_));
        arrive();
    }
    Status status() const override {
        if (budget_ != nullptr && budget_->exceeded) return Status(over_budget());
        return {};
    }
    std::optional<uint64_t> left() const override { return end_ - at_; }

private:
    void arrive() {
        if (budget_ != nullptr && ++moves_ % kMovesPerStep == 0 && !budget_->spend(1)) at_ = end_;
        if (!valid()) return;
        const std::string_view rest = list_->rest(at_);
        key_.replace(list_->prefix().size(), rest.size(), rest);
    }

    const PostingListPtr list_;
    ReadBudget* const budget_;
    const size_t begin_;
    const size_t end_;
    size_t at_;
    size_t moves_ = 0;
    std::string key_;
};

/// What follows the prefix in a key, for comparisons that mostly end within eight bytes.
struct Rest {
    explicit Rest(std::string_view bytes) : all(bytes) {
        char start[8] = {};
        if (bytes.size() >= sizeof(start)) {
            head = load_u64_be(bytes.data());
        } else {
            std::memcpy(start, bytes.data(), bytes.size());
            head = load_u64_be(start);
        }
    }
    friend bool operator<(const Rest& a, const Rest& b) {
        return a.head != b.head ? a.head < b.head : a.all < b.all;
    }
    std::string_view all;
    uint64_t head = 0;
};

void delete_list(const rocksdb::Slice& /*key*/, void* value) {
    delete static_cast<PostingListPtr*>(value);
}

}  // namespace

size_t PostingList::lower_bound(std::string_view key, size_t from) const {
    const std::string_view head = key.substr(0, std::min(key.size(), prefix_.size()));
    const int order = head.compare(prefix_);
    if (order > 0) return size();
    if (order < 0) return from;
    const Rest wanted(key.substr(prefix_.size()));
    const auto below = [&](size_t i) { return Rest(rest(i)) < wanted; };
    size_t low = from;     // what is before it is below
    size_t high = size();  // what is from here on is not
    // A search that continues from a position usually looks for something near it.
    constexpr size_t kNear = 16;
    size_t step = 1;
    for (size_t at = from; from > 0 && step <= kNear && at < high; at += step, step *= 2) {
        if (!below(at)) {
            high = at;
            break;
        }
        low = at + 1;
    }
    // Docrefs begin with hashes, so the value of one nearly gives its position.
    constexpr int kGuesses = 3;
    for (int i = 0; i < kGuesses && high - low > 2 * kNear; ++i) {
        const auto first = static_cast<double>(Rest(rest(low)).head);
        const auto last = static_cast<double>(Rest(rest(high - 1)).head);
        const double part = (static_cast<double>(wanted.head) - first) / (last - first);
        if (!(part > 0 && part < 1)) break;
        // Widen the guess by its likely error.
        const auto count = static_cast<double>(high - low);
        const auto margin = static_cast<size_t>(std::sqrt(count)) / 2 + 1;
        const size_t guess = low + static_cast<size_t>(part * count);
        const size_t before = guess - std::min(guess - low, margin);
        const size_t behind = std::min(guess + margin, high - 1);
        if (!below(before)) {
            high = before;
        } else if (below(behind)) {
            low = behind + 1;
        } else {
            low = before + 1;
            high = behind;
        }
    }
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (below(middle)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool PostingList::append(std::string_view key, std::string_view value) {
    const std::string_view rest = key.substr(prefix_.size());
    if (rest_bytes_ == 0) {
        if (rest.empty()) return false;
        rest_bytes_ = rest.size();
        value_.assign(value);
    }
    if (rest.size() != rest_bytes_ || value != value_) return false;
    rests_.append(rest);
    return true;
}

PostingLists::PostingLists(std::shared_ptr<rocksdb::Cache> cache)
    : cache_(std::move(cache)),
      id_(cache_->NewId()),
      list_bytes_max_(std::min<size_t>(cache_->GetCapacity() / 64, size_t{8} << 20)) {}

std::string PostingLists::cache_key(std::string_view prefix) const {
    std::string key(kCacheKeyName);
    append_u64_be(key, id_);
    return key.append(prefix);
}

PostingListPtr PostingLists::find(std::string_view prefix, uint64_t table) {
    // Ask the cache from time to time, so that it knows the list is in use.
    constexpr uint32_t kUsesUnseen = 32;
    const uint64_t hash = std::hash<std::string_view>()(prefix);
    Recent& recent = recent_[hash % kRecent];
    PostingListPtr found;
    {
        const std::lock_guard lock(recent.mutex);
        if (recent.hash == hash && ++recent.uses % kUsesUnseen != 0) found = recent.list.lock();
    }
    // A list of another table may have been dropped and made again since.
    if (found == nullptr || found->table() != table || found->prefix() != prefix) {
        found = find_cached(prefix);
        if (found == nullptr) return nullptr;
        const std::lock_guard lock(recent.mutex);
        recent.list = found;
        recent.hash = hash;
    }
    return found->table() == table ? found : nullptr;
}

PostingListPtr PostingLists::find_cached(std::string_view prefix) {
    // The same as cache_key(), without an allocation for most terms.
    std::array<char, 256> space;
    constexpr size_t kNameBytes = kCacheKeyName.size();
    const size_t size = kNameBytes + sizeof(id_) + prefix.size();
    rocksdb::Cache::Handle* handle = nullptr;
    if (size <= space.size()) {
        std::memcpy(space.data(), kCacheKeyName.data(), kNameBytes);
        store_u64_be(space.data() + kNameBytes, id_);
        std::memcpy(space.data() + kNameBytes + sizeof(id_), prefix.data(), prefix.size());
        handle = cache_->Lookup({space.data(), size});
    } else {
        handle = cache_->Lookup(cache_key(prefix));
    }
    if (handle == nullptr) return nullptr;
    PostingListPtr found = *static_cast<const PostingListPtr*>(cache_->Value(handle));
    cache_->Release(handle);
    return found;
}

void PostingLists::insert(PostingListPtr list) {
    const std::string prefix(list->prefix());
    {
        const std::lock_guard lock(mutex_);
        known_[prefix] = list;
    }
    const size_t charge = list->memory();
    auto* const value = new PostingListPtr(std::move(list));
    cache_
        ->Insert(cache_key(prefix), value, charge, &delete_list, nullptr,
                 rocksdb::Cache::Priority::HIGH)
        .PermitUncheckedError();
}

void PostingLists::note_walk(std::string_view prefix, uint64_t steps) {
    std::atomic<uint64_t>& place = walked_[place_of(prefix, walked_.size())];
    const uint64_t before = place.load(std::memory_order_relaxed);
    const uint64_t sum = std::min((before >> 1) + steps, kStepsMax);
    // One more at kStepsMin, and whenever the steps have become twice as many.
    const auto level = [](uint64_t walked) { return std::bit_width(walked / kStepsMin); };
    const bool wanted = (before & 1) != 0 || level(sum) > level(before >> 1);
    // Concurrent notes may be lost.
    place.store(sum << 1 | (wanted ? 1U : 0U), std::memory_order_relaxed);
}

uint64_t PostingLists::worthwhile(std::string_view prefix) const {
    const uint64_t now = walked_[place_of(prefix, walked_.size())].load(std::memory_order_relaxed);
    return (now & 1) != 0 ? now >> 1 : 0;
}

void PostingLists::tried(std::string_view prefix, bool success) {
    std::atomic<uint64_t>& place = walked_[place_of(prefix, walked_.size())];
    place.store(success ? 0 : place.load(std::memory_order_relaxed) & ~uint64_t{1},
                std::memory_order_relaxed);
}

void PostingLists::apply(const Run& run) {
    const std::lock_guard lock(mutex_);
    std::erase_if(known_, [&](const auto& known) {
        const std::string& prefix = known.first;
        const PostingListPtr list = known.second.lock();
        if (list == nullptr) return true;
        // Its maker has already seen the table.
        if (list->table() >= run.table()) return false;
        const size_t first = run.lower_bound(prefix);
        const bool changed = first < run.size() && run.key(first).starts_with(prefix);
        if (!changed && list->table() + 1 == run.table()) {
            list->set_table(run.table());
            return false;
        }
        cache_->Erase(cache_key(prefix));
        return true;
    });
}

std::unique_ptr<Cursor> walk_list(PostingListPtr list, std::string_view begin, std::string_view end,
                                  ReadBudget* budget) {
    return std::make_unique<ListCursor>(std::move(list), begin, end, budget);
}

}  // namespace orrery::storage::detail
