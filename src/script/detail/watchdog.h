#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "script/detail/custody.h"

struct JSContext;

namespace orrery::script::detail {

/// A thread that runs scripts, as the watchdog sees it.
struct Watched {
    JSContext* cx = nullptr;
    Custody custody;
    /// Called on the watchdog's thread between Custody::take() and give_up(). Empty: never given
    /// up. Set by the own thread, outside of JavaScript and while it is not watched.
    std::function<void()> give_up;
    std::atomic<int64_t> deadline_us{INT64_MAX};
    /// How much longer one visit to JavaScript may last that no interrupt has ended.
    std::atomic<int64_t> grace_us{0};

    // The watchdog's own.
    uint64_t late_visit = 0;
    int64_t late_since_us = 0;
};

/// Asks the engines that run scripts, every few milliseconds, to look whether they may go on, and
/// gives up those that do not listen. Sleeps while none runs. Internally locked.
class Watchdog {
public:
    static Watchdog& instance();
    virtual ~Watchdog() = default;
    /// Between the two, the engine is interrupted again and again; pairs may be nested.
    virtual void begin(Watched& watched) = 0;
    virtual void end(Watched& watched) = 0;
    /// The deadline of all runs without an earlier one. INT64_MAX: none.
    virtual void end_all_by(int64_t deadline_us) = 0;
};

}  // namespace orrery::script::detail
