#include <charconv>

#include "base/encoding.h"
#include "base/errors.h"
#include "base/limits.h"
#include "heads/rest/handlers.h"
#include "json/parse.h"

namespace orrery::rest {

void on_worker(const CallPtr& call, std::function<Status()> work) {
    call->session.on_worker([call, work = std::move(work)] {
        const Status status = work();
        if (!status.ok()) reply_error(call, status.error());
    });
}

bool is_read(const Call& call) {
    return call.request().method == "GET" || call.request().method == "HEAD";
}

engine::OperationClass operation_of(const Call& call) {
    using engine::OperationClass;
    const auto& route = call.route;
    const auto method = call.request().method;
    if (route.type == ResourceType::kProcedure && !route.feed && method == "POST")
        return OperationClass::kScript;
    if (route.type == ResourceType::kPartitionKeyDelete) return OperationClass::kDelete;
    if (route.type != ResourceType::kItem) return OperationClass::kMetadata;
    if (!route.feed) {
        if (method == "PUT") return OperationClass::kReplace;
        if (method == "PATCH") return OperationClass::kPatch;
        if (method == "DELETE") return OperationClass::kDelete;
        return OperationClass::kRead;
    }
    if (method != "POST")
        return call.headers.has(HeaderName::kAIm) ? OperationClass::kChangeFeed
                                                  : OperationClass::kReadFeed;
    if (call.headers.says_true(HeaderName::kIsQueryPlan)) return OperationClass::kMetadata;
    if (call.headers.says_true(HeaderName::kIsBatch)) return OperationClass::kBatch;
    if (is_query(call)) return OperationClass::kQuery;
    return call.headers.says_true(HeaderName::kIsUpsert) ? OperationClass::kUpsert
                                                         : OperationClass::kCreate;
}

bool is_query(const Call& call) {
    if (call.request().method != "POST") return false;
    const auto type = call.headers[HeaderName::kContentType];
    return equals_ignore_case(type.substr(0, type.find(';')), "application/query+json") ||
           call.headers.says_true(HeaderName::kIsQuery) ||
           call.headers.says_true(HeaderName::kIsQueryGo);
}

Result<catalog::DatabasePtr> find_database(const Call& call) {
    auto database = call.session.find_database(call.route.database());
    if (database != nullptr) return database;
    if (call.route.type == ResourceType::kDatabase)
        return errors::resource_not_found("The database '" + call.route.database() +
                                          "' does not exist.");
    return errors::owner_not_found("The database '" + call.route.database() + "' does not exist.");
}

Result<const catalog::Container*> find_container(Call& call) {
    TRY(const bool found,
        call.session.use_container(call, call.route.database(), call.route.container()));
    if (found) return call.container().get();
    if (call.route.type != ResourceType::kContainer)
        return errors::owner_not_found("The container '" + call.route.container() +
                                       "' does not exist.");
    TRY(const auto database, find_database(call));
    return errors::resource_not_found("The container '" + call.route.container() +
                                      "' does not exist in database '" + database->id + "'.");
}

Status check_container_headers(const Call& call) {
    const auto intended = call.headers[HeaderName::kIntendedCollectionRid];
    if (!intended.empty() && intended != call.container()->rid_text)
        return Status(errors::collection_rid_mismatch());
    return {};
}

Result<uint32_t> page_size(const Call& call) {
    const auto text = call.headers[HeaderName::kMaxItemCount];
    if (text.empty()) return limits::kPageItemsDefault;
    int64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    // The Java SDK asks for pages of TOP's size, zero included.
    const bool query = is_query(call) || call.headers.says_true(HeaderName::kIsQueryPlan);
    if (text == "0" && query) return limits::kPageItemsDefault;
    if (error != std::errc() || end != text.data() + text.size() || count < -1 || count == 0)
        return bad_header("x-ms-max-item-count", text,
                          query ? "-1 (the server's choice), 0 (the default) or a positive "
                                  "integer"
                                : "-1 (the server's choice) or a positive integer; 0 (the "
                                  "default) is for queries only");
    if (count == -1 || count > limits::kPageItemsMax) return limits::kPageItemsMax;
    return static_cast<uint32_t>(count);
}

Result<partition::IndexingDirective> indexing_directive(std::string_view text) {
    if (text.empty() || equals_ignore_case(text, "Default") || text == "0")
        return partition::IndexingDirective::kDefault;
    // The Python SDK sends the numbers of its enumeration.
    if (equals_ignore_case(text, "Include") || text == "2")
        return partition::IndexingDirective::kInclude;
    if (equals_ignore_case(text, "Exclude") || text == "1")
        return partition::IndexingDirective::kExclude;
    return bad_header("x-ms-indexing-directive", text, "Include, Exclude or Default");
}

Error if_none_match_on_write() {
    return errors::not_supported(
        "If-None-Match on a write",
        "It applies to reads. To write only where nothing exists, create the item; to write "
        "only over a known version, send If-Match.");
}

Result<catalog::ListingRequest> page_request(const Call& call,
                                             const engine::ListingScope& listing) {
    catalog::ListingRequest page;
    TRY(page.items_max, page_size(call));
    TRY(page.continuation,
        call.session.open_listing(listing, call.headers[HeaderName::kContinuation]));
    TRY_STATUS(catalog::check_continuation(page.continuation));
    return page;
}

Result<RequestKey> point_key(const Call& call) {
    const auto header = call.headers[HeaderName::kPartitionKey];
    const auto& definition = call.container()->settings->key;
    RequestKey key;
    if (header.data() == nullptr) {
        if (!definition.system_key) return errors::missing_partition_key();
    } else {
        TRY(key.components, partition::parse_partition_key_header(header, key.arena));
    }
    // Containers made without a key hold items under the missing value.
    if (key.components.empty() && definition.system_key) key.components.push_back(json::Value());
    if (key.components.size() != definition.paths.size())
        return errors::bad_request("The partition key in the header has " +
                                   std::to_string(key.components.size()) +
                                   " values, but the container's key has " +
                                   std::to_string(definition.paths.size()) + " paths.");
    TRY(key.epk, partition::effective_partition_key(definition, key.components));
    return key;
}

namespace {

/// The range that x-ms-documentdb-partitionkeyrangeid names ("0" or "{container rid},0"); null
/// without the header.
Result<const catalog::PartitionRange*> named_range(const Call& call) {
    auto id = call.headers[HeaderName::kPartitionKeyRangeId];
    if (id.empty()) return static_cast<const catalog::PartitionRange*>(nullptr);
    if (const size_t comma = id.find(','); comma != std::string_view::npos) {
        if (id.substr(0, comma) != call.container()->rid_text)
            return errors::collection_rid_mismatch();
        id.remove_prefix(comma + 1);
    }
    const auto* range = call.container()->ranges->find(id);
    if (range == nullptr) return errors::range_gone(id);
    return range;
}

void narrow(partition::EpkRange& range, const partition::EpkRange& by) {
    range.min = std::max(range.min, by.min);
    range.max = std::min(range.max, by.max);
    if (range.min > range.max) range.min = range.max;
}

}  // namespace

Status check_range_id(const Call& call, std::string_view epk) {
    TRY(const auto* range, named_range(call));
    if (range != nullptr && range != &call.container()->ranges->of_epk(epk))
        return Status(errors::range_gone(range->id));
    return {};
}

Result<std::string> epk_of(const RequestHeaders& headers, HeaderName name) {
    auto epk = hex_decode(headers[name]);
    if (!epk) return bad_header(header_text(name), headers[name], "hex digits");
    return std::move(*epk);
}

Result<FeedScope> feed_scope(const Call& call) {
    FeedScope scope;
    const auto& container = *call.container();
    TRY(scope.served, named_range(call));
    if (scope.served != nullptr) scope.range = engine::keys_of(*scope.served);
    if (const auto header = call.headers[HeaderName::kPartitionKey]; header.data() != nullptr) {
        json::Arena arena;
        TRY(auto components, partition::parse_partition_key_header(header, arena));
        if (components.empty() && container.settings->key.system_key)
            components.push_back(json::Value());
        if (!components.empty()) {
            TRY(auto epk, partition::effective_partition_key(container.settings->key, components));
            // With several headers the scope is what all of them allow. The empty key is one key,
            // not a prefix of all.
            narrow(scope.range, epk.empty() ? partition::EpkRange{"", std::string(1, '\0')}
                                            : partition::range_of_key(epk));
            scope.full_key = components.size() == container.settings->key.paths.size();
            scope.epk = std::move(epk);
        }
    }
    const auto start = call.headers[HeaderName::kStartEpk];
    const auto end = call.headers[HeaderName::kEndEpk];
    if (start.data() != nullptr || end.data() != nullptr) {
        partition::EpkRange given;
        TRY(given.min, epk_of(call.headers, HeaderName::kStartEpk));
        if (!end.empty()) {
            TRY(given.max, epk_of(call.headers, HeaderName::kEndEpk));
        }
        narrow(scope.range, given);
        scope.by_epk = true;
    }
    return scope;
}

Result<std::unique_ptr<ParsedBody>> parse_body(const Call& call) {
    auto body = std::make_unique<ParsedBody>();
    TRY(body->value, json::parse(call.request().body, body->arena));
    return body;
}

}  // namespace orrery::rest
