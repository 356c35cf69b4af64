#include "catalog/catalog.h"

#include <fmt/format.h>

#include <charconv>

#include "base/errors.h"
#include "base/random.h"
#include "catalog/catalog_impl.h"

namespace orrery::catalog {
namespace {

// Continuation of a listing: the number of the last resource of the page. Numbers only grow, so
// that it stays valid whatever is created or deleted.
constexpr std::string_view kContinuationPrefix = "after:";

std::string continuation_after(uint64_t number) {
    return fmt::format("{}{:x}", kContinuationPrefix, number);
}

std::optional<uint64_t> parse_continuation(std::string_view text) {
    if (!text.starts_with(kContinuationPrefix)) return std::nullopt;
    text.remove_prefix(kContinuationPrefix.size());
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

/// `get`: the resource of a node; null: it is not seen.
template <typename T, typename Node, typename Get>
ListingPage<T> page_of(const Children<Node>& children, const ListingRequest& request, Get get) {
    ListingPage<T> page;
    const uint32_t items_max = std::max<uint32_t>(request.items_max, 1);
    auto it = children.nodes().begin();
    if (const auto after = parse_continuation(request.continuation))
        it = children.nodes().upper_bound(*after);
    uint64_t last = 0;
    for (; it != children.nodes().end() && page.items.size() < items_max; ++it) {
        T item = get(it->second);
        if (item == nullptr) continue;
        last = it->first;
        page.items.push_back(std::move(item));
    }
    while (it != children.nodes().end() && get(it->second) == nullptr) ++it;
    if (it != children.nodes().end()) page.continuation = continuation_after(last);
    return page;
}

}  // namespace

Status check_continuation(std::string_view continuation) {
    if (continuation.empty() || parse_continuation(continuation)) return {};
    return Status(errors::invalid_continuation(continuation));
}

CatalogImpl::CatalogImpl(const Deps& deps) : deps_(deps) {}

DatabasePtr CatalogImpl::find_database(std::string_view name_or_rid) const {
    std::shared_lock lock(mutex_);
    const DatabaseNode* node = state_.database(name_or_rid);
    return node == nullptr ? nullptr : node->database;
}

ContainerPtr CatalogImpl::find_container(std::string_view database, std::string_view container,
                                         Dialects dialects) const {
    std::shared_lock lock(mutex_);
    const ContainerNode* node = state_.container(database, container);
    if (node == nullptr || !dialects.contains(node->container->definition->dialect)) return nullptr;
    return node->container;
}

UserPtr CatalogImpl::find_user(std::string_view database, std::string_view user) const {
    std::shared_lock lock(mutex_);
    const UserNode* node = state_.user(database, user);
    return node == nullptr ? nullptr : node->user;
}

PermissionPtr CatalogImpl::find_permission(std::string_view database, std::string_view user,
                                           std::string_view permission) const {
    std::shared_lock lock(mutex_);
    const UserNode* owner = state_.user(database, user);
    if (owner == nullptr) return nullptr;
    const PermissionNode* node = State::permission(*owner, permission);
    return node == nullptr ? nullptr : node->permission;
}

OfferPtr CatalogImpl::find_offer(std::string_view rid) const {
    const auto number = parse_offer_rid(rid);
    if (!number) return nullptr;
    std::shared_lock lock(mutex_);
    const auto it = state_.offers.find(*number);
    return it == state_.offers.end() ? nullptr : it->second;
}

OfferPtr CatalogImpl::offer_of(std::string_view resource_rid) const {
    std::shared_lock lock(mutex_);
    return state_.offer_of(resource_rid);
}

ListingPage<DatabasePtr> CatalogImpl::list_databases(const ListingRequest& page) const {
    std::shared_lock lock(mutex_);
    return page_of<DatabasePtr>(state_.databases, page,
                                [](const DatabaseNode& node) { return node.database; });
}

ListingPage<ContainerPtr> CatalogImpl::list_containers(const Database& database,
                                                       const ListingRequest& page,
                                                       Dialects dialects) const {
    std::shared_lock lock(mutex_);
    const DatabaseNode* node = state_.databases.find_number(database.rid.number);
    if (node == nullptr) return {};
    return page_of<ContainerPtr>(node->containers, page, [&](const ContainerNode& child) {
        const bool seen = dialects.contains(child.container->definition->dialect);
        return seen ? child.container : nullptr;
    });
}

ListingPage<UserPtr> CatalogImpl::list_users(const Database& database,
                                             const ListingRequest& page) const {
    std::shared_lock lock(mutex_);
    const DatabaseNode* node = state_.databases.find_number(database.rid.number);
    if (node == nullptr) return {};
    return page_of<UserPtr>(node->users, page, [](const UserNode& child) { return child.user; });
}

ListingPage<PermissionPtr> CatalogImpl::list_permissions(const User& user,
                                                         const ListingRequest& page) const {
    std::shared_lock lock(mutex_);
    const DatabaseNode* database = state_.databases.find_number(user.rid.database.number);
    const UserNode* node =
        database == nullptr ? nullptr : database->users.find_number(user.rid.number);
    if (node == nullptr) return {};
    return page_of<PermissionPtr>(node->permissions, page,
                                  [](const PermissionNode& child) { return child.permission; });
}

ListingPage<ScriptPtr> CatalogImpl::list_scripts(const ContainerRid& container, ChildType type,
                                                 const ListingRequest& page) const {
    std::shared_lock lock(mutex_);
    const DatabaseNode* database = state_.databases.find_number(container.database.number);
    if (database == nullptr) return {};
    const auto nodes = database->scripts.find(container.number);
    if (nodes == database->scripts.end()) return {};
    return page_of<ScriptPtr>(nodes->second.of(type), page,
                              [](const ScriptNode& node) { return node.script; });
}

EncryptionKeyPtr CatalogImpl::find_encryption_key(std::string_view database,
                                                  std::string_view key) const {
    std::shared_lock lock(mutex_);
    const DatabaseNode* owner = state_.database(database);
    if (owner == nullptr) return nullptr;
    const EncryptionKeyNode* node = State::encryption_key(*owner, key);
    return node == nullptr ? nullptr : node->key;
}

ListingPage<EncryptionKeyPtr> CatalogImpl::list_encryption_keys(const Database& database,
                                                                const ListingRequest& page) const {
    std::shared_lock lock(mutex_);
    const DatabaseNode* node = state_.databases.find_number(database.rid.number);
    if (node == nullptr) return {};
    return page_of<EncryptionKeyPtr>(node->encryption_keys, page,
                                     [](const EncryptionKeyNode& child) { return child.key; });
}

std::vector<OfferPtr> CatalogImpl::list_offers() const {
    std::shared_lock lock(mutex_);
    std::vector<OfferPtr> out;
    out.reserve(state_.offers.size());
    for (const auto& [number, offer] : state_.offers) out.push_back(offer);
    return out;
}

std::vector<ContainerPtr> CatalogImpl::all_containers() const {
    std::shared_lock lock(mutex_);
    std::vector<ContainerPtr> out;
    for (const auto& [number, database] : state_.databases.nodes())
        for (const auto& [child_number, child] : database.containers.nodes())
            out.push_back(child.container);
    return out;
}

Version CatalogImpl::new_version() const {
    return {random_guid(), deps_.clock.wall_seconds()};
}

Status CatalogImpl::commit(MetaChange change, const records::Account& account) {
    const records::Account& stored = state_.account;
    if (!state_.account_stored || account.next_database != stored.next_database ||
        account.next_offer != stored.next_offer || account.next_partition != stored.next_partition)
        change.put(account);
    for (storage::PartitionId partition : dead_) change.retire(partition);
    for (const std::string& key : abandoned_) change.remove(key);
    TRY_STATUS(std::move(change).commit(deps_.store));
    dead_.clear();
    abandoned_.clear();
    std::unique_lock lock(mutex_);
    state_.account = account;
    state_.account_stored = true;
    return {};
}

Result<DatabaseNode*> CatalogImpl::owner(std::string_view database) {
    const DatabaseNode* node = state_.database(database);
    if (node == nullptr) return errors::owner_not_found("The database does not exist.");
    return const_cast<DatabaseNode*>(node);
}

Result<UserNode*> CatalogImpl::user_owner(std::string_view database, std::string_view user) {
    TRY(DatabaseNode * parent, owner(database));
    const UserNode* node = State::user(*parent, user);
    if (node == nullptr) return errors::owner_not_found("The user does not exist.");
    return const_cast<UserNode*>(node);
}

}  // namespace orrery::catalog
