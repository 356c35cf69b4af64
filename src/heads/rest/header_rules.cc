// Rules for every request: header values must be valid, and no header may be present that has a
// meaning only on other requests.
#include <fmt/format.h>

#include "base/encoding.h"
#include "base/errors.h"
#include "base/limits.h"
#include "heads/rest/handlers.h"
#include "heads/rest/query_reports.h"
#include "heads/rest/throughput.h"

namespace orrery::rest {
namespace {

bool is_plan(const Call& call) {
    return call.headers.says_true(HeaderName::kIsQueryPlan);
}

bool is_item_query(const Call& call) {
    return call.route.type == ResourceType::kItem && call.route.feed && is_query(call) &&
           !is_plan(call) && !call.headers.says_true(HeaderName::kIsBatch);
}

/// An invalid value is an error even where the header has no effect.
Status check_values(const Call& call) {
    const RequestHeaders& headers = call.headers;
    TRY_STATUS(page_size(call).status().clone());
    TRY_STATUS(token_limit(headers).status().clone());
    TRY_STATUS(token_lifetime(headers).status().clone());
    TRY_STATUS(throughput_request(call).status().clone());
    TRY_STATUS(indexing_directive(headers[HeaderName::kIndexingDirective]).status().clone());
    if (const auto mode = headers[HeaderName::kAIm];
        !mode.empty() && !equals_ignore_case(mode, "Incremental Feed") &&
        !equals_ignore_case(mode, "Full-Fidelity Feed"))
        return Status(bad_header("A-IM", mode, "'Incremental Feed' or 'Full-Fidelity Feed'"));
    if (const auto type = headers[HeaderName::kReadKeyType];
        !type.empty() && !equals_ignore_case(type, "EffectivePartitionKeyRange"))
        return Status(
            bad_header(header_text(HeaderName::kReadKeyType), type, "EffectivePartitionKeyRange"));
    for (const auto name : {HeaderName::kStartEpk, HeaderName::kEndEpk})
        TRY_STATUS(epk_of(headers, name).status().clone());
    return {};
}

struct Misplaced {
    HeaderName name;
    std::string_view spelling;
    std::string_view place;
};
constexpr std::string_view kForThroughput = "It is for creating a database or a container.";
constexpr Misplaced kNotOnQueries[] = {
    {HeaderName::kAIm, "A-IM", "The change feed is read with GET, without a query."},
    {HeaderName::kIfMatch, "If-Match", "It is for writing a single resource."},
    {HeaderName::kIfNoneMatch, "If-None-Match",
     "It is for reading a single resource, and for the change feed."},
    {HeaderName::kIndexingDirective, "x-ms-indexing-directive", "It is for writing an item."},
    {HeaderName::kOfferThroughput, "x-ms-offer-throughput", kForThroughput},
    {HeaderName::kAutopilotSettings, "x-ms-cosmos-offer-autopilot-settings", kForThroughput},
};

/// A client that sends a condition expects it to be checked.
Status check_query(const Call& call) {
    for (const auto& [name, spelling, place] : kNotOnQueries)
        if (!call.headers[name].empty())
            return Status(errors::bad_request(
                fmt::format("The header '{}' has no meaning for a query and was refused rather "
                            "than ignored. {} Send the query without it.",
                            spelling, place)));
    if (call.request().body.size() > limits::kRequestBodyBytesMax)
        return Status(errors::entity_too_large(limits::kRequestBodyBytesMax));
    return {};
}

}  // namespace

Status check_headers(const Call& call) {
    TRY_STATUS(call.headers.check());
    TRY_STATUS(check_values(call));
    const bool items = call.route.type == ResourceType::kItem && call.route.feed;
    if (is_plan(call) && !(items && call.request().method == "POST"))
        return Status(errors::bad_request(
            "The header 'x-ms-cosmos-is-query-plan-request' asks for the plan of a query over "
            "items. POST the query to /dbs/{database}/colls/{container}/docs."));
    if (is_query(call) || is_plan(call)) TRY_STATUS(check_query(call));
    if (call.headers.says_true(HeaderName::kExplain) && !is_item_query(call))
        return Status(errors::bad_request(
            "The header 'x-orrery-explain' asks for the plan of a query over items as it was "
            "carried out, and this request is none. Send it without the header."));
    return {};
}

}  // namespace orrery::rest
