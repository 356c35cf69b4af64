#pragma once

#include <cstddef>

namespace orrery::script::detail {

/// No single allocation of a script is larger than this.
inline constexpr size_t kAllocationBytesMax = 64ULL << 20;

/// While one is alive on a thread, larger allocations of that thread fail; the engine reports that
/// to the script as lack of memory. Without effect where jemalloc is not the allocator.
class AllocationGuard {
public:
    AllocationGuard();
    ~AllocationGuard();
    AllocationGuard(const AllocationGuard&) = delete;
    AllocationGuard& operator=(const AllocationGuard&) = delete;

private:
    const bool before_;
};

/// Lifts the guard while the server works for a script.
class AllocationsUnguarded {
public:
    AllocationsUnguarded();
    ~AllocationsUnguarded();
    AllocationsUnguarded(const AllocationsUnguarded&) = delete;
    AllocationsUnguarded& operator=(const AllocationsUnguarded&) = delete;

private:
    const bool before_;
};

/// Once per thread that will use guards.
void prepare_guarded_thread();
bool guards_are_effective();

}  // namespace orrery::script::detail
