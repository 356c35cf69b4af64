#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"
#include "partition/operation.h"

namespace orrery::engine {

/// A resource of the account as a query over resources sees it.
struct QueriedResource {
    std::string json;
    /// What `WHERE` should see of it; one resource may have several such forms. Empty: just `json`.
    std::vector<std::string> forms;
};

/// The rows of a query over resources, as JSON texts. An error for what is no query.
Result<std::vector<std::string>> query_resources(std::string_view text,
                                                 const json::Value& parameters,
                                                 const std::vector<QueriedResource>& resources);

/// A patch from its JSON, {"operations":[…],"condition":"…"} or a bare array, with its condition
/// compiled.
Result<std::shared_ptr<const partition::PatchProgram>> read_patch(std::string_view body,
                                                                  index::GeometrySpace space);

}  // namespace orrery::engine
