#pragma once

#include <string_view>

#include "base/errors.h"
#include "catalog/catalog.h"
#include "heads/rest/bodies/container_body.h"
#include "heads/rest/bodies/offer_body.h"
#include "heads/rest/bodies/resource_bodies.h"
#include "heads/rest/bodies/resource_json.h"

/// Changes of the catalog as REST bodies ask for them: the form in which tests, also those of
/// modules below the heads, name resources.
namespace orrery::rest::by_body {

using catalog::Catalog;

inline Result<catalog::DatabasePtr> create_database(
    Catalog& catalog, const json::Value& body, const catalog::ThroughputRequest& throughput = {}) {
    TRY(std::string id, read_database_body(body));
    return catalog.create_database({std::move(id), throughput});
}

inline Result<catalog::ContainerPtr> create_container(
    Catalog& catalog, std::string_view database, const json::Value& body,
    const catalog::ThroughputRequest& throughput = {}, bool allow_missing_key = false) {
    if (catalog.find_database(database) == nullptr)
        return errors::owner_not_found("The database does not exist.");
    TRY(ContainerBody wanted, read_container_body(body, allow_missing_key));
    return catalog.create_container(
        database, {std::move(wanted.id), std::move(wanted.definition), throughput});
}

inline Result<catalog::ContainerPtr> replace_container(Catalog& catalog, std::string_view database,
                                                       std::string_view container,
                                                       const json::Value& body,
                                                       std::string_view if_match = {}) {
    if (catalog.find_database(database) == nullptr)
        return errors::owner_not_found("The database does not exist.");
    const auto before = catalog.find_container(database, container);
    if (before == nullptr) return errors::resource_not_found("The container does not exist.");
    TRY(auto definition, read_container_replacement(body, *before));
    return catalog.replace_container(database, container, std::move(definition), if_match);
}

inline Result<Catalog::UserChange> create_user(Catalog& catalog, std::string_view database,
                                               const json::Value& body,
                                               Catalog::Upsert upsert = Catalog::Upsert::kNo) {
    TRY(std::string id, read_user_body(body));
    return catalog.create_user(database, std::move(id), upsert);
}

inline Result<catalog::UserPtr> replace_user(Catalog& catalog, std::string_view database,
                                             std::string_view user, const json::Value& body,
                                             std::string_view if_match) {
    TRY(std::string id, read_user_body(body));
    return catalog.replace_user(database, user, std::move(id), if_match);
}

inline Result<Catalog::PermissionChange> create_permission(
    Catalog& catalog, std::string_view database, std::string_view user, const json::Value& body,
    Catalog::Upsert upsert = Catalog::Upsert::kNo) {
    TRY(auto wanted, read_permission_body(body));
    return catalog.create_permission(database, user, std::move(wanted), upsert);
}

inline Result<catalog::PermissionPtr> replace_permission(
    Catalog& catalog, std::string_view database, std::string_view user, std::string_view permission,
    const json::Value& body, std::string_view if_match) {
    TRY(auto wanted, read_permission_body(body));
    return catalog.replace_permission(database, user, permission, std::move(wanted), if_match);
}

inline Result<Catalog::ScriptChange> create_script(Catalog& catalog,
                                                   const catalog::ContainerRid& container,
                                                   catalog::ChildType type, const json::Value& body,
                                                   Catalog::Upsert upsert) {
    TRY(auto wanted, read_script_body(body, type));
    return catalog.create_script(container, type, std::move(wanted), upsert);
}

inline Result<catalog::ScriptPtr> replace_script(Catalog& catalog,
                                                 const catalog::ContainerRid& container,
                                                 catalog::ChildType type, std::string_view script,
                                                 const json::Value& body,
                                                 std::string_view if_match) {
    TRY(auto wanted, read_script_body(body, type));
    return catalog.replace_script(container, type, script, std::move(wanted), if_match);
}

inline Result<catalog::EncryptionKeyPtr> create_encryption_key(Catalog& catalog,
                                                               std::string_view database,
                                                               const json::Value& body) {
    TRY(auto wanted, read_encryption_key_body(body));
    return catalog.create_encryption_key(database, std::move(wanted));
}

inline Result<catalog::EncryptionKeyPtr> replace_encryption_key(Catalog& catalog,
                                                                std::string_view database,
                                                                std::string_view key,
                                                                const json::Value& body,
                                                                std::string_view if_match) {
    if (catalog.find_encryption_key(database, key) == nullptr)
        return errors::resource_not_found("The client encryption key does not exist.");
    TRY(auto wanted, read_encryption_key_body(body));
    return catalog.replace_encryption_key(database, key, std::move(wanted), if_match);
}

inline Result<catalog::OfferPtr> replace_offer(Catalog& catalog, std::string_view rid,
                                               const json::Value& body, catalog::Migrate migrate,
                                               std::string_view if_match) {
    TRY_STATUS(catalog.check_offers());
    const auto before = catalog.find_offer(rid);
    if (before == nullptr) return errors::resource_not_found("The offer does not exist.");
    TRY(const auto change, read_offer_change(body, *before));
    return catalog.replace_offer(rid, change, migrate, if_match);
}

}  // namespace orrery::rest::by_body
