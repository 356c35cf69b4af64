#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "index/lookup.h"
#include "index/policy.h"

/// What a filter says about index entries.
namespace orrery::query {

namespace ast {
struct Expr;
}
class Node;
using IndexPathSteps = std::vector<index::PathStep>;

/// Kinds of index work, cheapest first (docs/request-units.md).
enum class LookupKind : uint8_t { kSeek, kPreciseScan, kExpandedScan, kFullIndexScan };

class ValuePredicate;  // query/selection.h

/// An expression of SQL that looks at one path alone, or somebody's own test, tried on a value of
/// it.
struct ValueTest {
    const Node* node = nullptr;
    bool want = true;  ///< the node must be true; otherwise it must be false
    const ValuePredicate* predicate = nullptr;
};

/// A set of items, described by index entries. `exact`: precisely the items for which the
/// expression is true, up to entries that are partial (they say "perhaps"); otherwise a superset.
struct Condition {
    enum class Kind : uint8_t { kTerms, kAll, kAny };
    Kind kind = Kind::kTerms;
    bool exact = true;

    // kAll, kAny
    std::vector<Condition> parts;

    // kTerms: items with an entry in `ranges` (normalized; none: no item) whose value passes one of
    // `tests`
    IndexPathSteps path;
    std::vector<index::TermRange> ranges;
    std::vector<ValueTest> tests;  ///< none: every entry counts
    std::string needle;            ///< strings without it fail the tests, as does all but strings
    /// The entries are those of the spatial index at `path`.
    std::optional<index::SpatialGrid> spatial;
    /// The entries are those of a composite index, borrowed from the policy; `path` is empty.
    const index::CompositeIndex* composite = nullptr;
    bool within_key = false;  ///< composite: the ranges hold entries of one partition key alone
    LookupKind lookup = LookupKind::kSeek;
    uint32_t seeks = 0;  ///< of the RU formula

    bool is_never() const { return kind == Kind::kTerms && ranges.empty(); }
    /// One entry per item at most.
    bool is_member_path() const;
    /// The entries are those of the values at this path.
    bool is_of_values(const IndexPathSteps& values) const {
        return kind == Kind::kTerms && !spatial && composite == nullptr && path == values;
    }
    /// How many of its parts, itself among them, are tested on every value of a path.
    uint64_t walks() const;
    /// Where the entries of kTerms are.
    uint64_t entries_hash(SipKey key) const;
    bool is_single_term() const {
        return kind == Kind::kTerms && ranges.size() == 1 && ranges[0].single && tests.empty();
    }
};

/// A path as people write it in a policy: quoted where it must be, without ending.
std::string metric_path(const IndexPathSteps& path);
/// The members of a composite index, likewise.
std::string composite_text(const index::CompositeIndex& composite);
/// What a condition looks up, for people.
std::string condition_text(const Condition& condition);

/// One operand of the outermost AND.
struct Conjunct {
    const ast::Expr* syntax = nullptr;  ///< null: it was not written in SQL
    const Node* node = nullptr;
    std::optional<Condition> condition;  ///< nullopt: the index cannot help
};

/// What several conjuncts say of one composite index.
struct CompositeCondition {
    Condition condition;
    std::vector<size_t> conjuncts;  ///< in Filter::conjuncts
};

struct Filter {
    std::vector<Conjunct> conjuncts;
    std::vector<CompositeCondition> composites;  ///< no two of them have a conjunct in common
    /// Paths that some conjunct would look up if they were indexed.
    std::vector<IndexPathSteps> missing_paths;
    /// The same of spatial indexes.
    std::vector<IndexPathSteps> missing_spatial;

    /// The index decides the whole WHERE clause (partial entries aside).
    bool is_exact() const;
    /// Some conjunct has a condition. One with tests is then the only one.
    bool is_served() const;
    uint64_t seeks() const;
    /// The conditions for which `usable` holds, a composite one instead of those of its conjuncts.
    /// `all`: every conjunct is in them.
    std::vector<const Condition*> conditions(const std::function<bool(const Condition&)>& usable,
                                             bool& all) const;
};

}  // namespace orrery::query
