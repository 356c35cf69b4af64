#include "base/errors.h"
#include "base/random.h"
#include "base/throughput_errors.h"
#include "catalog/catalog_impl.h"
#include "catalog/names.h"
#include "catalog/throughput.h"

namespace orrery::catalog {

DatabasePtr make_database(const records::Database& record) {
    auto out = std::make_shared<Database>();
    out->id = record.id;
    out->rid = record.rid;
    out->version = record.version;
    return out;
}

Result<DatabasePtr> CatalogImpl::create_database(NewDatabase wanted) {
    WriteLock write(write_mutex_);
    const ThroughputRequest& throughput = wanted.throughput;
    TRY_STATUS(check_name(wanted.id));
    TRY_STATUS(check_throughput(throughput));
    if (deps_.throughput.serverless && throughput.given()) return errors::serverless_offer();
    if (state_.databases.find(wanted.id) != nullptr) return errors::conflict();

    records::Account account = state_.account;
    if (account.next_database == UINT32_MAX || account.next_offer >= kOfferNumberMax)
        return errors::service_unavailable("All numbers for new databases are used up.");
    records::Database record;
    record.rid = {account.next_database++};
    record.id = std::move(wanted.id);
    record.version = new_version();
    MetaChange change;
    change.put(record);
    std::optional<records::Offer> offer;
    if (throughput.given()) {
        offer = offer_record(account.next_offer++, record.rid, 0, throughput, record.version);
        offer->version.etag = random_guid();
        change.put(*offer);
    }
    TRY_STATUS(commit(std::move(change), account));

    DatabaseNode node;
    node.database = make_database(record);
    node.record = record;
    const DatabasePtr database = node.database;
    std::unique_lock lock(mutex_);
    DatabaseNode& added = state_.databases.add(record.rid.number, record.id, std::move(node));
    if (offer) {
        state_.set_offer(offer->number, make_offer(*offer));
        refresh_budgets(added);
    }
    return database;
}

Status CatalogImpl::delete_database(std::string_view database, std::string_view if_match) {
    WriteLock write(write_mutex_);
    const DatabaseNode* node = state_.database(database);
    if (node == nullptr) return Status(errors::resource_not_found("The database does not exist."));
    TRY_STATUS(check_if_match(if_match, node->database->version.etag));
    MetaChange change;
    std::vector<uint32_t> offers;
    std::vector<ContainerPtr> containers;
    const auto note_offer = [&](const std::string& rid) {
        if (const OfferPtr offer = state_.offer_of(rid))
            offers.push_back(*parse_offer_rid(offer->rid));
    };
    change.remove(records::database_key(node->record.rid));
    note_offer(node->database->rid.text());
    if (!offers.empty()) change.remove(records::offer_key(offers.front()));
    for (const auto& [number, child] : node->containers.nodes()) {
        remove_container(child, change);
        note_offer(child.container->rid_text);
        containers.push_back(child.container);
    }
    for (const auto& [number, user] : node->users.nodes()) {
        change.remove(records::user_key(user.record.rid));
        for (const auto& [permission_number, permission] : user.permissions.nodes())
            change.remove(records::permission_key(permission.permission->rid));
    }
    for (const auto& [number, key] : node->encryption_keys.nodes())
        change.remove(records::encryption_key_key(key.key->rid));
    TRY_STATUS(commit(std::move(change)));

    {
        const DatabasePtr gone = node->database;
        std::unique_lock lock(mutex_);
        for (uint32_t offer : offers) state_.erase_offer(offer);
        state_.databases.erase(gone->rid.number, gone->id);
    }
    for (const ContainerPtr& container : containers)
        for (const PartitionRange& range : container->ranges->ranges)
            deps_.cache.erase_partition(range.partition->identity().id);
    return {};
}

}  // namespace orrery::catalog
