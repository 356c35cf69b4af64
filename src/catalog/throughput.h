#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "catalog/requests.h"
#include "catalog/resources.h"

/// Rules of provisioned throughput (docs/throughput.md). Pure functions.
namespace orrery::catalog {

/// How the account runs its throughput.
struct ThroughputSettings {
    bool serverless = false;            ///< no offers; each physical partition gives 5,000 RU/s
    bool burst = false;                 ///< partitions bank what they do not use
    bool throttled = true;              ///< false: background work need not wait for leftovers
    int64_t partition_ru_max = 10'000;  ///< what one physical partition gives
};

/// A bad request for both kinds at once, or a value outside range and step.
Status check_throughput(const ThroughputRequest& request);

/// A bad request for more than a container without partition key can have: it is one partition for
/// ever.
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

/// How many physical partitions an offer's throughput needs. With fewer, it is pending.
uint32_t partitions_wanted(const Offer& offer, const ThroughputSettings& settings);

/// What one range gets of a throughput in RU/s, in u per microsecond: its fraction, never more than
/// a physical partition gives. `map` has that range.
int64_t range_units_per_us(int64_t throughput, const RangeMap& map, const PartitionRange& range,
                           const ThroughputSettings& settings);

/// What an offer has once it is changed. Autoscale settings without a maximum for a manual offer:
/// neither kind.
ThroughputRequest throughput_after(const Offer& stored, const OfferChange& change);

}  // namespace orrery::catalog
