// Queries: one page through query::execute_page, with its continuation token and its price.
#include "query/query.h"

#include <algorithm>

#include "base/errors.h"
#include "base/limits.h"
#include "engine/engine.h"
#include "engine/light_query.h"
#include "engine/page_functions.h"
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

/// Takes `range`, what a request that goes on asks for, to what its next page is about. Ranges
/// split and merge between pages: both halves of a split are given the token of their parent, and a
/// merged range those of all of its. Rows that only the whole of the former range can count go on
/// in the request that has its beginning; false: this is one of the others, and has none.
Result<bool> go_on(const ContinuationTokens::QueryToken& token, const QueryRequest& request,
                   partition::EpkRange& range) {
    const partition::EpkRange before = token.range;
    if (range == before) return true;
    const bool apart = range.max <= before.min || before.max <= range.min;
    if (apart || request.full_epk) return errors::foreign_continuation();
    if (token.whole_range && !range.contains(before.min)) return false;
    if (token.whole_range) {
        range = before;
    } else {
        range = {std::max(range.min, before.min), std::min(range.max, before.max)};
    }
    return true;
}

/// Fills in the charge, and what each partition gets of it: its own work, and of the bytes, which
/// are counted for the page, a part like its part of the items that were loaded.
void set_price(QueryAnswer& answer, const std::vector<const catalog::PartitionRange*>& ranges,
               const RequestTerms& terms, const meter::Pricing& by) {
    const query::PageAnswer& page = answer.page;
    uint64_t loaded = 0;
    for (const query::PartitionWork& work : page.work) loaded += work.loaded_items;
    const auto charge_of = [&](size_t partition, const meter::QueryWork& work) {
        if (by.bill != nullptr) by.bill->set_scope("range " + ranges[partition]->id);
        answer.range_charges.push_back(
            {ranges[partition]->number, meter::query_partition(work, by)});
        answer.charge += answer.range_charges.back().charge;
    };
    for (const query::PartitionWork& work : page.work) {
        meter::QueryWork priced;
        priced.seeks = work.seeks;
        priced.loaded_items = work.loaded_items;
        priced.index_entries = work.index_entries;
        priced.join_tuples = work.join_tuples;
        priced.udf_calls = work.udf_calls;
        charge_of(work.partition, priced);
    }
    if (page.work.empty()) charge_of(0, {});
    if (by.bill != nullptr) by.bill->set_scope({});
    const meter::Charge bytes = meter::query_bytes(page.retrieved_bytes, page.returned_bytes, by);
    answer.charge += bytes;
    int64_t left = bytes.units;
    for (size_t i = 0; i < page.work.size(); ++i) {
        const double part = loaded == 0 ? 0.0
                                        : static_cast<double>(page.work[i].loaded_items) /
                                              static_cast<double>(loaded);
        const auto units = static_cast<int64_t>(static_cast<double>(bytes.units) * part);
        answer.range_charges[i].charge.units += std::min(units, left);
        left -= std::min(units, left);
    }
    answer.range_charges.back().charge.units += left;
    if (!terms.strong) return;
    answer.charge = meter::strong_read(answer.charge, by);
    for (RangeCharge& one : answer.range_charges) one.charge += one.charge;
}

}  // namespace

void Engine::settle_query(QueryAnswer& answer,
                          const std::vector<const catalog::PartitionRange*>& ranges,
                          const QueryRequest& request) const {
    set_price(answer, ranges, request.terms, pricing(request.bill));
    if (request.explain)
        for (const auto* range : ranges) answer.range_ids.push_back(range->id);
    for (const RangeCharge& part : answer.range_charges)
        for (const auto* range : ranges)
            if (range->number == part.range) settle(*range, request.terms, part.charge);
}

Status check_merge(const catalog::Container& container, const query::CompiledQuery& compiled,
                   const query::Parameters& parameters) {
    if (!compiled.composes_aggregates() && !query::has_many_aggregates(compiled)) return {};
    const auto ranges = query::key_ranges(compiled, parameters, container.settings->key);
    query::PlanScope scope;
    scope.one_key_by_filter = ranges.size() == 1 && ranges[0].is_point();
    scope.one_range = true;
    return query::make_plan(compiled, parameters, scope).status().clone();
}

std::vector<const catalog::PartitionRange*> ranges_of_query(const catalog::Container& container,
                                                            const query::CompiledQuery& compiled,
                                                            const query::Parameters& parameters,
                                                            const partition::EpkRange& range) {
    auto ranges = container.ranges->overlapping(range);
    // Headers that have no key in common leave nothing to read; somebody is asked and paid all the
    // same.
    if (ranges.empty()) ranges.push_back(&container.ranges->ranges.front());
    if (ranges.size() == 1) return ranges;
    const auto keys = query::key_ranges(compiled, parameters, container.settings->key);
    const auto* first = ranges.front();
    std::erase_if(ranges, [&](const catalog::PartitionRange* one) {
        const auto& own = one->partition->identity().range;
        return std::none_of(keys.begin(), keys.end(), [&](const query::KeyRange& wanted) {
            return wanted.min < own.max &&
                   (wanted.max_inclusive ? own.min <= wanted.max : own.min < wanted.max);
        });
    });
    if (ranges.empty()) ranges.push_back(first);
    return ranges;
}

bool is_keyed(const catalog::Container& container, const query::CompiledQuery& compiled,
              const query::Parameters& parameters, const QueryRequest& request) {
    if (request.full_epk) return true;
    // A range that the client took from the container's map is no key.
    if (!request.over_container && container.ranges->overlapping(request.range).size() == 1 &&
        container.ranges->overlapping(request.range)[0]->partition->identity().range !=
            request.range)
        return true;
    const auto keys = query::key_ranges(compiled, parameters, container.settings->key);
    return keys.size() > 1 || !keys[0].min.empty() || keys[0].is_point();
}

