#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace orrery {

/// 100 ns units since 1970-01-01T00:00:00Z. All functions stay within the years 0001–9999 and
/// answer nullopt beyond.
using Ticks = int64_t;

inline constexpr Ticks kTicksPerMicrosecond = 10;
inline constexpr Ticks kTicksPerMillisecond = 10'000;
inline constexpr Ticks kTicksPerSecond = 10'000'000;
inline constexpr Ticks kTicksPerDay = 86'400 * kTicksPerSecond;

struct DateTime {
    int year = 1970;
    int month = 1;
    int day = 1;
    int hour = 0;
    int minute = 0;
    int second = 0;
    int fraction = 0;  ///< 100 ns units, 0–9999999
};

enum class DatePart : uint8_t {
    kYear,
    kMonth,
    kDay,
    kHour,
    kMinute,
    kSecond,
    kMillisecond,
    kMicrosecond,
    kNanosecond,
};

std::optional<DatePart> parse_date_part(std::string_view name);
/// YYYY-MM-DD[(T| )hh:mm:ss[.f{1,7}]][Z], UTC.
std::optional<Ticks> parse_date_time(std::string_view text);
/// YYYY-MM-DDThh:mm:ss.fffffffZ; nullopt outside the years 0001–9999.
std::optional<std::string> format_date_time(Ticks ticks);

std::optional<Ticks> to_ticks(const DateTime& date);
DateTime to_date_time(Ticks ticks);

/// Months and years clamp the day to the length of the month.
std::optional<Ticks> add_parts(Ticks ticks, DatePart part, int64_t count);
/// Borders of `part` between start and end, negative when end is earlier. A count that a double
/// does not hold (of nanoseconds) is rounded.
double parts_between(DatePart part, Ticks start, Ticks end);
int64_t part_of(DatePart part, Ticks ticks);
/// The largest origin + k * size parts that is not after `ticks`. Precondition: size > 0.
std::optional<Ticks> bin_parts(Ticks ticks, DatePart part, int64_t size, Ticks origin);
/// Custom format: yyyy MM dd HH hh mm ss f… F… tt; a backslash makes one character literal.
std::string custom_format(Ticks ticks, std::string_view format);

}  // namespace orrery
