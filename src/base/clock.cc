#include "base/clock.h"

#include <array>
#include <chrono>
#include <cstdio>

#include "base/encoding.h"

namespace orrery {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::optional<int> digits(std::string_view text) {
    int v = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') return std::nullopt;
        v = v * 10 + (c - '0');
    }
    return v;
}

}  // namespace

int64_t SystemClock::wall_us() const {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

int64_t SystemClock::monotonic_us() const {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

std::string format_http_date(int64_t unix_seconds) {
    using namespace std::chrono;
    const sys_seconds time{seconds(unix_seconds)};
    const auto day = floor<days>(time);
    const year_month_day date(day);
    const hh_mm_ss clock(time - day);
    const weekday week(day);
    char out[40];
    const int n = std::snprintf(
        out, sizeof out, "%s, %02u %s %04d %02d:%02d:%02d GMT", kDays[week.c_encoding()].data(),
        static_cast<unsigned>(date.day()), kMonths[static_cast<unsigned>(date.month()) - 1].data(),
        static_cast<int>(date.year()), static_cast<int>(clock.hours().count()),
        static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()));
    return std::string(out, static_cast<size_t>(n));
}

std::optional<int64_t> parse_http_date(std::string_view text) {
    // Fixed columns: "Thu, 27 Apr 2017 00:51:12 GMT"
    if (text.size() != 29 || text[3] != ',' || text[19] != ':' || text[22] != ':')
        return std::nullopt;
    if (!equals_ignore_case(text.substr(26), "GMT") && !equals_ignore_case(text.substr(26), "UTC"))
        return std::nullopt;
    int month = 0;
    for (size_t i = 0; i < kMonths.size(); ++i)
        if (equals_ignore_case(text.substr(8, 3), kMonths[i])) month = static_cast<int>(i) + 1;
    const auto day = digits(text.substr(5, 2));
    const auto year = digits(text.substr(12, 4));
    const auto hour = digits(text.substr(17, 2));
    const auto minute = digits(text.substr(20, 2));
    const auto second = digits(text.substr(23, 2));
    if (month == 0 || !day || !year || !hour || !minute || !second) return std::nullopt;
    if (*hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
    using namespace std::chrono;
    const year_month_day date(std::chrono::year(*year),
                              std::chrono::month(static_cast<unsigned>(month)),
                              std::chrono::day(static_cast<unsigned>(*day)));
    if (!date.ok()) return std::nullopt;
    return (sys_days(date).time_since_epoch() + hours(*hour) + minutes(*minute) +
            seconds(*second)) /
           seconds(1);
}

}  // namespace orrery
