// Queries: one page through query::execute_page, with its continuation token and its price.
#include "query/query.h"

#include <algorithm>

#include "base/errors.h"
#include "base/limits.h"
#include "engine/engine.h"
#include "engine/light_query.h"
#include "json/write.h"
#include "query/key_ranges.h"
#include "query/page.h"
#include "query/rewrite.h"

namespace orrery::engine {
namespace {

/// A page that has worked this long is returned with what it has.
constexpr int64_t kPageBudgetUs = 2'000'000;

/// What a query borrows from.
struct BoundQuery {
    std::shared_ptr<const query::CompiledQuery> compiled;
    json::Arena arena;
    query::Parameters parameters;
    std::shared_ptr<const catalog::RangeMap> ranges;
};

}  // namespace

meter::Charge price(const query::PageAnswer& page) {
    meter::Charge charge;
    for (const query::PartitionWork& work : page.work) {
        meter::QueryWork priced;
        priced.seeks = work.seeks;
        priced.loaded_items = work.loaded_items;
        priced.index_entries = work.index_entries;
        priced.join_tuples = work.join_tuples;
        priced.udf_calls = work.udf_calls;
        charge += meter::query_partition(priced);
    }
    if (page.work.empty()) charge += meter::query_partition({});
    return charge + meter::query_bytes(page.retrieved_bytes, page.returned_bytes);
}

Status check_merge(const catalog::Container& container, const query::CompiledQuery& compiled,
                   const query::Parameters& parameters) {
    if (!compiled.composes_aggregates()) return {};
    const auto ranges = query::key_ranges(compiled, parameters, container.settings->key);
    query::PlanScope scope;
    scope.one_key_by_filter = ranges.size() == 1 && ranges[0].is_point();
    scope.one_range = true;
    return query::make_plan(compiled, parameters, scope).status().clone();
}

Result<QueryAnswer> Engine::query(const catalog::Container& container, const QueryRequest& request) const {
    const int64_t started = deps_.clock.monotonic_us();
    // A pass may outlive the request: it keeps its own copy.
    const auto bound = std::make_shared<BoundQuery>();
    bound->ranges = container.ranges;
    const auto ranges = container.ranges->overlapping(request.range);
    auto [view, settings] = partition::view_and_settings(*ranges.front()->partition, deps_.store);
    TRY(bound->compiled, query::compile(request.text, settings->indexing.computed, settings->space));
    const auto& compiled = bound->compiled;
    TRY_STATUS(compiled->check_runnable());
    query::Environment environment;
    environment.clock = &deps_.clock;
    TRY(bound->parameters,
        query::Parameters::bind(*compiled, json::copy_value(request.parameters, bound->arena), environment));
    const query::Parameters& parameters = bound->parameters;
    if (request.over_container) TRY_STATUS(check_merge(container, *compiled, parameters));
    const std::string parameter_text =
        request.parameters.is_array() ? json::to_text(request.parameters) : std::string();
    // A position is good for the definitions under which it was reached.
    std::string identity = query::resume_identity(*compiled);
    if (!compiled->computed().empty()) identity += '\n' + compiled->container_computed()->json();
    const uint64_t scope = scope_hash(container, request.range, identity, parameter_text);
    query::PageRequest page_request{.query = *compiled,
                                    .parameters = parameters,
                                    .partitions = {},
                                    .range = request.range,
                                    .full_epk = request.full_epk,
                                    .view = std::move(view),
                                    .settings = std::move(settings),
                                    .clock = deps_.clock,
                                    .position = {},
                                    .rows_max = request.items_max,
                                    .bytes_max = limits::kResponsePageBytesMax,
                                    .deadline_us = started + kPageBudgetUs,
                                    .cancelled = request.cancelled,
                                    .use_index = request.use_index,
                                    .position_bytes_max = continuations_.payload_bytes(request.token_bytes_max),
                                    .owner = bound,
                                    .parked = nullptr};
    std::unique_ptr<query::ParkedPass> parked;
    for (const auto* range : ranges) page_request.partitions.push_back(range->partition.get());
    if (!request.continuation.empty()) {
        TRY(auto token, continuations_.decode_query(request.continuation, scope));
        page_request.position = std::move(token.position);
        if (token.pass != 0) parked = passes_.take(token.pass);
        page_request.parked = &parked;
    }
    const int64_t compiled_at = deps_.clock.monotonic_us();
    QueryAnswer answer;
    TRY(answer.page, query::execute_page(page_request));
    query::PageAnswer& page = answer.page;
    if (!page.position.empty()) {
        const uint64_t pass = page.parked == nullptr ? 0 : passes_.put(std::move(page.parked));
        answer.continuation = continuations_.encode_query({page.position, pass}, scope);
    }
    if (!page.wants_sorted_path.empty()) {
        // The answer is right without it; with it, the next one need not read every item.
        (void)deps_.catalog.request_sorted_path(container, page.wants_sorted_path);
    }
    const size_t touched = page.work.empty() ? 0 : page.work.back().partition;
    answer.touched = {ranges[touched]->id, ranges[touched]->partition->lsn()};
    answer.charge = price(page);
    answer.compile_us = compiled_at - started;
    answer.elapsed_us = deps_.clock.monotonic_us() - started;
    return answer;
}

}  // namespace orrery::engine
