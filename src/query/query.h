#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "index/geometry.h"
#include "json/item.h"
#include "json/value.h"
#include "query/compile.h"
#include "query/exec/run.h"
#include "query/udf.h"

/// Queries over JSON items: compile a text once, bind parameters per request, then either run item
/// by item (streaming queries, conditions) or feed a QueryRun.
///
/// Items are passed as clients see them: system properties (_rid, _ts, …) are ordinary members.
namespace orrery::query {

/// Compiles a query. Answers are cached by text (bounded, thread-safe), errors are not. Errors are
/// Code::kQueryCompile with the service's codes and positions.
/// `computed`, `space`: the computed properties of the container that is queried (null: none), and
/// what its coordinates mean.
Result<std::shared_ptr<const CompiledQuery>> compile(
    std::string_view text, const index::ComputedPropertiesPtr& computed = nullptr,
    index::GeometrySpace space = index::GeometrySpace::kEarth);

/// Compiles a patch condition, `FROM c WHERE expression`. Not cached.
Result<std::shared_ptr<const CompiledQuery>> compile_condition(std::string_view text,
                                                               index::GeometrySpace space);

/// What a run may use besides its items; all borrowed, all optional.
struct Environment {
    UdfHost* udf = nullptr;        ///< without one, a query that calls a UDF fails
    const Clock* clock = nullptr;  ///< without one, the system's
};

/// The values of a query's parameters for one request. Immutable; borrows the values.
class Parameters {
public:
    /// `list` is the request's `parameters` member: undefined, null, or an array of
    /// {"name":"@x","value":…}. A bad request when malformed, when a parameter that the query uses
    /// is not in it, or when a TOP, OFFSET or LIMIT parameter is no count. Others are ignored. An
    /// entry without "value" is undefined.
    static Result<Parameters> bind(const CompiledQuery& query, const json::Value& list,
                                   const Environment& environment = {});

    const std::vector<json::Value>& values() const { return values_; }
    /// Those that the query uses as geometries, by the same index, read; empty if it uses none so.
    const std::vector<std::shared_ptr<const index::Geometry>>& geometries() const {
        return geometries_;
    }
    const Environment& environment() const { return environment_; }
    int64_t start_us() const { return start_us_; }

private:
    std::vector<json::Value> values_;  // by index of CompiledQuery::parameters()
    std::vector<std::shared_ptr<const index::Geometry>> geometries_;
    Environment environment_;
    int64_t start_us_ = 0;
};

/// Appends the rows that one item yields (none, one, or several with JOIN). Precondition:
/// query.is_streaming(). Rows borrow from `item`, `arena`, the query and the parameters.
Status run_item(const CompiledQuery& query, const Parameters& parameters, const json::Value& item,
                json::Arena& arena, std::vector<json::Value>& rows);

/// Whether the WHERE clause is true for `item`. For conditions and for queries whose only source is
/// the item (no JOIN); true without a WHERE clause.
Result<bool> matches(const CompiledQuery& query, const Parameters& parameters,
                     const json::Value& item, json::Arena& arena);

/// A query over a set of items: fed one by one, finished once. Runs every query. Owned by one
/// thread; the query and the parameters must outlive it.
class QueryRun {
public:
    QueryRun(const CompiledQuery& query, const Parameters& parameters);
    ~QueryRun();
    QueryRun(const QueryRun&) = delete;
    QueryRun& operator=(const QueryRun&) = delete;

    RowWindow window() const;
    /// Before the first feed(): all rows come, TOP, OFFSET and LIMIT are the caller's to apply.
    RowWindow take_window();

    /// Appends the rows that are final already; they borrow from `item` and `arena`, which may go
    /// afterwards: what the run needs later, it copies.
    Status feed(const json::Value& item, json::Arena& arena, std::vector<json::Value>& rows);
    /// The same for items that agree in everything the query looks at (`item` has just that). Only
    /// for queries that group or remove duplicates of a single source.
    Status feed_equal(const json::Value& item, const LevelRun::Known& known, json::Arena& arena,
                      std::vector<json::Value>& rows);
    /// LevelRun::row_keys() of the last row that came.
    std::span<const json::Value> row_keys() const;
    /// Tuples of the FROM clause that passed WHERE, of all items so far.
    uint64_t tuples() const;
    RowCounts counts() const;
    /// True when further items cannot change the result (TOP, LIMIT reached; no FROM).
    bool is_done() const;
    /// Appends the remaining rows; they borrow from `arena` and from this run.
    Status finish(json::Arena& arena, std::vector<json::Value>& rows);
    /// The same, one by one: a row is gone when `take` returns, so that there may be any number.
    using RowTaker = std::function<Status(const json::Value& row)>;
    Status finish(const RowTaker& take);
    /// Tells from now on that nobody waits any more; null: nobody asks.
    void watch(const std::function<bool()>* cancelled);
    /// What the run holds between two items.
    size_t retained_bytes() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// One item that can match a filter: by id, with its full partition key where the filter says it.
struct PointCandidate {
    std::string id;
    std::optional<std::vector<json::Value>>
        key;  ///< one value per key path; borrowed as parameters
    /// Every item with this id (and key) satisfies the filter: no need to evaluate it.
    bool certain = false;
};

/// The only items that can satisfy the WHERE clause, when it pins the id in every branch: `c.id =
/// x`, `c.id IN (…)`, OR lists of `c.id = x AND c.pk = y`, with constants or parameters and either
/// spelling of paths. nullopt when the filter is not of that shape. It only narrows: the filter
/// must still be evaluated, except on certain candidates. Duplicates are removed.
std::optional<std::vector<PointCandidate>> point_candidates(
    const CompiledQuery& query, const Parameters& parameters,
    const std::vector<json::MemberPath>& key_paths);

}  // namespace orrery::query
