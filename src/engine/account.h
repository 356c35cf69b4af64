#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/hmac.h"
#include "meter/budget.h"

namespace orrery::engine {

/// From strong to weak.
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

/// What the account's owner may choose.
struct AccountSettings {
    ConsistencyLevel consistency = ConsistencyLevel::kSession;
    meter::ChargeProfile charges = meter::ChargeProfile::kCurrent;
    bool throttled = true;  ///< false: budgets are kept but nobody is refused
    meter::Priority default_priority = meter::Priority::kHigh;
    int64_t metadata_ru = 0;            ///< budget of metadata requests per second; 0: none
    bool control_plane_limits = false;  ///< the service's limits per five minutes
};

struct AccountKey {
    std::string text;
    HmacKey hmac;
    bool read_only = false;
};

/// The protocol's name of a level; and back, in any letter case.
std::string_view consistency_name(ConsistencyLevel level);
std::optional<ConsistencyLevel> parse_consistency(std::string_view name);
/// A read under this level asks two replicas in the service, and costs twice.
inline bool costs_twice(ConsistencyLevel level) {
    return level == ConsistencyLevel::kStrong || level == ConsistencyLevel::kBoundedStaleness;
}

/// The account's settings. Immutable.
class Account {
public:
    /// Error when a key is not base64 of at least 16 bytes.
    static Result<Account> create(const AccountKeyTexts& keys,
                                  const AccountSettings& settings = {});

    const std::vector<AccountKey>& keys() const { return keys_; }  ///< primary first
    bool uses_well_known_key() const { return keys_.front().text == kWellKnownKey; }
    const std::string& id() const { return id_; }
    const AccountSettings& settings() const { return settings_; }
    ConsistencyLevel default_consistency() const { return settings_.consistency; }

private:
    std::vector<AccountKey> keys_;
    AccountSettings settings_;
    std::string id_ = "orrery";
};

}  // namespace orrery::engine
