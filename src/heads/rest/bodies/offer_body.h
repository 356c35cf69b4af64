#pragma once

#include <string_view>

#include "base/status.h"
#include "catalog/requests.h"
#include "json/value.h"

/// Bodies about throughput: offers, and what goes beyond them (docs/compatibility.md).
namespace orrery::rest {

/// `{"maxThroughput":4000,"autoUpgradePolicy":{"throughputPolicy":{"incrementPercent":5}}}`, each
/// member optional. 400, with `where` in its text, for anything else.
Result<catalog::AutoscaleSettings> read_autoscale_settings(const json::Value& settings,
                                                           std::string_view where);

/// A replacement of an offer.
Result<catalog::OfferChange> read_offer_change(const json::Value& body,
                                               const catalog::Offer& stored);

/// Throughputs of physical partitions, which `map` has.
Result<catalog::Redistribution> read_redistribution(const json::Value& body,
                                                    const catalog::RangeMap& map);
Result<catalog::ThroughputBuckets> read_throughput_buckets(const json::Value& body);

}  // namespace orrery::rest
