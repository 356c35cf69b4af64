#include "heads/rest/call.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/errors.h"
#include "heads/rest/request_record.h"
#include "heads/rest/usage.h"
#include "json/write.h"

namespace orrery::rest {
namespace {

constexpr std::string_view kFixedHeaders =
    "x-ms-gatewayversion: version=2.14.0\r\n"
    "x-ms-serviceversion: version=2.14.0\r\n"
    "x-ms-schemaversion: 1.18\r\n"
    "x-ms-version: 2018-12-31\r\n";

/// More than the head of an answer to a point operation takes.
constexpr size_t kHeadBytes = 1536;

void append(std::string& out, std::initializer_list<std::string_view> parts) {
    for (const auto part : parts) out += part;
}

/// Milliseconds with three digits after the point.
void append_duration(std::string& out, int64_t us) {
    const fmt::format_int whole(us / 1000);
    out.append(whole.data(), whole.size());
    out.push_back('.');
    for (int64_t rest = us % 1000, unit = 100; unit > 0; unit /= 10)
        out.push_back(static_cast<char>('0' + rest / unit % 10));
}

void add_common(const Call& call, const Answer& answer, int64_t duration_us) {
    auto& head = call.response().head;
    head.reserve(kHeadBytes);
    head += kFixedHeaders;
    append(head, {"x-ms-activity-id: ", call.activity_id,
                  "\r\nx-ms-request-charge: ", meter::ru_text(answer.charge), "\r\n"});
    // Host and target come from the parser, which refuses control characters in them.
    const auto host = call.headers[HeaderName::kHost];
    const auto target = call.request().target;
    if (!host.empty())
        append(head, {"content-location: ", call.request().tls ? "https://" : "http://", host,
                      target.substr(0, target.find('?')), "\r\n"});
    head += "x-ms-request-duration-ms: ";
    append_duration(head, duration_us);
    head += "\r\n";
}

void add_container(const Call& call, const Answer& answer) {
    auto& head = call.response().head;
    const auto& container = *call.container;
    // Names may hold any character; the header carries them percent-encoded per segment.
    append(head, {"x-ms-content-path: ", container.rid_text, "\r\nx-ms-alt-content-path: dbs/"});
    append_percent_encoded(head, container.database->id);
    if (call.route.type != ResourceType::kContainer) {
        head += "/colls/";
        append_percent_encoded(head, container.id);
    }
    head += "\r\n";
    add_usage_headers(call);
    // A feed whose scope is empty (headers that exclude each other) touched no range.
    if (answer.touched && !answer.touched->range_id.empty()) {
        const auto lsn = fmt::format_int(answer.touched->lsn);
        const std::string_view lsn_text(lsn.data(), lsn.size());
        append(head,
               {"x-ms-session-token: ", answer.touched->range_id, ":-1#", lsn_text,
                "\r\nlsn: ", lsn_text, "\r\nx-ms-cosmos-llsn: ", lsn_text,
                "\r\nx-ms-quorum-acked-lsn: ", lsn_text,
                "\r\nx-ms-global-committed-lsn: ", lsn_text, "\r\nx-ms-number-of-read-regions: 0",
                "\r\nx-ms-documentdb-partitionkeyrangeid: ", answer.touched->range_id, "\r\n"});
    }
}

}  // namespace

bool is_metadata(const Call& call) {
    switch (call.route.type) {
        case ResourceType::kItem:
        case ResourceType::kPartitionKeyDelete:
        case ResourceType::kAccount:
        case ResourceType::kAddress:
        case ResourceType::kOwn:
        case ResourceType::kPublic:
            return false;
        case ResourceType::kProcedure:
            return call.route.feed || call.request().method != "POST";
        default:
            return true;
    }
}

Status read_terms(Call& call) {
    const auto& settings = call.engine.account().settings();
    call.terms.traffic.priority = settings.default_priority;
    call.terms.refused_by = &call.refused_by;
    if (const auto text = call.headers[HeaderName::kPriorityLevel]; !text.empty()) {
        if (equals_ignore_case(text, "High"))
            call.terms.traffic.priority = meter::Priority::kHigh;
        else if (equals_ignore_case(text, "Low"))
            call.terms.traffic.priority = meter::Priority::kLow;
        else
            return Status(bad_header(header_text(HeaderName::kPriorityLevel), text, "High or Low"));
    }
    if (const auto text = call.headers[HeaderName::kThroughputBucket]; !text.empty()) {
        if (text.size() != 1 || text[0] < '1' || text[0] > '5')
            return Status(bad_header(header_text(HeaderName::kThroughputBucket), text,
                                     "a number from 1 to 5"));
        call.terms.traffic.bucket = static_cast<uint8_t>(text[0] - '0');
    }
    auto level = settings.consistency;
    if (const auto text = call.headers[HeaderName::kConsistencyLevel]; !text.empty()) {
        const auto asked = engine::parse_consistency(text);
        if (!asked)
            return Status(
                bad_header("x-ms-consistency-level", text,
                           "Strong, BoundedStaleness, Session, ConsistentPrefix or Eventual"));
        if (*asked < level)
            return Status(errors::bad_request("The consistency level '" + std::string(text) +
                                              "' is stronger than the account's level '" +
                                              std::string(engine::consistency_name(level)) +
                                              "'; a request may only ask for a weaker one."));
        level = *asked;
    }
    call.terms.strong = engine::costs_twice(level);
    TRY(const bool explained, call.headers.boolean(HeaderName::kExplainCharge));
    if (explained) call.bill = std::make_unique<meter::Bill>();
    return {};
}

void reply(const CallPtr& call, const Answer& answer, std::string body) {
    call->response().body = std::move(body);
    reply_prepared(call, answer);
}

namespace {

/// An answer that nobody itemised costs one thing, and so does an error that came after some work
/// had been priced.
void explain(const Call& call, const Answer& answer) {
    constexpr size_t kExplanationBytesMax = 4096;
    meter::Bill& bill = *call.bill;
    if (bill.lines().empty() || bill.total() != answer.charge) {
        bill = meter::Bill();
        const bool writes = answer.charge >= meter::metadata_write();
        const std::string_view term = answer.status == 304   ? "notModified"
                                      : answer.status >= 400 ? "failure"
                                      : !is_metadata(call)   ? "request"
                                      : writes               ? "metadataWrite"
                                                             : "metadataRead";
        bill.add(term, 1, answer.charge.units);
    }
    call.response().add_header(
        "x-orrery-charge-explanation",
        bill.json(call.engine.account().settings().charges, kExplanationBytesMax));
}

}  // namespace

void reply_prepared(const CallPtr& call, const Answer& given) {
    auto& response = call->response();
    response.status = given.status;
    const bool metadata = is_metadata(*call);
    const bool twice = metadata && call->terms.strong && given.status < 300 &&
                       given.charge == meter::metadata_read();
    Answer doubled;
    if (twice) {
        doubled = given;
        doubled.charge = meter::strong_read(given.charge);
    }
    const Answer& answer = twice ? doubled : given;
    if (metadata && answer.status != 429) call->engine.settle_metadata(answer.charge);
    const int64_t duration_us = call->engine.clock().monotonic_us() - call->started_us;
    add_common(*call, answer, duration_us);
    if (call->bill) explain(*call, answer);
    if (call->container) add_container(*call, answer);
    if (!answer.etag.empty()) append(response.head, {"etag: \"", answer.etag, "\"\r\n"});
    if (!answer.continuation.empty()) response.add_header("x-ms-continuation", answer.continuation);
    if (answer.item_count)
        response.add_header("x-ms-item-count", static_cast<int64_t>(*answer.item_count));
    if (!response.body.empty())
        append(response.head, {"Content-Type: ", answer.content_type, "\r\n"});
    if (call->recorder != nullptr) record_request(*call, answer, duration_us);
    net::HttpExchange::send(std::move(call->exchange));
}

void reply_error(const CallPtr& call, const Error& error) {
    Answer answer;
    answer.charge = meter::failure(error.code);
    reply_error(call, error, answer);
}

void reply_error(const CallPtr& call, const Error& error, const Answer& given) {
    reply_error(call, answer_to(error), given);
}

void reply_error(const CallPtr& call, const ErrorAnswer& error, const Answer& given) {
    Answer answer = given;
    answer.status = error.status;
    auto& response = call->response();
    if (error.sub_status != 0)
        response.add_header("x-ms-substatus", static_cast<int64_t>(error.sub_status));
    if (error.retry_after_ms > 0) response.add_header("x-ms-retry-after-ms", error.retry_after_ms);
    // The target is client text of any kind; what is not UTF-8 has no place in a JSON body.
    const auto target = call->request().target;
    reply(call, answer,
          error_body(error, call->activity_id, is_valid_utf8(target) ? target : "(not UTF-8)"));
}

std::string feed_front(std::string_view parent_rid, std::string_view array_name) {
    std::string front;
    append(front, {"{\"_rid\":\"", parent_rid, "\",\"", array_name, "\":["});
    return front;
}

std::string feed_back(size_t count) {
    return "],\"_count\":" + std::to_string(count) + "}";
}

std::string feed_body(std::string_view parent_rid, std::string_view array_name,
                      const std::vector<std::string>& resources) {
    size_t size = 64 + parent_rid.size() + array_name.size();
    for (const auto& resource : resources) size += resource.size() + 1;
    std::string body = feed_front(parent_rid, array_name);
    body.reserve(size);
    for (size_t i = 0; i < resources.size(); ++i) {
        if (i > 0) body.push_back(',');
        body += resources[i];
    }
    return body += feed_back(resources.size());
}

}  // namespace orrery::rest
