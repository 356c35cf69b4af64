#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "json/dialect.h"
#include "json/item.h"
#include "json/value.h"
#include "storage/keys.h"

/// Time to live (docs/containers.md). `default_ttl` is the container's: absent = off, -1 = on but
/// never by default, n = seconds. `own_ttl` is the item's: 0 = none.
namespace orrery::partition {

/// Expired items are invisible at once, whether removed already or not.
inline bool is_expired(std::optional<int64_t> default_ttl, int64_t ts, int32_t own_ttl,
                       int64_t now) {
    if (!default_ttl) return false;
    const int64_t ttl = own_ttl != 0 ? own_ttl : *default_ttl;
    return ttl >= 0 && now >= ts + ttl;
}

/// Where items say themselves when they expire: so many seconds after the time at a path. An item
/// without a time there never expires.
struct ExpiryProperty {
    json::MemberPath path;
    int64_t seconds = 0;
    friend bool operator==(const ExpiryProperty&, const ExpiryProperty&) = default;
};
/// The time that a value there stands for, in seconds since 1970: a date, or a number of seconds
/// where the dialect has no dates; of an array the earliest. nullopt: none.
std::optional<int64_t> time_of(const json::Value& value, json::Dialect dialect);
/// What an item that expires at a given time has in its header once it is written at `ts`. One
/// whose time is over expires a second later.
int32_t ttl_until(int64_t expires_at, int64_t ts);

/// The item's `ttl` member as kept in its header: 0 when absent or not valid as one. While the
/// container's TTL is on, an invalid one is refused.
Result<int32_t> own_ttl_of(const json::Value& ttl, std::optional<int64_t> default_ttl);

/// An item's position in `ttl`; nullopt for an item whose own `ttl` says that it never expires.
struct TtlPosition {
    storage::keys::TtlKind kind = storage::keys::TtlKind::kOwnExpiry;
    int64_t when = 0;
    friend bool operator==(const TtlPosition&, const TtlPosition&) = default;
};
inline std::optional<TtlPosition> ttl_position(int64_t ts, int32_t own_ttl) {
    if (own_ttl < 0) return std::nullopt;
    if (own_ttl > 0) return TtlPosition{storage::keys::TtlKind::kOwnExpiry, ts + own_ttl};
    return TtlPosition{storage::keys::TtlKind::kUnderDefault, ts};
}

}  // namespace orrery::partition
