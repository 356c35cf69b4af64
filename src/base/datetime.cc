#include "base/datetime.h"

#include <fmt/format.h>

#include <array>

#include "base/encoding.h"

namespace orrery {
namespace {

using Wide = __int128;

// Days since 1970-01-01 of a proleptic Gregorian date; years count from March so that the leap day
// is the last of its year.
int64_t days_from_civil(int64_t year, int month, int day) {
    year -= month <= 2 ? 1 : 0;
    const int64_t era = (year >= 0 ? year : year - 399) / 400;
    const int64_t year_of_era = year - era * 400;
    const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    const int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146'097 + day_of_era - 719'468;
}

void civil_from_days(int64_t days, DateTime& out) {
    days += 719'468;
    const int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
    const int64_t day_of_era = days - era * 146'097;
    const int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
    const int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t month = (5 * day_of_year + 2) / 153;
    out.day = static_cast<int>(day_of_year - (153 * month + 2) / 5 + 1);
    out.month = static_cast<int>(month < 10 ? month + 3 : month - 9);
    out.year = static_cast<int>(year_of_era + era * 400 + (out.month <= 2 ? 1 : 0));
}

int days_in_month(int64_t year, int month) {
    constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : kDays[static_cast<size_t>(month - 1)];
}

template <typename T>
T floor_div(T a, T b) {
    const T quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

constexpr Ticks kMin = -621'355'968'000'000'000;               // 0001-01-01
constexpr Ticks kMax = 253'402'300'800 * kTicksPerSecond - 1;  // 9999-12-31T23:59:59.9999999

std::optional<Ticks> in_range(Wide ticks) {
    if (ticks < kMin || ticks > kMax) return std::nullopt;
    return static_cast<Ticks>(ticks);
}

/// Nanoseconds of a fixed-length part; 0 for months and years.
int64_t nanoseconds_of(DatePart part) {
    switch (part) {
        case DatePart::kDay:
            return 86'400'000'000'000;
        case DatePart::kHour:
            return 3'600'000'000'000;
        case DatePart::kMinute:
            return 60'000'000'000;
        case DatePart::kSecond:
            return 1'000'000'000;
        case DatePart::kMillisecond:
            return 1'000'000;
        case DatePart::kMicrosecond:
            return 1'000;
        case DatePart::kNanosecond:
            return 1;
        default:
            return 0;
    }
}

std::optional<Ticks> add_months(Ticks ticks, int64_t months) {
    DateTime date = to_date_time(ticks);
    const Wide total = Wide{date.year} * 12 + (date.month - 1) + months;
    const Wide year = floor_div<Wide>(total, 12);
    if (year < 1 || year > 9999) return std::nullopt;
    date.year = static_cast<int>(year);
    date.month = static_cast<int>(total - year * 12) + 1;
    date.day = std::min(date.day, days_in_month(date.year, date.month));
    return to_ticks(date);
}

int64_t month_number(Ticks ticks) {
    const DateTime date = to_date_time(ticks);
    return int64_t{date.year} * 12 + date.month - 1;
}

/// Exactly `count` digits at `at`.
bool digits(std::string_view text, size_t at, size_t count, int& out) {
    if (at + count > text.size()) return false;
    out = 0;
    for (size_t i = at; i < at + count; ++i) {
        if (text[i] < '0' || text[i] > '9') return false;
        out = out * 10 + (text[i] - '0');
    }
    return true;
}

}  // namespace

std::optional<DatePart> parse_date_part(std::string_view name) {
    struct Entry {
        std::string_view name;
        DatePart part;
    };
    static constexpr std::array kParts = {
        Entry{"year", DatePart::kYear},       Entry{"yyyy", DatePart::kYear},
        Entry{"yy", DatePart::kYear},         Entry{"month", DatePart::kMonth},
        Entry{"mm", DatePart::kMonth},        Entry{"m", DatePart::kMonth},
        Entry{"day", DatePart::kDay},         Entry{"dd", DatePart::kDay},
        Entry{"d", DatePart::kDay},           Entry{"hour", DatePart::kHour},
        Entry{"hh", DatePart::kHour},         Entry{"minute", DatePart::kMinute},
        Entry{"mi", DatePart::kMinute},       Entry{"n", DatePart::kMinute},
        Entry{"second", DatePart::kSecond},   Entry{"ss", DatePart::kSecond},
        Entry{"s", DatePart::kSecond},        Entry{"millisecond", DatePart::kMillisecond},
        Entry{"ms", DatePart::kMillisecond},  Entry{"microsecond", DatePart::kMicrosecond},
        Entry{"mcs", DatePart::kMicrosecond}, Entry{"nanosecond", DatePart::kNanosecond},
        Entry{"ns", DatePart::kNanosecond},
    };
    for (const Entry& entry : kParts)
        if (equals_ignore_case(entry.name, name)) return entry.part;
    return std::nullopt;
}

std::optional<Ticks> parse_date_time(std::string_view text) {
    if (!text.empty() && text.back() == 'Z') text.remove_suffix(1);
    DateTime date;
    if (text.size() < 10 || !digits(text, 0, 4, date.year) || text[4] != '-' ||
        !digits(text, 5, 2, date.month) || text[7] != '-' || !digits(text, 8, 2, date.day))
        return std::nullopt;
    if (text.size() == 10) return to_ticks(date);
    if ((text[10] != 'T' && text[10] != ' ') || text.size() < 19 ||
        !digits(text, 11, 2, date.hour) || text[13] != ':' || !digits(text, 14, 2, date.minute) ||
        text[16] != ':' || !digits(text, 17, 2, date.second))
        return std::nullopt;
    if (text.size() > 19) {
        const size_t count = text.size() - 20;
        if (text[19] != '.' || count < 1 || count > 7 || !digits(text, 20, count, date.fraction))
            return std::nullopt;
        for (size_t i = count; i < 7; ++i) date.fraction *= 10;
    }
    return to_ticks(date);
}

std::optional<std::string> format_date_time(Ticks ticks) {
    if (!in_range(ticks)) return std::nullopt;
    const DateTime d = to_date_time(ticks);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:07}Z", d.year, d.month, d.day, d.hour,
                       d.minute, d.second, d.fraction);
}

