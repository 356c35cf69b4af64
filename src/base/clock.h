#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace orrery {

/// The only source of time outside `net`. Internally thread-safe.
class Clock {
public:
    virtual ~Clock() = default;
    /// Wall clock, microseconds since 1970.
    virtual int64_t wall_us() const = 0;
    /// Never runs backwards; for durations and timeouts.
    virtual int64_t monotonic_us() const = 0;
    int64_t wall_seconds() const { return wall_us() / 1'000'000; }
};

class SystemClock final : public Clock {
public:
    int64_t wall_us() const override;
    int64_t monotonic_us() const override;
};

/// A clock that tests move by hand.
class ManualClock final : public Clock {
public:
    explicit ManualClock(int64_t start_us = 1'700'000'000'000'000) : now_us_(start_us) {}
    int64_t wall_us() const override { return now_us_.load(); }
    int64_t monotonic_us() const override { return now_us_.load(); }
    void advance_us(int64_t delta) { now_us_ += delta; }
    void advance_seconds(int64_t delta) { now_us_ += delta * 1'000'000; }

private:
    std::atomic<int64_t> now_us_;
};

/// "Thu, 27 Apr 2017 00:51:12 GMT"
std::string format_http_date(int64_t unix_seconds);
/// Seconds since 1970 of an RFC 1123 date in any letter case; nullopt when malformed.
std::optional<int64_t> parse_http_date(std::string_view text);

}  // namespace orrery
