#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "catalog/resources.h"
#include "json/value.h"

/// Rules of provisioned throughput (service model §4 and §6). Pure functions.
namespace orrery::catalog {

/// 400 for both kinds at once, or a value outside range and step.
Status check_throughput(const ThroughputRequest& request);

/// 400 for more than a container without partition key can have: it is one partition for ever.
Status check_fixed_throughput(const ThroughputRequest& request);

/// Lowest value an offer may be set to. `containers`: of a shared database; 0 for a container's
/// offer.
int64_t minimum_manual(int64_t highest_ever, int64_t storage_gb, int64_t containers);
int64_t minimum_autoscale(int64_t highest_ever, int64_t storage_gb, int64_t containers);
/// Where the other kind starts when an offer changes its kind; takes no user value.
int64_t autoscale_from_manual(int64_t current, int64_t highest_ever, int64_t storage_gb);

/// Physical partitions at creation.
uint32_t partition_count(const ThroughputRequest& own);
uint32_t shared_partition_count(const Offer& database_offer);

/// Values of an offer's replacement body; members that it lacks come from `stored`.
Result<ThroughputRequest> read_offer_body(const json::Value& body, const Offer& stored);

}  // namespace orrery::catalog
