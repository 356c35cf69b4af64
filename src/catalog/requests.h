#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "catalog/container_definition.h"
#include "catalog/resources.h"

/// What the catalog is asked for, by whichever protocol.
namespace orrery::catalog {

/// A page of a listing.
struct ListingRequest {
    std::string continuation;  ///< opaque, from an earlier page; empty: from the start
    uint32_t items_max = 100;
};
template <typename T>
struct ListingPage {
    std::vector<T> items;
    std::string continuation;  ///< empty: no more
};

/// Whose containers somebody sees.
class Dialects {
public:
    constexpr Dialects(json::Dialect one) : bits_(bit(one)) {}
    constexpr Dialects operator|(Dialects other) const { return Dialects(bits_ | other.bits_); }
    constexpr bool contains(json::Dialect one) const { return (bits_ & bit(one)) != 0; }

private:
    constexpr explicit Dialects(uint32_t bits) : bits_(bits) {}
    static constexpr uint32_t bit(json::Dialect one) {
        return uint32_t{1} << static_cast<uint32_t>(one);
    }
    uint32_t bits_;
};

struct NewDatabase {
    std::string id;
    ThroughputRequest throughput;
};

struct NewContainer {
    std::string id;
    ContainerDefinition definition;
    ThroughputRequest throughput;
};

struct NewPermission {
    std::string id;
    PermissionMode mode = PermissionMode::kRead;
    std::string resource;       ///< Permission::resource
    std::string partition_key;  ///< Permission::partition_key
};

struct NewScript {
    std::string id;
    std::string body;  ///< JavaScript; whether it is some is checked by the caller
    bool runs_after = false;
    TriggerOperation operation = TriggerOperation::kAll;
};

struct NewEncryptionKey {
    std::string id;
    WrappedKey key;
};

/// Autoscale settings, each of them optional.
struct AutoscaleSettings {
    std::optional<int64_t> max;
    bool has_upgrade = false;  ///< `increment_percent` was given, or its absence
    std::optional<int64_t> increment_percent;
};

/// Another throughput of an offer. What is missing stays as it is.
struct OfferChange {
    std::optional<int64_t> manual;
    std::optional<AutoscaleSettings> autoscale;
};
enum class Migrate : uint8_t { kNo, kToAutoscale, kToManual };

/// Throughputs of a container's physical partitions, by number of the range.
struct Redistribution {
    bool equal = false;
    std::map<uint32_t, int64_t> throughput;
};

}  // namespace orrery::catalog
