// Queries: one page through query::execute_page, with its continuation token and its price.
#include "query/query.h"

#include <algorithm>

#include "base/errors.h"
#include "base/limits.h"
#include "client_plan/client_plan.h"
#include "engine/engine.h"
#include "engine/page_functions.h"
#include "json/write.h"
#include "query/key_ranges.h"
#include "query/page.h"
#include "storage/light_view.h"

namespace orrery::engine {
namespace {

/// A page that has worked this long is returned with what it has.
constexpr int64_t kPageBudgetUs = 2'000'000;

/// What a query borrows from. A pass may outlive the request: it keeps this.
struct BoundQuery {
    std::shared_ptr<const query::CompiledQuery> compiled;
    json::Arena arena;
    query::Parameters parameters;
    std::shared_ptr<const catalog::RangeMap> ranges;
};

/// Narrows `range`, which a continued request asks for, to what its next page covers. Ranges split
/// and merge between pages: both halves of a split get the token of their parent, and a merged
/// range gets the tokens of all its parents. Rows that only the whole former range can count go to
/// the request that has its beginning. False: this is another request, and it has no rows.
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

/// Fills in the charge and each partition's part of it. A partition pays its own work. The bytes,
/// which are counted for the whole page, are shared in proportion to the loaded items.
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

/// The service refuses over several keys what its clients could not merge. An application that got
/// an answer here would fail there.
Status check_merge(const catalog::Container& container, const query::CompiledQuery& compiled,
                   const query::Parameters& parameters) {
    if (!compiled.composes_aggregates() && !client_plan::has_many_aggregates(compiled)) return {};
    const auto ranges = query::key_ranges(compiled, parameters, container.settings->key);
    client_plan::PlanScope scope;
    scope.one_key_by_filter = ranges.size() == 1 && ranges[0].is_point();
    scope.one_range = true;
    return client_plan::make_plan(compiled, parameters, scope).status().clone();
}

/// The ranges that can hold what the filter asks for; at least one.
std::vector<const catalog::PartitionRange*> ranges_of_query(const catalog::Container& container,
                                                            const query::CompiledQuery& compiled,
                                                            const query::Parameters& parameters,
                                                            const partition::EpkRange& range) {
    auto ranges = container.ranges->overlapping(range);
    // Headers without a common key leave nothing to read. One partition is still asked and paid.
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

/// Whether filter or request limit the query to partition keys or prefixes of them.
bool is_keyed(const catalog::Container& container, const query::CompiledQuery& compiled,
              const query::Parameters& parameters, const QueryRequest& request) {
    if (request.full_epk) return true;
    // A range from the container's map is not a key.
    if (!request.over_container && container.ranges->overlapping(request.range).size() == 1 &&
        container.ranges->overlapping(request.range)[0]->partition->identity().range !=
            request.range)
        return true;
    const auto keys = query::key_ranges(compiled, parameters, container.settings->key);
    return keys.size() > 1 || !keys[0].min.empty() || keys[0].is_point();
}

/// A query that is not for this thread.
Error beyond(storage::ReadBudget& budget) {
    budget.exceeded = true;
    return errors::internal("The query is beyond the budget.");
}

}  // namespace

/// One page in the making: on a worker, or, within a budget, on a thread that must not wait.
class Engine::QueryPage {
public:
    QueryPage(const Engine& engine, const Routed& routed, const QueryRequest& request,
              storage::ReadBudget* budget)
        : engine_(engine),
          clock_(engine.clock()),
          container_(*routed.container),
          routed_(routed),
          request_(request),
          budget_(budget),
          started_(clock_.monotonic_us()),
          bound_(std::make_shared<BoundQuery>()) {}

    Result<QueryAnswer> run();

private:
    Status bind();
    Status start();
    Status admit() const;
    Status execute();
    void seal();
    void settle();
    uint64_t scope() const;

