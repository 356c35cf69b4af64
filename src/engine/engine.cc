#include "engine/engine.h"

#include "base/bytes.h"
#include "base/errors.h"
#include "base/limits.h"
#include "base/log.h"
#include "json/document.h"
#include "partition/charge.h"

namespace orrery::engine {
namespace {

constexpr int64_t kExpiryIntervalMs = 1000;
constexpr int kIndexingRetryMs = 5000;
constexpr size_t kExpiryBatch = 500;
/// Rounds of the background thread between two passes over the logs, and records that one pass may
/// look at in one partition.
constexpr uint64_t kTrimEvery = 10;
constexpr size_t kTrimRecords = 20'000;

TransactionAnswer priced(partition::TransactionResult result, const catalog::PartitionRange& range) {
    TransactionAnswer answer;
    answer.touched = {range.id, result.lsn};
    answer.charges.reserve(result.results.size());
    for (const auto& operation : result.results) {
        const meter::Charge charge = partition::charge_of(operation);
        answer.charges.push_back(charge);
        answer.total += charge;
    }
    answer.result = std::move(result);
    return answer;
}

}  // namespace

Engine::Engine(const Deps& deps)
    : deps_(deps), tokens_(deps.catalog, deps.clock), continuations_(deps.catalog.signing_secret()), passes_(deps.clock) {}

Engine::~Engine() { stop_background(); }

void Engine::stop_background() {
    {
        const std::lock_guard lock(background_mutex_);
        background_stop_ = true;
    }
    background_wake_.notify_all();
    if (indexing_.joinable()) deps_.catalog.on_index_change(nullptr);
    if (background_.joinable()) background_.join();
    if (indexing_.joinable()) indexing_.join();
    passes_.clear();
}

std::optional<PointAnswer> Engine::read_cached(const catalog::Container& container, std::string_view epk,
                                               std::string_view id, std::string_view if_none_match) const {
    const auto& range = container.ranges->of_epk(epk);
    auto result = range.partition->read_cached(epk, id, if_none_match);
    if (!result) return std::nullopt;
    const meter::Charge charge = partition::charge_of(*result);
    return PointAnswer{std::move(*result), charge, {range.id, range.partition->lsn()}};
}

void Engine::execute(const catalog::ContainerPtr& container, partition::Transaction transaction,
                     TransactionAnswered done) const {
    const auto& range = container->ranges->of_epk(transaction.epk);
    range.partition->execute(
        std::move(transaction),
        [container, &range, done = std::move(done)](partition::TransactionResult result) {
            done(priced(std::move(result), range));
        });
}

uint64_t Engine::scope_hash(const catalog::Container& container, const partition::EpkRange& range,
                            std::string_view query, std::string_view parameters) const {
    std::string text = container.rid_text;
    for (const std::string_view part : {std::string_view(range.min), std::string_view(range.max), query, parameters}) {
        text.push_back('\n');
        append_bytes(text, part);
    }
    return siphash({0x6f727265, 0x72790001}, text);
}

Result<FeedAnswer> Engine::read_feed(const catalog::Container& container, const FeedRequest& request) const {
    const uint64_t scope = scope_hash(container, request.range, "", "");
    std::string resume;
    if (!request.continuation.empty()) {
        TRY(auto position, continuations_.decode(request.continuation, scope));
        resume = std::move(position.docref);
    }
    const auto view = deps_.store.view();
    FeedAnswer answer;
    int64_t quanta = 0;
    uint64_t bytes_left = limits::kResponsePageBytesMax;
    const auto ranges = container.ranges->overlapping(request.range);
    for (const auto* range : ranges) {
        // Ranges wholly before the resume point have been read. Docref order is EPK order.
        const auto& bounds = range->partition->identity().range;
        if (!resume.empty() && range != ranges.back()) {
            const std::string end = partition::docref_prefix(container.settings->key, bounds.max);
            if (end < std::string_view(resume).substr(0, end.size())) continue;
        }
        answer.touched = {range->id, range->partition->lsn()};
        partition::FeedRequest page_request;
        page_request.range = request.range;
        page_request.resume_after = resume;
        page_request.items_max = request.items_max - static_cast<uint32_t>(answer.items.size());
        page_request.bytes_max = bytes_left;
        TRY(auto page, range->partition->read_feed(*view, page_request));
        for (auto& item : page.items) {
            TRY(const auto document, json::decode_document(*item.document));
            quanta += meter::read_quanta(document.text.size());
            bytes_left -= std::min<uint64_t>(bytes_left, document.text.size());
            answer.items.push_back(std::move(item));
        }
        const bool last_range = range == ranges.back();
        if (!page.resume_after.empty() ||
            (!last_range && (answer.items.size() >= request.items_max || bytes_left == 0))) {
            ContinuationPosition position;
            position.scope_hash = scope;
            position.docref = page.resume_after.empty() ? std::string(answer.items.back().docref.bytes())
                                                        : page.resume_after;
            answer.continuation = continuations_.encode(position);
            break;
        }
    }
    answer.charge = meter::feed_page(quanta);
    return answer;
}

Status Engine::delete_partition_key(const catalog::Container& container, std::string_view epk) const {
    return container.ranges->of_epk(epk).partition->delete_logical_partition(epk);
}

Result<storage::Count> Engine::totals(const catalog::Container& container) const {
    const auto view = deps_.store.view();
    storage::Count sum;
    for (const auto& range : container.ranges->ranges) {
        TRY(const auto count, range.partition->totals(*view));
        sum.items += count.items;
        sum.bytes += count.bytes;
    }
    return sum;
}

void Engine::start_background() {
    background_ = std::thread([this] {
        set_thread_name("expiry");
        background_loop();
    });
    deps_.catalog.on_index_change([this] {
        {
            const std::lock_guard lock(background_mutex_);
            index_changes_ = true;
        }
        background_wake_.notify_all();
    });
    indexing_ = std::thread([this] {
        set_thread_name("indexing");
        indexing_loop();
    });
}

void Engine::indexing_loop() {
    std::unique_lock lock(background_mutex_);
    for (;;) {
        background_wake_.wait(lock, [this] { return background_stop_ || index_changes_; });
        if (background_stop_) return;
        index_changes_ = false;
        lock.unlock();
        const auto more = deps_.catalog.carry_out_index_changes();
        if (!more.ok() && deps_.store.health().ok())
            log::warning("a change of an indexing policy could not be carried out: " +
                         more.error().message);
        lock.lock();
        if (more.ok()) {
            index_changes_ = index_changes_ || *more;
        } else {
            // Not at once again; a store that takes no more writes is not asked again.
            background_wake_.wait_for(lock, std::chrono::milliseconds(kIndexingRetryMs),
                                      [this] { return background_stop_; });
            index_changes_ = deps_.store.health().ok();
        }
    }
}

void Engine::background_loop() {
    uint64_t round = 0;
    std::unique_lock lock(background_mutex_);
    while (!background_stop_) {
        background_wake_.wait_for(lock, std::chrono::milliseconds(kExpiryIntervalMs));
        if (background_stop_) return;
        lock.unlock();
        passes_.remove_old();
        for (const auto& container : deps_.catalog.all_containers()) {
            if (!container->settings->default_ttl) continue;
            for (const auto& range : container->ranges->ranges) {
                const auto removed = range.partition->remove_expired(kExpiryBatch);
                if (!removed.ok() && deps_.store.health().ok())
                    log::warning("expired items of " + container->alt_path +
                                 " could not be removed: " + removed.error().message);
            }
        }
        if (++round % kTrimEvery == 0) trim_logs();
        lock.lock();
    }
}

void Engine::trim_logs() {
    for (const auto& container : deps_.catalog.all_containers()) {
        for (const auto& range : container->ranges->ranges) {
            const auto trimmed = range.partition->trim_log(kTrimRecords);
            if (!trimmed.ok() && deps_.store.health().ok())
                log::warning("the log of " + container->alt_path +
                             " could not be trimmed: " + trimmed.error().message);
        }
    }
}

}  // namespace orrery::engine
