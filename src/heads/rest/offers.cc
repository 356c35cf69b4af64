#include <charconv>
#include <map>

#include "base/encoding.h"
#include "base/errors.h"
#include "heads/rest/bodies/offer_body.h"
#include "heads/rest/bodies/resource_json.h"
#include "heads/rest/handlers.h"
#include "heads/rest/throughput.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::rest {
namespace {

using catalog::Catalog;
using engine::Operation;

/// With what autoscale has scaled to.
std::string present_json(const Catalog& catalog, const catalog::Offer& offer) {
    if (!offer.is_autoscale()) return offer_json(offer);
    return offer_json(offer, catalog.offer_state(offer).current);
}

/// SDKs look an offer up by the link of its resource, with or without the outer slashes.
std::vector<std::string> link_forms(const Catalog& catalog, const catalog::Offer& offer) {
    std::string_view bare = offer.resource;
    while (bare.starts_with('/')) bare.remove_prefix(1);
    while (bare.ends_with('/')) bare.remove_suffix(1);
    const std::string middle(bare);
    std::vector<std::string> forms;
    const std::string text = present_json(catalog, offer);
    for (const auto& link : {offer.resource, middle, "/" + middle, "/" + middle + "/"}) {
        json::Arena arena;
        const auto parsed = json::parse(text, arena);
        CHECK(parsed.ok());
        std::vector<json::Member> members(parsed->members().begin(), parsed->members().end());
        for (auto& member : members)
            if (member.name == "resource") member.value = json::Value::string(link);
        forms.push_back(json::to_text(json::Value::object(members)));
    }
    return forms;
}

void reply_offer(const CallPtr& call, const Catalog& catalog, const catalog::OfferPtr& offer) {
    const catalog::OfferState state = catalog.offer_state(*offer);
    add_offer_headers(call, state);
    Answer answer;
    answer.etag = offer->version.etag;
    reply(call, answer, offer_json(*offer, state.current));
}

Status replace_offer(const CallPtr& call) {
    TRY(auto* catalog, call->session.change(*call, Operation::kReplaceOffer));
    TRY_STATUS(catalog->check_offers());
    TRY(const auto body, parse_body(*call));
    TRY(const bool to_autopilot, call->headers.boolean(HeaderName::kMigrateToAutopilot));
    TRY(const bool to_manual, call->headers.boolean(HeaderName::kMigrateToManual));
    if (to_autopilot && to_manual)
        return Status(
            errors::bad_request("An offer cannot be migrated to autoscale and to manual at once."));
    auto migrate = catalog::Migrate::kNo;
    if (to_autopilot) migrate = catalog::Migrate::kToAutoscale;
    if (to_manual) migrate = catalog::Migrate::kToManual;
    const auto before = catalog->find_offer(call->route.last_id());
    if (before == nullptr) return Status(errors::resource_not_found("The offer does not exist."));
    TRY(const auto change, read_offer_change(body->value, *before));
    TRY(const auto offer, catalog->replace_offer(before->rid, change, migrate,
                                                 unquoted(call->headers[HeaderName::kIfMatch])));
    reply_offer(call, *catalog, offer);
    return {};
}

/// The catalog of an account that has offers.
Result<const Catalog*> offers_of(Call& call) {
    TRY(const auto* catalog, call.session.look_up(call, Operation::kReadOffers));
    TRY_STATUS(catalog->check_offers());
    return catalog;
}

Status query_offers(const CallPtr& call) {
    TRY(const auto* catalog, offers_of(*call));
    std::vector<engine::QueriedResource> resources;
    for (const auto& offer : catalog->list_offers())
        resources.push_back({present_json(*catalog, *offer), link_forms(*catalog, *offer)});
    return reply_resource_query(call, "", "Offers", resources);
}

Status read_offer(const CallPtr& call) {
    TRY(const auto* catalog, offers_of(*call));
    const auto offer = catalog->find_offer(call->route.last_id());
    if (offer == nullptr)
        return Status(errors::resource_not_found("The offer '" + call->route.last_id() +
                                                 "' does not exist."));
    reply_offer(call, *catalog, offer);
    return {};
}

/// Pages in the order of rids; the continuation is the last rid seen.
Status list_offers(const CallPtr& call) {
    TRY(const auto* catalog, offers_of(*call));
    const engine::ListingScope listing{"", "Offers"};
    TRY(const uint32_t items_max, page_size(*call));
    TRY(const std::string after,
        call->session.open_listing(listing, call->headers[HeaderName::kContinuation]));
    const auto last = catalog::parse_offer_rid(after);
    std::map<uint32_t, catalog::OfferPtr> rest;
    for (const auto& offer : catalog->list_offers()) {
        const auto number = catalog::parse_offer_rid(offer->rid);
        CHECK(number);
        if (!last || *number > *last) rest.emplace(*number, offer);
    }
    Answer answer;
    std::vector<std::string> texts;
    for (const auto& [number, offer] : rest) {
        if (texts.size() == items_max) {
            answer.continuation = call->session.seal_listing(
                listing, catalog::offer_rid(std::prev(rest.find(number))->first));
            break;
        }
        texts.push_back(present_json(*catalog, *offer));
    }
    answer.item_count = texts.size();
    reply(call, answer, feed_body(listing.parent_rid, listing.kind, texts));
    return {};
}

}  // namespace

Result<catalog::ThroughputRequest> throughput_request(const Call& call) {
    catalog::ThroughputRequest request;
    if (const auto text = call.headers[HeaderName::kOfferThroughput]; !text.empty()) {
        int64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size())
            return bad_header("x-ms-offer-throughput", text,
                              "an integer of Request Units per second");
        request.manual = value;
    }
    if (const auto text = call.headers[HeaderName::kAutopilotSettings]; !text.empty()) {
        json::Arena arena;
        const auto settings = json::parse(text, arena);
        if (!settings.ok() || !settings->member("maxThroughput").is_int64())
            return bad_header("x-ms-cosmos-offer-autopilot-settings", text,
                              R"(a JSON object such as {"maxThroughput":4000})");
        TRY(const auto read,
            read_autoscale_settings(*settings, "x-ms-cosmos-offer-autopilot-settings"));
        request.autoscale_max = read.max;
        request.increment_percent = read.increment_percent;
    }
    return request;
}

void add_offer_headers(const CallPtr& call, const catalog::Catalog& catalog,
                       std::string_view resource_rid) {
    if (const auto offer = catalog.offer_of(resource_rid); offer != nullptr)
        add_offer_headers(call, catalog.offer_state(*offer));
}

void add_offer_headers(const CallPtr& call, const catalog::OfferState& state) {
    call->response().add_header("x-ms-cosmos-min-throughput", state.minimum);
    call->response().add_header("x-ms-offer-replace-pending", state.pending ? "true" : "false");
    call->response().add_header("x-orrery-instant-maximum-throughput", state.instant_maximum);
}

void handle_offers(const CallPtr& call) {
    const auto method = call->request().method;
    Status (*handler)(const CallPtr&) = nullptr;
    if (call->route.feed) {
        if (is_query(*call)) handler = query_offers;
        if (method == "GET") handler = list_offers;
    } else {
        if (is_read(*call)) handler = read_offer;
        if (method == "PUT") handler = replace_offer;
    }
    if (handler == nullptr)
        return reply_error(
            call, method_not_allowed(method, call->route.feed ? "the offer feed" : "an offer"));
    on_worker(call, [call, handler] { return handler(call); });
}

}  // namespace orrery::rest
