#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index/policy.h"
#include "json/value.h"
#include "query/page.h"

/// What is under SQL: items by conditions on paths, in an order, page by page. It knows no
/// language: whoever asks brings their own meaning as predicates and as a sink. Access paths,
/// costs, positions and what is counted for the charge are the same as for a query in SQL.
namespace orrery::query {

/// Tried on a value of a path, scalar or not; arrays and objects are shown as items hold them.
class ValuePredicate {
public:
    virtual ~ValuePredicate() = default;
    virtual bool holds(const json::Value& value) const = 0;
};

/// What a selection asks of the values at one path. Paths lead to what items store. A step that is
/// any element of an array stands for all of them: one value that does is enough.
struct PathCondition {
    enum class Kind : uint8_t {
        kOneOf,    ///< one of `values`
        kRange,    ///< of the type of the bounds and between them
        kDefined,  ///< there is a value
        kTested,   ///< `test` holds for it
    };
    struct Bound {
        json::Value value;
        bool inclusive = true;
    };
    Kind kind = Kind::kOneOf;
    std::vector<index::PathStep> path;
    std::vector<json::Value> values;
    std::optional<Bound> lower;  ///< scalars; one of both may be missing
    std::optional<Bound> upper;
    const ValuePredicate* test = nullptr;
};
/// Holds where one of its parts does.
using AnyCondition = std::vector<PathCondition>;

/// Decides about items that satisfy the conditions. `item` is what is stored, without system
/// properties.
class ItemPredicate {
public:
    virtual ~ItemPredicate() = default;
    virtual Result<bool> holds(const json::Value& item, const json::Document& document) = 0;
};

/// An item by its key.
struct ItemKey {
    std::string epk;
    std::string id;
};

/// Which ids a walk in the primary order shows, of every key in its scope.
struct IdBounds {
    std::string from;
    std::optional<std::string> to;  ///< nullopt: no bound
    bool from_inclusive = true;
    bool to_inclusive = false;

    bool contains(std::string_view id) const {
        return (from_inclusive ? id >= from : id > from) &&
               (!to || (to_inclusive ? id <= *to : id < *to));
    }
};

struct SelectionOrder {
    enum class Kind : uint8_t {
        kAny,
        kPaths,    ///< by values, as the index orders them; items that lack the path first
        kPrimary,  ///< (EPK, id)
    };
    struct Key {
        std::vector<index::PathStep> path;  ///< names only
        bool descending = false;
    };
    Kind kind = Kind::kAny;
    std::vector<Key> keys;  ///< kPaths
    bool backward = false;  ///< kPrimary
    IdBounds ids;           ///< kPrimary
};

/// Which conditions may find items; the others are tested on them.
struct SelectionHint {
    enum class Kind : uint8_t { kNone, kScan, kPath };
    Kind kind = Kind::kNone;
    std::vector<index::PathStep> path;  ///< kPath: those on it alone
};

/// Everything is borrowed or small; values outlive the call.
struct Selection {
    PageScope scope;
    std::vector<AnyCondition> conditions;  ///< all of them hold
    ItemPredicate* residual = nullptr;     ///< and so does this
    SelectionOrder order;
    /// The items to look at, one after the other; then no order is asked for. nullopt: all.
    std::optional<std::vector<ItemKey>> keys;
    SelectionHint hint;
    uint64_t skip = 0;
    uint64_t limit = UINT64_MAX;
};

/// Runs one page: the sink gets the items that were selected. Worker thread, or over a view with a
/// budget any.
Result<PageAnswer> select_page(const Selection& selection);

}  // namespace orrery::query
