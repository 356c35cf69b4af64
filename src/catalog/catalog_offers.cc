#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/throughput_errors.h"
#include "catalog/catalog_impl.h"
#include "catalog/names.h"
#include "catalog/throughput.h"

namespace orrery::catalog {
namespace {

constexpr int64_t kKbPerGb = 1024 * 1024;

Error below_minimum(int64_t value, int64_t minimum) {
    return errors::bad_request(fmt::format(
        "The offer's throughput {} is below the minimum of {} RU/s that follows from the "
        "highest throughput ever provisioned and the storage.",
        value, minimum));
}

}  // namespace

records::Offer offer_record(uint32_t number, const DatabaseRid& database, uint32_t container,
                            const ThroughputRequest& throughput, Version version) {
    records::Offer out;
    out.number = number;
    out.database = database;
    out.container = container;
    out.version = std::move(version);
    out.manual = throughput.manual;
    out.autoscale_max = throughput.autoscale_max;
    out.increment_percent = throughput.increment_percent;
    out.highest_ever = throughput.autoscale_max.value_or(throughput.manual.value_or(0));
    return out;
}

OfferPtr make_offer(const records::Offer& record) {
    auto out = std::make_shared<Offer>();
    out->rid = offer_rid(record.number);
    out->resource = "dbs/" + record.database.text() + "/";
    out->resource_rid = record.database.text();
    if (record.container != 0) {
        out->resource_rid = ContainerRid{record.database, record.container}.text();
        out->resource += "colls/" + out->resource_rid + "/";
    }
    out->manual = record.manual;
    out->autoscale_max = record.autoscale_max;
    out->increment_percent = record.increment_percent;
    out->highest_ever = record.highest_ever;
    out->storage_kb_ever = record.storage_kb_ever;
    out->buckets = record.buckets;
    out->version = record.version;
    return out;
}

Result<OfferPtr> CatalogImpl::replace_offer(std::string_view rid, const OfferChange& change,
                                            Migrate migrate, std::string_view if_match) {
    TRY_STATUS(check_offers());
    WriteLock write(write_mutex_);
    const auto number = parse_offer_rid(rid);
    const auto found = number ? state_.offers.find(*number) : state_.offers.end();
    if (found == state_.offers.end())
        return errors::resource_not_found("The offer does not exist.");
    const Offer& before = *found->second;
    ThroughputRequest wanted = throughput_after(before, change);
    TRY_STATUS(check_if_match(if_match, before.version.etag));
    TRY(const int64_t kb, storage_kb(before));
    const int64_t gb = kb / kKbPerGb;
    const bool to_autoscale = migrate == Migrate::kToAutoscale && !before.is_autoscale();
    const bool to_manual = migrate == Migrate::kToManual && before.is_autoscale();
    if (to_autoscale) {
        wanted = {};
        wanted.autoscale_max = autoscale_from_manual(before.value(), before.highest_ever, gb);
    } else if (to_manual) {
        wanted = {};
        wanted.manual = before.value();
    } else if (wanted.autoscale_max.has_value() != before.is_autoscale()) {
        return before.is_autoscale() ? errors::offer_is_autoscale() : errors::offer_is_manual();
    }
    TRY_STATUS(check_throughput(wanted));

    const auto containers = served_by(before);
    if (containers.size() == 1 && containers.front()->definition->legacy_fixed())
        TRY_STATUS(check_fixed_throughput(wanted));
    records::Offer record = record_of(*number, before);
    record.manual = wanted.manual;
    record.autoscale_max = wanted.autoscale_max;
    record.increment_percent = wanted.increment_percent;
    record.version = new_version();
    record.storage_kb_ever = kb;
    const int64_t value = wanted.autoscale_max.value_or(wanted.manual.value_or(0));
    const auto shared = record.container == 0 ? static_cast<int64_t>(containers.size()) : 0;
    const int64_t minimum = wanted.autoscale_max
                                ? minimum_autoscale(before.highest_ever, gb, shared)
                                : minimum_manual(before.highest_ever, gb, shared);
    // An unchanged value is allowed even below the minimum.
    if (value < minimum && value != before.value()) return below_minimum(value, minimum);
    // Lowering to what the partitions give is always possible. A second raise while splits are
    // pending is not.
    const int64_t ranges = ranges_of(before);
    const bool pending = ranges < partitions_wanted(before, deps_.throughput);
    if (pending && value > ranges * deps_.throughput.partition_ru_max && value != before.value())
        return errors::scale_running();
    record.highest_ever = std::max(before.highest_ever, value);
    return store_offer(record, MetaChange());
}

}  // namespace orrery::catalog
