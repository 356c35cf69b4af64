#pragma once

#include <string_view>

#include "base/status.h"
#include "catalog/resources.h"
#include "json/value.h"

/// What clients need to encrypt properties themselves: wrapped keys in the database, and in the
/// container which path is encrypted with which of them.
namespace orrery::rest {

inline constexpr std::string_view kEncryptionAlgorithm = "AEAD_AES_256_CBC_HMAC_SHA256";

/// The container's `clientEncryptionPolicy`. 400 names what is wrong in its form.
Result<catalog::ClientEncryptionPolicy> read_encryption_policy(const json::Value& policy);
/// The same as clients see it; the policy has paths.
std::string encryption_policy_json(const catalog::ClientEncryptionPolicy& policy);

/// A client encryption key's body, but for its id.
Result<catalog::WrappedKey> read_wrapped_key(const json::Value& body);

}  // namespace orrery::rest
