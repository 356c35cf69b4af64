#include "cli/interrupt.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <csignal>

#include "base/check.h"
#include "base/clock.h"

namespace orrery::cli {
namespace {

std::atomic<bool> flag{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // set in a signal handler
struct sigaction saved_interrupt {};
struct sigaction saved_terminate {};
bool guarded = false;

/// Signals reach one thread; the others look at the flag this often.
constexpr int64_t kLookMs = 50;

void on_signal(int) {
    flag.store(true);
}

}  // namespace

InterruptGuard::InterruptGuard() {
    CHECK(!guarded);
    guarded = true;
    flag.store(false);
    struct sigaction action {};
    action.sa_handler = on_signal;  // without SA_RESTART: blocking calls return
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &saved_interrupt);
    sigaction(SIGTERM, &action, &saved_terminate);
}

InterruptGuard::~InterruptGuard() {
    sigaction(SIGINT, &saved_interrupt, nullptr);
    sigaction(SIGTERM, &saved_terminate, nullptr);
    guarded = false;
}

bool interrupted() {
    return flag.load();
}
void clear_interrupt() {
    flag.store(false);
}
void interrupt() {
    flag.store(true);
}

void wait_ms(int64_t milliseconds) {
    const SystemClock clock;
    const int64_t end = clock.monotonic_us() + milliseconds * 1000;
    while (!interrupted()) {
        const int64_t left = (end - clock.monotonic_us() + 999) / 1000;
        if (left <= 0) return;
        ::poll(nullptr, 0, static_cast<int>(std::min(left, kLookMs)));
    }
}

}  // namespace orrery::cli