std::optional<Ticks> to_ticks(const DateTime& d) {
    if (d.year < 1 || d.year > 9999 || d.month < 1 || d.month > 12 || d.day < 1 ||
        d.day > days_in_month(d.year, d.month) || d.hour < 0 || d.hour > 23 || d.minute < 0 ||
        d.minute > 59 || d.second < 0 || d.second > 59 || d.fraction < 0 || d.fraction > 9'999'999)
        return std::nullopt;
    const int64_t seconds =
        days_from_civil(d.year, d.month, d.day) * 86'400 + d.hour * 3600 + d.minute * 60 + d.second;
    return seconds * kTicksPerSecond + d.fraction;
}

DateTime to_date_time(Ticks ticks) {
    DateTime d;
    const int64_t days = floor_div(ticks, kTicksPerDay);
    const int64_t rest = ticks - days * kTicksPerDay;
    civil_from_days(days, d);
    const int64_t seconds = rest / kTicksPerSecond;
    d.fraction = static_cast<int>(rest % kTicksPerSecond);
    d.hour = static_cast<int>(seconds / 3600);
    d.minute = static_cast<int>(seconds / 60 % 60);
    d.second = static_cast<int>(seconds % 60);
    return d;
}

std::optional<Ticks> add_parts(Ticks ticks, DatePart part, int64_t count) {
    // Nothing within the range of dates is further apart than this, in years.
    if (part == DatePart::kYear)
        return count > 9999 || count < -9999 ? std::nullopt : add_months(ticks, count * 12);
    if (part == DatePart::kMonth) return add_months(ticks, count);
    return in_range(Wide{ticks} + Wide{count} * nanoseconds_of(part) / 100);
}

