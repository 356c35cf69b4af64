#include "catalog/state.h"

namespace orrery::catalog {

const DatabaseNode* State::database(std::string_view name_or_rid) const {
    if (const DatabaseNode* node = databases.find(name_or_rid)) return node;
    const auto rid = parse_database_rid(name_or_rid);
    return rid ? databases.find_number(rid->number) : nullptr;
}

const ContainerNode* State::container(const DatabaseNode& database, std::string_view name_or_rid) {
    if (const ContainerNode* node = database.containers.find(name_or_rid)) return node;
    const auto rid = parse_container_rid(name_or_rid);
    if (!rid || rid->database != database.record.rid) return nullptr;
    return database.containers.find_number(rid->number);
}

const UserNode* State::user(const DatabaseNode& database, std::string_view name_or_rid) {
    if (const UserNode* node = database.users.find(name_or_rid)) return node;
    const auto rid = parse_user_rid(name_or_rid);
    if (!rid || rid->database != database.record.rid) return nullptr;
    return database.users.find_number(rid->number);
}

const PermissionNode* State::permission(const UserNode& user, std::string_view name_or_rid) {
    if (const PermissionNode* node = user.permissions.find(name_or_rid)) return node;
    const auto rid = parse_permission_rid(name_or_rid);
    if (!rid || rid->user != user.record.rid) return nullptr;
    return user.permissions.find_number(rid->number);
}

const EncryptionKeyNode* State::encryption_key(const DatabaseNode& database,
                                               std::string_view name_or_rid) {
    if (const EncryptionKeyNode* node = database.encryption_keys.find(name_or_rid)) return node;
    const auto rid = parse_encryption_key_rid(name_or_rid);
    if (!rid || rid->database != database.record.rid) return nullptr;
    return database.encryption_keys.find_number(rid->number);
}

const ContainerNode* State::container(std::string_view database_name,
                                      std::string_view name_or_rid) const {
    const DatabaseNode* node = database(database_name);
    return node == nullptr ? nullptr : container(*node, name_or_rid);
}

const UserNode* State::user(std::string_view database_name, std::string_view name_or_rid) const {
    const DatabaseNode* node = database(database_name);
    return node == nullptr ? nullptr : user(*node, name_or_rid);
}

OfferPtr State::offer_of(std::string_view resource_rid) const {
    const auto it = offer_numbers.find(resource_rid);
    return it == offer_numbers.end() ? nullptr : offers.at(it->second);
}

void State::set_offer(uint32_t number, OfferPtr offer) {
    offer_numbers.insert_or_assign(offer->resource_rid, number);
    offers.insert_or_assign(number, std::move(offer));
}

void State::erase_offer(uint32_t number) {
    const auto it = offers.find(number);
    if (it == offers.end()) return;
    offer_numbers.erase(it->second->resource_rid);
    offers.erase(it);
}

}  // namespace orrery::catalog
