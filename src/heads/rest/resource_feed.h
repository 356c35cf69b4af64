#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "heads/rest/handlers.h"

/// What the feeds of small resources (users, permissions, client encryption keys) have in common.
/// `list` gives one page of a catalog listing for a `catalog::ListingRequest`, `text` the JSON of
/// one resource.
namespace orrery::rest {

inline Answer plain_answer(int status, meter::Charge charge, const std::string& etag = {}) {
    Answer answer;
    answer.status = status;
    answer.charge = charge;
    answer.etag = etag;
    return answer;
}

/// Answers a GET: one page with its continuation.
template <typename List, typename Text>
Status reply_listing(const CallPtr& call, const std::string& parent_rid,
                     std::string_view array_name, const List& list, const Text& text) {
    const engine::ListingScope listing{parent_rid, array_name};
    TRY(const auto page, page_request(*call, listing));
    const auto listed = list(page);
    std::vector<std::string> texts;
    for (const auto& resource : listed.items) {
        TRY(auto one, text(*resource));
        texts.push_back(std::move(one));
    }
    Answer answer = plain_answer(200, meter::metadata_read());
    answer.continuation = call->engine.seal_listing(listing, listed.continuation);
    answer.item_count = texts.size();
    reply(call, answer, feed_body(parent_rid, array_name, texts));
    return {};
}

/// Answers a query, which sees all resources, not the first page of them.
template <typename List, typename Text>
Status reply_listing_query(const CallPtr& call, const std::string& parent_rid,
                           std::string_view array_name, const List& list, const Text& text) {
    catalog::ListingRequest page;
    page.items_max = limits::kPageItemsMax;
    std::vector<QueriedResource> resources;
    for (bool more = true; more;) {
        auto listed = list(page);
        for (const auto& resource : listed.items) {
            TRY(auto one, text(*resource));
            resources.push_back({std::move(one), {}});
        }
        page.continuation = std::move(listed.continuation);
        more = !page.continuation.empty();
    }
    reply_resource_query(call, parent_rid, array_name, resources);
    return {};
}

}  // namespace orrery::rest
