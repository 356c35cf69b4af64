#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
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
    out->version = record.version;
    return out;
}

/// Storage that the offer's resource holds now, or held at the last replace if that was more.
Result<int64_t> CatalogImpl::storage_kb(const Offer& offer) const {
    const storage::ViewPtr view = deps_.store.view();
    int64_t bytes = 0;
    const auto add = [&](const Container& container) -> Status {
        for (const PartitionRange& range : container.ranges->ranges) {
            auto totals = range.partition->totals(*view);
            if (!totals.ok()) return std::move(totals).take_status();
            bytes += totals->bytes;
        }
        return {};
    };
    if (const auto rid = parse_container_rid(offer.resource_rid)) {
        const DatabaseNode* database = state_.databases.find_number(rid->database.number);
        const ContainerNode* node =
            database == nullptr ? nullptr : database->containers.find_number(rid->number);
        if (node != nullptr) TRY_STATUS(add(*node->container));
    } else if (const DatabaseNode* database = state_.database(offer.resource_rid)) {
        for (const auto& [number, node] : database->containers.nodes())
            if (!state_.offer_of(node.container->rid_text)) TRY_STATUS(add(*node.container));
    }
    return std::max(offer.storage_kb_ever, bytes / 1024);
}

Result<OfferPtr> CatalogImpl::replace_offer(std::string_view rid, const json::Value& body,
                                            Migrate migrate, std::string_view if_match) {
    WriteLock write(write_mutex_);
    const auto number = parse_offer_rid(rid);
    const auto found = number ? state_.offers.find(*number) : state_.offers.end();
    if (found == state_.offers.end())
        return errors::resource_not_found("The offer does not exist.");
    const Offer& before = *found->second;
    TRY(ThroughputRequest wanted, read_offer_body(body, before));
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
        return errors::bad_request(
            before.is_autoscale()
                ? "The offer is autoscale; send content.offerAutopilotSettings, or the header "
                  "x-ms-cosmos-migrate-offer-to-manual-throughput to change its kind."
                : "The offer is manual; send content.offerThroughput, or the header "
                  "x-ms-cosmos-migrate-offer-to-autopilot to change its kind.");
    }
    TRY_STATUS(check_throughput(wanted));

    records::Offer record = offer_record(*number, {}, 0, wanted, new_version());
    if (const auto container = parse_container_rid(before.resource_rid)) {
        record.database = container->database;
        record.container = container->number;
        const DatabaseNode* database = state_.databases.find_number(container->database.number);
        const ContainerNode* node = database->containers.find_number(container->number);
        if (node->container->legacy_fixed) TRY_STATUS(check_fixed_throughput(wanted));
    } else {
        record.database = *parse_database_rid(before.resource_rid);
    }
    record.storage_kb_ever = kb;
    const int64_t value = record.highest_ever;
    const int64_t minimum = wanted.autoscale_max ? minimum_autoscale(before.highest_ever, gb, 0)
                                                 : minimum_manual(before.highest_ever, gb, 0);
    // A value that stays as it is needs no room below it.
    if (value < minimum && value != before.value()) return below_minimum(value, minimum);
    record.highest_ever = std::max(before.highest_ever, value);
    MetaChange change;
    change.put(record);
    TRY_STATUS(commit(std::move(change)));
    OfferPtr after = make_offer(record);
    std::unique_lock lock(mutex_);
    state_.set_offer(record.number, after);
    return after;
}

}  // namespace orrery::catalog
