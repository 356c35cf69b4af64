#pragma once

#include <functional>
#include <vector>

#include "query/compile.h"
#include "query/plan/conditions.h"
#include "query/query.h"

/// What a WHERE clause says about index entries.
namespace orrery::query {

class Evaluation;

/// What the analysis asks about the index.
struct IndexFacts {
    std::function<bool(const IndexPathSteps&)> is_indexed;
    /// Items that lack the path have an entry, too.
    std::function<bool(const IndexPathSteps&)> posts_undefined;
    /// Of the spatial index that has the geometries at the path; null: none.
    std::function<const index::SpatialGrid*(const IndexPathSteps&)> spatial;
};

/// Takes the WHERE clause of the outermost level apart.
Filter analyze_filter(const CompiledQuery& query, const Parameters& parameters,
                      const IndexFacts& facts);

/// Whether the test holds for an item that has only `value` at `path` (a member path).
bool holds_for_value(const CompiledQuery& query, const Parameters& parameters,
                     const ValueTest& test, const IndexPathSteps& path, const json::Value& value,
                     json::Arena& arena);

/// Begins an evaluation over an item that has only `value` at `path`.
void begin_with_value(Evaluation& evaluation, const CompiledQuery& query,
                      const IndexPathSteps& path, const json::Value& value, json::Arena& arena);

/// An item that has nothing but one path (a member path, which must outlive it), with one value
/// after the other there.
class OneValueItem {
public:
    explicit OneValueItem(const IndexPathSteps& path);
    OneValueItem(const OneValueItem&) = delete;
    OneValueItem& operator=(const OneValueItem&) = delete;
    /// Valid until the next call.
    json::Value with(const json::Value& value);

private:
    std::vector<json::Member> members_;  ///< each is all that the one before it has
};

}  // namespace orrery::query
