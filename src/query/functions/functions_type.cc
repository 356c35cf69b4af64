#include <array>
#include <cmath>

#include "base/datetime.h"
#include "base/encoding.h"
#include "query/functions/functions.h"
#include "query/parse/number.h"

namespace orrery::query {
namespace {

using json::Value;

template <bool (*Is)(const Value&)>
Value check(EvalContext&, Arguments args) {
    return Value::boolean(Is(args[0]));
}

bool is_defined(const Value& v) {
    return !v.is_undefined();
}
bool is_null(const Value& v) {
    return v.is_null();
}
bool is_bool(const Value& v) {
    return v.is_bool();
}
bool is_number(const Value& v) {
    return v.is_number();
}
bool is_string(const Value& v) {
    return v.is_string();
}
bool is_array(const Value& v) {
    return v.is_array();
}
bool is_object(const Value& v) {
    return v.is_object();
}
bool is_primitive(const Value& v) {
    return v.is_scalar();
}
bool is_integer(const Value& v) {
    return exact_int64(v).has_value();
}
bool is_finite_number(const Value& v) {
    return v.is_number() && std::isfinite(v.as_double());
}
bool is_date_time(const Value& v) {
    return v.is_string() && parse_date_time(v.as_string()).has_value();
}

/// The part of `_rid` that numbers items within a container.
Value document_id(EvalContext&, Arguments args) {
    const Value rid = args[0].member("_rid");
    if (!rid.is_string()) return {};
    const auto bytes = rid_decode(rid.as_string());
    if (!bytes || bytes->size() < 16) return {};
    uint64_t id = 0;
    for (size_t i = 8; i < 16; ++i)
        id |= uint64_t{static_cast<unsigned char>((*bytes)[i])} << (8 * (i - 8));
    return Value::integer(static_cast<int64_t>(id & INT64_MAX));
}

using enum FunctionFamily;

constexpr std::array kFunctions = {
    by_index(FunctionSpec{"IS_DEFINED(expression)", 1, 1, kPure, check<is_defined>}),
    by_index(FunctionSpec{"IS_NULL(expression)", 1, 1, kPure, check<is_null>}),
    by_index(FunctionSpec{"IS_BOOL(expression)", 1, 1, kPure, check<is_bool>}),
    FunctionSpec{"IS_BOOLEAN", 1, 1, kPure, check<is_bool>},  // as clients' resume filters say
    by_index(FunctionSpec{"IS_NUMBER(expression)", 1, 1, kPure, check<is_number>}),
    by_index(FunctionSpec{"IS_STRING(expression)", 1, 1, kPure, check<is_string>}),
    by_index(FunctionSpec{"IS_ARRAY(expression)", 1, 1, kPure, check<is_array>}),
    by_index(FunctionSpec{"IS_OBJECT(expression)", 1, 1, kPure, check<is_object>}),
    by_index(FunctionSpec{"IS_PRIMITIVE(expression)", 1, 1, kPure, check<is_primitive>}),
    by_index(FunctionSpec{"IS_INTEGER(expression)", 1, 1, kPure, check<is_integer>}),
    by_index(FunctionSpec{"IS_FINITE_NUMBER(expression)", 1, 1, kPure, check<is_finite_number>}),
    FunctionSpec{"IS_DATETIME", 1, 1, kPure, check<is_date_time>},
    FunctionSpec{"DOCUMENTID(c)", 1, 1, kPure, document_id},
};

}  // namespace

std::span<const FunctionSpec> type_functions() {
    return kFunctions;
}

}  // namespace orrery::query
