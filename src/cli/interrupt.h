#pragma once

#include <cstdint>

namespace orrery::cli {

/// While it lives, SIGINT and SIGTERM set a flag instead of ending the process, and interrupt
/// blocking calls. One at a time.
class InterruptGuard {
public:
    InterruptGuard();
    ~InterruptGuard();
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;
};

bool interrupted();
void clear_interrupt();
/// Asks for a stop as a signal would.
void interrupt();

/// Waits, at most until somebody interrupts; any thread.
void wait_ms(int64_t milliseconds);

inline constexpr int kInterruptedExit = 130;

}  // namespace orrery::cli
