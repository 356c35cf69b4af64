#include "heads/rest/call.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/errors.h"
#include "heads/rest/handlers.h"
#include "heads/rest/session_token.h"
#include "heads/rest/usage.h"
#include "json/write.h"

namespace orrery::rest {
namespace {

constexpr std::string_view kFixedHeaders =
    "x-ms-gatewayversion: version=2.14.0\r\n"
    "x-ms-serviceversion: version=2.14.0\r\n"
    "x-ms-schemaversion: 1.18\r\n"
    "x-ms-version: 2018-12-31\r\n";

constexpr size_t kExplanationBytesMax = 4096;

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

void add_common(const Call& call, int64_t duration_us) {
    auto& head = call.response().head;
    head.reserve(kHeadBytes);
    head += kFixedHeaders;
    append(head, {"x-ms-activity-id: ", call.activity_id,
                  "\r\nx-ms-request-charge: ", meter::ru_text(call.outcome().charge), "\r\n"});
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

void add_container(const Call& call) {
    auto& head = call.response().head;
    const auto& container = *call.container();
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
    const engine::Touched& touched = call.outcome().touched;
    if (!touched.range_id.empty()) {
        const auto lsn = fmt::format_int(touched.lsn);
        const std::string_view lsn_text(lsn.data(), lsn.size());
        append(head,
               {"x-ms-session-token: ", touched.range_id, ":-1#", lsn_text, "\r\nlsn: ", lsn_text,
                "\r\nx-ms-cosmos-llsn: ", lsn_text, "\r\nx-ms-quorum-acked-lsn: ", lsn_text,
                "\r\nx-ms-global-committed-lsn: ", lsn_text, "\r\nx-ms-number-of-read-regions: 0",
                "\r\nx-ms-documentdb-partitionkeyrangeid: ", touched.range_id, "\r\n"});
    }
}

}  // namespace

Status read_terms(Call& call) {
    meter::Traffic traffic{call.door.settings().default_priority, 0};
    if (const auto text = call.headers[HeaderName::kPriorityLevel]; !text.empty()) {
        if (equals_ignore_case(text, "High"))
            traffic.priority = meter::Priority::kHigh;
        else if (equals_ignore_case(text, "Low"))
            traffic.priority = meter::Priority::kLow;
        else
            return Status(bad_header(header_text(HeaderName::kPriorityLevel), text, "High or Low"));
    }
    if (const auto text = call.headers[HeaderName::kThroughputBucket]; !text.empty()) {
        if (text.size() != 1 || text[0] < '1' || text[0] > '5')
            return Status(bad_header(header_text(HeaderName::kThroughputBucket), text,
                                     "a number from 1 to 5"));
        traffic.bucket = static_cast<uint8_t>(text[0] - '0');
    }
    call.set_traffic(traffic);
    if (const auto text = call.headers[HeaderName::kConsistencyLevel]; !text.empty()) {
        const auto asked = engine::parse_consistency(text);
        if (!asked)
            return Status(
                bad_header("x-ms-consistency-level", text,
                           "Strong, BoundedStaleness, Session, ConsistentPrefix or Eventual"));
        TRY_STATUS(call.ask_for_level(*asked, text));
    }
    call.seen = {call.headers[HeaderName::kSessionToken], next_position};
    TRY(const bool explained, call.headers.boolean(HeaderName::kExplainCharge));
    if (explained) call.bill = std::make_unique<meter::Bill>();
    return {};
}

void reply(const CallPtr& call, const Answer& answer, std::string body) {
    call->response().body = std::move(body);
    reply_prepared(call, answer);
}

namespace {

engine::WireFacts facts_of(const Call& call, int64_t duration_us) {
    engine::WireFacts facts;
    facts.status = static_cast<uint16_t>(call.response().status);
    facts.duration_us = duration_us;
    facts.request_bytes = call.request().body.size();
    facts.response_bytes = call.response().body.size();
    facts.connection = call.request().connection;
    facts.correlation = call.headers[HeaderName::kCorrelatedActivity];
    // version-trace-span-flags: the trace is what spans have in common.
    if (const auto trace = call.headers[HeaderName::kTraceParent];
        facts.correlation.empty() && trace.size() >= 35)
        facts.correlation = trace.substr(3, 32);
    facts.partition_key = call.headers[HeaderName::kPartitionKey];
    if (call.route.type == ResourceType::kItem && !call.route.feed)
        facts.item_id = call.route.ids[2];
    else
        facts.item_body = call.request().body;
    facts.housekeeping = call.headers.has(HeaderName::kHousekeeping) &&
                         call.headers.says_true(HeaderName::kHousekeeping);
    return facts;
}

}  // namespace

void reply_prepared(const CallPtr& call, const Answer& answer) {
    auto& response = call->response();
    response.status = answer.status;
    const int64_t duration_us = call->age_us();
    add_common(*call, duration_us);
    if (call->bill)
        response.add_header("x-orrery-charge-explanation", call->explanation(kExplanationBytesMax));
    if (call->container()) add_container(*call);
    if (!answer.etag.empty()) append(response.head, {"etag: \"", answer.etag, "\"\r\n"});
    if (!answer.continuation.empty()) response.add_header("x-ms-continuation", answer.continuation);
    if (answer.item_count)
        response.add_header("x-ms-item-count", static_cast<int64_t>(*answer.item_count));
    if (!response.body.empty())
        append(response.head, {"Content-Type: ", answer.content_type, "\r\n"});
    call->finish(facts_of(*call, duration_us));
    net::HttpExchange::send(std::move(call->exchange));
}

void reply_error(const CallPtr& call, const Error& error) {
    call->refuse(error);
    reply_failure(call, error);
}

void reply_failure(const CallPtr& call, const Error& error) {
    reply_failure(call, answer_to(error));
}

void reply_failure(const CallPtr& call, const ErrorAnswer& error) {
    Answer answer;
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
