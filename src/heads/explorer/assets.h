#pragma once

#include <span>
#include <string_view>

namespace orrery::explorer {

/// One file of the browser application. All bytes are part of the binary and never change.
struct Asset {
    std::string_view path;  ///< below /_explorer, with its leading slash: "/assets/app-1a2b.js"
    std::string_view type;  ///< media type
    std::string_view etag;  ///< quoted, from the content
    bool immutable;         ///< the content's hash is part of the name
    std::string_view plain;
    std::string_view gzip;    ///< empty: compressing does not pay
    std::string_view brotli;  ///< likewise
};

/// The application that was built with this binary; empty when it was built without one.
std::span<const Asset> built_in_assets();

}  // namespace orrery::explorer
