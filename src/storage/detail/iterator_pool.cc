#include "storage/detail/iterator_pool.h"

#include <utility>

namespace orrery::storage::detail {

PooledIteratorPtr IteratorPool::take(const IteratorKind& kind) {
    Idle old;  // released outside the lock
    const std::lock_guard lock(mutex_);
    Idle& idle = idle_[slot(kind)];
    if (idle.empty()) return nullptr;
    if (kind.is_newer_than(idle.back()->kind)) {
        old.swap(idle);
        return nullptr;
    }
    // The view is older: pooled iterators may show more than the view should.
    if (!idle.back()->kind.shows_the_same_as(kind)) return nullptr;
    PooledIteratorPtr taken = std::move(idle.back());
    idle.pop_back();
    return taken;
}

uint64_t IteratorPool::epoch() const {
    const std::lock_guard lock(mutex_);
    return epoch_;
}

void IteratorPool::give_back(PooledIteratorPtr iterator) {
    Idle old;
    const std::lock_guard lock(mutex_);
    if (iterator->epoch != epoch_) {
        old.push_back(std::move(iterator));
        return;
    }
    Idle& idle = idle_[slot(iterator->kind)];
    if (!idle.empty() && iterator->kind.is_newer_than(idle.back()->kind)) old.swap(idle);
    const bool older = !idle.empty() && idle.back()->kind.is_newer_than(iterator->kind);
    (older || idle.size() >= kIdleMax ? old : idle).push_back(std::move(iterator));
}

void IteratorPool::clear() {
    std::array<Idle, kSlots> old;
    const std::lock_guard lock(mutex_);
    ++epoch_;
    old.swap(idle_);
}

}  // namespace orrery::storage::detail
