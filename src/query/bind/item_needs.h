#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "json/item.h"
#include "query/parse/ast.h"

namespace orrery::query {

/// What a query looks at in an item besides copying it whole.
struct ItemNeeds {
    bool whole = false;                   ///< `paths` does not tell all
    std::vector<json::MemberPath> paths;  ///< each once; system properties among them
    bool system = false;                  ///< one of the paths is a system property
};

/// What a computed property that the query uses looks at; null for other names.
using ComputedNeeds = std::function<const ItemNeeds*(std::string_view name)>;

/// `copies_item`: the rows are the items themselves (SELECT *, SELECT VALUE c).
ItemNeeds item_needs(const ast::Query& query, bool copies_item, const ComputedNeeds& computed = {});

}  // namespace orrery::query
