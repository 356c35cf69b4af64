#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "index/policy.h"
#include "query/parse/ast.h"

/// What a person may do about an error in a query, in a sentence or two. Hints stand beside the
/// codes and messages that clients know and never change them. Empty: nothing is known that helps.
/// They are made only when a query is refused, in time linear in its text.
namespace orrery::query::hints {

enum class Form : uint8_t { kQuery, kCondition };
/// For the syntax error at the token that begins at `wrong`.
std::string syntax(std::string_view text, uint32_t wrong, Form form);

/// A name of FROM, and what it was given to.
struct KnownName {
    std::string_view name;
    std::string_view source;  ///< the name behind FROM, where it is another one; else empty
};
/// `known` is what can be named there, the nearest first; `bare`: nothing follows the name.
std::string unknown_name(std::string_view name, std::span<const KnownName> known, bool bare);
std::string unknown_function(std::string_view name);
/// For a function that the service knows and this server refuses.
std::string_view refused_function(std::string_view upper_name);
std::string argument_count(size_t count);
/// `reference` is in the SELECT list, but not in GROUP BY.
std::string not_grouped(std::string_view reference);
/// For an error whose code says everything; empty for others.
std::string_view of_code(std::string_view code);

struct OrderKey {
    std::vector<index::PathStep> steps;
    std::string path;  ///< as in a policy
    bool descending = false;
};
/// The composite index that an ORDER BY needs, or why there can be none.
std::string composite_index(const index::IndexingPolicy& policy, const std::vector<OrderKey>& keys);
/// How the key of an ORDER BY comes to be indexed.
std::string excluded_path(const index::IndexingPolicy& policy, const OrderKey& key);

inline constexpr std::string_view kStarWithoutFrom = "Add a FROM clause: SELECT * FROM c.";
inline constexpr std::string_view kStarWithJoin =
    "Name what you want, as in SELECT c, t, or write SELECT VALUE c.";
inline constexpr std::string_view kSeveralRows =
    "Collect all rows with ARRAY(SELECT VALUE ...), or make one of them with an aggregate.";
inline constexpr std::string_view kAliasTwice = "Give one of the two another alias.";
inline constexpr std::string_view kNameTwice = "Give one of the two another name with AS.";
inline constexpr std::string_view kGroupKey =
    "Compute it in a subquery in FROM and group by its result there.";
inline constexpr std::string_view kSortedGroups =
    "Sort the groups after reading them; there are as many rows as groups.";
inline constexpr std::string_view kEscape = "As in LIKE '50!%' ESCAPE '!'.";
inline constexpr std::string_view kSourcePath =
    "A path in FROM has names and numbers only: FROM c.list, c[\"list\"] or c.list[0].";
inline constexpr std::string_view kCorrelatedOrder =
    "Sort by a property of the item itself; what a JOIN adds can be sorted after reading it.";

}  // namespace orrery::query::hints
