#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/hmac.h"

namespace orrery::engine {

enum class ConsistencyLevel { kStrong, kBoundedStaleness, kSession, kConsistentPrefix, kEventual };

/// The key every emulator user knows; accepted on loopback only.
inline constexpr std::string_view kWellKnownKey =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// Keys as base64 texts; the three that are empty are derived from the primary one, so that every
/// start of the server with the same primary key accepts the same four keys.
struct AccountKeyTexts {
    std::string primary{kWellKnownKey};
    std::string secondary;
    std::string primary_read_only;
    std::string secondary_read_only;
};

struct AccountKey {
    std::string text;
    HmacKey hmac;
    bool read_only = false;
};

/// The account's settings. Immutable.
class Account {
public:
    /// Error when a key is not base64 of at least 16 bytes.
    static Result<Account> create(const AccountKeyTexts& keys);

    const std::vector<AccountKey>& keys() const { return keys_; }  ///< primary first
    bool uses_well_known_key() const { return keys_.front().text == kWellKnownKey; }
    const std::string& id() const { return id_; }
    ConsistencyLevel default_consistency() const { return ConsistencyLevel::kSession; }

private:
    std::vector<AccountKey> keys_;
    std::string id_ = "orrery";
};

}  // namespace orrery::engine
