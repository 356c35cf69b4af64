#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "index/geometry.h"
#include "query/bind/eval.h"

/// Functions that relate two geometries.
namespace orrery::query {

enum class SpatialRelation : uint8_t { kDistance, kWithin, kIntersects };
/// By a function's name in upper case; nullopt for other functions.
std::optional<SpatialRelation> spatial_relation(std::string_view function);

/// A call with a geometry that does not change from item to item: it is read once per query (a
/// constant) or once per request (a parameter).
class SpatialNode final : public Node {
public:
    struct Argument {
        enum class Source : uint8_t { kItem, kConstant, kParameter };
        Source source = Source::kItem;
        const Node* node = nullptr;
        const index::Geometry* constant = nullptr;  ///< null: not a geometry; owned by the query
        uint32_t parameter = 0;
    };
    SpatialNode(SpatialRelation relation, Argument left, Argument right)
        : relation_(relation), left_(left), right_(right) {}
    json::Value eval(EvalContext& context) const override;

    SpatialRelation relation() const { return relation_; }
    const Argument& left() const { return left_; }
    const Argument& right() const { return right_; }

private:
    SpatialRelation relation_;
    Argument left_;
    Argument right_;
};

}  // namespace orrery::query
