// Account document, databases, containers, ranges, conflicts.
#include <charconv>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/errors.h"
#include "heads/rest/bodies/container_body.h"
#include "heads/rest/bodies/resource_bodies.h"
#include "heads/rest/bodies/resource_json.h"
#include "heads/rest/handlers.h"
#include "heads/rest/resource_feed.h"
#include "heads/rest/throughput.h"

namespace orrery::rest {
namespace {

using catalog::Catalog;
using engine::Operation;

/// Limits that this server enforces, for SDKs that check queries before sending them.
constexpr std::string_view kQueryEngineConfiguration =
    R"({\"maxSqlQueryInputLength\":524288,\"maxJoinsPerSqlQuery\":10,\"maxLogicalAndPerSqlQuery\":2147483647,)"
    R"(\"maxLogicalOrPerSqlQuery\":2147483647,\"maxUdfRefPerSqlQuery\":10,\"maxInExpressionItemsCount\":16000,)"
    R"(\"queryMaxInMemorySortDocumentCount\":500,\"maxQueryRequestTimeoutFraction\":0.9,)"
    R"(\"sqlAllowNonFiniteNumbers\":false,\"sqlAllowAggregateFunctions\":true,\"sqlAllowSubQuery\":true,)"
    R"(\"sqlAllowScalarSubQuery\":true,\"allowNewKeywords\":true,\"sqlAllowLike\":true,)"
    R"(\"sqlAllowGroupByClause\":true,\"maxSpatialQueryCells\":12,\"spatialMaxGeometryPointCount\":4096,)"
    R"(\"sqlDisableOptimizationFlags\":0,\"sqlAllowTop\":true,\"enableSpatialIndexing\":true})";

bool has_version_before(const Call& call, std::string_view date) {
    const auto version = call.headers[HeaderName::kVersion];
    return !version.empty() && version < date;
}

/// Answers with a container's definition. `statistics`: JSON of the physical partitions; empty: not
/// asked for.
void reply_container(const CallPtr& call, int status, const Catalog& catalog,
                     const catalog::ContainerPtr& container, const std::string& statistics = {}) {
    call->use(container);
    call->touch_container();
    if (call->headers.says_true(HeaderName::kPopulateQuotaInfo))
        call->response().add_header("x-ms-documentdb-collection-index-transformation-progress",
                                    catalog.index_progress(*container));
    add_offer_headers(call, catalog, container->rid_text);
    std::string body = container_json(*container);
    if (!statistics.empty()) body.insert(body.size() - 1, R"(,"statistics":)" + statistics);
    reply(call, plain_answer(status, container->version.etag), std::move(body));
}

Status list_databases(const CallPtr& call) {
    TRY(const auto* catalog, call->session.look_up(*call, Operation::kReadDatabases));
    const auto list = [&](const auto& page) { return catalog->list_databases(page); };
    const auto text = [](const catalog::Database& database) -> Result<std::string> {
        return database_json(database);
    };
    return is_query(*call) ? reply_listing_query(call, "", "Databases", list, text)
                           : reply_listing(call, "", "Databases", list, text);
}

Status list_containers(const CallPtr& call) {
    TRY(const auto* catalog, call->session.look_up(*call, Operation::kListContainers));
    TRY(const auto database, find_database(*call));
    const auto list = [&](const auto& page) { return catalog->list_containers(*database, page); };
    const auto text = [](const catalog::Container& container) -> Result<std::string> {
        return container_json(container);
    };
    const std::string rid = database->rid.text();
    return is_query(*call) ? reply_listing_query(call, rid, "DocumentCollections", list, text)
                           : reply_listing(call, rid, "DocumentCollections", list, text);
}

/// The protocol has no upsert of databases and containers; creating instead would surprise the
/// client.
Status refuse_upsert(const Call& call) {
    TRY(const bool upsert, call.headers.boolean(HeaderName::kIsUpsert));
    if (upsert)
        return Status(bad_header(header_text(HeaderName::kIsUpsert), "true",
                                 "no upsert: databases and containers are created or replaced"));
    return {};
}

Status create_database(const CallPtr& call) {
    TRY(auto* catalog, call->session.change(*call, Operation::kCreateDatabase));
    TRY_STATUS(refuse_upsert(*call));
    TRY(const auto body, parse_body(*call));
    catalog::NewDatabase wanted;
    TRY(wanted.throughput, throughput_request(*call));
    TRY(wanted.id, read_database_body(body->value));
    TRY(const auto database, catalog->create_database(std::move(wanted)));
    add_offer_headers(call, *catalog, database->rid.text());
    reply(call, plain_answer(201, database->version.etag), database_json(*database));
    return {};
}

Status delete_database(const CallPtr& call) {
    TRY(auto* catalog, call->session.change(*call, Operation::kDeleteDatabase));
    TRY_STATUS(catalog->delete_database(call->route.database(),
                                        unquoted(call->headers[HeaderName::kIfMatch])));
    reply(call, plain_answer(204), "");
    return {};
}

Status read_database(const CallPtr& call) {
    TRY_STATUS(call->session.allow(*call, Operation::kReadDatabases));
    TRY(const auto database, find_database(*call));
    if (!replied_not_modified(call, database->version.etag))
        reply(call, plain_answer(200, database->version.etag), database_json(*database));
    return {};
}

Status create_container(const CallPtr& call) {
    TRY(auto* catalog, call->session.change(*call, Operation::kCreateContainer));
    TRY_STATUS(refuse_upsert(*call));
    TRY(const auto body, parse_body(*call));
    TRY(const auto throughput, throughput_request(*call));
    if (catalog->find_database(call->route.database()) == nullptr)
        return Status(errors::owner_not_found("The database does not exist."));
    TRY(ContainerBody wanted,
        read_container_body(body->value, has_version_before(*call, "2018-12-31")));
    TRY(const auto container,
        catalog->create_container(
            call->route.database(),
            {std::move(wanted.id), std::move(wanted.definition), throughput}));
    reply_container(call, 201, *catalog, container);
    return {};
}

Status read_container(const CallPtr& call) {
    TRY_STATUS(find_container(*call).status().clone());
    TRY(const auto* catalog, call->session.look_up(*call, Operation::kReadContainer));
    if (replied_not_modified(call, call->container()->version.etag)) return {};
    TRY(const bool statistics, call->headers.boolean(HeaderName::kPopulatePartitionStatistics));
    if (!statistics || call->pages == nullptr) {
        reply_container(call, 200, *catalog, call->container());
        return {};
    }
    on_worker(call, [call, catalog]() -> Status {
        TRY(const std::string text, call->pages->statistics_json(*call->container()));
        reply_container(call, 200, *catalog, call->container(), text);
        return {};
    });
    return {};
}

/// Throughput is given when a container is made and changed at its offer.
Status refuse_throughput_on_replace(const Call& call) {
    for (const auto& [name, text] :
         {std::pair{HeaderName::kOfferThroughput, "x-ms-offer-throughput"},
          std::pair{HeaderName::kAutopilotSettings, "x-ms-cosmos-offer-autopilot-settings"}})
        if (const auto value = call.headers[name]; !value.empty())
            return Status(bad_header(
                text, value,
                "no throughput on the replace of a container: replace its offer, /offers/{rid}"));
    return {};
}

Status replace_container(const CallPtr& call) {
    TRY_STATUS(find_container(*call).status().clone());
    TRY(auto* catalog, call->session.change(*call, Operation::kReplaceContainer));
    TRY_STATUS(refuse_throughput_on_replace(*call));
    TRY(const auto body, parse_body(*call));
    TRY(auto definition, read_container_replacement(body->value, *call->container()));
    TRY(const auto replaced,
        catalog->replace_container(call->route.database(), call->route.container(),
                                   std::move(definition),
                                   unquoted(call->headers[HeaderName::kIfMatch])));
    reply_container(call, 200, *catalog, replaced);
    return {};
}

Status delete_container(const CallPtr& call) {
    TRY_STATUS(find_container(*call).status().clone());
    TRY(auto* catalog, call->session.change(*call, Operation::kDeleteContainer));
    TRY_STATUS(catalog->delete_container(call->route.database(), call->route.container(),
                                         unquoted(call->headers[HeaderName::kIfMatch])));
    call->use(nullptr);
    reply(call, plain_answer(204), "");
    return {};
}

Status read_ranges(const CallPtr& call) {
    TRY(const auto* container, find_container(*call));
    TRY_STATUS(call->session.allow(*call, Operation::kReadContainer));
    const auto& map = *container->ranges;
    Answer answer = plain_answer(200, std::to_string(map.version));
    call->touch_container();
    uint64_t known = 0;  // all
    if (const auto mode = call->headers[HeaderName::kAIm]; !mode.empty()) {
        if (!equals_ignore_case(mode, "Incremental Feed"))
            return Status(bad_header("A-IM", mode, "Incremental Feed"));
        const auto etag = unquoted(call->headers[HeaderName::kIfNoneMatch]);
        if (etag == answer.etag) {
            answer.status = 304;
            call->set_not_modified();
            reply(call, answer, "");
            return {};
        }
        if (std::from_chars(etag.data(), etag.data() + etag.size(), known).ptr !=
            etag.data() + etag.size())
            known = 0;
    }
    const auto ranges = container->ranges_since(known);
    answer.item_count = ranges.size();
    reply(call, answer, ranges_json(*container, ranges));
    return {};
}

Status read_conflicts(const CallPtr& call) {
    TRY(const auto* container, find_container(*call));
    TRY_STATUS(call->session.allow(*call, Operation::kReadConflicts));
    const auto method = call->request().method;
    if (call->route.feed && (method == "GET" || is_query(*call))) {
        // One region, one writer: a conflict cannot arise, so the feed is truly empty, and no page
        // of it has a continuation.
        TRY_STATUS(page_request(*call, {container->rid_text, "Conflicts"}).status().clone());
        Answer answer;
        call->touch_container();
        answer.item_count = 0;
        reply(call, answer, feed_body(container->rid_text, "Conflicts", {}));
        return {};
    }
    if (!call->route.feed && (method == "GET" || method == "DELETE"))
        return Status(errors::not_found());
    return Status(method_not_allowed(method, "conflicts"));
}

using Handler = Status (*)(const CallPtr&);

/// On the loop: for what the catalog has in memory.
void answer_here(const CallPtr& call, Handler handler) {
    if (const Status status = handler(call); !status.ok()) reply_error(call, status.error());
}

void answer_on_worker(const CallPtr& call, Handler handler) {
    on_worker(call, [call, handler] { return handler(call); });
}

}  // namespace

void handle_account(const CallPtr& call) {
    if (!is_read(*call))
        return reply_error(call, method_not_allowed(call->request().method, "the account"));
    if (const Status allowed = call->session.allow(*call, Operation::kReadAccount); !allowed.ok())
        return reply_error(call, allowed.error());
    const auto host = call->headers[HeaderName::kHost];
    if (host.empty())
        return reply_error(
            call,
            errors::bad_request("The account document names the address that the client dialled: "
                                "the request needs a Host header."));
    const std::string endpoint =
        fmt::format("{}://{}/", call->request().tls ? "https" : "http", host);
    const std::string location =
        fmt::format(R"([{{"name":"Local","databaseAccountEndpoint":"{}"}}])", endpoint);
    std::string body = fmt::format(
        R"({{"_self":"","id":"{0}","_rid":"{0}","media":"//media/","addresses":"//addresses/","_dbs":"//dbs/",)"
        R"("writableLocations":{1},"readableLocations":{1},"enableMultipleWriteLocations":false,)"
        R"("continuousBackupEnabled":false,"enablePerPartitionFailoverBehavior":false,)"
        R"("userReplicationPolicy":{{"asyncReplication":false,"minReplicaSetSize":1,"maxReplicasetSize":4}},)"
        R"("userConsistencyPolicy":{{"defaultConsistencyLevel":"{3}","maxStalenessPrefix":100,)"
        R"("maxIntervalInSeconds":5}},)"
        R"("systemReplicationPolicy":{{"asyncReplication":false,"minReplicaSetSize":1,"maxReplicasetSize":4}},)"
        R"("readPolicy":{{"primaryReadCoefficient":1,"secondaryReadCoefficient":1}},)"
        R"("queryEngineConfiguration":"{2}"}})",
        call->door.account_id(), location, kQueryEngineConfiguration,
        engine::consistency_name(call->door.settings().consistency));
    call->response().head +=
        "x-ms-max-media-storage-usage-mb: 0\r\nx-ms-media-storage-usage-mb: 0\r\n"
        "x-ms-databaseaccount-consumed-mb: 0\r\nx-ms-databaseaccount-reserved-mb: 0\r\n"
        "x-ms-databaseaccount-provisioned-mb: 0\r\n";
    reply(call, Answer{}, std::move(body));
}

void handle_databases(const CallPtr& call) {
    const auto method = call->request().method;
    if (call->route.feed) {
        if (method == "GET" || is_query(*call)) return answer_on_worker(call, list_databases);
        if (method == "POST") return answer_on_worker(call, create_database);
        return reply_error(call, method_not_allowed(method, "the database feed"));
    }
    if (is_read(*call)) return answer_here(call, read_database);
    if (method == "DELETE") return answer_on_worker(call, delete_database);
    reply_error(call, method_not_allowed(method, "a database"));
}

void handle_containers(const CallPtr& call) {
    const auto method = call->request().method;
    if (call->route.feed) {
        if (method == "GET" || is_query(*call)) return answer_on_worker(call, list_containers);
        if (method == "POST") return answer_on_worker(call, create_container);
        return reply_error(call, method_not_allowed(method, "the container feed"));
    }
    if (is_read(*call)) return answer_here(call, read_container);
    if (method == "PUT") return answer_on_worker(call, replace_container);
    if (method == "DELETE") return answer_on_worker(call, delete_container);
    reply_error(call, method_not_allowed(method, "a container"));
}

void handle_ranges(const CallPtr& call) {
    const auto method = call->request().method;
    if (method != "GET" || !call->route.feed)
        return reply_error(call, method_not_allowed(method, "partition key ranges"));
    answer_here(call, read_ranges);
}

void handle_conflicts(const CallPtr& call) {
    answer_here(call, read_conflicts);
}

}  // namespace orrery::rest
