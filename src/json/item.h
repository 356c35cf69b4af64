#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/dialect.h"
#include "json/item_id.h"
#include "json/value.h"

namespace orrery::json {

/// A property path as a list of member names: {"a","b"} for /a/b.
using MemberPath = std::vector<std::string>;

/// Receives an item's contents in document order. System properties, where the dialect has them in
/// items, are never shown; the outermost object is the item itself and is not announced by
/// container().
/// Paths are announced by enter/leave pairs; a visitor that returns false from enter_* gets no
/// events for that subtree (and no matching leave()).
class ItemVisitor {
public:
    virtual ~ItemVisitor() = default;
    virtual bool enter_member(std::string_view name) = 0;
    virtual bool enter_element() = 0;
    virtual void leave() = 0;
    /// A value that is neither array nor object, at the current path. Valid during the call.
    virtual void scalar(const Value& value) = 0;
    /// An array or object at the current path, before its contents.
    virtual void container(Type type) = 0;
};

/// What the walk over an incoming item yields besides the visitor's events.
struct IncomingItem {
    /// Minified JSON: property order and number texts as sent, fewest escapes; in the dialect nosql
    /// without the client's _rid, _self, _etag, _ts, _attachments and _lsn. Its size is the item's
    /// size.
    std::string text;
    /// The core id that the item itself has; empty where the dialect keeps ids beside items.
    std::string id;
    /// One per requested partition key path: a scalar, or undefined when the path is missing or
    /// leads to an array or object. Strings are owned by `arena`.
    std::vector<Value> partition_key;
    /// The top-level `ttl` member as sent; undefined if absent, or if the dialect reserves none.
    Value ttl;
    Arena arena;
};

struct ItemRules {
    const std::vector<MemberPath>* partition_key_paths = nullptr;  ///< borrowed
    Dialect dialect = Dialect::kNosql;
};

/// One pass over a request body: validates the JSON (as parse() does, duplicate names refused,
/// depth limit), the size limit, and extracts what a write needs. The top level must be an
/// object. Where the dialect reserves members, the id is checked too (present, a string, 1..1023
/// bytes, no '/' or '\'). `visitor` may be null.
Result<IncomingItem> read_item(std::string_view body, const ItemRules& rules, ItemVisitor* visitor);

/// The same events for a stored text (IncomingItem::text of an earlier write; trusted, but damage
/// is reported, not undefined behaviour).
Status walk_item(std::string_view text, ItemVisitor& visitor, Dialect dialect = Dialect::kNosql);
/// The same for a value at the visitor's current path.
void walk_value(const Value& value, ItemVisitor& visitor);

/// The values at `paths` in a stored text, undefined where missing; arrays and objects are returned
/// whole. Strings are copied into `arena`. Stops reading after the last value found.
Result<std::vector<Value>> extract(std::string_view text, const std::vector<MemberPath>& paths,
                                   Arena& arena, Dialect dialect = Dialect::kNosql);

/// The members that the server adds to an item on output and drops from incoming ones:
/// _rid, _self, _etag, _ts, _attachments and _lsn, at the top level only.
bool is_system_property(std::string_view name);

}  // namespace orrery::json
