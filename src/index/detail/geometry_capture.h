#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "index/geometry.h"
#include "json/value.h"

namespace orrery::index::detail {

/// Puts GeoJSON objects together while an item is walked: of each object that could be one, its
/// type and its coordinates. Objects may lie inside others. Owned by one thread.
///
/// `depth` is the walk's: an object at depth d has its members at d + 1.
class GeometryCapture {
public:
    void reset();
    /// True while parts of an object may follow.
    bool active() const { return !objects_.empty(); }

    /// A value of the item begins at `depth`, under a member name or (`name` empty) as an element.
    void enter(size_t depth, std::string_view name);
    void begin_object(size_t depth, uint64_t path, uint16_t spatial);
    /// An object that cannot be a geometry.
    void other_object(size_t depth);
    void begin_array(size_t depth);
    void scalar(size_t depth, const json::Value& value);

    struct Found {
        uint64_t path = 0;
        uint16_t spatial = 0;     ///< the index there, as in PathTree::Position
        bool is_geojson = false;  ///< `geojson` may be valid
        bool too_large = false;   ///< was not kept: may be valid, too
        json::Value geojson;      ///< until reset()
    };
    /// The value at `depth` ends. True if it was an object that was begun here.
    bool leave(size_t depth, Found& found);

private:
    /// Numbers and arrays of one geometry: more than valid ones have, heights included.
    static constexpr size_t kPartsMax = 8 * limits::kGeometryPointsMax;

    enum class Role : uint8_t { kOther, kType, kCoordinates };
    struct Object {
        size_t depth = 0;
        uint64_t path = 0;
        uint16_t spatial = 0;
        Role role = Role::kOther;  ///< of the member that the walk is in
        bool broken = false;
        size_t parts = 0;
        json::Value type;
        json::Value coordinates;
        size_t arrays = 0;  ///< in `arrays_` when the object began
    };
    struct OpenArray {
        size_t depth = 0;
        std::vector<json::Value> elements;
    };
    bool in_coordinates(size_t depth) const {
        return objects_.back().role == Role::kCoordinates && depth > objects_.back().depth;
    }
    void put(size_t depth, const json::Value& value);

    std::vector<Object> objects_;
    std::vector<OpenArray> arrays_;
    json::Arena arena_;
};

}  // namespace orrery::index::detail
