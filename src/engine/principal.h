#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "catalog/resources.h"

namespace orrery::engine {

/// A text that a client claims to have signed with an account key.
struct Signature {
    std::string_view text;
    std::string_view signature;  ///< base64 of its HMAC-SHA256
    int64_t signed_at = 0;       ///< wall clock, seconds, as the client says
};

/// What a resource token allows.
struct TokenScope {
    catalog::ContainerRid container;
    std::string item_id;             ///< empty: the whole container
    std::string script_rid;          ///< not empty: running this stored procedure, nothing else
    std::optional<std::string> epk;  ///< binary; only that logical partition (or key prefix)
    catalog::PermissionMode mode = catalog::PermissionMode::kRead;
};

/// Who asks.
struct Principal {
    enum class Kind : uint8_t { kNobody, kMaster, kReadOnly, kToken };
    Kind kind = Kind::kNobody;
    TokenScope scope;  ///< kToken only
};

enum class Access : uint8_t {
    kAccountRead,   ///< the account document
    kMetadataRead,  ///< databases, offers, users, …
    kMetadataWrite,
    kContainerRead,  ///< the container's definition and ranges
    kItemRead,
    kItemWrite,
    kItemCreate,  ///< create and upsert: the id is in the body
    kFeedRead,    ///< feeds and queries over many items
    kScriptRun,   ///< a stored procedure on one logical partition
};

struct AccessTarget {
    const catalog::Container* container = nullptr;
    std::optional<std::string_view> epk;  ///< the full key or prefix the request is limited to
    std::string_view item_id;
    std::string_view script_rid = {};
};

/// Ok, or an error that says what the key or token lacks, or that there is none.
Status authorize(const Principal& principal, Access access, const AccessTarget& target);

}  // namespace orrery::engine
