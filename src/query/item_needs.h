#pragma once

#include <vector>

#include "json/item.h"
#include "query/ast.h"

namespace orrery::query {

/// What a query looks at in an item besides copying it whole.
struct ItemNeeds {
    bool whole = false;                   ///< `paths` does not tell all
    std::vector<json::MemberPath> paths;  ///< each once; system properties among them
    bool system = false;                  ///< one of the paths is a system property
};

/// `copies_item`: the rows are the items themselves (SELECT *, SELECT VALUE c).
ItemNeeds item_needs(const ast::Query& query, bool copies_item);

}  // namespace orrery::query
