#pragma once

#include <cstddef>

#include "base/status.h"

namespace orrery::query {

/// Counts what one part of a run retains, against the limit of a run and that of all runs of the
/// process. Owned by one thread at a time.
class Retained {
public:
    Retained() = default;
    Retained(const Retained&) = delete;
    Retained& operator=(const Retained&) = delete;
    ~Retained() { release(); }

    /// The part holds so much now. Refused: it must not hold more.
    Status hold(size_t bytes) {
        if (bytes <= counted_) return {};
        return grow(bytes);
    }
    void release();
    size_t bytes() const { return counted_; }
    /// Of all parts of all runs.
    static size_t total();

private:
    Status grow(size_t bytes);

    size_t counted_ = 0;  ///< in whole steps, so that few of the calls reach the common count
};

}  // namespace orrery::query
