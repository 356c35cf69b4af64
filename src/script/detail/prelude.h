#pragma once

#include <string_view>

namespace orrery::script::detail {

/// JavaScript that makes the world of every script: a function of (makes Error what scripts for the
/// service expect) nothing, called once.
extern const std::string_view kCommonPrelude;

/// The object model of procedures and triggers: a function of (native, settings as JSON text) that
/// defines getContext() and its like and returns the object by which a run is driven: start(script,
/// arguments as JSON text), turn(), finish(), describe(exception).
extern const std::string_view kContextPrelude;

}  // namespace orrery::script::detail
