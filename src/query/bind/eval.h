#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/errors.h"
#include "index/geometry.h"
#include "json/value.h"
#include "query/limits.h"
#include "query/udf.h"

namespace orrery::index {
class Geometry;
}  // namespace orrery::index

namespace orrery::query {

/// Three-valued logic.
enum class Truth : uint8_t { kFalse, kTrue, kUndefined };

inline Truth truth_of(const json::Value& v) {
    if (!v.is_bool()) return Truth::kUndefined;
    return v.as_bool() ? Truth::kTrue : Truth::kFalse;
}
inline json::Value to_value(Truth t) {
    return t == Truth::kUndefined ? json::Value() : json::Value::boolean(t == Truth::kTrue);
}
inline Truth negate(Truth t) {
    if (t == Truth::kUndefined) return t;
    return t == Truth::kTrue ? Truth::kFalse : Truth::kTrue;
}

/// Everything an expression may look at while it is evaluated. Owned by one thread.
///
/// Expressions have no error channel of their own: most failures are the value undefined. The few
/// real errors (user-defined functions, limits) are recorded here once, evaluation goes on with
/// undefined, and the driver of the rows stops at the next charge().
struct EvalContext {
    json::Value* slots = nullptr;             ///< aliases, group keys, aggregates; see level.h
    const json::Value* parameters = nullptr;  ///< by index of CompiledQuery
    /// Parameters that are used as geometries, by index; null where one is no geometry.
    const std::shared_ptr<const index::Geometry>* geometries = nullptr;
    index::GeometrySpace space = index::GeometrySpace::kEarth;  ///< of the container
    json::Arena* arena = nullptr;
    UdfHost* udf = nullptr;
    const Clock* clock = nullptr;
    int64_t static_now_us = 0;
    /// Returns true once nobody waits for the answer; null: not checked.
    const std::function<bool()>* cancelled = nullptr;

    bool failed() const { return failed_; }
    Status take_status() { return failed_ ? Status(std::move(error_)) : Status(); }
    json::Value fail(Error error) {
        if (!failed_) error_ = std::move(error);
        failed_ = true;
        return {};
    }

    /// Starts the budgets of one item.
    void begin_item() {
        work_left_ = limits::kWorkPerItemMax;
        arena_start_ = arena->bytes_used();
        charges_ = 0;
        deadline_us_ = 0;
    }
    /// Between two rows that are nowhere but in `arena` and were taken: their memory is free again.
    void end_row() {
        if (!rows_are_taken) return;
        arena->clear();
        arena_start_ = 0;
    }
    /// The receiver of a row is done with it when it returns, and `arena` holds only rows.
    bool rows_are_taken = false;
    /// Counts work; false when the query must stop.
    bool charge(uint64_t units = 1) {
        if (failed_) return false;
        if (units > work_left_) {
            fail(errors::bad_request(
                "The query needs too much work on a single item. Narrow its JOINs or subqueries."));
            return false;
        }
        work_left_ -= units;
        if (++charges_ % kChargesPerLook == 0) [[unlikely]]
            return may_go_on();
        return true;
    }
    /// Asks before a large allocation; false when the item's memory is used up.
    bool may_allocate(size_t bytes) {
        if (failed_) return false;
        if (arena->bytes_used() - arena_start_ + bytes <= limits::kEvaluationBytesMax) return true;
        fail(errors::bad_request(
            "The query computes values that are too large. Narrow its strings and arrays."));
        return false;
    }

private:
    /// One step may visit all of a large item: some hundred of them are a noticeable time.
    static constexpr uint32_t kChargesPerLook = 256;
    /// Checks the time, and whether anybody still waits.
    bool may_go_on();

    bool failed_ = false;
    uint32_t charges_ = 0;
    int64_t deadline_us_ = 0;  ///< of the item, monotonic; 0: not looked yet
    uint64_t work_left_ = limits::kWorkPerItemMax;
    size_t arena_start_ = 0;
    Error error_;
};

/// A compiled expression. Immutable and trivially destructible: lives in its query's arena.
class Node {
public:
    virtual json::Value eval(EvalContext& context) const = 0;
    /// The same as truth_of(eval()), for WHERE and the logical operators.
    virtual Truth test(EvalContext& context) const { return truth_of(eval(context)); }
    /// The value of a constant expression, else null.
    virtual const json::Value* constant() const { return nullptr; }

protected:
    ~Node() = default;
};

}  // namespace orrery::query
