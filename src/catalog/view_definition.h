#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/item.h"
#include "json/value.h"
#include "storage/keys.h"

/// Materialized views: containers that the server fills from another container's log.
namespace orrery::catalog {

/// What a view shows of its source. Immutable.
struct ViewDefinition {
    struct Property {
        std::string name;  ///< in the view: the last name of the path
        json::MemberPath path;
    };
    std::string source_id;   ///< of a container in the same database
    std::string source_rid;  ///< of the same one; either may be missing in a request
    std::string select;      ///< `SELECT …` as given
    bool whole = false;      ///< `SELECT *`
    std::vector<Property> properties;

    /// `materializedViewDefinition` without its status.
    std::string json() const;
    bool shows(std::string_view name) const;
};
using ViewDefinitionPtr = std::shared_ptr<const ViewDefinition>;

/// The container's `materializedViewDefinition`; null: it is no view. The SELECT may name
/// properties of the one FROM alias, or `*`, and nothing else. The error says what is not allowed.
Result<ViewDefinitionPtr> read_view_definition(const json::Value& value);

/// The id that a view's item has: another one for each item that the source ever had.
std::string view_item_id(std::string_view source_item_rid);

/// The view's item for a source item: `id`, `_id` (the source's id), then what the definition
/// names, null where the source has nothing. `item`: the source item as stored.
std::string view_item(const ViewDefinition& view, std::string_view id, const json::Value& item);

/// How far a view has come.
struct ViewProgress {
    bool built = false;  ///< it has once held everything that its source held
    /// By number of the source's range: its log was applied up to here.
    std::map<uint32_t, storage::Lsn> positions;
    friend bool operator==(const ViewProgress&, const ViewProgress&) = default;
};

}  // namespace orrery::catalog