double parts_between(DatePart part, Ticks start, Ticks end) {
    const auto count = [&]() -> Wide {
        if (part == DatePart::kYear) return to_date_time(end).year - to_date_time(start).year;
        if (part == DatePart::kMonth) return month_number(end) - month_number(start);
        if (part == DatePart::kNanosecond) return (Wide{end} - start) * 100;
        const int64_t unit = nanoseconds_of(part) / 100;
        return floor_div(end, unit) - floor_div(start, unit);
    };
    return static_cast<double>(count());
}

int64_t part_of(DatePart part, Ticks ticks) {
    const DateTime d = to_date_time(ticks);
    switch (part) {
        case DatePart::kYear:
            return d.year;
        case DatePart::kMonth:
            return d.month;
        case DatePart::kDay:
            return d.day;
        case DatePart::kHour:
            return d.hour;
        case DatePart::kMinute:
            return d.minute;
        case DatePart::kSecond:
            return d.second;
        case DatePart::kMillisecond:
            return d.fraction / kTicksPerMillisecond;
        case DatePart::kMicrosecond:
            return d.fraction / kTicksPerMicrosecond;
        case DatePart::kNanosecond:
            return int64_t{d.fraction} * 100;
    }
    return 0;
}

std::optional<Ticks> bin_parts(Ticks ticks, DatePart part, int64_t size, Ticks origin) {
    const int64_t unit_ns = nanoseconds_of(part);
    if (unit_ns > 0) {
        const Wide width = Wide{unit_ns} * size;
        const Wide offset_ns = (Wide{ticks} - origin) * 100;
        return in_range(Wide{origin} + floor_div(floor_div(offset_ns, width) * width, Wide{100}));
    }
    if (size > 120'000) size = 120'000;  // longer than all time
    const int64_t width = part == DatePart::kYear ? size * 12 : size;
    int64_t months = month_number(ticks) - month_number(origin);
    // The origin's day and time may lie later in the month.
    if (const auto candidate = add_months(origin, months); candidate && *candidate > ticks)
        --months;
    return add_months(origin, floor_div(months, width) * width);
}

std::string custom_format(Ticks ticks, std::string_view format) {
    const DateTime d = to_date_time(ticks);
    std::string out;
    for (size_t i = 0; i < format.size();) {
        const char c = format[i];
        if (c == '\\' && i + 1 < format.size()) {
            out += format[i + 1];
            i += 2;
            continue;
        }
        size_t run = 1;
        while (i + run < format.size() && format[i + run] == c) ++run;
        const auto padded = [&](int value, size_t width_max) {
            out += fmt::format("{:0{}}", value, std::min(run, width_max));
        };
        const int hour12 = d.hour % 12 == 0 ? 12 : d.hour % 12;
        const std::string fraction = fmt::format("{:07}", d.fraction);
        switch (c) {
            case 'y':
                if (run <= 2) {
                    padded(d.year % 100, 2);
                } else {
                    out += fmt::format("{:0{}}", d.year, run);
                }
                break;
            case 'M':
                padded(d.month, 2);
                break;
            case 'd':
                padded(d.day, 2);
                break;
            case 'H':
                padded(d.hour, 2);
                break;
            case 'h':
                padded(hour12, 2);
                break;
            case 'm':
                padded(d.minute, 2);
                break;
            case 's':
                padded(d.second, 2);
                break;
            case 'f':
                out += fraction.substr(0, run);
                break;
            case 'F': {
                std::string shown = fraction.substr(0, run);
                while (!shown.empty() && shown.back() == '0') shown.pop_back();
                out += shown;
                break;
            }
            case 't':
                out += std::string_view(d.hour < 12 ? "AM" : "PM").substr(0, run);
                break;
            default:
                out.append(run, c);
                break;
        }
        i += run;
    }
    return out;
}

}  // namespace orrery
