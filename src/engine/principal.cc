#include "engine/principal.h"

#include "base/errors.h"

namespace orrery::engine {
namespace {

Status authorize_token(const TokenScope& scope, Access access, const AccessTarget& target) {
    if (access == Access::kAccountRead) return {};
    if (access == Access::kMetadataRead || access == Access::kMetadataWrite || target.container == nullptr)
        return Status(errors::forbidden(
            "The resource token gives access to one container's items only. Use an account key for this request."));
    if (!(target.container->rid == scope.container))
        return Status(errors::forbidden("The resource token was issued for another container."));
    if (access == Access::kContainerRead) return {};
    if (access == Access::kItemWrite && scope.mode == catalog::PermissionMode::kRead)
        return Status(errors::forbidden("The resource token has permission mode Read; writing needs mode All."));
    if (!scope.item_id.empty() && (access == Access::kFeedRead || target.item_id != scope.item_id))
        return Status(errors::forbidden("The resource token was issued for another item."));
    if (scope.epk) {
        // A prefix scope of a hierarchical key covers every key below it.
        if (!target.epk || !target.epk->starts_with(*scope.epk))
            return Status(errors::forbidden(
                "The resource token is limited to one partition key value; send it in the header "
                "x-ms-documentdb-partitionkey."));
    }
    return {};
}

}  // namespace

Status authorize(const Principal& principal, Access access, const AccessTarget& target) {
    switch (principal.kind) {
        case Principal::Kind::kMaster: return {};
        case Principal::Kind::kReadOnly:
            if (access == Access::kMetadataWrite || access == Access::kItemWrite)
                return Status(errors::forbidden(
                    "The request was signed with a read-only key. Use the primary or secondary key to write."));
            return {};
        case Principal::Kind::kToken: return authorize_token(principal.scope, access, target);
    }
    return Status(errors::forbidden("Unknown principal."));
}

}  // namespace orrery::engine
