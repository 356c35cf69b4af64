#pragma once

#include <absl/container/flat_hash_map.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/keyed_hash.h"
#include "catalog/records.h"
#include "catalog/resources.h"

namespace orrery::catalog {

/// Map by name with look-ups by string_view.
template <typename Value>
using NameMap = absl::flat_hash_map<std::string, Value, KeyedHash, std::equal_to<>>;

/// Children of one parent: in creation order by number, and by name. Owned by State.
template <typename Node>
class Children {
public:
    using Map = std::map<uint64_t, Node>;

    Node* find(std::string_view name) {
        const auto it = numbers_.find(name);
        return it == numbers_.end() ? nullptr : &nodes_.at(it->second);
    }
    const Node* find(std::string_view name) const {
        return const_cast<Children*>(this)->find(name);
    }
    Node* find_number(uint64_t number) {
        const auto it = nodes_.find(number);
        return it == nodes_.end() ? nullptr : &it->second;
    }
    const Node* find_number(uint64_t number) const {
        return const_cast<Children*>(this)->find_number(number);
    }
    Node& add(uint64_t number, std::string_view name, Node node) {
        numbers_.insert_or_assign(std::string(name), number);
        return nodes_.insert_or_assign(number, std::move(node)).first->second;
    }
    void rename(uint64_t number, std::string_view from, std::string_view to) {
        if (from == to) return;
        numbers_.erase(std::string(from));
        numbers_.insert_or_assign(std::string(to), number);
    }
    void erase(uint64_t number, std::string_view name) {
        numbers_.erase(std::string(name));
        nodes_.erase(number);
    }
    size_t size() const { return nodes_.size(); }
    const Map& nodes() const { return nodes_; }

private:
    Map nodes_;
    NameMap<uint64_t> numbers_;
};

struct ContainerNode {
    ContainerPtr container;
    records::Container record;
    MaterializedViewProgress progress{};  ///< of a materialized view
};
struct ScriptNode {
    ScriptPtr script;
};
/// The scripts of one container, by type.
struct ScriptNodes {
    Children<ScriptNode> procedures;
    Children<ScriptNode> triggers;
    Children<ScriptNode> functions;
    Children<ScriptNode>& of(ChildType type) {
        return type == ChildType::kTrigger ? triggers
               : type == ChildType::kUdf   ? functions
                                           : procedures;
    }
    const Children<ScriptNode>& of(ChildType type) const {
        return const_cast<ScriptNodes*>(this)->of(type);
    }
};
struct PermissionNode {
    PermissionPtr permission;
};
struct UserNode {
    UserPtr user;
    records::User record;
    Children<PermissionNode> permissions;
};
struct EncryptionKeyNode {
    EncryptionKeyPtr key;
};
struct DatabaseNode {
    DatabasePtr database;
    records::Database record;
    Children<ContainerNode> containers;
    std::map<uint32_t, ScriptNodes> scripts;  ///< by container number
    uint32_t containers_without_offer = 0;
    std::vector<std::shared_ptr<meter::Pool>> shared_pools;  ///< of its own offer
    Children<UserNode> users;
    Children<EncryptionKeyNode> encryption_keys;  ///< never deleted but with the database
};

/// The whole catalog in memory. Not locked: CatalogImpl does that.
struct State {
    records::Account account;
    bool account_stored = false;  ///< false: the account record goes out with the first change
    Children<DatabaseNode> databases;
    std::map<uint32_t, OfferPtr> offers;
    NameMap<uint32_t> offer_numbers;  ///< by rid of the resource

    // By name, else by rid text.
    const DatabaseNode* database(std::string_view name_or_rid) const;
    const ContainerNode* container(std::string_view database, std::string_view name_or_rid) const;
    const UserNode* user(std::string_view database, std::string_view name_or_rid) const;
    static const ContainerNode* container(const DatabaseNode& database,
                                          std::string_view name_or_rid);
    static const UserNode* user(const DatabaseNode& database, std::string_view name_or_rid);
    static const PermissionNode* permission(const UserNode& user, std::string_view name_or_rid);
    static const EncryptionKeyNode* encryption_key(const DatabaseNode& database,
                                                   std::string_view name_or_rid);
    OfferPtr offer_of(std::string_view resource_rid) const;
    void set_offer(uint32_t number, OfferPtr offer);
    void erase_offer(uint32_t number);
};

}  // namespace orrery::catalog
