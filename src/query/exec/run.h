#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "json/value.h"
#include "query/bind/eval.h"
#include "query/bind/level.h"
#include "query/exec/aggregate.h"
#include "query/functions/values.h"

namespace orrery::query {

/// Takes the rows of a level.
class ValueSink {
public:
    /// `row` is defined and valid until the sink returns (see LevelRun for longer). False: no more.
    virtual bool row(const json::Value& row) = 0;

protected:
    ~ValueSink() = default;
};

/// Which of a level's rows are wanted: TOP, OFFSET, LIMIT.
struct RowWindow {
    uint64_t skip = 0;
    uint64_t count = UINT64_MAX;
};

/// Rows between the clauses of a level, so far. Equal ones that were fed as one count as many.
struct RowCounts {
    uint64_t joined = 0;     ///< what the sources gave together
    uint64_t passed = 0;     ///< what WHERE let pass of it
    uint64_t groups = 0;     ///< of aggregates and GROUP BY
    uint64_t projected = 0;  ///< what SELECT made
    uint64_t distinct = 0;   ///< different ones, with DISTINCT
    uint64_t sorted = 0;     ///< given to ORDER BY
    uint64_t offered = 0;    ///< given to TOP, OFFSET and LIMIT
    uint64_t emitted = 0;
};

/// Runs one level: feed() once per item (once in all for a subquery), then finish() once.
///
/// With kAcrossItems everything that outlives a feed() is copied; rows delivered by finish() are
/// then valid as long as the LevelRun. With kWithinItem nothing is copied and the context's arena
/// must outlive the run.
class LevelRun final : private ValueSink {
public:
    enum class Scope : uint8_t { kWithinItem, kAcrossItems };
    LevelRun(const Level& level, EvalContext& context, ValueSink& sink, Scope scope);
    LevelRun(const LevelRun&) = delete;
    LevelRun& operator=(const LevelRun&) = delete;
    ~LevelRun();

    /// What is known of the items that one feed() stands for.
    struct Known {
        uint64_t weight = 1;        ///< so many equal ones, which only aggregates can tell from one
        bool where_holds = false;   ///< WHERE is true for them
        bool whole_groups = false;  ///< no other feed() has rows of their groups
    };
    /// False when no further row can be wanted (or the context has failed).
    bool feed(const Known& known);
    bool feed() { return feed(Known()); }
    bool finish();

    /// While a row is delivered: what tells it from the others, as long as it does not change. The
    /// values of ORDER BY, or those of GROUP BY; of other rows nothing but themselves.
    std::span<const json::Value> row_keys() const;

    /// How often the sources together gave something that WHERE let pass, so far.
    uint64_t tuples() const { return tuples_; }
    RowCounts counts() const;
    /// What is held between two items.
    size_t retained_bytes() const;
    /// What is left of the window.
    RowWindow window() const { return {skip_, remaining_}; }
    /// Before the first feed(): all rows are delivered, the window is the caller's to apply.
    RowWindow take_window();

private:
    struct Groups;
    struct SortedRow {
        std::vector<json::Value> keys;
        json::Value value;
        uint64_t sequence;  // arrival, to break ties
    };
    struct Blocking;
    class SourceSink;

    bool row(const json::Value& row) override;  // from the first source's subquery
    bool next_source(size_t index);
    bool bind(size_t index, const json::Value& value);
    bool matched();
    bool gather();
    bool deliver(const json::Value& value);
    bool emit(const json::Value& value);
    bool sort_row(const json::Value& value);
    bool emit_groups();
    bool emit_whole_group();
    bool emit_sorted();
    std::optional<size_t> group_of_row();
    bool before(const SortedRow& a, const SortedRow& b) const;
    void prune();
    uint64_t count(const BoundCount& c, uint64_t otherwise) const;

    const Level& level_;
    EvalContext& context_;
    ValueSink& sink_;
    std::unique_ptr<LevelRun> child_;       // runs the first source when that is a subquery
    std::unique_ptr<Blocking> blocking_;    // null for a streaming level
    const SortedRow* delivered_ = nullptr;  // of those in order
    Known fed_;                             // of the item that is being fed
    uint64_t tuples_ = 0;
    uint64_t joined_ = 0;
    uint64_t passed_ = 0;
    uint64_t projected_ = 0;
    uint64_t offered_ = 0;
    uint64_t emitted_ = 0;
    uint64_t skip_ = 0;
    uint64_t remaining_ = UINT64_MAX;
};

/// Runs a correlated subquery completely. False when the sink had enough or the context failed.
bool run_subquery(const Level& level, EvalContext& context, ValueSink& sink);

}  // namespace orrery::query