    const Engine& engine_;
    const Clock& clock_;
    const catalog::Container& container_;
    const Routed& routed_;
    const QueryRequest& request_;
    storage::ReadBudget* const budget_;  ///< null: a worker
    const int64_t started_;
    const std::shared_ptr<BoundQuery> bound_;
    std::optional<PageFunctions> functions_;
    partition::EpkRange range_;  ///< what the page is about
    ContinuationTokens::QueryToken token_;
    bool has_rows_ = true;
    std::vector<const catalog::PartitionRange*> ranges_;  ///< those that may hold its items
    QueryAnswer answer_;
};

Status Engine::QueryPage::bind() {
    const auto& settings = *routed_.settings;
    TRY(bound_->compiled,
        query::compile(request_.text, settings.indexing.computed, settings.space));
    const query::CompiledQuery& compiled = *bound_->compiled;
    TRY_STATUS(compiled.check_runnable());
    if (budget_ != nullptr && compiled.is_heavy()) return Status(beyond(*budget_));
    bound_->ranges = container_.ranges;
    query::Environment environment;
    environment.clock = &clock_;
    if (compiled.has_udf()) {
        environment.udf = &PageFunctions::host();
        functions_.emplace(engine_.deps_.catalog, container_.rid, engine_.deps_.scripts.limits);
    }
    // Nothing that is done within a budget outlives the request.
    const json::Value values = budget_ != nullptr
                                   ? request_.parameters
                                   : json::copy_value(request_.parameters, bound_->arena);
    TRY(bound_->parameters, query::Parameters::bind(compiled, values, environment));
    if (!request_.over_container) return {};
    return check_merge(container_, compiled, bound_->parameters);
}

/// What tokens of the query are good for.
uint64_t Engine::QueryPage::scope() const {
    const query::CompiledQuery& compiled = *bound_->compiled;
    const std::string parameters =
        request_.parameters.is_array() ? json::to_text(request_.parameters) : std::string();
    // A position is good for the definitions under which it was reached.
    std::string identity = client_plan::resume_identity(compiled);
    if (!compiled.computed().empty()) identity += '\n' + compiled.container_computed()->json();
    // A position of the whole container is not valid for a single range that a later request names.
    if (request_.over_container) identity += "\n*";
    return engine_.scope_hash(container_, request_.range, identity, parameters);
}

Status Engine::QueryPage::start() {
    range_ = request_.range;
    if (!request_.continuation.empty()) {
        TRY(token_, engine_.continuations_.decode_query(request_.continuation, scope()));
        TRY(has_rows_, go_on(token_, request_, range_));
    }
    ranges_ = ranges_of_query(container_, *bound_->compiled, bound_->parameters, range_);
    return admit();
}

/// Every partition that the filter allows must have tokens left, because a page may visit all of
/// them.
Status Engine::QueryPage::admit() const {
    Status refused;
    uint32_t longest = 0;
    for (const auto* range : ranges_) {
        Status one = engine_.admit(*range, request_.terms);
        if (one.ok()) continue;
        if (refused.ok() ||
            one.error().details.retry_after_ms > refused.error().details.retry_after_ms) {
            refused = std::move(one);
            longest = range->number;
        }
    }
    if (!refused.ok() && request_.terms.refused_by != nullptr) *request_.terms.refused_by = longest;
    return refused;
}

Status Engine::QueryPage::execute() {
    if (!has_rows_) return {};
    const bool light = budget_ != nullptr;
    query::PageRequest page{
        .query = *bound_->compiled,
        .parameters = bound_->parameters,
        .scope = {.sources = {},
                  .range = range_,
                  .full_epk = request_.full_epk,
                  .clock = clock_,
                  .position = std::move(token_.position),
                  .rows = request_.rows != nullptr ? *request_.rows : answer_.rows,
                  .rows_max = request_.items_max,
                  .bytes_max = limits::kResponsePageBytesMax,
                  .deadline_us = light ? INT64_MAX : started_ + kPageBudgetUs,
                  .cancelled = light ? std::function<bool()>() : request_.cancelled,
                  .use_index = request_.use_index,
                  .explain = request_.explain,
                  .position_bytes_max =
                      ContinuationTokens::payload_bytes(request_.token_bytes_max, range_)},
        .owner = light ? nullptr : bound_,
        .parked = nullptr};
    const auto [stored, settings] = routed_.view_and_settings();
    const storage::ViewPtr view = light ? storage::in_memory(*stored, *budget_) : stored;
    page.scope.sources.reserve(ranges_.size());
    for (const auto* range : ranges_)
        page.scope.sources.push_back({range->partition.get(), view, settings});
    std::unique_ptr<query::ParkedPass> parked;
    if (token_.pass != 0) parked = engine_.passes_.take(token_.pass);
    if (!request_.continuation.empty()) page.parked = &parked;
    page.scope.rows.begin_page();
    TRY(answer_.page, query::execute_page(page));
    // Pages that continue, and queries that note a sorted path, need a worker.
    const bool ends = answer_.page.position.empty() && answer_.page.wants_sorted_path.empty();
    if (light && !ends) return Status(beyond(*budget_));
    return {};
}

/// What outlives the page: its position, and that an index would help.
void Engine::QueryPage::seal() {
    query::PageAnswer& page = answer_.page;
    if (!page.position.empty()) {
        const uint64_t pass =
            page.parked == nullptr ? 0 : engine_.passes_.put(std::move(page.parked));
        answer_.continuation = engine_.continuations_.encode_query(
            {page.position, pass, range_, page.whole_range}, scope());
    }
    if (!page.wants_sorted_path.empty()) {
        // The answer is right either way. With the sorted path, the next query need not read every
        // item.
        (void)engine_.deps_.catalog.request_sorted_path(container_, page.wants_sorted_path);
    }
}

/// Fills in charges and takes them from the budgets.
void Engine::QueryPage::settle() {
    query::PageAnswer& page = answer_.page;
    if (functions_ && functions_->calls() > 0) {
        // Some of the calls were for other partitions, but the last one pays all.
        if (page.work.empty()) page.work.emplace_back();
        page.work.back().udf_calls += functions_->calls();
    }
    const size_t touched = page.work.empty() ? 0 : page.work.back().partition;
    answer_.touched = {ranges_[touched]->id, ranges_[touched]->partition->lsn()};
    set_price(answer_, ranges_, request_.terms, engine_.pricing(request_.bill));
    if (request_.explain)
        for (const auto* range : ranges_) answer_.range_ids.push_back(range->id);
    for (const RangeCharge& part : answer_.range_charges)
        for (const auto* range : ranges_)
            if (range->number == part.range) engine_.settle(*range, request_.terms, part.charge);
}

Result<QueryAnswer> Engine::QueryPage::run() {
    TRY_STATUS(bind());
    TRY_STATUS(start());
    answer_.compile_us = clock_.monotonic_us() - started_;
    TRY_STATUS(execute());
    seal();
    settle();
    answer_.keyed = is_keyed(container_, *bound_->compiled, bound_->parameters, request_);
    answer_.compiled = bound_->compiled;
    answer_.elapsed_us = clock_.monotonic_us() - started_;
    return std::move(answer_);
}

bool Engine::runs_functions(const catalog::Container& container, std::string_view text) const {
    const auto& settings = *container.settings;
    const auto compiled = query::compile(text, settings.indexing.computed, settings.space);
    return compiled.ok() && (*compiled)->has_udf();
}

Result<QueryAnswer> Engine::query(const catalog::Container& container,
                                  const QueryRequest& request) const {
    TRY(const Routed routed, route(container));
    return query_routed(routed, request);
}

Result<QueryAnswer> Engine::query_routed(const Routed& routed, const QueryRequest& request) const {
    return QueryPage(*this, routed, request, nullptr).run();
}

Result<QueryAnswer> Engine::query_within(const catalog::Container& container,
                                         const QueryRequest& request,
                                         storage::ReadBudget& budget) const {
    const auto routed = try_route(container);
    if (!routed) return beyond(budget);
    return QueryPage(*this, *routed, request, &budget).run();
}

}  // namespace orrery::engine
