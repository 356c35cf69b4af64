#include "script/detail/allocation_guard.h"

#include <string>

#ifdef ORRERY_HAS_JEMALLOC
#include <jemalloc/jemalloc.h>
#endif

namespace orrery::script::detail {
namespace {

thread_local bool guarded = false;

#ifdef ORRERY_HAS_JEMALLOC

extent_hooks_t* standard_hooks = nullptr;

void* allocate(extent_hooks_t*, void* address, size_t size, size_t alignment, bool* zero,
               bool* commit, unsigned arena) {
    if (guarded && size > kAllocationBytesMax) return nullptr;
    return standard_hooks->alloc(standard_hooks, address, size, alignment, zero, commit, arena);
}

/// The hooks of arenas whose large pieces may be refused; null: none can be made.
extent_hooks_t* guarded_hooks() {
    static extent_hooks_t* const hooks = []() -> extent_hooks_t* {
        size_t bytes = sizeof(standard_hooks);
        if (mallctl("arena.0.extent_hooks", &standard_hooks, &bytes, nullptr, 0) != 0 ||
            standard_hooks == nullptr)
            return nullptr;
        static extent_hooks_t ours;
        ours = *standard_hooks;
        ours.alloc = allocate;
        return &ours;
    }();
    return hooks;
}

#endif

}  // namespace

AllocationGuard::AllocationGuard() : before_(guarded) {
    guarded = true;
}
AllocationGuard::~AllocationGuard() {
    guarded = before_;
}
AllocationsUnguarded::AllocationsUnguarded() : before_(guarded) {
    guarded = false;
}
AllocationsUnguarded::~AllocationsUnguarded() {
    guarded = before_;
}

#ifdef ORRERY_HAS_JEMALLOC

void prepare_guarded_thread() {
    extent_hooks_t* hooks = guarded_hooks();
    if (hooks == nullptr) return;
    unsigned arena = 0;
    size_t bytes = sizeof(arena);
    if (mallctl("arenas.create", &arena, &bytes, &hooks, sizeof(hooks)) != 0) return;
    // An arena of a thread's own serves its large allocations, too.
    (void)mallctl("thread.arena", nullptr, nullptr, &arena, sizeof(arena));
}

bool guards_are_effective() {
    return guarded_hooks() != nullptr;
}

#else

void prepare_guarded_thread() {}
bool guards_are_effective() {
    return false;
}

#endif

}  // namespace orrery::script::detail
