#include "catalog/rid.h"

#include "base/bytes.h"
#include "base/check.h"
#include "base/encoding.h"

namespace orrery::catalog {
namespace {

constexpr uint32_t kContainerBit = 0x8000'0000;
constexpr size_t kDatabaseBytes = 4;
constexpr size_t kOwnedBytes = 8;   // container or user
constexpr size_t kChildBytes = 16;  // child of a container, or permission
constexpr size_t kEncryptionKeyBytes = 12;
constexpr size_t kOfferBytes = 3;
constexpr int kTypeShift = 60;
constexpr uint64_t kChildNumberMax = (1ULL << kTypeShift) - 1;

/// The bytes of a rid of exactly that length; nullopt when the text is anything else.
std::optional<std::string> decode(std::string_view text, size_t bytes) {
    auto decoded = rid_decode(text);
    // Base64 allows several texts for one value where padding bits are free; only ours is a rid.
    if (!decoded || decoded->size() != bytes || rid_encode(*decoded) != text) return std::nullopt;
    return decoded;
}

std::string owned_bytes(uint32_t database, uint32_t number) {
    std::string bytes;
    append_u32_be(bytes, database);
    append_u32_be(bytes, number);
    return bytes;
}

}  // namespace

std::string DatabaseRid::text() const {
    std::string bytes;
    append_u32_be(bytes, number);
    return rid_encode(bytes);
}

std::string ContainerRid::text() const {
    DCHECK((number & kContainerBit) != 0);
    return rid_encode(owned_bytes(database.number, number));
}

std::string UserRid::text() const {
    DCHECK((number & kContainerBit) == 0);
    return rid_encode(owned_bytes(database.number, number));
}

std::string PermissionRid::text() const {
    std::string bytes = owned_bytes(user.database.number, user.number);
    append_u64_be(bytes, number);
    return rid_encode(bytes);
}

std::string EncryptionKeyRid::text() const {
    std::string bytes;
    append_u32_be(bytes, database.number);
    append_u64_be(bytes, number);
    return rid_encode(bytes);
}

std::string child_rid(const ContainerRid& container, ChildType type, uint64_t number) {
    DCHECK(number <= kChildNumberMax);
    std::string bytes = owned_bytes(container.database.number, container.number);
    append_u64_le(bytes, number | static_cast<uint64_t>(type) << kTypeShift);
    return rid_encode(bytes);
}

std::string offer_rid(uint32_t number) {
    DCHECK(number <= kOfferNumberMax);
    std::string bytes;
    append_u32_be(bytes, number);
    return rid_encode(std::string_view(bytes).substr(1));
}

std::optional<DatabaseRid> parse_database_rid(std::string_view text) {
    const auto bytes = decode(text, kDatabaseBytes);
    if (!bytes) return std::nullopt;
    const DatabaseRid rid{load_u32_be(bytes->data())};
    if (rid.number == 0) return std::nullopt;
    return rid;
}

std::optional<ContainerRid> parse_container_rid(std::string_view text) {
    const auto bytes = decode(text, kOwnedBytes);
    if (!bytes) return std::nullopt;
    const ContainerRid rid{{load_u32_be(bytes->data())}, load_u32_be(bytes->data() + 4)};
    if (rid.database.number == 0 || (rid.number & kContainerBit) == 0) return std::nullopt;
    return rid;
}

std::optional<UserRid> parse_user_rid(std::string_view text) {
    const auto bytes = decode(text, kOwnedBytes);
    if (!bytes) return std::nullopt;
    const UserRid rid{{load_u32_be(bytes->data())}, load_u32_be(bytes->data() + 4)};
    if (rid.database.number == 0 || (rid.number & kContainerBit) != 0) return std::nullopt;
    return rid;
}

std::optional<PermissionRid> parse_permission_rid(std::string_view text) {
    const auto bytes = decode(text, kChildBytes);
    if (!bytes) return std::nullopt;
    const PermissionRid rid{{{load_u32_be(bytes->data())}, load_u32_be(bytes->data() + 4)},
                            load_u64_be(bytes->data() + 8)};
    if (rid.user.database.number == 0 || (rid.user.number & kContainerBit) != 0)
        return std::nullopt;
    return rid;
}

std::optional<EncryptionKeyRid> parse_encryption_key_rid(std::string_view text) {
    const auto bytes = decode(text, kEncryptionKeyBytes);
    if (!bytes) return std::nullopt;
    const EncryptionKeyRid rid{{load_u32_be(bytes->data())}, load_u64_be(bytes->data() + 4)};
    if (rid.database.number == 0) return std::nullopt;
    return rid;
}

std::optional<uint32_t> parse_offer_rid(std::string_view text) {
    const auto bytes = decode(text, kOfferBytes);
    if (!bytes) return std::nullopt;
    const std::string padded = std::string(1, '\0') + *bytes;
    return load_u32_be(padded.data());
}

std::optional<uint64_t> parse_child_rid(const ContainerRid& container, ChildType type,
                                        std::string_view text) {
    const auto bytes = decode(text, kChildBytes);
    if (!bytes || load_u32_be(bytes->data()) != container.database.number ||
        load_u32_be(bytes->data() + 4) != container.number)
        return std::nullopt;
    const uint64_t whole = load_u64_le(bytes->data() + 8);
    if (whole >> kTypeShift != static_cast<uint64_t>(type)) return std::nullopt;
    return whole & kChildNumberMax;
}

std::optional<uint64_t> parse_item_rid(const ContainerRid& container, std::string_view text) {
    const auto bytes = decode(text, kChildBytes);
    if (!bytes) return std::nullopt;
    if (load_u32_be(bytes->data()) != container.database.number ||
        load_u32_be(bytes->data() + 4) != container.number)
        return std::nullopt;
    const uint64_t number = load_u64_le(bytes->data() + 8);
    if (number > kChildNumberMax) return std::nullopt;  // another type
    return number;
}

}  // namespace orrery::catalog
