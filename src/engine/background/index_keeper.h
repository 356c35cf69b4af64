#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "catalog/catalog.h"
#include "storage/store.h"

namespace orrery::engine {

/// Carries out changes of indexing policies, one after the other, on a thread of its own.
/// Internally locked.
class IndexKeeper {
public:
    IndexKeeper(catalog::Catalog& catalog, storage::Store& store)
        : catalog_(catalog), store_(store) {}
    ~IndexKeeper() { stop(); }

    void start();
    void stop();  ///< Idempotent.

private:
    void loop();

    catalog::Catalog& catalog_;
    storage::Store& store_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stop_ = false;  // guarded by mutex_
    bool asked_ = true;  // guarded by mutex_; there may be something to carry out
    std::thread thread_;
};

}  // namespace orrery::engine
