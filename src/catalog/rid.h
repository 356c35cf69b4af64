#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// `_rid`s: the binary resource ids that SDKs decode (docs/protocol.md, "Resource ids").
namespace orrery::catalog {

/// Types of a container's children, as the high nibble of the last rid byte.
enum class ChildType : uint8_t {
    kItem = 0,
    kConflict = 4,
    kRange = 5,
    kUdf = 6,
    kTrigger = 7,
    kProcedure = 8
};

struct DatabaseRid {
    uint32_t number = 0;  ///< non-zero
    std::string text() const;
    friend bool operator==(const DatabaseRid&, const DatabaseRid&) = default;
};
struct ContainerRid {
    DatabaseRid database;
    uint32_t number = 0;  ///< top bit set
    std::string text() const;
    /// Both numbers in one: another one for each container of the account, never 0.
    uint64_t whole() const { return static_cast<uint64_t>(database.number) << 32 | number; }
    friend bool operator==(const ContainerRid&, const ContainerRid&) = default;
};
struct UserRid {
    DatabaseRid database;
    uint32_t number = 0;  ///< top bit clear
    std::string text() const;
    friend bool operator==(const UserRid&, const UserRid&) = default;
};
struct PermissionRid {
    UserRid user;
    uint64_t number = 0;
    std::string text() const;
    friend bool operator==(const PermissionRid&, const PermissionRid&) = default;
};
struct EncryptionKeyRid {
    DatabaseRid database;
    uint64_t number = 0;
    std::string text() const;
    friend bool operator==(const EncryptionKeyRid&, const EncryptionKeyRid&) = default;
};

/// Items: the item number, little-endian in the last 8 bytes. Others: number and type nibble.
std::string child_rid(const ContainerRid& container, ChildType type, uint64_t number);
inline constexpr uint32_t kOfferNumberMax = 0xFF'FFFF;
std::string offer_rid(uint32_t number);  ///< 3 bytes, 4 characters

std::optional<DatabaseRid> parse_database_rid(std::string_view text);
std::optional<ContainerRid> parse_container_rid(std::string_view text);
std::optional<UserRid> parse_user_rid(std::string_view text);
std::optional<PermissionRid> parse_permission_rid(std::string_view text);
std::optional<EncryptionKeyRid> parse_encryption_key_rid(std::string_view text);
std::optional<uint32_t> parse_offer_rid(std::string_view text);
/// The number of a rid of that type in that container; not for items.
std::optional<uint64_t> parse_child_rid(const ContainerRid& container, ChildType type,
                                        std::string_view text);
/// The item number of an item rid of that container.
std::optional<uint64_t> parse_item_rid(const ContainerRid& container, std::string_view text);

}  // namespace orrery::catalog
