#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/items.h"
#include "engine/metadata.h"
#include "engine/resource_query.h"
#include "heads/rest/call.h"
#include "json/value.h"

/// One function per kind of resource; each takes over the call and answers it.
namespace orrery::rest {

void handle_account(const CallPtr& call);
void handle_databases(const CallPtr& call);
void handle_containers(const CallPtr& call);
void handle_ranges(const CallPtr& call);
void handle_offers(const CallPtr& call);
void handle_users(const CallPtr& call);
void handle_permissions(const CallPtr& call);
void handle_encryption_keys(const CallPtr& call);
void handle_items(const CallPtr& call);
void handle_partition_key_delete(const CallPtr& call);
void handle_conflicts(const CallPtr& call);
void handle_scripts(const CallPtr& call);  ///< stored procedures, triggers, user-defined functions
void handle_own(const CallPtr& call);      ///< /_orrery/…
/// `open`: to everybody who reaches the server; else an account key is asked for.
void handle_prometheus(const CallPtr& call, bool open);
void handle_account_metrics(const CallPtr& call);
void handle_container_metrics(const CallPtr& call);
void handle_top_keys(const CallPtr& call);
void handle_lab(const CallPtr& call);  ///< /_orrery/lab/… and /_orrery/containers/…/lab/…
void handle_partitions(const CallPtr& call);
void handle_split(const CallPtr& call);
void handle_merge(const CallPtr& call);

// Under /_orrery/containers/{database}/{container}/.
void own_throughput(const CallPtr& call);
void own_redistribute(const CallPtr& call);
void own_throughput_buckets(const CallPtr& call);
void own_view(const CallPtr& call);

// Parts of several handlers.

/// What the request asks for, as far as its line and headers say.
engine::OperationClass operation_of(const Call& call);

/// Runs `work` on a worker; answers the call with the error it returns, if any.
void on_worker(const CallPtr& call, std::function<Status()> work);

/// A value from the query part of a request target, percent-decoded; nullopt: absent or malformed.
std::optional<std::string> target_parameter(std::string_view target, std::string_view name);

/// GET or HEAD (the network layer leaves the body out).
bool is_read(const Call& call);
/// True for POSTs that carry a query (content type or one of the SDKs' headers).
bool is_query(const Call& call);

/// Resolves the route's database or container, or returns the 404 (parent: 404/1003). A resource
/// token learns nothing about containers but its own: 403, there or not.
Result<catalog::DatabasePtr> find_database(const Call& call);
Result<const catalog::Container*> find_container(Call& call);  ///< also in call.container()

/// 400 for headers that no request may have, or not this one; 413 for the body of a query.
Status check_headers(const Call& call);

/// Checks headers that apply to every container-scoped request: intended rid, consistency level,
/// session token of the range.
Status check_container_headers(const Call& call);

/// The request names triggers.
bool names_triggers(const Call& call);
/// 400 if it does: they run with the write of a single item.
Status refuse_triggers(const Call& call);
/// The one that a header names; empty: none.
Result<std::string> named_trigger(const Call& call, HeaderName header);
/// What scripts may read of the request: its headers but the authorization, as a JSON object.
std::string script_values(const Call& call);
/// x-ms-documentdb-script-log-results, where logging was asked for.
void add_script_log(const Call& call, std::string_view log);

/// Which page of a listing is asked for; 400 for a continuation that this listing did not make.
Result<catalog::ListingRequest> page_request(const Call& call, const engine::ListingScope& listing);
/// x-ms-indexing-directive or a batch operation's indexingDirective; empty: default.
Result<partition::IndexingDirective> indexing_directive(std::string_view text);
/// 400: a write that carries If-None-Match would not do what its sender expects.
Error if_none_match_on_write();
/// Life of resource tokens in seconds: x-ms-documentdb-expiry-seconds.
Result<int64_t> token_lifetime(const RequestHeaders& headers);
/// Page size of feeds and queries: 1..1000, -1 = server's choice, 0 = default (queries only).
Result<uint32_t> page_size(const Call& call);

/// The key of a point operation: components, binary EPK. 400 when the header is missing or wrong.
struct RequestKey {
    json::Arena arena;
    partition::PartitionKeyComponents components;
    std::string epk;
};
Result<RequestKey> point_key(const Call& call);
/// 410/1002 when the request names a range that does not hold its key: the client's map is old.
Status check_range_id(const Call& call, std::string_view epk);
/// The bytes that x-ms-start-epk or x-ms-end-epk has in hex digits; empty without the header.
Result<std::string> epk_of(const RequestHeaders& headers, HeaderName name);
/// What a feed or query is limited to by partition key, range id and EPK headers.
struct FeedScope {
    partition::EpkRange range;
    std::optional<std::string> epk;                   ///< key (or prefix) given by header
    bool full_key = false;                            ///< `epk` is a full key, not a prefix
    const catalog::PartitionRange* served = nullptr;  ///< range id given
    bool by_epk = false;                              ///< EPK headers given
    /// The request names neither a key nor a range.
    bool is_container() const { return served == nullptr && !epk && !by_epk; }
};
Result<FeedScope> feed_scope(const Call& call);

/// Parses a body as JSON.
Result<std::unique_ptr<ParsedBody>> parse_body(const Call& call);

/// What a query body holds; `parameters` borrows from the parsed body. 400 for another form.
struct QueryBody {
    std::string text;
    json::Value parameters;
};
Result<QueryBody> query_of(const json::Value& body);

/// Answers a query over metadata resources.
Status reply_resource_query(const CallPtr& call, std::string_view parent_rid,
                            std::string_view array_name,
                            const std::vector<engine::QueriedResource>& resources);

void handle_change_feed(const CallPtr& call);
void handle_item_query(const CallPtr& call);
void handle_query_plan(const CallPtr& call);
void handle_batch(const CallPtr& call);
}  // namespace orrery::rest
