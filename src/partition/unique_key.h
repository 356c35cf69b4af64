#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/document.h"
#include "json/item.h"
#include "json/value.h"

namespace orrery::partition {

/// A unique key constraint of a container. Its number is part of the entries in `ids`: a container
/// never gives it to another constraint.
struct UniqueKey {
    uint32_t number = 0;
    std::vector<json::MemberPath> paths;
    friend bool operator==(const UniqueKey&, const UniqueKey&) = default;
};

/// Names of an item's entries in `ids` (kind unique key), one per constraint, in order. Two items
/// have the same name exactly when their values under that constraint are equal: with type and
/// case, numbers as doubles, a missing value as null, objects without regard to member order; in
/// dialects with typed values, as they compare there. Long values are represented by their SHA-256.
/// docs/formats/partition.md.
Result<std::vector<std::string>> unique_key_names(const std::vector<UniqueKey>& unique_keys,
                                                  const json::Document& document);

/// The name for given values of constraint `number`.
std::string unique_key_name(uint32_t number, const std::vector<json::Value>& values,
                            json::Dialect dialect = json::Dialect::kNosql);
/// The constraint that an entry's name belongs to; nullopt: the name is damaged.
std::optional<uint32_t> unique_key_number(std::string_view name);

}  // namespace orrery::partition
