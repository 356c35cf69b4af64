#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/resources.h"
#include "client_plan/client_plan.h"
#include "engine/admission.h"
#include "engine/row_texts.h"
#include "json/value.h"
#include "meter/charge.h"
#include "partition/changes.h"
#include "partition/operation.h"
#include "query/key_ranges.h"
#include "query/page.h"

/// What is asked of the engine and what it answers.
namespace orrery::engine {

/// The range that an answer touched, with its LSN.
struct Touched {
    std::string range_id;
    storage::Lsn lsn = 0;
};

/// A transaction's result with its price.
struct TransactionAnswer {
    partition::TransactionResult result;
    std::vector<meter::Charge> charges;  ///< one per operation
    meter::Charge total;
    Touched touched;
    bool refused = false;  ///< not let in: every result is the same error, nothing was tried
};
using TransactionAnswered = std::function<void(TransactionAnswer)>;

/// The same for one read.
struct PointAnswer {
    partition::OperationResult result;
    meter::Charge charge;
    Touched touched;
};

struct FeedRequest {
    partition::EpkRange range;
    std::optional<std::string> limited_to;  ///< the full key or prefix that the client names
    std::string continuation;
    uint32_t items_max = 100;
    RequestTerms terms;
    meter::Bill* bill = nullptr;  ///< itemises the charge
};
struct FeedAnswer {
    std::vector<partition::StoredItem> items;
    std::string continuation;  ///< empty: no more
    meter::Charge charge;
    std::vector<RangeCharge> range_charges;  ///< add up to the charge
    Touched touched;
};

struct ChangeFeedRequest {
    partition::EpkRange range;
    std::optional<std::string> limited_to;  ///< the full key or prefix that the client names
    std::optional<std::string> full_epk;    ///< `range` is that of this full key
    bool all_versions = false;
    bool from_now = false;
    std::string continuation;           ///< an answer's position; empty: from the start
    std::optional<int64_t> newer_than;  ///< only changes whose `_ts` is greater
    uint32_t items_max = 100;
    RequestTerms terms;
    meter::Bill* bill = nullptr;  ///< itemises the charge
};
struct ChangeFeedAnswer {
    std::vector<partition::Change> changes;
    std::string position;      ///< where to go on, always; what an etag says
    bool nothing_new = false;  ///< no changes, and none were left to look at
    meter::Charge charge;
    std::vector<RangeCharge> range_charges;  ///< add up to the charge
    Touched touched;
};

struct QueryRequest {
    std::string text;
    json::Value parameters;  ///< array of {name, value}, or undefined
    partition::EpkRange range;
    std::optional<std::string> limited_to;  ///< the full key or prefix that the client names
    std::optional<std::string> full_epk;    ///< that key, if it is a full one and all of `range`
    bool over_container = false;            ///< the request names neither a key nor a range
    std::string continuation;
    uint32_t items_max = 100;
    query::RowSink* rows = nullptr;     ///< takes the rows; null: QueryAnswer::rows does
    std::function<bool()> cancelled;    ///< true once nobody waits for the answer; may be empty
    size_t token_bytes_max = 12 << 10;  ///< of the continuation token
    bool use_index = true;              ///< false: as if nothing were indexed, for comparison
    bool explain = false;               ///< query::PageScope::explain, and QueryAnswer::range_ids
    RequestTerms terms;
    meter::Bill* bill = nullptr;  ///< itemises the charge
};
struct QueryAnswer {
    query::PageAnswer page;
    RowTexts rows;  ///< of requests without a sink
    std::string continuation;
    meter::Charge charge;
    std::vector<RangeCharge> range_charges;  ///< add up to the charge
    std::vector<std::string> range_ids;      ///< of the partitions that the page speaks of
    Touched touched;
    int64_t compile_us = 0;
    int64_t elapsed_us = 0;
    std::shared_ptr<const query::CompiledQuery> compiled;
    bool keyed = false;  ///< limited to a partition key, or a prefix of one, by filter or request
};

/// What a client needs that sends a query to each range by itself.
struct PlanRequest {
    std::string text;
    json::Value parameters;                              ///< array of {name, value}, or undefined
    bool one_key = false;                                ///< the request names one full key
    std::optional<std::string_view> supported_features;  ///< the client's list of them
};
struct PlanAnswer {
    client_plan::QueryPlan plan;
    std::vector<query::KeyRange> ranges;  ///< the keys that the filter allows
};

struct ProcedureRequest {
    catalog::ContainerPtr container;
    catalog::ScriptPtr procedure;
    std::string epk;            ///< binary, full key
    std::string arguments;      ///< JSON array text
    std::string values = "{}";  ///< JSON object: what the script may read of the request, by name
    bool logging = false;
    RequestTerms terms;
    meter::Bill* bill = nullptr;  ///< itemises the charge
};
struct ProcedureAnswer {
    Status status;
    std::optional<std::string> body;  ///< JSON text; none: the script set none
    std::string log;
    meter::Charge charge;
    Touched touched;
};

/// A write of one item with what runs before and after it.
struct TriggeredWrite {
    catalog::ContainerPtr container;
    std::string epk;
    partition::ItemOperation operation;
    std::string body_text;      ///< of the request, as sent; for a patch, its operations
    catalog::ScriptPtr before;  ///< may be null
    catalog::ScriptPtr after;   ///< may be null
    std::string values = "{}";  ///< JSON object: what the script may read of the request, by name
    bool logging = false;
    RequestTerms terms;
    meter::Bill* bill = nullptr;
};
struct TriggeredAnswer {
    partition::OperationResult result;
    std::optional<std::string> body;  ///< what a post-trigger made the answer's body
    std::string log;
    meter::Charge charge;
    Touched touched;
};

/// Which listing of resources a position is in: of whose resources, of which kind, and the query
/// over them, if it is one.
struct ListingScope {
    std::string_view parent_rid;  ///< empty: the account
    std::string_view kind;        ///< "Users", as in the body of the answer
    std::string_view query = {};
};

}  // namespace orrery::engine
