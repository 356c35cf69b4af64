#include "script/detail/job_queue.h"

#include <js/GCVector.h>

namespace orrery::script::detail {
namespace {

using Jobs = JS::GCVector<JSObject*, 0, js::SystemAllocPolicy>;

class Queue final : public JobQueue, public JS::JobQueue {
public:
    explicit Queue(JSContext* cx) : jobs_(cx) {}

    JSObject* getIncumbentGlobal(JSContext* cx) override { return JS::CurrentGlobalOrNull(cx); }
    bool enqueuePromiseJob(JSContext* cx, JS::HandleObject, JS::HandleObject job, JS::HandleObject,
                           JS::HandleObject) override {
        if (jobs_.get().append(job)) return true;
        JS_ReportOutOfMemory(cx);
        return false;
    }
    void runJobs(JSContext*) override {}  // only a debugger asks for this
    bool empty() const override { return next_ == jobs_.get().length(); }
    js::UniquePtr<SavedJobQueue> saveJobQueue(JSContext*) override { return nullptr; }

    bool has_jobs() const override { return !empty(); }
    bool run_one(JSContext* cx) override {
        JS::RootedObject job(cx, jobs_.get()[next_++]);
        if (empty()) clear();
        JSAutoRealm realm(cx, job);
        JS::RootedValue function(cx, JS::ObjectValue(*job));
        JS::RootedValue ignored(cx);
        return JS::Call(cx, JS::UndefinedHandleValue, function, JS::HandleValueArray::empty(),
                        &ignored);
    }
    void clear() override {
        jobs_.get().clear();
        next_ = 0;
    }
    void release() override {
        clear();
        jobs_.reset();
    }

private:
    JS::PersistentRooted<Jobs> jobs_;
    size_t next_ = 0;
};

}  // namespace

std::unique_ptr<JobQueue> JobQueue::install(JSContext* cx) {
    auto queue = std::make_unique<Queue>(cx);
    JS::SetJobQueue(cx, queue.get());
    return queue;
}

}  // namespace orrery::script::detail
