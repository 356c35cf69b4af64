#include <array>
#include <string>

#include "query/functions/functions.h"
#include "query/functions/spatial.h"

namespace orrery::query {
namespace {

using index::Geometry;
using json::Value;

/// Reading a geometry takes as long as visiting some values per corner; relating two may look at
/// every pair of edges.
constexpr uint64_t kWorkPerCorner = 16;
constexpr uint64_t kPairsPerWork = 4;

std::optional<Geometry> read(const Value& geojson, EvalContext& context) {
    auto geometry = Geometry::parse(geojson, nullptr, context.space);
    if (geometry && !context.charge(kWorkPerCorner * geometry->points())) return std::nullopt;
    return geometry;
}

Value relate(SpatialRelation relation, const Geometry& a, const Geometry& b, EvalContext& context) {
    if (!context.charge(a.points() * b.points() / kPairsPerWork)) return {};
    switch (relation) {
        case SpatialRelation::kDistance:
            return Value::number(a.distance(b));
        case SpatialRelation::kWithin:
            return Value::boolean(a.within(b));
        case SpatialRelation::kIntersects:
            return Value::boolean(a.intersects(b));
    }
    return {};
}

template <SpatialRelation kRelation>
Value call_relation(EvalContext& context, Arguments args) {
    const auto a = read(args[0], context);
    if (!a) return {};
    const auto b = read(args[1], context);
    return b ? relate(kRelation, *a, *b, context) : Value();
}

Value area(EvalContext& context, Arguments args) {
    const auto geometry = read(args[0], context);
    return geometry ? Value::number(geometry->area()) : Value();
}

Value is_valid(EvalContext& context, Arguments args) {
    if (args[0].is_undefined()) return {};
    const bool valid = read(args[0], context).has_value();
    return context.failed() ? Value() : Value::boolean(valid);
}

Value is_valid_detailed(EvalContext& context, Arguments args) {
    if (args[0].is_undefined()) return {};
    std::string reason;
    const bool valid = Geometry::parse(args[0], &reason, context.space).has_value();
    const json::Member members[] = {{"valid", Value::boolean(valid)},
                                    {"reason", Value::string(context.arena->copy(reason))}};
    return Value::object(context.arena->copy(std::span(members, valid ? 1 : 2)));
}

/// The geometry of an argument: one that is known, or the item's, read into `own`.
const Geometry* geometry_of(const SpatialNode::Argument& argument, EvalContext& context,
                            std::optional<Geometry>& own) {
    using Source = SpatialNode::Argument::Source;
    if (argument.source == Source::kConstant) return argument.constant;
    if (argument.source == Source::kParameter && context.geometries != nullptr)
        return context.geometries[argument.parameter].get();
    own = read(argument.node->eval(context), context);
    return own ? &*own : nullptr;
}

}  // namespace

std::optional<SpatialRelation> spatial_relation(std::string_view function) {
    if (function == "ST_DISTANCE") return SpatialRelation::kDistance;
    if (function == "ST_WITHIN") return SpatialRelation::kWithin;
    if (function == "ST_INTERSECTS") return SpatialRelation::kIntersects;
    return std::nullopt;
}

Value SpatialNode::eval(EvalContext& context) const {
    std::optional<Geometry> own_left;
    std::optional<Geometry> own_right;
    const Geometry* left = geometry_of(left_, context, own_left);
    if (left == nullptr) return {};
    const Geometry* right = geometry_of(right_, context, own_right);
    return right == nullptr ? Value() : relate(relation_, *left, *right, context);
}

std::span<const FunctionSpec> spatial_functions() {
    using enum FunctionFamily;
    using enum SpatialRelation;
    static constexpr std::array kFunctions = {
        by_index(FunctionSpec{"ST_DISTANCE(geometry, geometry)", 2, 2, kSpatial,
                              call_relation<kDistance>}),
        by_index(
            FunctionSpec{"ST_WITHIN(geometry, polygon)", 2, 2, kSpatial, call_relation<kWithin>}),
        by_index(FunctionSpec{"ST_INTERSECTS(geometry, geometry)", 2, 2, kSpatial,
                              call_relation<kIntersects>}),
        FunctionSpec{"ST_AREA(geometry)", 1, 1, kSpatial, area},
        FunctionSpec{"ST_ISVALID(geometry)", 1, 1, kSpatial, is_valid},
        FunctionSpec{"ST_ISVALIDDETAILED(geometry)", 1, 1, kSpatial, is_valid_detailed},
    };
    return kFunctions;
}

}  // namespace orrery::query
