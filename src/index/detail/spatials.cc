#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/errors.h"
#include "base/limits.h"
#include "index/detail/path_parser.h"
#include "index/geometry.h"
#include "json/item.h"
#include "json/write.h"

namespace orrery::index::detail {
namespace {

constexpr std::string_view kList = "spatialIndexes";
constexpr uint8_t kAllTypes = (1U << kGeometryTypeCount) - 1;

Result<uint8_t> read_types(const json::Value& list, std::string_view path) {
    if (list.is_undefined() || list.is_null()) return kAllTypes;
    const std::string what = "the member 'types' of the spatial path '" + excerpt(path) + "'";
    if (!list.is_array() || list.elements().empty())
        return bad_policy(what + " must be a list of geometry types");
    uint8_t types = 0;
    for (const json::Value& name : list.elements()) {
        const auto type = name.is_string() ? geometry_type(name.as_string()) : std::nullopt;
        if (!type)
            return bad_policy(what +
                              " may hold \"Point\", \"LineString\", \"Polygon\" and "
                              "\"MultiPolygon\" only");
        types |= static_cast<uint8_t>(1U << static_cast<unsigned>(*type));
    }
    return types;
}

constexpr std::array<std::pair<std::string_view, double PlaneBox::*>, 4> kBoxSides = {
    {{"xmin", &PlaneBox::xmin},
     {"ymin", &PlaneBox::ymin},
     {"xmax", &PlaneBox::xmax},
     {"ymax", &PlaneBox::ymax}}};

Result<std::optional<PlaneBox>> read_box(const json::Value& value, std::string_view path) {
    if (value.is_undefined() || value.is_null()) return std::optional<PlaneBox>();
    const std::string what = "the bounding box of the spatial path '" + excerpt(path) + "'";
    if (!value.is_object() || value.members().size() != kBoxSides.size())
        return bad_policy(what + " must be an object of the numbers xmin, ymin, xmax and ymax");
    PlaneBox box;
    for (const auto& [name, side] : kBoxSides) {
        const json::Value number = value.member(name);
        if (!number.is_number())
            return bad_policy(what + " has no number '" + std::string(name) + "'");
        box.*side = number.as_double();
    }
    const double width = box.xmax - box.xmin;
    const double height = box.ymax - box.ymin;
    if (!(width > 0 && height > 0))
        return bad_policy(what + " is empty: xmin must be below xmax, and ymin below ymax");
    // The cells are fractions of the extents, which must be numbers themselves.
    if (!std::isfinite(width) || !std::isfinite(height))
        return bad_policy(what +
                          " is too large: xmax - xmin and ymax - ymin must be at most 1.79e308");
    return std::optional<PlaneBox>(box);
}

void append_box(std::string& out, const PlaneBox& box) {
    out.append(",\"boundingBox\":{");
    for (const auto& [name, side] : kBoxSides) {
        if (name != kBoxSides.front().first) out.push_back(',');
        json::write_string(out, name);
        out.push_back(':');
        json::write_number(out, box.*side);
    }
    out.push_back('}');
}

Result<SpatialIndex> read_spatial(const json::Value& entry) {
    if (!entry.is_object())
        return bad_policy("'spatialIndexes' holds something that is not an object");
    for (const json::Member& member : entry.members())
        if (member.name != "path" && member.name != "types" && member.name != "boundingBox")
            return bad_policy("a spatial index has an unknown member '" + excerpt(member.name) +
                              "'");
    const json::Value path = entry.member("path");
    if (!path.is_string()) return bad_policy("a spatial index has no string member 'path'");
    SpatialIndex out;
    TRY(out.grid.box, read_box(entry.member("boundingBox"), path.as_string()));
    TRY(out.path, parse_index_path(path.as_string()));
    if (!out.path.steps.empty() && !out.path.steps[0].any_element &&
        json::is_system_property(out.path.steps[0].name))
        return bad_policy("the spatial path '" + excerpt(path.as_string()) +
                          "' is of a system property");
    TRY(out.grid.types, read_types(entry.member("types"), path.as_string()));
    return out;
}

}  // namespace

Result<std::vector<SpatialIndex>> parse_spatials(const json::Value& list) {
    std::vector<SpatialIndex> out;
    if (list.is_undefined() || list.is_null()) return out;
    if (!list.is_array()) return bad_policy("'" + std::string(kList) + "' is not an array");
    if (list.elements().size() > limits::kSpatialIndexesMax)
        return bad_policy("'" + std::string(kList) + "' holds more than " +
                          std::to_string(limits::kSpatialIndexesMax) + " paths");
    for (const json::Value& entry : list.elements()) {
        TRY(SpatialIndex spatial, read_spatial(entry));
        const bool known = std::any_of(out.begin(), out.end(), [&](const SpatialIndex& other) {
            return other.path.steps == spatial.path.steps &&
                   other.path.subtree == spatial.path.subtree;
        });
        if (known)
            return bad_policy("the spatial path '" + excerpt(spatial.path.text) +
                              "' is listed twice");
        out.push_back(std::move(spatial));
    }
    return out;
}

void append_spatials(std::string& out, const std::vector<SpatialIndex>& spatials) {
    out.append(",\"").append(kList).append("\":[");
    for (size_t i = 0; i < spatials.size(); ++i) {
        out.append(i == 0 ? "{\"path\":" : ",{\"path\":");
        json::write_string(out, spatials[i].path.text);
        out.append(",\"types\":[");
        bool first = true;
        for (unsigned type = 0; type < kGeometryTypeCount; ++type) {
            if ((spatials[i].grid.types & (1U << type)) == 0) continue;
            if (!first) out.push_back(',');
            first = false;
            json::write_string(out, geometry_type_name(static_cast<GeometryType>(type)));
        }
        out.push_back(']');
        if (spatials[i].grid.box) append_box(out, *spatials[i].grid.box);
        out.push_back('}');
    }
    out.push_back(']');
}

}  // namespace orrery::index::detail
