#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "index/lookup.h"
#include "index/policy.h"
#include "query/compile.h"
#include "query/query.h"

/// What a WHERE clause says about index entries.
namespace orrery::query {

class Evaluation;
using IndexPathSteps = std::vector<index::PathStep>;

/// Kinds of index work, cheapest first (service-model §3.3).
enum class LookupKind : uint8_t { kSeek, kPreciseScan, kExpandedScan, kFullIndexScan };

/// An expression that looks at one path alone, tried on a value of it.
struct ValueTest {
    const Node* node = nullptr;
    bool want = true;  ///< it must be true; otherwise it must be false
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

/// One operand of the outermost AND.
struct Conjunct {
    const ast::Expr* syntax = nullptr;
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

/// What the analysis asks about the index.
struct IndexFacts {
    std::function<bool(const IndexPathSteps&)> is_indexed;
    /// Items that lack the path have an entry, too.
    std::function<bool(const IndexPathSteps&)> posts_undefined;
    /// Of the spatial index that has the geometries at the path; null: none.
    std::function<const index::SpatialGrid*(const IndexPathSteps&)> spatial;
};

/// Takes the WHERE clause of the outermost level apart.
Filter analyze_filter(const CompiledQuery& query, const Parameters& parameters,
                      const IndexFacts& facts);

/// Whether the test holds for an item that has only `value` at `path` (a member path).
bool holds_for_value(const CompiledQuery& query, const Parameters& parameters,
                     const ValueTest& test, const IndexPathSteps& path, const json::Value& value,
                     json::Arena& arena);

/// Begins an evaluation over an item that has only `value` at `path`.
void begin_with_value(Evaluation& evaluation, const CompiledQuery& query,
                      const IndexPathSteps& path, const json::Value& value, json::Arena& arena);

/// An item that has nothing but one path (a member path, which must outlive it), with one value
/// after the other there.
class OneValueItem {
public:
    explicit OneValueItem(const IndexPathSteps& path);
    OneValueItem(const OneValueItem&) = delete;
    OneValueItem& operator=(const OneValueItem&) = delete;
    /// Valid until the next call.
    json::Value with(const json::Value& value);

private:
    std::vector<json::Member> members_;  ///< each is all that the one before it has
};

}  // namespace orrery::query
