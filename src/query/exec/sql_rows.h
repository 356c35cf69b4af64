#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "partition/client_item.h"
#include "query/bind/evaluation.h"
#include "query/exec/run.h"
#include "query/plan/plan.h"

namespace orrery::query {

/// Items and their rows as SQL sees them, for queries that need nothing but one item for its rows.
/// Splits the WHERE clause in what the index could serve and the rest, so that the work is counted
/// the same whatever the plan was.
class SqlRows final : public RowMaker {
public:
    /// All outlive this.
    SqlRows(const CompiledQuery& query, const Parameters& parameters, const IndexPlan& index,
            const std::function<bool()>& cancelled);

    Status load(const json::Document& document, const storage::Docref& docref) override;
    Result<bool> passes_served() override;
    Result<Tuples> make_rows() override;
    size_t show(size_t row, RowSink& sink) override;
    json::Value sort_value(size_t key) override;

    /// The item that was loaded.
    const json::Value& value() const { return value_; }
    json::Arena& arena() { return arena_; }
    const json::Document& document() const { return document_; }

private:
    void begin();

    const CompiledQuery& query_;
    const IndexPlan& index_;
    Evaluation evaluation_;
    Level level_;  ///< the query's, without ORDER BY and window (and WHERE, if split)
    bool split_;   ///< the item is the only source: WHERE is tested here
    std::vector<const Node*> served_;
    std::vector<const Node*> rest_;
    std::vector<const Condition*> conditions_;
    json::Arena arena_;
    json::Value value_;
    json::Document document_;
    std::vector<json::Value> rows_;
    std::optional<partition::ItemWriter> writer_;  ///< of system properties
};

}  // namespace orrery::query
