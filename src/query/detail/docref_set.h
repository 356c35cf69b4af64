#pragma once

#include <absl/container/flat_hash_set.h>

#include <functional>
#include <string>

#include "base/keyed_hash.h"

namespace orrery::query::detail {

/// Sets of docrefs with look-ups by string_view.
using DocrefSet = absl::flat_hash_set<std::string, KeyedHash, std::equal_to<>>;

}  // namespace orrery::query::detail
