#pragma once

#include <string>

#include "base/status.h"
#include "json/value.h"

namespace orrery::cli {

/// An item of a MongoDB dump (mongoexport: extended JSON, version 1 and 2, relaxed and canonical)
/// as plain JSON:
///
///   $oid, $symbol, $uuid, $code          the text
///   $date                                 ISO 8601 in UTC with milliseconds
///   $numberInt, $numberLong               the integer
///   $numberDouble                         the number; NaN and the infinities as text
///   $numberDecimal                        the number where a double keeps it, else the text
///   $binary                               base64 text; a UUID (subtype 4) as its text
///   $timestamp                            {"t":…,"i":…}
///   $regularExpression, $regex            "/pattern/options"
///   $minKey, $maxKey                      "MinKey", "MaxKey"
///   $undefined                            left out
///   $dbPointer, $ref                      the object, its id converted
///
/// Errors say what cannot be converted. The result borrows from `item` and `arena`.
Result<json::Value> mongo_to_json(const json::Value& item, json::Arena& arena);

/// The converted item with its `_id` as `id`: texts as they are, numbers as their digits.
Result<json::Value> mongo_id_to_id(const json::Value& item, json::Arena& arena);

}  // namespace orrery::cli
