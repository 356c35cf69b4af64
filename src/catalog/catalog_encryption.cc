#include <fmt/format.h>

#include "base/errors.h"
#include "base/limits.h"
#include "catalog/catalog_impl.h"
#include "catalog/names.h"

namespace orrery::catalog {

EncryptionKeyPtr make_encryption_key(const records::EncryptionKey& record, DatabasePtr database) {
    auto out = std::make_shared<EncryptionKey>();
    out->id = record.id;
    out->database = std::move(database);
    out->rid = record.rid;
    out->key = record.key;
    out->version = record.version;
    return out;
}

Status CatalogImpl::check_encryption_keys(const DatabaseNode& database,
                                          const ClientEncryptionPolicy& policy) {
    for (const ClientEncryptionPolicy::Path& path : policy.paths)
        if (database.encryption_keys.find(path.key_id) == nullptr)
            return Status(errors::bad_request(fmt::format(
                "The container's property 'clientEncryptionPolicy' names the client encryption key "
                "'{}', which the database does not have. Create the key first.",
                excerpt(path.key_id))));
    return {};
}

Result<EncryptionKeyPtr> CatalogImpl::create_encryption_key(std::string_view database,
                                                            NewEncryptionKey wanted) {
    WriteLock write(write_mutex_);
    TRY(DatabaseNode * parent, owner(database));
    TRY_STATUS(check_name(wanted.id));
    records::EncryptionKey record;
    record.id = std::move(wanted.id);
    record.key = std::move(wanted.key);
    if (parent->encryption_keys.find(record.id) != nullptr) return errors::conflict();
    if (parent->encryption_keys.size() >= limits::kEncryptionKeysMax)
        return errors::forbidden(fmt::format("A database holds at most {} client encryption keys.",
                                             limits::kEncryptionKeysMax));
    // Keys are deleted only with their database, so their count is the next number.
    record.rid = {parent->record.rid, parent->encryption_keys.size() + 1};
    record.version = new_version();
    MetaChange change;
    change.put(record);
    TRY_STATUS(commit(std::move(change)));
    EncryptionKeyPtr key = make_encryption_key(record, parent->database);
    std::unique_lock lock(mutex_);
    parent->encryption_keys.add(key->rid.number, key->id, {key});
    return key;
}

Result<EncryptionKeyPtr> CatalogImpl::replace_encryption_key(std::string_view database,
                                                             std::string_view key,
                                                             NewEncryptionKey wanted,
                                                             std::string_view if_match) {
    WriteLock write(write_mutex_);
    TRY(DatabaseNode * parent, owner(database));
    const EncryptionKeyNode* node = State::encryption_key(*parent, key);
    if (node == nullptr)
        return errors::resource_not_found("The client encryption key does not exist.");
    records::EncryptionKey record{node->key->rid, node->key->id, new_version(),
                                  std::move(wanted.key)};
    if (wanted.id != record.id)
        return errors::bad_request("The id of a client encryption key cannot be changed.");
    TRY_STATUS(check_if_match(if_match, node->key->version.etag));
    MetaChange change;
    change.put(record);
    TRY_STATUS(commit(std::move(change)));
    EncryptionKeyPtr after = make_encryption_key(record, parent->database);
    std::unique_lock lock(mutex_);
    parent->encryption_keys.add(after->rid.number, after->id, {after});
    return after;
}

}  // namespace orrery::catalog
