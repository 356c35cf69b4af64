#pragma once

struct JSContext;

namespace orrery::script::detail {

/// Asks the engines that run scripts, every few milliseconds, to look whether they may go on.
/// Sleeps while none does. Internally locked.
class Watchdog {
public:
    static Watchdog& instance();
    virtual ~Watchdog() = default;
    /// Between the two, `cx` is interrupted again and again; pairs may be nested.
    virtual void begin(JSContext* cx) = 0;
    virtual void end(JSContext* cx) = 0;
};

}  // namespace orrery::script::detail
