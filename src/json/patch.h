#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/item.h"
#include "json/value.h"

namespace orrery::json {

enum class PatchKind : uint8_t { kAdd, kSet, kReplace, kRemove, kIncrement, kMove };

struct PatchOperation {
    PatchKind kind = PatchKind::kSet;
    std::vector<std::string> path;  ///< decoded segments (~0, ~1); array indexes and "-" as text
    std::vector<std::string> from;  ///< move only
    Value value;                    ///< add, set, replace, increment
};

struct Patch {
    std::vector<PatchOperation> operations;
    std::string condition;  ///< "from c where …"; empty if none
};

/// Reads a patch body: a bare array, or {"operations":[…],"condition":"…"}. 1..10 operations;
/// every malformed member is a bad request that names the operation and the member. `arena` owns
/// the values.
Result<Patch> parse_patch(const Value& body, Arena& arena);

/// Applies all operations to an item (parsed from its stored text) or none. A bad request when an
/// operation does not apply (missing target of replace/remove, increment of a non-number, index out
/// of range, …) or touches one of `immutable_paths` (the partition key) or, where the dialect
/// reserves members, /id or a system property. The result borrows from `item`, `patch` and `arena`.
Result<Value> apply_patch(const Value& item, const Patch& patch,
                          const std::vector<MemberPath>& immutable_paths, Arena& arena,
                          const DialectRules& rules = json::rules(Dialect::kNosql));

}  // namespace orrery::json
