#include "engine/engine.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/errors.h"
#include "base/limits.h"
#include "base/throughput_errors.h"
#include "engine/scripts.h"
#include "json/document.h"
#include "partition/charge.h"

namespace orrery::engine {
namespace {

/// The answer of a request that was refused: each operation gets the same error, and the request
/// costs what the refusal costs.
TransactionAnswer refused(const Error& error, size_t operations,
                          const catalog::PartitionRange& range) {
    TransactionAnswer answer;
    answer.refused = true;
    answer.touched = {range.id, range.partition->lsn()};
    answer.result.lsn = answer.touched.lsn;
    answer.result.results.resize(operations);
    for (auto& result : answer.result.results) result.status = Status(error);
    answer.charges.resize(operations);
    answer.total = meter::failure(error.code);
    if (operations > 0) answer.charges.front() = answer.total;
    return answer;
}

Error view_is_read_only(const catalog::Container& container) {
    return errors::forbidden(
        "'" + container.id + "' is a materialized view of '" +
        container.materialized_view()->source_id +
        "': the server keeps it up to date, clients only read it. Write to the "
        "source container.");
}

Status check_writable(const catalog::Container& container,
                      const partition::Transaction& transaction, const RequestTerms& terms) {
    if (container.materialized_view() == nullptr || terms.maintains_view) return {};
    for (const auto& operation : transaction.operations)
        if (operation.kind != partition::OperationKind::kRead)
            return Status(view_is_read_only(container));
    return {};
}

}  // namespace

Engine::Engine(const Deps& deps)
    : deps_(deps),
      tokens_(deps.catalog, deps.clock),
      continuations_(deps.catalog.signing_secret()),
      passes_(deps.clock),
      scripts_(std::make_unique<Scripts>(*this, deps.scripts)),
      partitions_(deps.catalog, deps.clock),
      materialized_views_(*this),
      housekeeper_(*this, passes_),
      index_keeper_(deps.catalog, deps.store) {
    if (const int64_t ru = deps.account.settings().metadata_ru; ru > 0) {
        meter::PoolRates rates;
        rates.units_per_us = ru * meter::kUnitsPerUsPerRu;
        metadata_budget_ = std::make_unique<meter::PartitionBudget>();
        metadata_budget_->install(
            std::make_shared<meter::Pool>(rates, deps.clock.monotonic_us(), nullptr));
    }
}

Engine::~Engine() {
    stop_background();
}

void Engine::stop_background() {
    partitions_.stop();
    scripts_->stop();
    materialized_views_.stop();
    housekeeper_.stop();
    index_keeper_.stop();
    passes_.clear();
}

std::optional<PointAnswer> Engine::read_cached(const catalog::Container& container,
                                               std::string_view epk, std::string_view id,
                                               std::string_view if_none_match,
                                               const RequestTerms& terms) const {
    const auto& range = container.ranges->of_epk(epk);
    if (const Status admitted = admit(range, terms); !admitted.ok()) {
        auto answer = refused(admitted.error(), 1, range);
        return PointAnswer{std::move(answer.result.results.front()), answer.total,
                           std::move(answer.touched)};
    }
    auto result = range.partition->read_cached(epk, id, if_none_match);
    if (!result) return std::nullopt;
    const meter::Charge charge = price(*result, terms);
    settle(range, terms, charge);
    return PointAnswer{std::move(*result), charge, {range.id, range.partition->lsn()}};
}

Status Engine::admit(const catalog::PartitionRange& range, const RequestTerms& terms) const {
    if (terms.exempt || !deps_.account.settings().throttled) return {};
    const meter::Verdict verdict = range.budget->admit(deps_.clock.monotonic_us(), terms.traffic);
    if (verdict.admitted) return {};
    if (terms.refused_by != nullptr) *terms.refused_by = range.number;
    return Status(errors::request_rate_too_large(verdict.retry_after_ms));
}

void Engine::settle(const catalog::PartitionRange& range, const RequestTerms& terms,
                    meter::Charge charge) const {
    if (!terms.exempt) range.budget->settle(deps_.clock.monotonic_us(), terms.traffic, charge);
}

meter::Charge Engine::price(const partition::OperationResult& result, const RequestTerms& terms,
                            meter::Bill* bill) const {
    const meter::Pricing by = pricing(bill);
    const meter::Charge charge = partition::charge_of(result, by);
    const bool read = result.status.ok() && !result.not_modified &&
                      result.work.kind == partition::OperationKind::kRead;
    return read && terms.strong ? meter::strong_read(charge, by) : charge;
}

Status Engine::admit_metadata(MetadataKind kind) const {
    const int64_t now = deps_.clock.monotonic_us();
    if (metadata_budget_ != nullptr)
        if (const auto verdict = metadata_budget_->admit(now, {}); !verdict.admitted)
            return Status(errors::metadata_rate_too_large(verdict.retry_after_ms));
    if (deps_.account.settings().control_plane_limits)
        if (const int64_t wait_ms = control_plane_.admit(kind, now); wait_ms > 0)
            return Status(errors::metadata_rate_too_large(wait_ms));
    return {};
}

void Engine::settle_metadata(meter::Charge charge) const {
    if (metadata_budget_ != nullptr)
        metadata_budget_->settle(deps_.clock.monotonic_us(), {}, charge);
}

void Engine::execute(const catalog::ContainerPtr& container, partition::Transaction transaction,
                     const RequestTerms& terms, TransactionAnswered done) const {
    const auto& range = container->ranges->of_epk(transaction.epk);
    if (const Status allowed = check_writable(*container, transaction, terms); !allowed.ok())
        return done(refused(allowed.error(), transaction.operations.size(), range));
    if (const Status admitted = admit(range, terms); !admitted.ok())
        return done(refused(admitted.error(), transaction.operations.size(), range));
    range.partition->execute(std::move(transaction),
                             [this, container, &range, terms,
                              done = std::move(done)](partition::TransactionResult result) {
                                 TransactionAnswer answer;
                                 // A partition's rid prefix is its range's number. Not the range
                                 // that was asked: it may have moved.
                                 answer.touched = {std::to_string(result.range_number), result.lsn};
                                 answer.charges.reserve(result.results.size());
                                 for (const auto& operation : result.results) {
                                     answer.charges.push_back(price(operation, terms));
                                     answer.total += answer.charges.back();
                                 }
                                 answer.result = std::move(result);
                                 settle(range, terms, answer.total);
                                 done(std::move(answer));
                             });
}

Result<Engine::Routed> Engine::route(const catalog::Container& given) const {
    // The caller keeps `given` alive.
    catalog::ContainerPtr container(catalog::ContainerPtr(), &given);
    for (;;) {
        const auto& ranges = container->ranges->ranges;
        auto [view, settings] =
            partition::view_and_settings(*ranges.front().partition, deps_.store);
        const bool current = std::all_of(ranges.begin(), ranges.end(), [](const auto& range) {
            return range.partition->is_current();
        });
        if (current) return Routed{std::move(container), std::move(view), std::move(settings)};
        container = deps_.catalog.find_container(given.database->rid.text(), given.rid_text);
        if (container == nullptr)
            return errors::owner_not_found("The container '" + given.id + "' does not exist.");
    }
}

std::optional<Engine::Routed> Engine::try_route(const catalog::Container& container) const {
    const auto& ranges = container.ranges->ranges;
    auto [view, settings] = partition::view_and_settings(*ranges.front().partition, deps_.store);
    // Asked behind the view: whatever is at its place now, was so when the view was made.
    const bool moved = std::any_of(ranges.begin(), ranges.end(),
                                   [](const auto& range) { return range.partition->has_moved(); });
    if (moved) return std::nullopt;
    // The caller keeps the container alive.
    return Routed{catalog::ContainerPtr(catalog::ContainerPtr(), &container), std::move(view),
                  std::move(settings)};
}

uint64_t Engine::scope_hash(const catalog::Container& container, const partition::EpkRange& range,
                            std::string_view query, std::string_view parameters) const {
    std::string text = container.rid_text;
    // Ranges split and merge while a client reads on: the position says where it stands. A key
    // stays.
    const bool one_key = range.is_of_key();
    const partition::EpkRange whole;
    const partition::EpkRange& scope = one_key ? range : whole;
    for (const std::string_view part :
         {std::string_view(scope.min), std::string_view(scope.max), query, parameters}) {
        text.push_back('\n');
        append_bytes(text, part);
    }
    return siphash({0x6f727265, 0x72790001}, text);
}

namespace {

uint64_t listing_hash(const ListingScope& scope) {
    std::string text;
    for (const std::string_view part : {scope.parent_rid, scope.kind, scope.query})
        append_bytes(text, part);
    return siphash({0x6f727265, 0x72790002}, text);
}

}  // namespace

std::string Engine::seal_listing(const ListingScope& scope, std::string_view position) const {
    if (position.empty()) return {};
    return continuations_.encode_listing(position, listing_hash(scope));
}

Result<std::string> Engine::open_listing(const ListingScope& scope, std::string_view token) const {
    if (token.empty()) return std::string();
    return continuations_.decode_listing(token, listing_hash(scope));
}

template <typename FeedLike>
void Engine::settle_feed(FeedLike& answer,
                         const std::vector<const catalog::PartitionRange*>& ranges,
                         const RequestTerms& terms, const meter::Pricing& by) const {
    const meter::Charge items = answer.charge;
    answer.charge = meter::feed_page(items, by);
    if (terms.strong) {
        answer.charge = meter::strong_read(answer.charge, by);
        for (RangeCharge& part : answer.range_charges) part.charge += part.charge;
    }
    // The last partition pays what the minimum of a page adds.
    if (!answer.range_charges.empty())
        answer.range_charges.back().charge.units +=
            answer.charge.units - (terms.strong ? 2 : 1) * items.units;
    for (const RangeCharge& part : answer.range_charges)
        for (const auto* range : ranges)
            if (range->number == part.range) {
                settle(*range, terms, part.charge);
                break;
            }
}
template void Engine::settle_feed(ChangeFeedAnswer&,
                                  const std::vector<const catalog::PartitionRange*>&,
                                  const RequestTerms&, const meter::Pricing&) const;

Result<FeedAnswer> Engine::read_feed(const catalog::Container& given,
                                     const FeedRequest& request) const {
    TRY(const Routed routed, route(given));
    const catalog::Container& container = *routed.container;
    const uint64_t scope = scope_hash(container, request.range, "", "");
    std::string resume;
    if (!request.continuation.empty()) {
        TRY(auto position, continuations_.decode(request.continuation, scope));
        resume = std::move(position.docref);
    }
    const auto continue_after = [&](std::string docref) {
        ContinuationPosition position;
        position.scope_hash = scope;
        position.docref = std::move(docref);
        return continuations_.encode(position);
    };
    const meter::Pricing by = pricing(request.bill);
    const auto& view = routed.view;
    FeedAnswer answer;
    uint64_t bytes_left = limits::kResponsePageBytesMax;
    const auto ranges = container.ranges->overlapping(request.range);
    for (const auto* range : ranges) {
        // Ranges wholly before the resume point have been read. Docref order is EPK order.
        const auto& bounds = range->partition->identity().range;
        if (!resume.empty() && range != ranges.back()) {
            const std::string end = partition::docref_prefix(container.settings->key, bounds.max);
            if (end < std::string_view(resume).substr(0, end.size())) continue;
        }
        if (const Status admitted = admit(*range, request.terms); !admitted.ok()) {
            // Answer what the other partitions gave; the rest is for the next page.
            if (answer.items.empty()) return admitted.error();
            answer.continuation = continue_after(std::string(answer.items.back().docref.bytes()));
            break;
        }
        answer.touched = {range->id, range->partition->lsn()};
        partition::FeedRequest page_request;
        page_request.range = request.range;
        page_request.resume_after = resume;
        page_request.items_max = request.items_max - static_cast<uint32_t>(answer.items.size());
        page_request.bytes_max = bytes_left;
        TRY(auto page, range->partition->read_feed(*view, page_request));
        meter::Charge from_range;
        for (auto& item : page.items) {
            TRY(const auto document, json::decode_document(*item.document));
            from_range += meter::point_read(document.text_bytes(), by);
            bytes_left -= std::min<uint64_t>(bytes_left, document.text_bytes());
            answer.items.push_back(std::move(item));
        }
        answer.charge += from_range;
        answer.range_charges.push_back({range->number, from_range});
        const bool last_range = range == ranges.back();
        if (!page.resume_after.empty() ||
            (!last_range && (answer.items.size() >= request.items_max || bytes_left == 0))) {
            answer.continuation = continue_after(
                page.resume_after.empty() ? std::string(answer.items.back().docref.bytes())
                                          : page.resume_after);
            break;
        }
    }
    settle_feed(answer, ranges, request.terms, by);
    return answer;
}

Status Engine::delete_partition_key(const catalog::Container& container,
                                    std::string_view epk) const {
    if (container.materialized_view() != nullptr) return Status(view_is_read_only(container));
    const auto& range = container.ranges->of_epk(epk);
    const meter::Pricing by = pricing(nullptr);
    return range.partition->delete_logical_partition(
        epk, [&](const partition::OperationWork& work) {
            range.budget->owe(partition::charge_of(work, by));
        });
}

Result<storage::Count> Engine::totals(const catalog::Container& container) const {
    const auto view = deps_.store.view();
    storage::Count sum;
    for (const auto& range : container.ranges->ranges) {
        if (range.partition->has_moved()) {
            const auto current =
                deps_.catalog.find_container(container.database->rid.text(), container.rid_text);
            // The container is being switched or deleted: the old totals are good enough.
            if (current != nullptr && current->ranges != container.ranges) return totals(*current);
        }
        TRY(const auto count, range.partition->totals(*view));
        sum.items += count.items;
        sum.bytes += count.bytes;
    }
    return sum;
}

void Engine::start_background() {
    partitions_.start();
    materialized_views_.start();
    housekeeper_.start();
    index_keeper_.start();
}

}  // namespace orrery::engine
