#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "catalog/resources.h"
#include "json/value.h"

/// Container bodies of REST clients (docs/containers.md). Their form is
/// checked here, what they mean in the catalog. A policy that the server does not enforce is
/// refused by name.
namespace orrery::rest {

struct ContainerBody {
    std::string id;
    catalog::ContainerDefinition definition;
};

/// A create's body. `allow_missing_key`: an old client (x-ms-version before 2018-12-31) creates a
/// legacy fixed container.
Result<ContainerBody> read_container_body(const json::Value& body, bool allow_missing_key);

/// A replace's body against what is stored: key, unique keys, encryption policy and materialized
/// view may be left out and must not change; everything else that is left out goes back to its
/// default.
Result<catalog::ContainerDefinition> read_container_replacement(const json::Value& body,
                                                                const catalog::Container& before);

}  // namespace orrery::rest
