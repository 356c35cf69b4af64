#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace orrery::rest {

enum class ResourceType : uint8_t {
    kAccount,
    kDatabase,
    kContainer,
    kItem,
    kProcedure,
    kTrigger,
    kUdf,
    kConflict,
    kRange,
    kUser,
    kPermission,
    kOffer,
    kAttachment,
    kEncryptionKey,
    kPartitionKeyDelete,
    kAddress,
    kOwn,  ///< /_orrery/…: what the protocol has no resource for; `ids` are the segments after it
    kPublic,  ///< probes, certificate, explorer: no authorization
};

/// A request path, taken apart.
struct Route {
    ResourceType type = ResourceType::kAccount;
    bool feed = false;             ///< addresses the list of resources of `type`, not one of them
    std::vector<std::string> ids;  ///< decoded names or rids, outermost first
    std::string type_segment;      ///< "docs", "colls", …: signed by clients
    std::string link;              ///< name-based link that clients sign
    std::string path;              ///< decoded path of a kPublic resource

    const std::string& database() const { return ids[0]; }
    const std::string& container() const { return ids[1]; }
    const std::string& last_id() const { return ids.back(); }
};

/// Reads the path of a request target (the query part is ignored). Leading and trailing slashes may
/// be doubled or missing; each segment is percent-decoded once. 400 for malformed escapes, an
/// encoded slash or an empty segment; 404 for a path that names no resource.
Result<Route> parse_route(std::string_view target);

}  // namespace orrery::rest
