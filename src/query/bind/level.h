#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "query/bind/eval.h"
#include "query/parse/ast.h"

/// A query or subquery after binding. Names have become slots: cells of one array of values that
/// belongs to the run (EvalContext::slots). Slot 0 is the current item; every source, group key
/// and aggregate of every level has its own, numbered at compile time, which works because no
/// level can be entered twice at once.
namespace orrery::query {

inline constexpr uint32_t kItemSlot = 0;
inline constexpr uint32_t kNoSlot = UINT32_MAX;

struct Level;

struct BoundSource {
    const Node* node = nullptr;  ///< null with a subquery
    const Level* query = nullptr;
    bool iterate = false;     ///< one row per array element
    uint32_t slot = kNoSlot;  ///< kNoSlot when nothing can name it
};

enum class AggregateKind : uint8_t {
    kCount,
    kSum,
    kAverage,
    kMin,
    kMax,
    kCountIf,
    kMakeList,
    kMakeSet,
};

struct BoundAggregate {
    AggregateKind kind = AggregateKind::kCount;
    const Node* argument = nullptr;
};

struct BoundOrderKey {
    const Node* node = nullptr;
    bool descending = false;
};

/// TOP, OFFSET or LIMIT.
struct BoundCount {
    enum class Kind : uint8_t { kNone, kConstant, kParameter } kind = Kind::kNone;
    uint64_t value = 0;
    uint32_t parameter = 0;
};

struct Level {
    const ast::Query* syntax = nullptr;
    std::span<const BoundSource> sources;
    const Node* where = nullptr;
    /// Aggregates or GROUP BY: rows are first gathered into groups, whose keys and results are then
    /// put into the slots from group_slot on (keys first) for the projection.
    bool grouped = false;
    std::span<const Node* const> group_keys;
    std::span<const BoundAggregate> aggregates;
    uint32_t group_slot = 0;
    const Node* value = nullptr;  ///< the projection; a list is an object
    bool distinct = false;
    std::span<const BoundOrderKey> order_by;
    BoundCount top;
    BoundCount offset;
    BoundCount limit;
    /// False when the innermost first source has no FROM: one row, whatever the container holds.
    bool reads_items = false;

    bool has_window() const {
        using Kind = BoundCount::Kind;
        return top.kind != Kind::kNone || offset.kind != Kind::kNone || limit.kind != Kind::kNone;
    }
    /// Rows leave as they come, without state between them.
    bool is_streaming() const {
        if (grouped || distinct || !order_by.empty() || has_window()) return false;
        return sources.empty() || sources[0].query == nullptr || sources[0].query->is_streaming();
    }
};

}  // namespace orrery::query
