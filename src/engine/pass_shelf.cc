#include "engine/pass_shelf.h"

#include "base/random.h"

namespace orrery::engine {
namespace {

constexpr size_t kEntriesMax = 32;
/// Bytes of all parked passes together. A pass that alone has more is the only one kept.
constexpr size_t kBytesMax = size_t{256} << 20;
constexpr int64_t kKeepUs = 30'000'000;

}  // namespace

uint64_t PassShelf::put(std::unique_ptr<query::ParkedPass> pass) {
    std::list<Entry> dropped;  // destroyed without the lock
    const std::lock_guard lock(mutex_);
    uint64_t number = 0;
    while (number == 0) number = random_u64();
    const size_t bytes = pass->bytes();
    entries_.push_back({number, clock_.monotonic_us() + kKeepUs, std::move(pass), bytes});
    size_t all = 0;
    for (const Entry& entry : entries_) all += entry.bytes;
    while (entries_.size() > kEntriesMax || (all > kBytesMax && entries_.size() > 1)) {
        all -= entries_.front().bytes;
        dropped.splice(dropped.end(), entries_, entries_.begin());
    }
    return number;
}

std::unique_ptr<query::ParkedPass> PassShelf::take(uint64_t number) {
    const std::lock_guard lock(mutex_);
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
        if (it->number != number) continue;
        auto pass = std::move(it->pass);
        const bool old = it->until_us < clock_.monotonic_us();
        entries_.erase(it);
        return old ? nullptr : std::move(pass);
    }
    return nullptr;
}

void PassShelf::remove_old() {
    std::list<Entry> dropped;
    const std::lock_guard lock(mutex_);
    const int64_t now = clock_.monotonic_us();
    while (!entries_.empty() && entries_.front().until_us < now)
        dropped.splice(dropped.end(), entries_, entries_.begin());
}

void PassShelf::clear() {
    std::list<Entry> dropped;
    const std::lock_guard lock(mutex_);
    dropped.swap(entries_);
}

}  // namespace orrery::engine
