#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "query/compile.h"
#include "query/query.h"

/// Query plans: what a client that runs a query on every partition key range by itself has to send
/// to the ranges, and how it puts their answers together.
namespace orrery::client_plan {

enum class DistinctType : uint8_t { kNone, kInOrder, kAnyOrder };

/// A member of the rows that a client builds from groups; `aggregate` is empty for a plain value.
struct PlanAlias {
    std::string name;
    std::optional<query::AggregateKind> aggregate;
};

struct HybridPlan;

struct QueryPlan {
    DistinctType distinct = DistinctType::kNone;
    std::optional<uint64_t> top;
    std::optional<uint64_t> offset;
    std::optional<uint64_t> limit;
    std::vector<bool> order_by_descending;  ///< one entry per key
    std::vector<std::string> order_by_expressions;
    std::vector<std::string> group_by_expressions;
    std::vector<PlanAlias> group_by_aliases;
    std::vector<query::AggregateKind> aggregates;  ///< SELECT VALUE of an aggregate: that one
    std::string rewritten_query;                   ///< empty: the ranges get the original text
    bool has_select_value = false;
    bool has_non_streaming_order_by = false;
    std::optional<std::string> dcount_alias;  ///< count the distinct rows; empty name: bare number
    /// ORDER BY RANK: how to do it; then nothing else of the plan counts.
    std::shared_ptr<const HybridPlan> hybrid;
};

/// A ranking by scores that need figures of the whole container: clients ask every range for these,
/// put them into the components' texts, and fuse the components' rankings.
struct HybridPlan {
    std::string statistics_query;
    std::vector<QueryPlan> components;  ///< one per score; each row carries all scores
    std::vector<double> weights;        ///< of RRF, without signs; empty: all alike
    bool needs_statistics = false;      ///< a score depends on figures of the whole container
    std::optional<uint64_t> skip;
    std::optional<uint64_t> take;
};

/// Where the rows of a query can come from, as far as its request and filter tell.
struct PlanScope {
    bool one_key_by_filter = false;   ///< the filter pins one logical partition
    bool one_key_by_request = false;  ///< the request names one logical partition
    bool one_range = false;           ///< the container has one range
};

/// Aggregates that a query with GROUP BY may have over several logical partitions.
inline constexpr size_t kGroupByAggregatesMax = 21;
/// Whether the query has more, with GROUP BY.
bool has_many_aggregates(const query::CompiledQuery& query);

/// What clients replace, in rewritten ORDER BY queries, by `true` or by the filter to resume with.
inline constexpr std::string_view kOrderByFilter = "{documentdb-formattableorderbyquery-filter}";

/// The plan of a query. A bad request for what ranges cannot answer so that clients can merge it.
Result<QueryPlan> make_plan(const query::CompiledQuery& query, const query::Parameters& parameters,
                            const PlanScope& scope);

/// The abilities that a client needs to carry out the plan, by their protocol names.
std::vector<std::string_view> required_features(const QueryPlan& plan);
/// A bad request naming what the plan needs and `supported`, the client's comma-separated list,
/// lacks.
Status check_features(const QueryPlan& plan, std::string_view supported);

/// What two texts must share for a continuation token of one to be taken by the other. That is the
/// whole text, except for rewritten ORDER BY queries: clients resume them with another filter and
/// the token of the unfiltered pages, which is a position among the sort keys under any filter.
std::string resume_identity(const query::CompiledQuery& query);

/// The protocol's name of an aggregate: "Average", "Count", …
std::string_view aggregate_name(query::AggregateKind kind);

}  // namespace orrery::client_plan
