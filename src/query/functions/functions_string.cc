#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "base/find_bytes.h"
#include "json/text.h"
#include "query/functions/functions.h"
#include "query/functions/regex.h"
#include "query/limits.h"
#include "query/parse/number.h"

namespace orrery::query {
namespace {

using json::Value;

bool all_strings(Arguments args) {
    return std::all_of(args.begin(), args.end(), [](const Value& v) { return v.is_string(); });
}

Value make_string(EvalContext& context, std::string_view text) {
    if (!context.may_allocate(text.size())) return {};
    return Value::string(context.arena->copy(text));
}

/// Counts the work of reading so many bytes of text.
bool charge_text(EvalContext& context, size_t bytes) {
    constexpr size_t kBytesPerUnit = 64;
    return bytes < kBytesPerUnit || context.charge(bytes / kBytesPerUnit);
}

/// A count argument: whole part, clipped to what a string can have; nullopt for NaN.
std::optional<int64_t> count_argument(const Value& v) {
    if (!v.is_number() || std::isnan(v.as_double())) return std::nullopt;
    return static_cast<int64_t>(std::clamp(std::trunc(v.as_double()), -1e15, 1e15));
}

size_t not_negative(int64_t v) {
    return v < 0 ? 0 : static_cast<size_t>(v);
}

Value concat(EvalContext& context, Arguments args) {
    if (!all_strings(args)) return {};
    size_t bytes = 0;
    for (const Value& v : args) bytes += v.as_string().size();
    if (!context.may_allocate(bytes)) return {};
    char* const out = context.arena->allocate(bytes, 1);
    char* to = out;
    for (const Value& v : args) to = std::copy(v.as_string().begin(), v.as_string().end(), to);
    return Value::string({out, bytes});
}

// --- comparisons with an optional "ignore case" argument ----------------------------------------

bool contains(std::string_view s, std::string_view t) {
    return find_bytes(s, t) != std::string_view::npos;
}
bool starts(std::string_view s, std::string_view t) {
    return s.starts_with(t);
}
bool ends(std::string_view s, std::string_view t) {
    return s.ends_with(t);
}
bool same(std::string_view s, std::string_view t) {
    return s == t;
}

using Predicate = bool (*)(std::string_view, std::string_view);

bool test_ignoring_case(EvalContext& context, Predicate predicate, std::string_view s,
                        std::string_view t) {
    return predicate(json::upper_case(s, *context.arena), json::upper_case(t, *context.arena));
}

template <Predicate P>
Value compare(EvalContext& context, Arguments args) {
    if (!args[0].is_string() || !args[1].is_string()) return {};
    bool ignore_case = false;
    if (args.size() == 3) {
        if (!args[2].is_bool()) return {};
        ignore_case = args[2].as_bool();
    }
    const std::string_view s = args[0].as_string();
    const std::string_view t = args[1].as_string();
    if (!charge_text(context, s.size())) return {};
    if (!ignore_case) return Value::boolean(P(s, t));
    if (!context.may_allocate(s.size() + t.size())) return {};
    return Value::boolean(test_ignoring_case(context, P, s, t));
}

/// Three-valued OR (Any) or AND over the terms.
template <bool Any, bool IgnoreCase>
Value contains_terms(EvalContext& context, Arguments args) {
    if (!args[0].is_string()) return {};
    const std::string_view s = args[0].as_string();
    bool unknown = false;
    for (const Value& term : args.subspan(1)) {
        if (!term.is_string()) {
            unknown = true;
            continue;
        }
        const std::string_view t = term.as_string();
        if (!charge_text(context, s.size())) return {};
        if (IgnoreCase && !context.may_allocate(s.size() + t.size())) return {};
        const bool hit = IgnoreCase ? test_ignoring_case(context, contains, s, t) : contains(s, t);
        if (hit == Any) return Value::boolean(Any);
    }
    return unknown ? Value() : Value::boolean(!Any);
}

// --- positions ----------------------------------------------------------------------------------

Value index_of(EvalContext& context, Arguments args) {
    if (!args[0].is_string() || !args[1].is_string()) return {};
    if (!charge_text(context, args[0].as_string().size())) return {};
    const std::string_view s = args[0].as_string();
    size_t from = 0;
    if (args.size() == 3) {
        const auto start = count_argument(args[2]);
        if (!start) return {};
        const size_t position = not_negative(*start);
        if (position > json::text_length(s)) return Value::integer(-1);
        from = json::text_offset(s, position);
    }
    const size_t at = find_bytes(s, args[1].as_string(), from);
    if (at == std::string_view::npos) return Value::integer(-1);
    return Value::integer(static_cast<int64_t>(json::text_position(s, at)));
}

Value last_index_of(EvalContext& context, Arguments args) {
    if (!args[0].is_string() || !args[1].is_string()) return {};
    if (!charge_text(context, args[0].as_string().size())) return {};
    std::string_view s = args[0].as_string();
    if (args.size() == 3) {
        const auto last = count_argument(args[2]);
        if (!last) return {};
        if (*last < 0) return Value::integer(-1);
        s = s.substr(0, json::text_offset(s, static_cast<size_t>(*last) + 1));
    }
    const size_t at = json::find_last_text(s, args[1].as_string());
    if (at == std::string_view::npos) return Value::integer(-1);
    return Value::integer(static_cast<int64_t>(json::text_position(s, at)));
}

Value left(EvalContext& context, Arguments args) {
    const auto count = count_argument(args[1]);
    if (!args[0].is_string() || !count) return {};
    return Value::string(
        json::text_slice(args[0].as_string(), 0, not_negative(*count), *context.arena));
}

Value right(EvalContext& context, Arguments args) {
    const auto count = count_argument(args[1]);
    if (!args[0].is_string() || !count) return {};
    const size_t length = json::text_length(args[0].as_string());
    const size_t taken = std::min(length, not_negative(*count));
    return Value::string(
        json::text_slice(args[0].as_string(), length - taken, taken, *context.arena));
}

Value substring(EvalContext& context, Arguments args) {
    const auto start = count_argument(args[1]);
    const auto count = count_argument(args[2]);
    if (!args[0].is_string() || !start || !count) return {};
    return Value::string(json::text_slice(args[0].as_string(), not_negative(*start),
                                          not_negative(*count), *context.arena));
}

Value length(EvalContext&, Arguments args) {
    if (!args[0].is_string()) return {};
    return Value::integer(static_cast<int64_t>(json::text_length(args[0].as_string())));
}

// --- transformations ----------------------------------------------------------------------------

using Transformation = std::string_view (*)(std::string_view, json::Arena&);

template <Transformation F>
Value transform(EvalContext& context, Arguments args) {
    if (!args[0].is_string() || !context.may_allocate(args[0].as_string().size() * 2)) return {};
    if (!charge_text(context, args[0].as_string().size())) return {};
    return Value::string(F(args[0].as_string(), *context.arena));
}

template <json::TrimEnds Ends>
Value trim(EvalContext&, Arguments args) {
    if (!all_strings(args)) return {};
    return Value::string(args.size() == 2
                             ? json::trim_characters(args[0].as_string(), args[1].as_string(), Ends)
                             : json::trim_white_space(args[0].as_string(), Ends));
}

Value replace(EvalContext& context, Arguments args) {
    if (!all_strings(args)) return {};
    const std::string_view s = args[0].as_string();
    const std::string_view find = args[1].as_string();
    const std::string_view by = args[2].as_string();
    if (find.empty()) return args[0];
    if (!charge_text(context, s.size())) return {};
    std::string out;
    size_t from = 0;
    for (size_t at = find_bytes(s, find); at != std::string_view::npos;
         at = find_bytes(s, find, from)) {
        out.append(s, from, at - from);
        out += by;
        from = at + find.size();
        if (!context.may_allocate(out.size())) return {};
    }
    out.append(s, from);
    return make_string(context, out);
}

Value replicate(EvalContext& context, Arguments args) {
    const auto count = count_argument(args[1]);
    if (!args[0].is_string() || !count || *count < 0 || !std::isfinite(args[1].as_double()))
        return {};
    const std::string_view s = args[0].as_string();
    const size_t characters = json::text_length(s);
    const auto times = static_cast<size_t>(*count);
    if (characters > 0 && times > limits::kReplicateCharactersMax / characters) return {};
    std::string out;
    if (!s.empty())
        for (size_t i = 0; i < times; ++i) out += s;
    return make_string(context, out);
}

Value join(EvalContext& context, Arguments args) {
    if (!args[0].is_array() || !args[1].is_string()) return {};
    std::string out;
    bool first = true;
    for (const Value& v : args[0].elements()) {
        if (!v.is_string()) return {};
        if (!first) out += args[1].as_string();
        first = false;
        out += v.as_string();
        if (!context.may_allocate(out.size())) return {};
    }
    return make_string(context, out);
}

Value split(EvalContext& context, Arguments args) {
    if (!all_strings(args)) return {};
    const std::string_view s = args[0].as_string();
    const std::string_view separator = args[1].as_string();
    if (!charge_text(context, s.size())) return {};
    std::vector<Value> parts;
    size_t from = 0;
    if (!separator.empty()) {
        for (size_t at = find_bytes(s, separator); at != std::string_view::npos;
             at = find_bytes(s, separator, from)) {
            parts.push_back(Value::string(s.substr(from, at - from)));
            from = at + separator.size();
        }
    }
    parts.push_back(Value::string(s.substr(from)));
    if (!context.may_allocate(parts.size() * sizeof(Value))) return {};
    return Value::array(context.arena->copy(std::span<const Value>(parts)));
}

Value regex(EvalContext& context, Arguments args) {
    if (!all_strings(args) || !charge_text(context, args[0].as_string().size())) return {};
    return to_value(regex_match(context, args[0].as_string(), args[1].as_string(),
                                args.size() == 3 ? args[2].as_string() : std::string_view()));
}

using enum FunctionFamily;

constexpr std::array kFunctions = {
    FunctionSpec{"CONCAT(string, string, …)", 2, kAnyCount, kPure, concat},
    by_index(FunctionSpec{"CONTAINS(string, part, ignoreCase?)", 2, 3, kPure, compare<contains>}),
    by_index(FunctionSpec{"STARTSWITH(string, start, ignoreCase?)", 2, 3, kPure, compare<starts>}),
    by_index(FunctionSpec{"ENDSWITH(string, end, ignoreCase?)", 2, 3, kPure, compare<ends>}),
    by_index(FunctionSpec{"STRINGEQUALS(string, string, ignoreCase?)", 2, 3, kPure, compare<same>}),
    FunctionSpec{"CONTAINS_ANY_CI", 2, kAnyCount, kPure, contains_terms<true, true>},
    FunctionSpec{"CONTAINS_ANY_CS", 2, kAnyCount, kPure, contains_terms<true, false>},
    FunctionSpec{"CONTAINS_ALL_CI", 2, kAnyCount, kPure, contains_terms<false, true>},
    FunctionSpec{"CONTAINS_ALL_CS", 2, kAnyCount, kPure, contains_terms<false, false>},
    FunctionSpec{"CONTAINSANYCI", 2, kAnyCount, kPure, contains_terms<true, true>},
    FunctionSpec{"CONTAINSANYCS", 2, kAnyCount, kPure, contains_terms<true, false>},
    FunctionSpec{"CONTAINSALLCI", 2, kAnyCount, kPure, contains_terms<false, true>},
    FunctionSpec{"CONTAINSALLCS", 2, kAnyCount, kPure, contains_terms<false, false>},
    FunctionSpec{"INDEX_OF(string, part, start?)", 2, 3, kPure, index_of},
    FunctionSpec{"LASTINDEXOF", 2, 3, kPure, last_index_of},
    FunctionSpec{"LEFT(string, length)", 2, 2, kPure, left},
    FunctionSpec{"RIGHT(string, length)", 2, 2, kPure, right},
    FunctionSpec{"SUBSTRING(string, start, length)", 3, 3, kPure, substring},
    FunctionSpec{"LENGTH(string)", 1, 1, kPure, length},
    FunctionSpec{"LOWER(string)", 1, 1, kPure, transform<json::lower_case>},
    FunctionSpec{"UPPER(string)", 1, 1, kPure, transform<json::upper_case>},
    FunctionSpec{"REVERSE(string)", 1, 1, kPure, transform<json::reverse>},
    FunctionSpec{"LTRIM(string, characters?)", 1, 2, kPure, trim<json::TrimEnds::kStart>},
    FunctionSpec{"RTRIM(string, characters?)", 1, 2, kPure, trim<json::TrimEnds::kEnd>},
    FunctionSpec{"TRIM(string, characters?)", 1, 2, kPure, trim<json::TrimEnds::kBoth>},
    FunctionSpec{"REPLACE(string, find, replacement)", 3, 3, kPure, replace},
    FunctionSpec{"REPLICATE(string, times)", 2, 2, kPure, replicate},
    FunctionSpec{"StringJoin(array, separator)", 2, 2, kPure, join},
    FunctionSpec{"StringSplit(string, separator)", 2, 2, kPure, split},
    by_index(FunctionSpec{"RegexMatch(string, pattern, modifiers?)", 2, 3, kPure, regex}),
};

}  // namespace

std::span<const FunctionSpec> string_functions() {
    return kFunctions;
}

}  // namespace orrery::query
