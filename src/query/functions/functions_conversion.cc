#include <array>
#include <cmath>
#include <string>

#include "json/parse.h"
#include "json/write.h"
#include "query/functions/functions.h"
#include "query/functions/values.h"
#include "query/limits.h"

namespace orrery::query {
namespace {

using json::Type;
using json::Value;

Value to_string(EvalContext& context, Arguments args) {
    const Value& v = args[0];
    if (v.is_undefined() || v.is_string()) return v;
    if (v.is_number() && !std::isfinite(v.as_double())) {
        if (std::isnan(v.as_double())) return Value::string("NaN");
        return Value::string(v.as_double() > 0 ? "Infinity" : "-Infinity");
    }
    if (!context.may_allocate(bounded_size(v, limits::kEvaluationBytesMax) * 2)) return {};
    return Value::string(context.arena->copy(json::to_text(v, json::NumberForm::kCanonical)));
}

std::string_view trim_json_blanks(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r\n";
    const size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// The JSON text of a value of one type, or undefined.
template <Type Wanted>
Value parse_as(EvalContext& context, Arguments args) {
    if (!args[0].is_string()) return {};
    const std::string_view text = trim_json_blanks(args[0].as_string());
    if (!context.may_allocate(text.size() * 8)) return {};
    auto parsed =
        json::parse(text, *context.arena,
                    {.depth_max = json::ParseOptions().depth_max, .refuse_duplicate_names = false});
    if (!parsed.ok() || parsed->type() != Wanted) return {};
    return *parsed;
}

using enum FunctionFamily;

constexpr std::array kFunctions = {
    FunctionSpec{"ToString(expression)", 1, 1, kPure, to_string},
    FunctionSpec{"StringToNumber(string)", 1, 1, kPure, parse_as<Type::kNumber>},
    FunctionSpec{"StringToBoolean(string)", 1, 1, kPure, parse_as<Type::kBool>},
    FunctionSpec{"StringToNull(string)", 1, 1, kPure, parse_as<Type::kNull>},
    FunctionSpec{"StringToArray(string)", 1, 1, kPure, parse_as<Type::kArray>},
    FunctionSpec{"StringToObject(string)", 1, 1, kPure, parse_as<Type::kObject>},
};

}  // namespace

std::span<const FunctionSpec> conversion_functions() {
    return kFunctions;
}

}  // namespace orrery::query
