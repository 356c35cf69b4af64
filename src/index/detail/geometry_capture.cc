#include "index/detail/geometry_capture.h"

namespace orrery::index::detail {

void GeometryCapture::reset() {
    objects_.clear();
    arrays_.clear();
    arena_.clear();
}

void GeometryCapture::enter(size_t depth, std::string_view name) {
    if (!active() || depth != objects_.back().depth + 1) return;
    objects_.back().role = name == "type"          ? Role::kType
                           : name == "coordinates" ? Role::kCoordinates
                                                   : Role::kOther;
}

void GeometryCapture::begin_object(size_t depth, uint64_t path, uint16_t spatial) {
    other_object(depth);
    Object object;
    object.depth = depth;
    object.path = path;
    object.spatial = spatial;
    object.arrays = arrays_.size();
    objects_.push_back(object);
}

void GeometryCapture::other_object(size_t depth) {
    if (active() && in_coordinates(depth)) objects_.back().broken = true;
}

void GeometryCapture::begin_array(size_t depth) {
    if (!active() || !in_coordinates(depth)) return;
    ++objects_.back().parts;
    arrays_.push_back({depth, {}});
}

void GeometryCapture::scalar(size_t depth, const json::Value& value) {
    if (!active()) return;
    Object& object = objects_.back();
    if (object.role == Role::kType && depth == object.depth + 1 && value.is_string())
        object.type = json::Value::string(arena_.copy(value.as_string()));
    if (!in_coordinates(depth)) return;
    ++object.parts;
    // Of other scalars only their type matters.
    put(depth, value.is_number() ? json::Value::number(value.as_double()) : json::Value::null());
}

/// Into the array around, or as the coordinates themselves.
void GeometryCapture::put(size_t depth, const json::Value& value) {
    Object& object = objects_.back();
    if (object.parts > kPartsMax) return;
    if (depth == object.depth + 1) {
        object.coordinates = value;
    } else if (arrays_.size() > object.arrays) {
        arrays_.back().elements.push_back(value);
    }
}

bool GeometryCapture::leave(size_t depth, Found& found) {
    if (!active()) return false;
    if (!arrays_.empty() && arrays_.size() > objects_.back().arrays &&
        arrays_.back().depth == depth) {
        const json::Value array =
            json::Value::array(arena_.copy(std::span<const json::Value>(arrays_.back().elements)));
        arrays_.pop_back();
        put(depth, array);
        return false;
    }
    const Object object = objects_.back();
    if (object.depth != depth) return false;
    objects_.pop_back();
    found.path = object.path;
    found.spatial = object.spatial;
    found.too_large = object.parts > kPartsMax && !object.broken;
    found.is_geojson = !object.broken && !found.too_large && object.type.is_string() &&
                       object.coordinates.is_array();
    if (!found.is_geojson) return true;
    const json::Member members[] = {{"type", object.type}, {"coordinates", object.coordinates}};
    found.geojson = json::Value::object(arena_.copy(std::span(members)));
    return true;
}

}  // namespace orrery::index::detail
