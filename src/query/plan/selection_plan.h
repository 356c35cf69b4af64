#pragma once

#include <memory>

#include "query/plan/plan.h"

/// Selections as a producer of plans.
namespace orrery::query {

/// The selection's own part of plans; borrowed.
class SelectionProducer final : public Producer {
public:
    explicit SelectionProducer(const Selection& selection) : selection_(selection) {}
    std::unique_ptr<ValueTester> value_tester(const Condition& condition) const override;
    std::unique_ptr<RowMaker> row_maker(const IndexPlan& index) const override;

private:
    const Selection& selection_;
};

Result<PagePlan> plan_selection(const Selection& selection);

}  // namespace orrery::query
