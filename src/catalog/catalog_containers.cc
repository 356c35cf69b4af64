#include <fmt/format.h>

#include <algorithm>

#include "base/encoding.h"
#include "base/errors.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/throughput_errors.h"
#include "catalog/catalog_impl.h"
#include "catalog/names.h"
#include "catalog/throughput.h"

namespace orrery::catalog {
namespace {

constexpr uint32_t kContainerBit = 0x8000'0000;

}  // namespace

records::Partition partition_record(const records::Container& container,
                                    const records::Range& range, const partition::EpkRange& epks) {
    records::Partition out;
    out.id = range.partition;
    out.container = container.rid;
    out.range_number = range.number;
    out.rid_prefix = range.number;  // unique within the container, as range numbers are
    out.epk_min = epks.min;
    out.epk_max = epks.max;
    out.settings_version = container.settings_version;
    out.path_key = container.path_key;
    out.definition = container.definition;
    out.index = container.index;
    return out;
}

namespace {

SipKey random_sip_key() {
    char bytes[16];
    random_bytes(bytes, sizeof(bytes));
    return {load_u64_le(bytes), load_u64_le(bytes + 8)};
}

}  // namespace

Result<CatalogImpl::ContainerPlan> CatalogImpl::plan_container(
    const DatabaseNode& database, bool legacy_fixed, const ThroughputRequest& throughput) const {
    TRY_STATUS(check_throughput(throughput));
    if (deps_.throughput.serverless) {
        if (throughput.given()) return errors::serverless_offer();
        return ContainerPlan();
    }
    const OfferPtr shared = state_.offer_of(database.database->rid.text());
    ContainerPlan plan;
    if (!throughput.given() && shared) {
        if (legacy_fixed)
            return errors::bad_request(
                "A container without own throughput in a database with shared throughput needs a "
                "partition key.");
        if (database.containers_without_offer >= limits::kSharedDatabaseContainersMax)
            return errors::shared_database_full(
                fmt::format("A database with shared throughput holds at most {} containers without "
                            "throughput of "
                            "their own. Create this container with throughput of its own.",
                            limits::kSharedDatabaseContainersMax));
        plan.partitions = shared_partition_count(*shared);
        return plan;
    }
    plan.own = throughput;
    if (!throughput.given()) plan.own->manual = limits::kThroughputMin;
    plan.partitions = partition_count(*plan.own);
    if (legacy_fixed) {
        TRY_STATUS(check_fixed_throughput(*plan.own));
        plan.partitions = 1;
    }
    return plan;
}

Result<ContainerPtr> CatalogImpl::build_container(
    const records::Container& record, DatabasePtr database, ContainerDefinitionPtr definition,
    partition::ContainerSettings settings, const std::vector<records::Partition>& partitions) {
    auto out = std::make_shared<Container>();
    out->id = record.id;
    out->rid = record.rid;
    out->rid_text = record.rid.text();
    out->alt_path = "dbs/" + database->id + "/colls/" + record.id;
    out->database = std::move(database);
    out->version = record.version;
    settings.path_key = record.path_key;
    settings.logical_partition_bytes_max = deps_.range_limits.logical_partition_bytes;
    settings.container_rid = rid_decode(out->rid_text).value_or("");
    out->settings = std::make_shared<const partition::ContainerSettings>(std::move(settings));
    out->definition = std::move(definition);

    auto map = std::make_shared<RangeMap>();
    map->version = map->known_from = record.map_version;
    map->ts = record.map_ts;
    const partition::Partition::Deps deps{deps_.store, deps_.cache, deps_.workers, deps_.clock};
    for (size_t i = 0; i < record.ranges.size(); ++i) {
        const records::Partition& stored = partitions[i];
        partition::PartitionIdentity identity{
            stored.id, {stored.epk_min, stored.epk_max}, stored.rid_prefix};
        PartitionRange range;
        range.number = record.ranges[i].number;
        range.id = std::to_string(range.number);
        for (uint32_t parent : record.ranges[i].parents)
            range.parents.push_back(std::to_string(parent));
        range.weight = record.ranges[i].weight;
        TRY(range.partition, partition::Partition::open(std::move(identity), out->settings, deps));
        map->ranges.push_back(std::move(range));
    }
    out->ranges = std::move(map);
    return ContainerPtr(std::move(out));
}

Result<partition::ContainerSettings> CatalogImpl::new_settings(
    const ContainerDefinition& definition) const {
    TRY_STATUS(validate(definition));
    TRY(partition::ContainerSettings out, settings_of(definition, deps_.compile_computed));
    if (out.indexing.computed != nullptr) TRY_STATUS(out.indexing.computed->check_new());
    return out;
}

Result<ContainerPtr> CatalogImpl::create_container(std::string_view database, NewContainer wanted) {
    WriteLock write(write_mutex_);
    TRY(DatabaseNode * parent, owner(database));
    ContainerDefinition& definition = wanted.definition;
    TRY_STATUS(check_name(wanted.id));
    TRY(partition::ContainerSettings settings, new_settings(definition));
    if (const ContainerNode* taken = parent->containers.find(wanted.id))
        return taken->container->definition->dialect == definition.dialect
                   ? errors::conflict()
                   : errors::schema_exists(wanted.id);
    TRY_STATUS(check_encryption_keys(*parent, definition.encryption));
    TRY(ContainerNode * source, materialized_view_source(*parent, definition));
    TRY(const ContainerPlan plan,
        plan_container(*parent, definition.legacy_fixed(), wanted.throughput));

    records::Account account = state_.account;
    if (account.next_partition >= kContainerBit || account.next_offer >= kOfferNumberMax)
        return errors::service_unavailable("All numbers for new containers are used up.");
    records::Container record;
    // Unique in the account, not only in the database: the Java SDK keys its session tokens by the
    // container's half of the rid alone. The number of the first partition is.
    record.rid = {parent->record.rid, account.next_partition | kContainerBit};
    record.id = std::move(wanted.id);
    record.version = new_version();
    record.definition = encode_definition(definition);
    record.path_key = random_sip_key();
    record.map_ts = record.version.ts;
    MetaChange change;
    std::vector<records::Partition> partitions;
    for (const partition::EpkRange& epks : even_ranges(definition.key, plan.partitions)) {
        record.ranges.push_back({record.next_range++, account.next_partition++, {}, 0});
        partitions.push_back(partition_record(record, record.ranges.back(), epks));
        change.put(partitions.back());
    }
    change.put(record);
    std::optional<records::Offer> offer;
    if (plan.own) {
        offer = offer_record(account.next_offer++, record.rid.database, record.rid.number,
                             *plan.own, record.version);
        offer->version.etag = random_guid();
        change.put(*offer);
    }
    TRY(ContainerPtr container,
        build_container(record, parent->database,
                        std::make_shared<const ContainerDefinition>(std::move(definition)),
                        std::move(settings), partitions));
    TRY_STATUS(commit(std::move(change), account));

    std::unique_lock lock(mutex_);
    parent->containers.add(record.rid.number, record.id, {container, record});
    if (offer)
        state_.set_offer(offer->number, make_offer(*offer));
    else
        ++parent->containers_without_offer;
    refresh_budgets(*parent, *container);
    if (source != nullptr) refresh_materialized_views(*parent, *source);
    return container;
}

Result<ContainerPtr> CatalogImpl::replace_container(std::string_view database,
                                                    std::string_view container,
                                                    ContainerDefinition definition,
                                                    std::string_view if_match) {
    WriteLock write(write_mutex_);
    TRY(DatabaseNode * parent, owner(database));
    const ContainerNode* node = State::container(*parent, container);
    if (node == nullptr) return errors::resource_not_found("The container does not exist.");
    const Container& before = *node->container;
    TRY_STATUS(check_unchanged(*before.definition, definition));
    NewSettings to;
    TRY(to.settings, new_settings(definition));
    TRY_STATUS(check_if_match(if_match, before.version.etag));
    to.record = node->record;
    to.definition = std::make_shared<const ContainerDefinition>(std::move(definition));
    to.version = new_version();
    if (!before.settings->indexing.sorted.empty())
        to.settings.indexing = index::with_sorted_paths(std::move(to.settings.indexing),
                                                        before.settings->indexing.sorted);
    to.index = same_indexing(to.settings.indexing, before.settings->indexing)
                   ? NewSettings::Index::kSame
                   : NewSettings::Index::kChanged;
    return change_settings(*parent, node->container, std::move(to));
}

void CatalogImpl::remove_container(const ContainerNode& node, MetaChange& change) const {
    change.remove(records::container_key(node.record.rid));
    if (node.container->materialized_view() != nullptr)
        change.remove(records::materialized_view_key(node.record.rid));
    for (const records::Range& range : node.record.ranges) change.retire(range.partition);
    if (const OfferPtr offer = state_.offer_of(node.container->rid_text))
        change.remove(records::offer_key(*parse_offer_rid(offer->rid)));
    remove_scripts(node.record.rid, change);
}

Status CatalogImpl::delete_container(std::string_view database, std::string_view container,
                                     std::string_view if_match) {
    WriteLock write(write_mutex_);
    auto parent_found = owner(database);
    if (!parent_found.ok()) return std::move(parent_found).take_status();
    DatabaseNode& parent = **parent_found;
    const ContainerNode* node = State::container(parent, container);
    if (node == nullptr) return Status(errors::resource_not_found("The container does not exist."));
    TRY_STATUS(check_if_match(if_match, node->container->version.etag));
    if (!node->container->materialized_views.empty())
        return Status(errors::bad_request(
            fmt::format("Container '{}' has the materialized view '{}'. Delete its views first.",
                        node->container->id, node->container->materialized_views.front().first)));
    MetaChange change;
    remove_container(*node, change);
    TRY_STATUS(commit(std::move(change)));

    const ContainerPtr gone = node->container;
    {
        std::unique_lock lock(mutex_);
        if (const OfferPtr offer = state_.offer_of(gone->rid_text))
            state_.erase_offer(*parse_offer_rid(offer->rid));
        else
            --parent.containers_without_offer;
        parent.containers.erase(gone->rid.number, gone->id);
        parent.scripts.erase(gone->rid.number);
        if (const auto* view = gone->materialized_view())
            if (ContainerNode* source = parent.containers.find(view->source_id))
                refresh_materialized_views(parent, *source);
    }
    for (const PartitionRange& range : gone->ranges->ranges)
        deps_.cache.erase_partition(range.partition->identity().id);
    return {};
}

}  // namespace orrery::catalog
