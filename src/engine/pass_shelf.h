#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

#include "base/clock.h"
#include "query/page.h"

namespace orrery::engine {

/// Passes between two pages: few, of bounded size together, and not for long, since each holds a
/// view. Internally locked.
class PassShelf {
public:
    explicit PassShelf(const Clock& clock) : clock_(clock) {}

    /// Returns the number to ask for it with.
    uint64_t put(std::unique_ptr<query::ParkedPass> pass);
    /// Null when it is not there any more. One whose ranges were split or merged meanwhile goes on:
    /// its view keeps what it reads.
    std::unique_ptr<query::ParkedPass> take(uint64_t number);
    void remove_old();
    void clear();

private:
    struct Entry {
        uint64_t number;
        int64_t until_us;
        std::unique_ptr<query::ParkedPass> pass;
        size_t bytes;
    };
    const Clock& clock_;
    std::mutex mutex_;
    std::list<Entry> entries_;  // guarded by mutex_; oldest first
};

}  // namespace orrery::engine
