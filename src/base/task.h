#pragma once

namespace orrery {

/// Work for another thread.
class Task {
public:
    virtual ~Task() = default;
    virtual void run() = 0;
};

}  // namespace orrery
