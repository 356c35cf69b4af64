#pragma once

#include "heads/rest/call.h"

namespace orrery::rest {

/// What a create asks for: x-ms-offer-throughput or x-ms-cosmos-offer-autopilot-settings.
Result<catalog::ThroughputRequest> throughput_request(const Call& call);

/// x-ms-cosmos-min-throughput and x-ms-offer-replace-pending; nothing where the resource has no
/// offer.
void add_offer_headers(const CallPtr& call, const catalog::Catalog& catalog,
                       std::string_view resource_rid);
void add_offer_headers(const CallPtr& call, const catalog::OfferState& state);

}  // namespace orrery::rest
