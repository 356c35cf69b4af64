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

inline Answer plain_answer(int status, const std::string& etag = {}) {
    Answer answer;
    answer.status = status;
    answer.etag = etag;
    return answer;
}

/// Answers 304 when the client has this version already.
inline bool replied_not_modified(const CallPtr& call, const std::string& etag) {
    if (unquoted(call->headers[HeaderName::kIfNoneMatch]) != etag) return false;
    call->set_not_modified();
    reply(call, plain_answer(304, etag), "");
    return true;
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
    Answer answer = plain_answer(200);
    answer.continuation = call->session.seal_listing(listing, listed.continuation);
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
    std::vector<engine::QueriedResource> resources;
    for (bool more = true; more;) {
        auto listed = list(page);
        for (const auto& resource : listed.items) {
            TRY(auto one, text(*resource));
            resources.push_back({std::move(one), {}});
        }
        page.continuation = std::move(listed.continuation);
        more = !page.continuation.empty();
    }
    return reply_resource_query(call, parent_rid, array_name, resources);
}

}  // namespace orrery::rest
