#pragma once

#include <js/Promise.h>
#include <jsapi.h>

#include <memory>

namespace orrery::script::detail {

/// Promise reactions that wait for their turn. Owned by one runtime; what a run leaves here when it
/// ends is thrown away, so that nothing of it runs in another.
class JobQueue {
public:
    static std::unique_ptr<JobQueue> install(JSContext* cx);
    virtual ~JobQueue() = default;
    virtual bool has_jobs() const = 0;
    /// Runs one; false: it failed, with an exception or, when the run is to end, without.
    virtual bool run_one(JSContext* cx) = 0;
    virtual void clear() = 0;
    /// Call it once, before the context is destroyed: the engine does not release these roots by
    /// itself.
    virtual void release() = 0;
};

}  // namespace orrery::script::detail
