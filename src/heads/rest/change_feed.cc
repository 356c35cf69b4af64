// The change feed: GET docs with A-IM.
#include "base/clock.h"
#include "base/encoding.h"
#include "base/errors.h"
#include "heads/rest/handlers.h"
#include "json/document.h"
#include "json/item.h"
#include "json/write.h"

namespace orrery::rest {
namespace {

using engine::ChangeFeedRequest;
using partition::Change;
using partition::LogOperation;

/// The one format that clients may ask for: metadata apart from the item. All versions always have
/// it, the latest version where it is asked for (Java's processor).
constexpr std::string_view kSeparateMetadata = "2021-09-15";

/// Which of the two feeds the header asks for.
Result<bool> wants_all_versions(const Call& call) {
    const auto mode = call.headers[HeaderName::kAIm];
    const bool all_versions = equals_ignore_case(mode, "Full-Fidelity Feed");
    if (!all_versions && !equals_ignore_case(mode, "Incremental Feed"))
        return bad_header("A-IM", mode, "'Incremental Feed' or 'Full-Fidelity Feed'");
    const auto format = call.headers[HeaderName::kChangeFeedFormat];
    if (!format.empty() && format != kSeparateMetadata)
        return bad_header(header_text(HeaderName::kChangeFeedFormat), format, kSeparateMetadata);
    return all_versions;
}

/// An etag of this feed, quoted or not.
Result<std::string> position_of(const Call& call) {
    const auto etag = call.headers[HeaderName::kIfNoneMatch];
    const auto token = call.headers[HeaderName::kContinuation];
    // Answers carry the position in both headers; clients send back one of them.
    if (!etag.empty() && !token.empty() && unquoted(etag) != unquoted(token))
        return errors::bad_request(
            "The headers 'If-None-Match' and 'x-ms-continuation' name different positions of "
            "the change feed. Send one of them.");
    const auto given = etag.empty() ? token : etag;
    if (!given.empty() && unquoted(given).empty())
        return bad_header(etag.empty() ? "x-ms-continuation" : "If-None-Match", given,
                          "'*' or the etag of an answer of the change feed");
    return std::string(unquoted(given));
}

Result<ChangeFeedRequest> read_request(const Call& call) {
    ChangeFeedRequest request;
    TRY(request.all_versions, wants_all_versions(call));
    TRY(request.continuation, position_of(call));
    if (const auto since = call.headers[HeaderName::kIfModifiedSince]; !since.empty()) {
        request.newer_than = parse_http_date(since);
        if (!request.newer_than)
            return bad_header("If-Modified-Since", since,
                              "a date like 'Thu, 27 Apr 2017 00:51:12 GMT'");
    }
    if (request.continuation == "*") {
        if (request.newer_than)
            return errors::bad_request(
                "'If-None-Match: *' starts the change feed now, 'If-Modified-Since' at a time. "
                "Send one of them.");
        request.continuation.clear();
        request.from_now = true;
    }
    if (request.all_versions && !request.from_now && request.continuation.empty())
        return errors::bad_request(
            "All versions and deletes can be read from now on ('If-None-Match: *') or from a "
            "position (the etag of an "
            "answer) inside the retention window, not from the beginning or from a time.");
    TRY(request.items_max, page_size(call));
    return request;
}

/// {"pk":"a"}: the key of a deleted item, by the paths of the container's key.
void append_key(std::string& out, const partition::PartitionKeyDefinition& definition,
                const partition::StoredItem& item) {
    out.push_back('{');
    const auto document = item.document == nullptr ? Result<json::Document>(errors::not_found())
                                                   : json::decode_document(*item.document);
    json::Arena arena;
    const auto values = document.ok()
                            ? document->values_at(definition.member_paths, arena)
                            : Result<std::vector<json::Value>>(std::vector<json::Value>());
    bool first = true;
    for (size_t i = 0; values.ok() && i < values->size(); ++i) {
        if ((*values)[i].is_undefined()) continue;
        if (!first) out.push_back(',');
        first = false;
        json::write_string(out, std::string_view(definition.paths[i]).substr(1));
        out.push_back(':');
        json::write(out, (*values)[i], json::NumberForm::kCanonical);
    }
    out.push_back('}');
}

std::string_view operation_name(LogOperation operation) {
    switch (operation) {
        case LogOperation::kCreate:
            return "create";
        case LogOperation::kReplace:
            return "replace";
        case LogOperation::kDelete:
            return "delete";
    }
    return "";
}

void append_version(std::string& out, partition::ItemWriter& writer,
                    const catalog::Container& container, const Change& change) {
    out += "{\"current\":";
    if (change.current.document != nullptr)
        writer.append_with_lsn(out, change.current);
    else
        out += "{}";
    if (change.previous.document != nullptr) {
        out += ",\"previous\":";
        writer.append_with_lsn(out, change.previous);
    }
    out += ",\"metadata\":{\"operationType\":\"";
    out += operation_name(change.operation);
    out += "\",\"lsn\":" + std::to_string(change.lsn) + ",\"crts\":" + std::to_string(change.ts);
    if (change.operation != LogOperation::kCreate)
        out += ",\"previousImageLSN\":" + std::to_string(change.previous_lsn);
    if (change.operation == LogOperation::kDelete) {
        out += change.expired ? ",\"timeToLiveExpired\":true" : ",\"timeToLiveExpired\":false";
        out += ",\"id\":";
        json::write_string(out, change.id);
        out += ",\"partitionKey\":";
        append_key(out, container.settings->key, change.previous);
    }
    out += "}}";
}

void append_latest(std::string& out, partition::ItemWriter& writer, const Change& change) {
    out += "{\"current\":";
    writer.append_with_lsn(out, change.current);
    const auto document = json::decode_document(*change.current.document);
    out += ",\"metadata\":{\"lsn\":" + std::to_string(change.lsn) +
           ",\"crts\":" + std::to_string(document.ok() ? document->header.ts : 0) + "}}";
}

enum class Form : uint8_t { kItems, kLatestWithMetadata, kAllVersions };

std::string changes_body(const catalog::Container& container, const std::vector<Change>& changes,
                         Form form) {
    constexpr size_t kAroundItem = 288;
    size_t size = kAroundItem;
    for (const Change& change : changes) {
        size += kAroundItem;
        for (const auto* item : {&change.current, &change.previous})
            if (item->document != nullptr) size += item->document->size() + kAroundItem;
    }
    std::string body;
    body.reserve(size);
    body += "{\"_rid\":\"" + container.rid_text + "\",\"Documents\":[";
    partition::ItemWriter writer(*container.settings);
    for (size_t i = 0; i < changes.size(); ++i) {
        if (i > 0) body.push_back(',');
        switch (form) {
            case Form::kItems:
                writer.append_with_lsn(body, changes[i].current);
                break;
            case Form::kLatestWithMetadata:
                append_latest(body, writer, changes[i]);
                break;
            case Form::kAllVersions:
                append_version(body, writer, container, changes[i]);
                break;
        }
    }
    body += "],\"_count\":" + std::to_string(changes.size()) + "}";
    return body;
}

}  // namespace

void handle_change_feed(const CallPtr& call) {
    const auto begin = [&]() -> Status {
        TRY(auto request, read_request(*call));
        TRY(auto scope, feed_scope(*call));
        if (scope.full_key && scope.range.is_of_key() && scope.range.min == *scope.epk)
            request.full_epk = scope.epk;
        request.range = std::move(scope.range);
        request.limited_to = std::move(scope.epk);
        const Form form = request.all_versions ? Form::kAllVersions
                          : call->headers[HeaderName::kChangeFeedFormat].empty()
                              ? Form::kItems
                              : Form::kLatestWithMetadata;
        call->session.read_changes(
            call, std::move(request), [call, form](Result<engine::ChangeFeedAnswer>& page) {
                if (!page.ok()) return reply_failure(call, page.error());
                Answer answer;
                answer.etag = page->position;
                answer.continuation = '"' + page->position + '"';
                if (page->nothing_new) {
                    answer.status = 304;
                    return reply(call, answer, "");
                }
                answer.item_count = page->changes.size();
                reply(call, answer, changes_body(*call->container(), page->changes, form));
            });
        return {};
    };
    if (const Status status = begin(); !status.ok()) reply_error(call, status.error());
}

}  // namespace orrery::rest
