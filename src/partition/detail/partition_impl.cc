#include "partition/detail/partition_impl.h"

#include "base/errors.h"
#include "base/limits.h"
#include "json/document.h"
#include "json/select.h"
#include "partition/expiry.h"

namespace orrery::partition {

Result<std::shared_ptr<Partition>> Partition::open(PartitionIdentity identity,
                                                   ContainerSettingsPtr settings,
                                                   const Deps& deps) {
    auto partition =
        std::make_shared<detail::PartitionImpl>(std::move(identity), std::move(settings), deps);
    TRY_STATUS(partition->recover());
    return std::shared_ptr<Partition>(std::move(partition));
}

}  // namespace orrery::partition

namespace orrery::partition::detail {
namespace {

using storage::Family;

/// Bodies above this are read on a worker: they would hold up a network loop.
constexpr size_t kCallerBytesMax = 64 * 1024;

/// Never reads a file; once it has missed, what it returned means nothing.
class MemoryReader final : public Reader {
public:
    explicit MemoryReader(const storage::View& view) : view_(view) {}
    Result<std::optional<std::string>> get(storage::Family family, std::string_view key) override {
        return view_.get_in_memory(family, key, missed_);
    }
    bool missed() const { return missed_; }

private:
    const storage::View& view_;
    bool missed_ = false;
};

/// Whether reading from memory is worth the attempt: one that misses costs half a read for nothing.
/// Owned by one thread.
class MemoryLuck {
public:
    /// True while most recent attempts hit. A few attempts are always made, to notice a change.
    bool worth_trying() { return hits_ >= kHitsMin || ++passed_ % kProbeEvery == 0; }
    void note(bool hit) { hits_ += (hit ? kScale : 0) / kWindow - hits_ / kWindow; }

private:
    static constexpr int kScale = 1 << 16;
    static constexpr int kWindow = 32;
    static constexpr int kHitsMin = kScale * 4 / 10;
    static constexpr unsigned kProbeEvery = 16;
    int hits_ = kScale;  ///< moving share of hits, times kScale
    unsigned passed_ = 0;
};
thread_local MemoryLuck memory_luck;

OperationResult failed_read(Status status) {
    OperationResult result;
    result.status = std::move(status);
    return result;
}

size_t body_bytes(const Transaction& transaction) {
    size_t sum = 0;
    for (const ItemOperation& operation : transaction.operations) sum += operation.body.size();
    return sum;
}

}  // namespace

PartitionImpl::PartitionImpl(PartitionIdentity identity, ContainerSettingsPtr settings,
                             const Deps& deps)
    : identity_(std::move(identity)),
      deps_(deps),
      settings_(make_settings_state(std::move(settings))),
      default_ttl_((*settings_)->default_ttl.value_or(kTtlOff)) {}

Status PartitionImpl::recover() {
    const storage::ViewPtr view = deps_.store.view();
    const std::string begin = storage::keys::partition(identity_.id);
    const std::string end = prefix_successor(begin);
    const auto log = view->scan(Family::kLog, begin, end, storage::Direction::kBackward);
    if (log->valid()) {
        const auto key = storage::keys::decode_log(log->key());
        if (!key)
            return Status(errors::internal("Stored data is damaged: a malformed key in the log."));
        TRY(const LogRecord record, decode_log_record(log->value()));
        commit_.lsn = key->lsn;
        commit_.ts = record.ts;
    }
    TRY_STATUS(log->status());
    TRY(const std::optional<std::string> bound,
        view->get(Family::kMeta, meta_keys::item_counter(identity_.id)));
    if (bound) {
        TRY(commit_.item_counter_bound, decode_item_counter(*bound));
        next_item_counter_ = std::max<uint64_t>(1, commit_.item_counter_bound);
    }
    const auto ttl = view->scan(Family::kTtl, begin, end);
    commit_.ttl_entries = ttl->valid();
    TRY_STATUS(ttl->status());
    TRY(const std::optional<std::string> complete,
        view->get(Family::kMeta, meta_keys::ttl_complete(identity_.id)));
    commit_.ttl_complete = complete.has_value();
    TRY(const std::optional<std::string> birth,
        view->get(Family::kMeta, meta_keys::birth(identity_.id)));
    if (birth) {
        TRY(birth_, decode_birth(*birth));
        // Its share of the sources' log may end before the sources' logs did.
        commit_.lsn = std::max(commit_.lsn, birth_.lsn);
        commit_.ts = std::max(commit_.ts, birth_.ts);
    }
    TRY_STATUS(recover_feed(*view));
    ViewReader reader(*view);
    TRY(fill_, read_index_fill(reader, identity_.id, (*settings_)->index_change));
    TRY(const storage::Count totals, view->count(counter_keys::totals(identity_.id)));
    bytes_ = totals.bytes;
    published_lsn_ = commit_.lsn;
    return {};
}

SettingsStatePtr PartitionImpl::state() const {
    const std::lock_guard lock(settings_mutex_);
    return settings_;
}

void PartitionImpl::set_settings(ContainerSettingsPtr settings) {
    SettingsStatePtr state = make_settings_state(std::move(settings));
    const std::lock_guard lock(settings_mutex_);
    settings_.swap(state);
    unindexed_ = Unindexed::kUnknown;
    default_ttl_ = (*settings_)->default_ttl.value_or(kTtlOff);
    // The commit of this change removes the note of a window that ends with it.
    if ((*settings_)->feed_retention_seconds == 0) {
        commit_.versions_from = 0;
        move_window(kNoHorizon);
    } else if (commit_.versions_from == 0) {
        move_window(commit_.lsn + 1);
    }
}

std::optional<int64_t> PartitionImpl::default_ttl() const {
    const int64_t ttl = default_ttl_.load(std::memory_order_relaxed);
    return ttl == kTtlOff ? std::nullopt : std::optional<int64_t>(ttl);
}

uint64_t PartitionImpl::new_item_number() {
    const uint64_t counter = next_item_counter_.fetch_add(1, std::memory_order_relaxed);
    CHECK(counter >> kItemCounterBits == 0);
    return (uint64_t{identity_.rid_prefix} << kItemCounterBits) | counter;
}

void PartitionImpl::raise_published(storage::Lsn lsn) {
    storage::Lsn known = published_lsn_.load(std::memory_order_relaxed);
    while (known < lsn &&
           !published_lsn_.compare_exchange_weak(known, lsn, std::memory_order_release)) {
    }
}

void PartitionImpl::publish(storage::Lsn lsn, int64_t growth_bytes) {
    raise_published(lsn);
    bytes_.fetch_add(growth_bytes, std::memory_order_relaxed);
}

OperationResult PartitionImpl::found(const StoredItem& item, std::string_view if_none_match) const {
    OperationResult result;
    const auto view = json::decode_document(*item.document);
    if (!view.ok()) return failed_read(view.status().clone());
    const json::DocumentHeader& header = view->header;
    const auto ttl = default_ttl();
    if (ttl && is_expired(ttl, header.ts, header.own_ttl, deps_.clock.wall_seconds()))
        return failed_read(Status(errors::not_found()));
    result.etag = json::etag_text(header.etag_nonce, header.lsn);
    result.work.new_bytes = view->text_bytes();
    if (if_none_match == "*" || if_none_match == result.etag) {
        result.not_modified = true;
        return result;
    }
    result.has_item = true;
    result.item = item;
    return result;
}

std::optional<OperationResult> PartitionImpl::find_in_cache(const ItemCache::Key& key,
                                                            std::string_view if_none_match) const {
    const std::optional<StoredItem> item = deps_.cache.find(key);
    if (!item) return std::nullopt;
    return found(*item, if_none_match);
}

std::optional<OperationResult> PartitionImpl::read_cached(std::string_view epk, std::string_view id,
                                                          std::string_view if_none_match) {
    const ItemCache::Key key{identity_.id, epk, id};
    if (auto cached = find_in_cache(key, if_none_match)) {
        if (has_moved()) return std::nullopt;
        return cached;
    }
    if (!memory_luck.worth_trying()) return std::nullopt;
    const storage::ViewPtr view = deps_.store.view();
    if (has_moved()) return std::nullopt;
    MemoryReader reader(*view);
    OperationResult result = read_through(reader, key, view->commit_number(), if_none_match);
    memory_luck.note(!reader.missed());
    if (reader.missed()) return std::nullopt;
    return result;
}

OperationResult PartitionImpl::read(std::string_view epk, std::string_view id,
                                    std::string_view if_none_match) {
    if (auto result = read_here(epk, id, if_none_match)) return std::move(*result);
    return successor(epk).read(epk, id, if_none_match);
}

std::optional<OperationResult> PartitionImpl::read_here(std::string_view epk, std::string_view id,
                                                        std::string_view if_none_match) {
    const ItemCache::Key key{identity_.id, epk, id};
    const storage::ViewPtr view = deps_.store.view();
    if (!is_current()) return std::nullopt;
    ViewReader reader(*view);
    return read_through(reader, key, view->commit_number(), if_none_match);
}

OperationResult PartitionImpl::read_through(Reader& reader, const ItemCache::Key& key,
                                            uint64_t commit, std::string_view if_none_match) {
    auto entry = read_id_entry(
        reader, storage::keys::id(identity_.id, key.epk, storage::IdKind::kItem, key.id));
    if (!entry.ok()) return failed_read(std::move(entry).take_status());
    if (!*entry) return failed_read(Status(errors::not_found()));
    // A view shows published commits only, so the session token must not lag behind it.
    raise_published((*entry)->lsn);
    if (is_expired(default_ttl(), (*entry)->ts, (*entry)->own_ttl, deps_.clock.wall_seconds()))
        return failed_read(Status(errors::not_found()));
    if (!if_none_match.empty()) {
        std::string etag = json::etag_text((*entry)->etag_nonce, (*entry)->lsn);
        if (if_none_match == "*" || if_none_match == etag) {
            OperationResult result;
            result.not_modified = true;
            result.etag = std::move(etag);
            return result;
        }
    }
    auto item = read_version(reader, state(), identity_.id, **entry, false);
    if (!item.ok()) return failed_read(std::move(item).take_status());
    const StoredItem stored = (*item)->stored();
    OperationResult result = found(stored, if_none_match);
    if (result.status.ok()) deps_.cache.insert_if(key, commit, stored);
    return result;
}

void PartitionImpl::offer_version(const storage::View& view, const storage::Docref& docref,
                                  std::string_view document) const {
    if (document.size() > ItemCache::kItemBytesMax || !deps_.cache.wants(identity_.id, docref))
        return;
    const auto decoded = json::decode_document(document);
    if (!decoded.ok()) return;
    json::Arena arena;
    const auto id = decoded->id(arena);
    if (!id.ok()) return;
    deps_.cache.insert_if({identity_.id, decoded->header.epk, *id}, view.commit_number(),
                          {std::make_shared<const std::string>(document), docref});
}

void PartitionImpl::execute(Transaction transaction, TransactionDone done) {
    if (phase() == Phase::kMoved && identity_.range.contains(transaction.epk)) {
        PartitionImpl& next = successor(transaction.epk);
        next.execute(std::move(transaction), std::move(done));
        return;
    }
    if (transaction.operations.size() == 1 &&
        transaction.operations[0].kind == OperationKind::kRead) {
        execute_read(std::move(transaction), std::move(done));
        return;
    }
    const size_t bytes = body_bytes(transaction);
    auto plan = std::make_unique<TransactionPlan>(self(), std::move(transaction), std::move(done));
    const Transaction& request = plan->transaction();
    Status refused;
    if (!identity_.range.contains(request.epk))
        refused = Status(errors::range_gone(std::to_string(identity_.id)));
    else if (request.operations.empty())
        refused = Status(errors::bad_request("The batch has no operations."));
    else if (request.operations.size() > limits::kBatchOperationsMax)
        refused = Status(
            errors::bad_request("The batch has more operations than supported: the limit is 100."));
    if (!refused.ok()) {
        plan->fail_all(refused);
        plan->answer(false, lsn());
        return;
    }
    const bool quota_matters = bytes_.load(std::memory_order_relaxed) >=
                               static_cast<int64_t>(settings()->logical_partition_bytes_max);
    if (request.operations.size() == 1 && bytes <= kCallerBytesMax && !quota_matters) {
        plan->parse();
        const int64_t now = deps_.clock.wall_seconds();
        if (plan->is_single(OperationKind::kCreate) || plan->load_from_cache(now) ||
            load_from_memory(*plan, now)) {
            plan->simulate();
            send(std::move(plan));
            return;
        }
        auto shared = std::make_shared<TransactionPlanPtr>(std::move(plan));
        deps_.workers.post(
            [this, keep = self(), shared] { prepare_from_view(std::move(*shared)); });
        return;
    }
    prepare_again(std::move(plan));
}

/// True when the plan has what it needs without a file being read.
bool PartitionImpl::load_from_memory(TransactionPlan& plan, int64_t now) const {
    if (!memory_luck.worth_trying()) return false;
    const storage::ViewPtr view = deps_.store.view();
    MemoryReader reader(*view);
    const Status loaded = plan.load(reader, now);
    memory_luck.note(!reader.missed());
    // If there was an error without a miss, the worker will meet it again and answer it.
    return loaded.ok() && !reader.missed();
}

void PartitionImpl::execute_read(Transaction transaction, TransactionDone done) {
    const ItemOperation& operation = transaction.operations[0];
    const auto answer = [this](OperationResult result, const TransactionDone& to) {
        TransactionResult whole;
        whole.committed = result.status.ok();
        whole.lsn = lsn();
        whole.range_number = identity_.rid_prefix;
        whole.results.push_back(std::move(result));
        to(std::move(whole));
    };
    if (auto cached =
            find_in_cache({identity_.id, transaction.epk, operation.id}, operation.if_none_match)) {
        if (!has_moved()) {
            answer(std::move(*cached), done);
            return;
        }
    }
    auto shared = std::make_shared<std::pair<Transaction, TransactionDone>>(std::move(transaction),
                                                                            std::move(done));
    deps_.workers.post([this, keep = self(), shared, answer] {
        const std::string epk = shared->first.epk;
        const ItemOperation& wanted = shared->first.operations[0];
        if (auto result = read_here(epk, wanted.id, wanted.if_none_match))
            answer(std::move(*result), shared->second);
        else
            successor(epk).execute(std::move(shared->first), std::move(shared->second));
    });
}

void PartitionImpl::prepare_again(TransactionPlanPtr plan) {
    ++plan->attempts;
    auto shared = std::make_shared<TransactionPlanPtr>(std::move(plan));
    deps_.workers.post([this, keep = self(), shared] {
        TransactionPlanPtr owned = std::move(*shared);
        if (owned->settings() != state()) owned->parse();
        prepare_from_view(std::move(owned));
    });
}

void PartitionImpl::prepare_from_view(TransactionPlanPtr plan) {
    const int64_t now = deps_.clock.wall_seconds();
    const storage::ViewPtr view = deps_.store.view();
    if (!is_current()) {
        forward(std::move(plan));
        return;
    }
    if (!plan->is_single(OperationKind::kCreate)) {
        ViewReader reader(*view);
        if (Status status = plan->load(reader, now); !status.ok()) {
            plan->fail_all(status);
            plan->answer(false, lsn());
            return;
        }
    }
    plan->simulate();
    send(std::move(plan));
}

void PartitionImpl::send(TransactionPlanPtr plan) {
    if (!plan->failed()) {
        size_t culprit = 0;
        if (Status status = check_quota(*plan, &culprit); !status.ok())
            plan->fail(culprit, std::move(status));
    }
    // A failure that one view shows is the answer, unless the unique keys of an earlier operation
    // are not checked yet.
    const bool undecided = !plan->unique_steps().empty();
    if ((plan->failed() && !undecided) ||
        (!plan->failed() && !plan->writes() && plan->slots_only_read())) {
        if (has_moved()) {  // what the plan rests on may be older than the last write there
            prepare_again(std::move(plan));
            return;
        }
        for (const Slot& slot : plan->slots())
            if (slot.entry) raise_published(slot.entry->lsn);
        const bool failed = plan->failed();
        plan->answer(!failed, lsn());
        return;
    }
    deps_.store.submit(std::make_unique<TransactionCommit>(self(), std::move(plan)));
}

Status PartitionImpl::check_quota(const TransactionPlan& plan, size_t* culprit) const {
    const auto limit = static_cast<int64_t>((*plan.settings())->logical_partition_bytes_max);
    if (plan.growth_bytes() <= 0 ||
        bytes_.load(std::memory_order_relaxed) + plan.growth_bytes() <= limit)
        return {};
    TRY(const storage::Count size, deps_.store.view()->count(counter_keys::logical_partition(
                                       identity_.id, plan.transaction().epk)));
    if (size.bytes + plan.growth_bytes() <= limit) return {};
    if (culprit != nullptr) *culprit = plan.first_beyond(limit - size.bytes);
    const std::string size_text = limit >= 1 << 30 ? std::to_string(limit >> 30) + " GB"
                                                   : std::to_string(limit >> 20) + " MB";
    return Status(
        errors::logical_partition_full("Partition key reached maximum size of " + size_text));
}

Result<storage::Count> PartitionImpl::totals(const storage::View& view) const {
    return view.count(counter_keys::totals(identity_.id));
}

Result<bool> PartitionImpl::lists_expiry(const storage::View& view) const {
    if (lsn() == 0) return true;  // nothing was ever written
    TRY(const std::optional<std::string> complete,
        view.get(storage::Family::kMeta, meta_keys::ttl_complete(identity_.id)));
    return complete.has_value();
}

Result<bool> PartitionImpl::holds_unindexed(const storage::View& view) const {
    const SettingsStatePtr settings = state();
    if (!(*settings)->markers_usable()) return true;
    const bool by_policy = !(*settings)->indexing.automatic;
    if (!by_policy && unindexed_ == Unindexed::kNone) return false;
    const std::string prefix =
        storage::keys::index_path(identity_.id, index::unindexed_path_hash((*settings)->path_key));
    const auto cursor = view.scan(storage::Family::kIndex, prefix, prefix_successor(prefix));
    if (cursor->valid()) return true;
    TRY_STATUS(cursor->status());
    // A writer of such an item sets this before any view shows the item.
    Unindexed expected = Unindexed::kUnknown;
    if (!by_policy) unindexed_.compare_exchange_strong(expected, Unindexed::kNone);
    return false;
}

Result<storage::Count> PartitionImpl::logical_totals(const storage::View& view,
                                                     std::string_view epk) const {
    return view.count(counter_keys::logical_partition(identity_.id, epk));
}

}  // namespace orrery::partition::detail
