#pragma once

namespace orrery::net {

/// Work for the thread of a connection's loop.
class LoopTask {
public:
    virtual ~LoopTask() = default;
    virtual void run() = 0;
};

}  // namespace orrery::net
