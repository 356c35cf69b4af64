#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/document.h"
#include "json/item.h"
#include "json/value.h"

namespace orrery::partition {

/// One list of paths per unique key constraint of a container.
using UniqueKeys = std::vector<std::vector<json::MemberPath>>;

/// Names of an item's entries in `ids` (kind unique key), one per constraint, in order. Two items
/// have the same name exactly when their values under that constraint are equal: with type and
/// case, numbers as doubles, a missing value as null, objects without regard to member order; in
/// dialects with typed values, as they compare there. Long values are represented by their SHA-256.
/// docs/formats/partition.md.
Result<std::vector<std::string>> unique_key_names(const UniqueKeys& unique_keys,
                                                  const json::Document& document);

/// The name for given values of constraint number `ordinal`.
std::string unique_key_name(size_t ordinal, const std::vector<json::Value>& values,
                            json::Dialect dialect = json::Dialect::kNosql);

}  // namespace orrery::partition
