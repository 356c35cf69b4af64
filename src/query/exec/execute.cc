// Pages: plan, operators, reports.
#include "base/errors.h"
#include "query/exec/blocking_pass.h"
#include "query/exec/page.h"
#include "query/plan/selection_plan.h"
#include "query/plan/sql_plan.h"

namespace orrery::query {
namespace {

/// The operator that finds the plan's items.
Result<std::unique_ptr<ItemSource>> open_source(Page& page) {
    switch (page.plan.order) {
        case PagePlan::Order::kIndex:
            return read_in_order(page);
        case PagePlan::Order::kPrimary:
            return read_primary(page);
        case PagePlan::Order::kNone:
            break;
    }
    if (page.plan.points) return read_points();
    return read_segments(page);
}

Result<Position> position_of(const PageScope& scope) {
    if (scope.position.empty()) return Position();
    return Position::decode(scope.position);
}

/// The rows of a plan that shows them as items come.
Status fill_page(Page& page) {
    if (page.window.closed()) return {};
    TRY(const auto source, open_source(page));
    return page.fill(*source);
}

Status check_cancelled(const Page& page) {
    if (!page.cancelled()) return {};
    return Status(errors::request_timeout("The client has gone."));
}

}  // namespace

Result<PageAnswer> execute_page(const PageRequest& request) {
    const PageScope& scope = request.scope;
    const int64_t began = scope.clock.monotonic_us();
    TRY(Position position, position_of(scope));
    TRY(const PagePlan plan, plan_page(request));
    const SqlProducer producer(request.query, request.parameters, scope.cancelled);
    Page page(scope, plan, producer, std::move(position));
    page.answer.plan_us = scope.clock.monotonic_us() - began;
    const bool by_row = is_by_row(request.query.root());
    TRY_STATUS(by_row ? fill_page(page) : run_blocking(request, page));
    TRY_STATUS(check_cancelled(page));
    const SortOrder& order = plan.indexes[0].order;
    if (by_row && order.by_rid) page.answer.rids_fall = order.rid_descending;
    note_index_use(page);
    if (scope.explain) note_operators(request.query, by_row, page);
    return page.finish(by_row);
}

Result<PageAnswer> select_page(const Selection& selection) {
    const PageScope& scope = selection.scope;
    const int64_t began = scope.clock.monotonic_us();
    TRY(Position position, position_of(scope));
    TRY(const PagePlan plan, plan_selection(selection));
    const SelectionProducer producer(selection);
    Page page(scope, plan, producer, std::move(position));
    page.answer.plan_us = scope.clock.monotonic_us() - began;
    TRY_STATUS(fill_page(page));
    TRY_STATUS(check_cancelled(page));
    note_index_use(page);
    return page.finish(true);
}

}  // namespace orrery::query
