// Account document, databases, containers, ranges, conflicts.
#include <charconv>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/errors.h"
#include "base/limits.h"
#include "heads/rest/bodies/container_body.h"
#include "heads/rest/bodies/resource_bodies.h"
#include "heads/rest/bodies/resource_json.h"
#include "heads/rest/handlers.h"
#include "heads/rest/throughput.h"

namespace orrery::rest {
namespace {

using engine::Access;

/// Limits that this server enforces, for SDKs that check queries before sending them.
constexpr std::string_view kQueryEngineConfiguration =
    R"({\"maxSqlQueryInputLength\":524288,\"maxJoinsPerSqlQuery\":10,\"maxLogicalAndPerSqlQuery\":2147483647,)"
    R"(\"maxLogicalOrPerSqlQuery\":2147483647,\"maxUdfRefPerSqlQuery\":10,\"maxInExpressionItemsCount\":16000,)"
    R"(\"queryMaxInMemorySortDocumentCount\":500,\"maxQueryRequestTimeoutFraction\":0.9,)"
    R"(\"sqlAllowNonFiniteNumbers\":false,\"sqlAllowAggregateFunctions\":true,\"sqlAllowSubQuery\":true,)"
    R"(\"sqlAllowScalarSubQuery\":true,\"allowNewKeywords\":true,\"sqlAllowLike\":true,)"
    R"(\"sqlAllowGroupByClause\":true,\"maxSpatialQueryCells\":12,\"spatialMaxGeometryPointCount\":4096,)"
    R"(\"sqlDisableOptimizationFlags\":0,\"sqlAllowTop\":true,\"enableSpatialIndexing\":true})";

Answer metadata_answer(int status, meter::Charge charge, std::string etag = {}) {
    Answer answer;
    answer.status = status;
    answer.charge = charge;
    answer.etag = std::move(etag);
    return answer;
}

/// A container's metadata answers name its first range, as a session starts there.
std::optional<engine::Touched> touched_of(const catalog::Container& container) {
    const auto& range = container.ranges->ranges.front();
    return engine::Touched{range.id, range.partition->lsn()};
}

bool has_version_before(const Call& call, std::string_view date) {
    const auto version = call.headers[HeaderName::kVersion];
    return !version.empty() && version < date;
}

/// `statistics`: JSON of the physical partitions; empty: not asked for.
void reply_container(const CallPtr& call, int status, const catalog::ContainerPtr& container,
                     meter::Charge charge, const std::string& statistics = {}) {
    call->container = container;
    Answer answer = metadata_answer(status, charge, container->version.etag);
    answer.touched = touched_of(*container);
    if (call->headers.says_true(HeaderName::kPopulateQuotaInfo))
        call->response().add_header("x-ms-documentdb-collection-index-transformation-progress",
                                    call->engine.catalog().index_progress(*container));
    add_offer_headers(call, call->engine.catalog().offer_of(container->rid_text));
    std::string body = container_json(*container);
    if (!statistics.empty()) body.insert(body.size() - 1, R"(,"statistics":)" + statistics);
    reply(call, answer, std::move(body));
}

void list_databases(const CallPtr& call) {
    on_worker(call, [call]() -> Status {
        const engine::ListingScope listing{"", "Databases"};
        TRY(const auto page, page_request(*call, listing));
        const auto listed = call->engine.catalog().list_databases(page);
        std::vector<std::string> texts;
        for (const auto& database : listed.items) texts.push_back(database_json(*database));
        Answer answer = metadata_answer(200, meter::metadata_read());
        answer.continuation = call->engine.seal_listing(listing, listed.continuation);
        answer.item_count = texts.size();
        reply(call, answer, feed_body(listing.parent_rid, listing.kind, texts));
        return {};
    });
}

void list_containers(const CallPtr& call) {
    on_worker(call, [call]() -> Status {
        TRY(const auto database, find_database(*call));
        const std::string parent_rid = database->rid.text();
        const engine::ListingScope listing{parent_rid, "DocumentCollections"};
        TRY(const auto page, page_request(*call, listing));
        const auto listed = call->engine.catalog().list_containers(*database, page);
        std::vector<std::string> texts;
        for (const auto& container : listed.items) texts.push_back(container_json(*container));
        Answer answer = metadata_answer(200, meter::metadata_read());
        answer.continuation = call->engine.seal_listing(listing, listed.continuation);
        answer.item_count = texts.size();
        reply(call, answer, feed_body(listing.parent_rid, listing.kind, texts));
        return {};
    });
}

template <typename List, typename Json>
std::vector<QueriedResource> collect_all(const List& list, const Json& json) {
    std::vector<QueriedResource> resources;
    catalog::ListingRequest page;
    page.items_max = limits::kPageItemsMax;
    do {
        auto listed = list(page);
        for (const auto& item : listed.items) resources.push_back({json(item), {}});
        page.continuation = std::move(listed.continuation);
    } while (!page.continuation.empty());
    return resources;
}

/// Upserting databases and containers is not in the protocol; creating instead would surprise.
Status refuse_upsert(const Call& call) {
    TRY(const bool upsert, call.headers.boolean(HeaderName::kIsUpsert));
    if (upsert)
        return Status(bad_header(header_text(HeaderName::kIsUpsert), "true",
                                 "no upsert: databases and containers are created or replaced"));
    return {};
}

void create_database(const CallPtr& call) {
    on_worker(call, [call]() -> Status {
        TRY_STATUS(refuse_upsert(*call));
        TRY(const auto body, parse_body(*call));
        catalog::NewDatabase wanted;
        TRY(wanted.throughput, throughput_request(*call));
        TRY(wanted.id, read_database_body(body->value));
        TRY(const auto database, call->engine.catalog().create_database(std::move(wanted)));
        add_offer_headers(call, call->engine.catalog().offer_of(database->rid.text()));
        reply(call, metadata_answer(201, meter::metadata_write(), database->version.etag),
              database_json(*database));
        return {};
    });
}

void create_container(const CallPtr& call) {
    on_worker(call, [call]() -> Status {
        TRY_STATUS(refuse_upsert(*call));
        TRY(const auto body, parse_body(*call));
        TRY(const auto throughput, throughput_request(*call));
        auto& catalog = call->engine.catalog();
        if (catalog.find_database(call->route.database()) == nullptr)
            return Status(errors::owner_not_found("The database does not exist."));
        TRY(ContainerBody wanted,
            read_container_body(body->value, has_version_before(*call, "2018-12-31")));
        TRY(const auto container,
            catalog.create_container(
                call->route.database(),
                {std::move(wanted.id), std::move(wanted.definition), throughput}));
        reply_container(call, 201, container, meter::metadata_write());
        return {};
    });
}

/// Answers 304 when the client has this version already.
bool replied_not_modified(const CallPtr& call, const std::string& etag) {
    if (unquoted(call->headers[HeaderName::kIfNoneMatch]) != etag) return false;
    reply(call, metadata_answer(304, meter::metadata_read(), etag), "");
    return true;
}

void read_container(const CallPtr& call) {
    if (replied_not_modified(call, call->container->version.etag)) return;
    const auto statistics = call->headers.boolean(HeaderName::kPopulatePartitionStatistics);
    if (!statistics.ok()) return reply_error(call, statistics.error());
    if (!*statistics || call->pages == nullptr)
        return reply_container(call, 200, call->container, meter::metadata_read());
    on_worker(call, [call]() -> Status {
        TRY(const std::string text, call->pages->statistics_json(*call->container));
        reply_container(call, 200, call->container, meter::metadata_read(), text);
        return {};
    });
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

}  // namespace

void handle_account(const CallPtr& call) {
    if (!is_read(*call))
        return reply_error(call, method_not_allowed(call->request().method, "the account"));
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
        call->engine.account().id(), location, kQueryEngineConfiguration,
        engine::consistency_name(call->engine.account().default_consistency()));
    call->response().head +=
        "x-ms-max-media-storage-usage-mb: 0\r\nx-ms-media-storage-usage-mb: 0\r\n"
        "x-ms-databaseaccount-consumed-mb: 0\r\nx-ms-databaseaccount-reserved-mb: 0\r\n"
        "x-ms-databaseaccount-provisioned-mb: 0\r\n";
    reply(call, metadata_answer(200, {}), std::move(body));
}

void handle_databases(const CallPtr& call) {
    const auto method = call->request().method;
    const bool write =
        (method == "POST" && !is_query(*call)) || method == "DELETE" || method == "PUT";
    if (const Status allowed =
            authorize(call->principal, write ? Access::kMetadataWrite : Access::kMetadataRead, {});
        !allowed.ok())
        return reply_error(call, allowed.error());
    if (call->route.feed) {
        if (method == "GET") return list_databases(call);
        if (method != "POST")
            return reply_error(call, method_not_allowed(method, "the database feed"));
        if (!is_query(*call)) return create_database(call);
        return on_worker(call, [call]() -> Status {
            const auto& catalog = call->engine.catalog();
            reply_resource_query(
                call, "", "Databases",
                collect_all([&](const auto& page) { return catalog.list_databases(page); },
                            [](const auto& database) { return database_json(*database); }));
            return {};
        });
    }
    if (is_read(*call)) {
        const auto database = find_database(*call);
        if (!database.ok()) return reply_error(call, database.error());
        if (replied_not_modified(call, (*database)->version.etag)) return;
        return reply(call, metadata_answer(200, meter::metadata_read(), (*database)->version.etag),
                     database_json(**database));
    }
    if (method == "DELETE") {
        return on_worker(call, [call]() -> Status {
            TRY_STATUS(call->engine.catalog().delete_database(
                call->route.database(), unquoted(call->headers[HeaderName::kIfMatch])));
            reply(call, metadata_answer(204, meter::metadata_write()), "");
            return {};
        });
    }
    reply_error(call, method_not_allowed(method, "a database"));
}

void handle_containers(const CallPtr& call) {
    const auto method = call->request().method;
    const bool query = is_query(*call);
    if (call->route.feed) {
        const Access access =
            method == "POST" && !query ? Access::kMetadataWrite : Access::kMetadataRead;
        if (const Status allowed = authorize(call->principal, access, {}); !allowed.ok())
            return reply_error(call, allowed.error());
        if (method == "GET") return list_containers(call);
        if (method != "POST")
            return reply_error(call, method_not_allowed(method, "the container feed"));
        if (!query) return create_container(call);
        return on_worker(call, [call]() -> Status {
            TRY(const auto database, find_database(*call));
            const auto& catalog = call->engine.catalog();
            reply_resource_query(
                call, database->rid.text(), "DocumentCollections",
                collect_all(
                    [&](const auto& page) { return catalog.list_containers(*database, page); },
                    [](const auto& container) { return container_json(*container); }));
            return {};
        });
    }
    const auto container = find_container(*call);
    if (!container.ok()) return reply_error(call, container.error());
    const Access access = is_read(*call) ? Access::kContainerRead : Access::kMetadataWrite;
    if (const Status allowed = authorize(call->principal, access, {*container, std::nullopt, {}});
        !allowed.ok())
        return reply_error(call, allowed.error());
    if (is_read(*call)) return read_container(call);
    const std::string if_match(unquoted(call->headers[HeaderName::kIfMatch]));
    if (method == "PUT") {
        return on_worker(call, [call, if_match]() -> Status {
            TRY_STATUS(refuse_throughput_on_replace(*call));
            TRY(const auto body, parse_body(*call));
            TRY(auto definition, read_container_replacement(body->value, *call->container));
            TRY(const auto replaced, call->engine.catalog().replace_container(
                                         call->route.database(), call->route.container(),
                                         std::move(definition), if_match));
            reply_container(call, 200, replaced, meter::metadata_write());
            return {};
        });
    }
    if (method == "DELETE") {
        return on_worker(call, [call, if_match]() -> Status {
            TRY_STATUS(call->engine.catalog().delete_container(call->route.database(),
                                                               call->route.container(), if_match));
            call->container.reset();
            reply(call, metadata_answer(204, meter::metadata_write()), "");
            return {};
        });
    }
    reply_error(call, method_not_allowed(method, "a container"));
}

void handle_ranges(const CallPtr& call) {
    const auto method = call->request().method;
    if (method != "GET" || !call->route.feed)
        return reply_error(call, method_not_allowed(method, "partition key ranges"));
    const auto container = find_container(*call);
    if (!container.ok()) return reply_error(call, container.error());
    if (const Status allowed =
            authorize(call->principal, Access::kContainerRead, {*container, std::nullopt, {}});
        !allowed.ok())
        return reply_error(call, allowed.error());
    const auto& map = *(*container)->ranges;
    Answer answer = metadata_answer(200, meter::metadata_read(), std::to_string(map.version));
    answer.touched = touched_of(**container);
    uint64_t known = 0;  // all
    if (const auto mode = call->headers[HeaderName::kAIm]; !mode.empty()) {
        if (!equals_ignore_case(mode, "Incremental Feed"))
            return reply_error(call, bad_header("A-IM", mode, "Incremental Feed"));
        const auto etag = unquoted(call->headers[HeaderName::kIfNoneMatch]);
        if (etag == answer.etag) {
            answer.status = 304;
            return reply(call, answer, "");
        }
        if (std::from_chars(etag.data(), etag.data() + etag.size(), known).ptr !=
            etag.data() + etag.size())
            known = 0;
    }
    const auto ranges = (*container)->ranges_since(known);
    answer.item_count = ranges.size();
    reply(call, answer, ranges_json(**container, ranges));
}

void handle_conflicts(const CallPtr& call) {
    const auto container = find_container(*call);
    if (!container.ok()) return reply_error(call, container.error());
    if (const Status allowed =
            authorize(call->principal, Access::kFeedRead, {*container, std::nullopt, {}});
        !allowed.ok())
        return reply_error(call, allowed.error());
    const auto method = call->request().method;
    if (call->route.feed && (method == "GET" || is_query(*call))) {
        // One region, one writer: a conflict cannot arise, so the feed is truly empty, and no page
        // of it has a continuation.
        const auto page = page_request(*call, {(*container)->rid_text, "Conflicts"});
        if (!page.ok()) return reply_error(call, page.error());
        Answer answer = metadata_answer(200, meter::metadata_read());
        answer.touched = touched_of(**container);
        answer.item_count = 0;
        return reply(call, answer, feed_body((*container)->rid_text, "Conflicts", {}));
    }
    if (!call->route.feed && (method == "GET" || method == "DELETE"))
        return reply_error(call, errors::not_found());
    reply_error(call, method_not_allowed(method, "conflicts"));
}

}  // namespace orrery::rest
