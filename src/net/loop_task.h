#pragma once

#include "base/task.h"

namespace orrery::net {

/// Work for the thread of a connection's loop.
using LoopTask = Task;

}  // namespace orrery::net
