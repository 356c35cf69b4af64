#pragma once

#include <absl/container/flat_hash_set.h>

#include <functional>
#include <string>
#include <string_view>

namespace orrery::query::detail {

/// Sets of docrefs with look-ups by string_view.
struct DocrefHash {
    using is_transparent = void;
    size_t operator()(std::string_view docref) const {
        return std::hash<std::string_view>()(docref);
    }
};
using DocrefSet = absl::flat_hash_set<std::string, DocrefHash, std::equal_to<>>;

}  // namespace orrery::query::detail
