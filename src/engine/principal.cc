#include "engine/principal.h"

#include "base/errors.h"

namespace orrery::engine {
namespace {

bool is_write(Access access) {
    return access == Access::kMetadataWrite || access == Access::kItemWrite ||
           access == Access::kItemCreate || access == Access::kScriptRun;
}

Status authorize_token(const TokenScope& scope, Access access, const AccessTarget& target) {
    if (access == Access::kAccountRead) return {};
    if (access == Access::kMetadataRead || access == Access::kMetadataWrite ||
        target.container == nullptr)
        return Status(
            errors::forbidden("The resource token gives access to one container's items only. Use "
                              "an account key for this request."));
    if (!(target.container->rid == scope.container))
        return Status(errors::forbidden("The resource token was issued for another container."));
    if (access == Access::kContainerRead) return {};
    if (!scope.script_rid.empty() &&
        (access != Access::kScriptRun || target.script_rid != scope.script_rid))
        return Status(errors::forbidden(
            "The resource token allows one stored procedure to be run, nothing else."));
    if (is_write(access) && scope.mode == catalog::PermissionMode::kRead)
        return Status(errors::forbidden(
            "The resource token has permission mode Read; writing needs mode All."));
    if (!scope.item_id.empty() && access == Access::kItemCreate)
        return Status(
            errors::forbidden("The resource token allows one item only; it cannot create items."));
    if (!scope.item_id.empty() && access == Access::kScriptRun)
        return Status(
            errors::forbidden("The resource token allows one item only; it cannot run scripts."));
    if (!scope.item_id.empty() && (access == Access::kFeedRead || target.item_id != scope.item_id))
        return Status(errors::forbidden("The resource token was issued for another item."));
    if (scope.epk) {
        // A prefix scope of a hierarchical key covers every key below it. The empty key (containers
        // with a system key) is a key of its own, though every key starts with it.
        const bool inside =
            target.epk &&
            (scope.epk->empty() ? target.epk->empty() : target.epk->starts_with(*scope.epk));
        if (!inside) return Status(errors::outside_token_key());
    }
    return {};
}

}  // namespace

Status authorize(const Principal& principal, Access access, const AccessTarget& target) {
    switch (principal.kind) {
        case Principal::Kind::kNobody:
            return Status(errors::unauthorized("Nobody has signed in."));
        case Principal::Kind::kMaster:
            return {};
        case Principal::Kind::kReadOnly:
            if (is_write(access))
                return Status(
                    errors::forbidden("The request was signed with a read-only key. Use the "
                                      "primary or secondary key to write."));
            return {};
        case Principal::Kind::kToken:
            return authorize_token(principal.scope, access, target);
    }
    return Status(errors::forbidden("Unknown principal."));
}

}  // namespace orrery::engine
