#pragma once

#include <memory>
#include <vector>

#include "query/plan/plan.h"

/// SQL as a producer of plans.
namespace orrery::query {

/// The query's own part of plans; all borrowed.
class SqlProducer final : public Producer {
public:
    SqlProducer(const CompiledQuery& query, const Parameters& parameters,
                const std::function<bool()>& cancelled)
        : query_(query), parameters_(parameters), cancelled_(cancelled) {}
    std::unique_ptr<ValueTester> value_tester(const Condition& condition) const override;
    std::unique_ptr<RowMaker> row_maker(const IndexPlan& index) const override;

private:
    const CompiledQuery& query_;
    const Parameters& parameters_;
    const std::function<bool()>& cancelled_;
};

/// Rows leave as items come; otherwise they are known only at the end.
bool is_by_row(const Level& root);

/// An error for ORDER BY that no index serves.
Result<PagePlan> plan_page(const PageRequest& request);

/// How ORDER BY is served.
Result<SortOrder> sort_order(const CompiledQuery& query, bool use_index, const IndexPlan& index);

/// The same for keys that are paths; `order` has their directions. False: no composite index has
/// them.
bool composite_order(const std::vector<IndexPathSteps>& keys, bool use_index,
                     const IndexPlan& index, SortOrder& order);
void path_order(const IndexPathSteps& path, bool use_index, const IndexPlan& index,
                SortOrder& order);

}  // namespace orrery::query
