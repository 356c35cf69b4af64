#include <array>
#include <cmath>
#include <limits>

#include "base/datetime.h"
#include "query/functions/functions.h"
#include "query/parse/number.h"

namespace orrery::query {
namespace {

using json::Value;

std::optional<Ticks> date_argument(const Value& v) {
    return v.is_string() ? parse_date_time(v.as_string()) : std::nullopt;
}

std::optional<DatePart> part_argument(const Value& v) {
    return v.is_string() ? parse_date_part(v.as_string()) : std::nullopt;
}

/// An integer argument that must fit an int.
std::optional<int> int_argument(const Value& v) {
    const auto i = exact_int64(v);
    if (!i || *i < std::numeric_limits<int>::min() || *i > std::numeric_limits<int>::max())
        return std::nullopt;
    return static_cast<int>(*i);
}

Value text_value(EvalContext& context, std::optional<Ticks> ticks) {
    if (!ticks) return {};
    const auto text = format_date_time(*ticks);
    return text ? Value::string(context.arena->copy(*text)) : Value();
}

/// Clients read large counts as doubles, so round them here.
Value count_value(int64_t v) {
    return number_value(static_cast<double>(v));
}

Ticks now(EvalContext& context) {
    return context.clock->wall_us() * kTicksPerMicrosecond;
}
Ticks static_now(EvalContext& context) {
    return context.static_now_us * kTicksPerMicrosecond;
}

int64_t milliseconds(Ticks ticks) {
    return ticks >= 0 ? ticks / kTicksPerMillisecond
                      : -((-ticks + kTicksPerMillisecond - 1) / kTicksPerMillisecond);
}

template <Ticks (*Now)(EvalContext&)>
Value current_date_time(EvalContext& context, Arguments) {
    return text_value(context, Now(context));
}
template <Ticks (*Now)(EvalContext&)>
Value current_ticks(EvalContext& context, Arguments) {
    return count_value(Now(context));
}
template <Ticks (*Now)(EvalContext&)>
Value current_timestamp(EvalContext& context, Arguments) {
    return count_value(milliseconds(Now(context)));
}

/// now + sign * n parts
Value shifted_now(EvalContext& context, Arguments args, int sign) {
    const auto part = part_argument(args[0]);
    const auto count = exact_int64(args[1]);
    if (!part || !count || *count == std::numeric_limits<int64_t>::min()) return {};
    return text_value(context, add_parts(now(context), *part, sign * *count));
}

Value now_function(EvalContext& context, Arguments args) {
    return args.empty() ? text_value(context, now(context)) : shifted_now(context, args, 1);
}
Value ago(EvalContext& context, Arguments args) {
    return shifted_now(context, args, -1);
}

Value add(EvalContext& context, Arguments args) {
    const auto part = part_argument(args[0]);
    const auto count = exact_int64(args[1]);
    const auto date = date_argument(args[2]);
    if (!part || !count || !date) return {};
    return text_value(context, add_parts(*date, *part, *count));
}

Value diff(EvalContext&, Arguments args) {
    const auto part = part_argument(args[0]);
    const auto start = date_argument(args[1]);
    const auto end = date_argument(args[2]);
    if (!part || !start || !end) return {};
    return number_value(parts_between(*part, *start, *end));
}

Value part_function(EvalContext&, Arguments args) {
    const auto part = part_argument(args[0]);
    const auto date = date_argument(args[1]);
    if (!part || !date) return {};
    return Value::integer(part_of(*part, *date));
}

template <DatePart Part>
Value fixed_part(EvalContext&, Arguments args) {
    const auto date = date_argument(args[0]);
    return date ? Value::integer(part_of(Part, *date)) : Value();
}

Value bin(EvalContext& context, Arguments args) {
    const auto date = date_argument(args[0]);
    const auto part = part_argument(args[1]);
    int64_t size = 1;
    Ticks origin = 0;
    if (args.size() > 2) {
        const auto given = exact_int64(args[2]);
        if (!given || *given <= 0) return {};
        size = *given;
    }
    if (args.size() > 3) {
        const auto given = date_argument(args[3]);
        constexpr Ticks kYear1601 = -116'444'736'000'000'000;
        if (!given || *given < kYear1601) return {};
        origin = *given;
    }
    if (!date || !part) return {};
    return text_value(context, bin_parts(*date, *part, size, origin));
}

Value from_parts(EvalContext& context, Arguments args) {
    DateTime d;
    int* const fields[] = {&d.year, &d.month, &d.day, &d.hour, &d.minute, &d.second, &d.fraction};
    for (size_t i = 0; i < args.size(); ++i) {
        const auto v = int_argument(args[i]);
        if (!v) return {};
        *fields[i] = *v;
    }
    return text_value(context, to_ticks(d));
}

Value to_ticks_function(EvalContext&, Arguments args) {
    const auto date = date_argument(args[0]);
    return date ? count_value(*date) : Value();
}

Value to_timestamp(EvalContext&, Arguments args) {
    const auto date = date_argument(args[0]);
    return date ? count_value(milliseconds(*date)) : Value();
}

template <int64_t Unit>
Value from_count(EvalContext& context, Arguments args) {
    if (!args[0].is_number()) return {};
    const double ticks = std::trunc(args[0].as_double()) * static_cast<double>(Unit);
    if (!(std::fabs(ticks) < 9e18)) return {};
    if (args[0].is_int64()) return text_value(context, args[0].as_int64() * Unit);
    return text_value(context, static_cast<Ticks>(ticks));
}

Value format(EvalContext& context, Arguments args) {
    const auto date = date_argument(args[0]);
    if (!date || !args[1].is_string()) return {};
    const std::string_view pattern = args[1].as_string();
    if (!context.may_allocate(pattern.size() * 2)) return {};
    return Value::string(context.arena->copy(custom_format(*date, pattern)));
}

using enum FunctionFamily;

constexpr std::array kFunctions = {
    FunctionSpec{"GetCurrentDateTime()", 0, 0, kVolatile, current_date_time<now>},
    FunctionSpec{"GetCurrentTicks()", 0, 0, kVolatile, current_ticks<now>},
    FunctionSpec{"GetCurrentTimestamp()", 0, 0, kVolatile, current_timestamp<now>},
    FunctionSpec{"GETCURRENTDATETIMESTATIC", 0, 0, kVolatile, current_date_time<static_now>},
    FunctionSpec{"GETCURRENTTICKSSTATIC", 0, 0, kVolatile, current_ticks<static_now>},
    FunctionSpec{"GETCURRENTTIMESTAMPSTATIC", 0, 0, kVolatile, current_timestamp<static_now>},
    FunctionSpec{"NOW", 0, 2, kVolatile, now_function, /*none_between=*/true},
    FunctionSpec{"AGO", 2, 2, kVolatile, ago},
    FunctionSpec{"DateTimeAdd(part, number, dateTime)", 3, 3, kPure, add},
    FunctionSpec{"DateTimeDiff(part, start, end)", 3, 3, kPure, diff},
    FunctionSpec{"DateTimePart(part, dateTime)", 2, 2, kPure, part_function},
    FunctionSpec{"DateTimeBin(dateTime, part, size?, origin?)", 2, 4, kPure, bin},
    FunctionSpec{"DateTimeFromParts(year, month, day, …)", 3, 7, kPure, from_parts},
    FunctionSpec{"DateTimeToTicks(dateTime)", 1, 1, kPure, to_ticks_function},
    FunctionSpec{"DateTimeToTimestamp(dateTime)", 1, 1, kPure, to_timestamp},
    FunctionSpec{"TicksToDateTime(ticks)", 1, 1, kPure, from_count<1>},
    FunctionSpec{"TimestampToDateTime(milliseconds)", 1, 1, kPure,
                 from_count<kTicksPerMillisecond>},
    FunctionSpec{"DATETIMEFORMAT", 2, 2, kPure, format},
    FunctionSpec{"YEAR", 1, 1, kPure, fixed_part<DatePart::kYear>},
    FunctionSpec{"MONTH", 1, 1, kPure, fixed_part<DatePart::kMonth>},
    FunctionSpec{"DAY", 1, 1, kPure, fixed_part<DatePart::kDay>},
};

}  // namespace

std::span<const FunctionSpec> date_functions() {
    return kFunctions;
}

}  // namespace orrery::query
