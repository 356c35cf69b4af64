#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "catalog/catalog.h"
#include "engine/hmac.h"
#include "engine/principal.h"

namespace orrery::engine {

/// Issues and checks resource tokens: `type=resource&ver=1.0&sig={mac};{payload};`. The payload
/// names the permission, what it allows and when it ends; the MAC is keyed with the account's
/// signing secret. A deleted or changed permission ends its tokens.
class ResourceTokens {
public:
    ResourceTokens(const catalog::Catalog& catalog, const Clock& clock);

    /// A bad request for links that a permission may hold but no token can stand for.
    Status check_resource(std::string_view link) const;

    /// `lifetime_seconds` within the limits of base/limits.h (checked by the caller).
    Result<std::string> issue(const catalog::Permission& permission,
                              int64_t lifetime_seconds) const;

    /// `token` = the decoded authorization value. Unauthorized for a forged or foreign token,
    /// forbidden when expired or revoked.
    Result<Principal> verify(std::string_view token) const;

private:
    const catalog::Catalog& catalog_;
    const Clock& clock_;
    HmacKey key_;
};

}  // namespace orrery::engine
