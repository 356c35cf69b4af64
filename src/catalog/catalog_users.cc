#include <fmt/format.h>

#include "base/encoding.h"
#include "base/errors.h"
#include "catalog/catalog_impl.h"
#include "catalog/names.h"

namespace orrery::catalog {
namespace {

constexpr uint32_t kUserNumberMax = 0x7FFF'FFFF;

std::vector<std::string_view> split_link(std::string_view link) {
    std::vector<std::string_view> parts;
    size_t position = 0;
    while (position <= link.size()) {
        const size_t end = std::min(link.find('/', position), link.size());
        if (end > position) parts.push_back(link.substr(position, end - position));
        position = end + 1;
    }
    return parts;
}

Error bad_resource(std::string_view link, std::string_view why) {
    return errors::bad_request(fmt::format(
        "The property 'resource' of the permission is invalid: '{}' {}.", excerpt(link), why));
}

Status check_key_fits(const Container& container, std::string_view partition_key) {
    if (partition_key.empty()) return {};
    json::Arena arena;
    auto components = partition::parse_partition_key_header(partition_key, arena);
    if (!components.ok()) return std::move(components).take_status();
    return effective_partition_key(container.settings->key, *components).status().clone();
}

}  // namespace

UserPtr make_user(const records::User& record, DatabasePtr database) {
    auto out = std::make_shared<User>();
    out->id = record.id;
    out->database = std::move(database);
    out->rid = record.rid;
    out->version = record.version;
    return out;
}

PermissionPtr make_permission(const records::Permission& record, UserPtr user) {
    auto out = std::make_shared<Permission>();
    out->id = record.id;
    out->user = std::move(user);
    out->rid = record.rid;
    out->mode = record.mode;
    out->resource = record.resource;
    out->partition_key = record.partition_key;
    out->version = record.version;
    return out;
}

Result<Catalog::UserChange> CatalogImpl::create_user(std::string_view database, std::string id,
                                                     Upsert upsert) {
    WriteLock write(write_mutex_);
    TRY(DatabaseNode * parent, owner(database));
    TRY_STATUS(check_name(id));
    if (UserNode* existing = parent->users.find(id)) {
        if (upsert == Upsert::kNo) return errors::conflict();
        TRY(UserPtr replaced, store_user(*parent, *existing, std::move(id)));
        return UserChange{std::move(replaced), false};
    }
    records::Database database_record = parent->record;
    if (database_record.next_user > kUserNumberMax)
        return errors::service_unavailable("All numbers for new users are used up.");
    UserNode node;
    node.record.rid = {parent->record.rid, database_record.next_user++};
    node.record.id = std::move(id);
    node.record.version = new_version();
    node.user = make_user(node.record, parent->database);
    MetaChange change;
    change.put(database_record);
    change.put(node.record);
    TRY_STATUS(commit(std::move(change)));
    const UserPtr user = node.user;
    std::unique_lock lock(mutex_);
    parent->record = std::move(database_record);
    parent->users.add(user->rid.number, user->id, std::move(node));
    return UserChange{user, true};
}

/// A new version of an existing user, perhaps under another id.
Result<UserPtr> CatalogImpl::store_user(DatabaseNode& database, UserNode& user, std::string id) {
    records::User record = user.record;
    record.id = std::move(id);
    record.version = new_version();
    MetaChange change;
    change.put(record);
    TRY_STATUS(commit(std::move(change)));
    UserPtr after = make_user(record, database.database);
    std::unique_lock lock(mutex_);
    database.users.rename(record.rid.number, user.record.id, record.id);
    user.record = std::move(record);
    user.user = after;
    // Permissions name their user: they see the new one.
    for (const auto& [number, node] : user.permissions.nodes()) {
        auto permission = std::make_shared<Permission>(*node.permission);
        permission->user = after;
        user.permissions.find_number(number)->permission = std::move(permission);
    }
    return after;
}

Result<UserPtr> CatalogImpl::replace_user(std::string_view database, std::string_view user,
                                          std::string id, std::string_view if_match) {
    WriteLock write(write_mutex_);
    TRY(DatabaseNode * parent, owner(database));
    auto* node = const_cast<UserNode*>(State::user(*parent, user));
    if (node == nullptr) return errors::resource_not_found("The user does not exist.");
    TRY_STATUS(check_name(id));
    TRY_STATUS(check_if_match(if_match, node->user->version.etag));
    if (id != node->record.id && parent->users.find(id) != nullptr) return errors::conflict();
    return store_user(*parent, *node, std::move(id));
}

Status CatalogImpl::delete_user(std::string_view database, std::string_view user,
                                std::string_view if_match) {
    WriteLock write(write_mutex_);
    auto parent = owner(database);
    if (!parent.ok()) return std::move(parent).take_status();
    const UserNode* node = State::user(**parent, user);
    if (node == nullptr) return Status(errors::resource_not_found("The user does not exist."));
    TRY_STATUS(check_if_match(if_match, node->user->version.etag));
    MetaChange change;
    change.remove(records::user_key(node->record.rid));
    for (const auto& [number, child] : node->permissions.nodes())
        change.remove(records::permission_key(child.permission->rid));
    TRY_STATUS(commit(std::move(change)));
    const UserPtr gone = node->user;
    std::unique_lock lock(mutex_);
    (*parent)->users.erase(gone->rid.number, gone->id);
    return {};
}

/// Resolves the link: the same container or item gives the same text, by name or by rid.
Result<std::string> CatalogImpl::permission_scope(std::string_view resource,
                                                  std::string_view partition_key) const {
    const std::vector<std::string_view> parts = split_link(resource);
    if (parts.size() < 4 || parts.size() % 2 != 0 || parts[0] != "dbs" || parts[2] != "colls")
        return bad_resource(
            resource,
            "does not name a container or a resource below one, such as dbs/{db}/colls/{id}");
    const auto decoded = [](std::string_view text) {
        return percent_decode(text).value_or(std::string(text));
    };
    const ContainerNode* node = state_.container(parts[1], parts[3]);
    if (node == nullptr) node = state_.container(decoded(parts[1]), decoded(parts[3]));
    if (node == nullptr || node->container->definition->dialect != json::Dialect::kNosql)
        return errors::resource_not_found("The resource of the permission does not exist.");
    TRY_STATUS(check_key_fits(*node->container, partition_key));
    std::string scope = node->container->rid_text;
    if (parts.size() > 4) {
        if (parts[4] == "sprocs" && parts.size() == 6) {
            const ScriptNode* script =
                script_node(node->container->rid, ChildType::kProcedure, parts[5]);
            if (script == nullptr)
                script =
                    script_node(node->container->rid, ChildType::kProcedure, decoded(parts[5]));
            if (script == nullptr)
                return errors::resource_not_found("The resource of the permission does not exist.");
            return scope + "/sprocs/" + script->script->rid() + " " + std::string(partition_key);
        }
        if (parts[4] != "docs" || parts.size() != 6)
            return bad_resource(resource, "names a kind of resource that permissions do not cover");
        TRY_STATUS(json::check_item_id(parts[5]));
        scope += "/docs/";
        scope += parts[5];
    }
    return scope + " " + std::string(partition_key);
}

Status CatalogImpl::check_scope_free(const UserNode& user, std::string_view scope,
                                     uint64_t except) const {
    for (const auto& [number, node] : user.permissions.nodes()) {
        if (number == except) continue;
        const auto other =
            permission_scope(node.permission->resource, node.permission->partition_key);
        if (other.ok() && *other == scope) return Status(errors::conflict());
    }
    return {};
}

Result<PermissionPtr> CatalogImpl::store_permission(UserNode& user, uint64_t number,
                                                    NewPermission wanted) {
    const PermissionNode* existing = user.permissions.find_number(number);
    records::Permission record{
        {user.record.rid, number},  std::move(wanted.id),           new_version(), wanted.mode,
        std::move(wanted.resource), std::move(wanted.partition_key)};
    MetaChange change;
    change.put(record);
    records::User user_record = user.record;
    if (existing == nullptr) {
        user_record.next_permission = number + 1;
        change.put(user_record);
    }
    TRY_STATUS(commit(std::move(change)));
    PermissionPtr after = make_permission(record, user.user);
    std::unique_lock lock(mutex_);
    user.record = std::move(user_record);
    if (existing != nullptr) user.permissions.rename(number, existing->permission->id, after->id);
    user.permissions.add(number, after->id, {after});
    return after;
}

Result<Catalog::PermissionChange> CatalogImpl::create_permission(std::string_view database,
                                                                 std::string_view user,
                                                                 NewPermission wanted,
                                                                 Upsert upsert) {
    WriteLock write(write_mutex_);
    TRY(UserNode * parent, user_owner(database, user));
    TRY_STATUS(check_name(wanted.id));
    TRY(const std::string scope, permission_scope(wanted.resource, wanted.partition_key));
    const PermissionNode* existing = parent->permissions.find(wanted.id);
    if (existing != nullptr && upsert == Upsert::kNo) return errors::conflict();
    const uint64_t number =
        existing != nullptr ? existing->permission->rid.number : parent->record.next_permission;
    TRY_STATUS(check_scope_free(*parent, scope, number));
    TRY(PermissionPtr stored, store_permission(*parent, number, std::move(wanted)));
    return PermissionChange{std::move(stored), existing == nullptr};
}

Result<PermissionPtr> CatalogImpl::replace_permission(std::string_view database,
                                                      std::string_view user,
                                                      std::string_view permission,
                                                      NewPermission wanted,
                                                      std::string_view if_match) {
    WriteLock write(write_mutex_);
    TRY(UserNode * parent, user_owner(database, user));
    const PermissionNode* node = State::permission(*parent, permission);
    if (node == nullptr) return errors::resource_not_found("The permission does not exist.");
    TRY_STATUS(check_name(wanted.id));
    TRY(const std::string scope, permission_scope(wanted.resource, wanted.partition_key));
    TRY_STATUS(check_if_match(if_match, node->permission->version.etag));
    if (wanted.id != node->permission->id && parent->permissions.find(wanted.id) != nullptr)
        return errors::conflict();
    const uint64_t number = node->permission->rid.number;
    TRY_STATUS(check_scope_free(*parent, scope, number));
    return store_permission(*parent, number, std::move(wanted));
}

Status CatalogImpl::delete_permission(std::string_view database, std::string_view user,
                                      std::string_view permission, std::string_view if_match) {
    WriteLock write(write_mutex_);
    auto parent = user_owner(database, user);
    if (!parent.ok()) return std::move(parent).take_status();
    const PermissionNode* node = State::permission(**parent, permission);
    if (node == nullptr)
        return Status(errors::resource_not_found("The permission does not exist."));
    TRY_STATUS(check_if_match(if_match, node->permission->version.etag));
    MetaChange change;
    change.remove(records::permission_key(node->permission->rid));
    TRY_STATUS(commit(std::move(change)));
    const PermissionPtr gone = node->permission;
    std::unique_lock lock(mutex_);
    (*parent)->permissions.erase(gone->rid.number, gone->id);
    return {};
}

}  // namespace orrery::catalog
