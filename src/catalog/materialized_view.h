#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/item.h"
#include "storage/keys.h"

/// Materialized views: containers that the server fills from another container's log.
namespace orrery::catalog {

/// What a materialized view shows of its source. Immutable.
struct MaterializedViewDefinition {
    struct Property {
        std::string name;  ///< in the view: the last name of the path
        json::MemberPath path;
    };
    std::string source_id;   ///< of a container in the same database
    std::string source_rid;  ///< of the same one; either may be missing in a request
    std::string select;      ///< `SELECT …` as given
    bool whole = false;      ///< `SELECT *`
    std::vector<Property> properties;

    bool shows(std::string_view name) const;
};
using MaterializedViewDefinitionPtr = std::shared_ptr<const MaterializedViewDefinition>;

/// Of a source (one of the two names may be empty) and a SELECT, which may name properties of the
/// one FROM alias, or `*`, and nothing else. A bad request says what is not allowed.
Result<MaterializedViewDefinitionPtr> make_materialized_view(std::string source_id,
                                                             std::string source_rid,
                                                             std::string select);

/// The id that a materialized view's item has: another one for each item that the source ever had.
std::string materialized_view_item_id(std::string_view source_item_rid);

/// The materialized view's item for a source item: `id`, `_id` (the source's id), then what the
/// definition names, null where the source has nothing. `item`: the source item as stored.
std::string materialized_view_item(const MaterializedViewDefinition& view, std::string_view id,
                                   const json::Value& item);

/// How far a materialized view has come.
struct MaterializedViewProgress {
    bool built = false;  ///< it has once held everything that its source held
    /// By number of the source's range: its log was applied up to here.
    std::map<uint32_t, storage::Lsn> positions;
    friend bool operator==(const MaterializedViewProgress&,
                           const MaterializedViewProgress&) = default;
};

}  // namespace orrery::catalog
