#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "json/value.h"

namespace orrery::query {

/// Runs the container's user-defined functions. Called on the thread that evaluates the query.
class UdfHost {
public:
    virtual ~UdfHost() = default;
    /// The result may be undefined; it must live in `arena` (or longer). An unknown name or a
    /// failing function is a bad request.
    virtual Result<json::Value> call(std::string_view name, std::span<const json::Value> args,
                                     json::Arena& arena) = 0;
};

}  // namespace orrery::query
