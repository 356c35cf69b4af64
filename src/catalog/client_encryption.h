#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "json/value.h"
#include "partition/partition_key.h"

/// What clients need to encrypt properties themselves: wrapped keys in the database, and in the
/// container which path is encrypted with which of them. The server never sees a key or a plain
/// value; it keeps both texts for the clients and holds them to their rules.
namespace orrery::catalog {

struct EncryptionPolicy {
    std::string json;                  ///< as clients see it; empty: none
    std::vector<std::string> key_ids;  ///< of client encryption keys, each once
};

/// The container's `clientEncryptionPolicy`. The error names what is wrong in it.
Result<EncryptionPolicy> read_encryption_policy(const json::Value& policy,
                                                const partition::PartitionKeyDefinition& key);

/// The members of a client encryption key behind its `id`, as clients see them:
/// `"encryptionAlgorithm":…,"wrappedDataEncryptionKey":…,"keyWrapMetadata":{…}`.
Result<std::string> read_encryption_key(const json::Value& body);

}  // namespace orrery::catalog