/// Every partition that the filter allows must have tokens left: a page that begins may visit all.
Status Engine::admit_query(const std::vector<const catalog::PartitionRange*>& ranges,
                           const RequestTerms& terms) const {
    Status refused;
    uint32_t longest = 0;
    for (const auto* range : ranges) {
        Status one = admit(*range, terms);
        if (one.ok()) continue;
        if (refused.ok() ||
            one.error().details.retry_after_ms > refused.error().details.retry_after_ms) {
            refused = std::move(one);
            longest = range->number;
        }
    }
    if (!refused.ok() && terms.refused_by != nullptr) *terms.refused_by = longest;
    return refused;
}

bool Engine::runs_functions(const catalog::Container& container, std::string_view text) const {
    const auto& settings = *container.settings;
    const auto compiled = query::compile(text, settings.indexing.computed, settings.space);
    return compiled.ok() && (*compiled)->has_udf();
}

Result<QueryAnswer> Engine::query(const catalog::Container& given,
                                  const QueryRequest& request) const {
    TRY(const Routed routed, route(given));
    return query_routed(routed, request);
}

Result<QueryAnswer> Engine::query_routed(const Routed& routed, const QueryRequest& request) const {
    const int64_t started = deps_.clock.monotonic_us();
    const catalog::Container& container = *routed.container;
    // A pass may outlive the request: it keeps its own copy.
    const auto bound = std::make_shared<BoundQuery>();
    bound->ranges = container.ranges;
    auto [view, settings] = routed.view_and_settings();
    TRY(bound->compiled,
        query::compile(request.text, settings->indexing.computed, settings->space));
    const auto& compiled = bound->compiled;
    TRY_STATUS(compiled->check_runnable());
    query::Environment environment;
    environment.clock = &deps_.clock;
    std::optional<PageFunctions> functions;
    if (compiled->has_udf()) {
        environment.udf = &PageFunctions::host();
        functions.emplace(deps_.catalog, container.rid, deps_.scripts.limits);
    }
    TRY(bound->parameters,
        query::Parameters::bind(*compiled, json::copy_value(request.parameters, bound->arena),
                                environment));
    const query::Parameters& parameters = bound->parameters;
    if (request.over_container) TRY_STATUS(check_merge(container, *compiled, parameters));
    const std::string parameter_text =
        request.parameters.is_array() ? json::to_text(request.parameters) : std::string();
    // A position is good for the definitions under which it was reached.
    std::string identity = query::resume_identity(*compiled);
    if (!compiled->computed().empty()) identity += '\n' + compiled->container_computed()->json();
    // Nor does one of the whole container say anything of a range that the next request names.
    if (request.over_container) identity += "\n*";
    const uint64_t scope = scope_hash(container, request.range, identity, parameter_text);
    partition::EpkRange wanted = request.range;
    ContinuationTokens::QueryToken token;
    bool has_rows = true;
    if (!request.continuation.empty()) {
        TRY(token, continuations_.decode_query(request.continuation, scope));
        TRY(has_rows, go_on(token, request, wanted));
    }
    const auto ranges = ranges_of_query(container, *compiled, parameters, wanted);
    TRY_STATUS(admit_query(ranges, request.terms));
    query::PageRequest page_request{
        .query = *compiled,
        .parameters = parameters,
        .partitions = {},
        .range = wanted,
        .full_epk = request.full_epk,
        .view = std::move(view),
        .settings = std::move(settings),
        .clock = deps_.clock,
        .position = std::move(token.position),
        .rows_max = request.items_max,
        .front = request.front,
        .bytes_max = limits::kResponsePageBytesMax,
        .deadline_us = started + kPageBudgetUs,
        .cancelled = request.cancelled,
        .use_index = request.use_index,
        .explain = request.explain,
        .position_bytes_max = continuations_.payload_bytes(request.token_bytes_max, wanted),
        .owner = bound,
        .parked = nullptr};
    std::unique_ptr<query::ParkedPass> parked;
    for (const auto* range : ranges) page_request.partitions.push_back(range->partition.get());
    if (has_rows && token.pass != 0) parked = passes_.take(token.pass);
    if (!request.continuation.empty()) page_request.parked = &parked;
    const int64_t compiled_at = deps_.clock.monotonic_us();
    QueryAnswer answer;
    query::PageAnswer& page = answer.page;
    if (has_rows) {
        TRY(page, query::execute_page(page_request));
    } else {
        page.rows = query::RowTexts(request.front);
    }
    if (functions && functions->calls() > 0) {
        // Not all of them were for the last partition's items; all of them are paid.
        if (page.work.empty()) page.work.emplace_back();
        page.work.back().udf_calls += functions->calls();
    }
    if (!page.position.empty()) {
        const uint64_t pass = page.parked == nullptr ? 0 : passes_.put(std::move(page.parked));
        answer.continuation =
            continuations_.encode_query({page.position, pass, wanted, page.whole_range}, scope);
    }
    if (!page.wants_sorted_path.empty()) {
        // The answer is right without it; with it, the next one need not read every item.
        (void)deps_.catalog.request_sorted_path(container, page.wants_sorted_path);
    }
    const size_t touched = page.work.empty() ? 0 : page.work.back().partition;
    answer.touched = {ranges[touched]->id, ranges[touched]->partition->lsn()};
    settle_query(answer, ranges, request);
    answer.compiled = compiled;
    answer.keyed = is_keyed(container, *compiled, parameters, request);
    answer.compile_us = compiled_at - started;
    answer.elapsed_us = deps_.clock.monotonic_us() - started;
    return answer;
}

}  // namespace orrery::engine
