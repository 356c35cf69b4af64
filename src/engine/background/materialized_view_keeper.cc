#include "engine/background/materialized_view_keeper.h"

#include <algorithm>
#include <future>

#include "base/errors.h"
#include "base/log.h"
#include "engine/engine.h"
#include "json/document.h"
#include "json/parse.h"
#include "partition/partition_key.h"

namespace orrery::engine {
namespace {

/// How often the sources are looked at; and without any view, whether there is one.
constexpr int64_t kPollMs = 20;
constexpr int64_t kIdleMs = 1000;
constexpr int64_t kRetryMs = 500;
/// A position is kept this often at most: it is a commit, and repeating a second does no harm.
constexpr int64_t kKeepEveryUs = 1'000'000;
constexpr uint32_t kPageItems = 500;
constexpr uint64_t kPageBytes = 2 << 20;
/// Pages of one view before others have their turn.
constexpr int kPagesInARow = 8;

RequestTerms own_terms() {
    RequestTerms terms;
    terms.maintains_view = true;
    return terms;
}

Result<std::string> epk_of(const partition::PartitionKeyDefinition& key, std::string_view text) {
    json::Arena arena;
    TRY(auto components, json::extract(text, key.member_paths, arena));
    // What cannot be a key counts as missing, as for every item.
    for (json::Value& component : components)
        if (component.is_array() || component.is_object()) component = json::Value();
    return partition::effective_partition_key(key, components);
}

}  // namespace

void MaterializedViewKeeper::start() {
    thread_ = std::thread([this] {
        set_thread_name("views");
        loop();
    });
}

void MaterializedViewKeeper::stop() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
}

bool MaterializedViewKeeper::pause(int64_t milliseconds) {
    std::unique_lock lock(mutex_);
    return wake_.wait_for(lock, std::chrono::milliseconds(milliseconds), [this] { return stop_; });
}

std::optional<MaterializedViewKeeper::State> MaterializedViewKeeper::state(
    const catalog::ContainerRid& view) const {
    const std::lock_guard lock(mutex_);
    const auto found = states_.find(view.whole());
    return found == states_.end() ? std::nullopt : std::optional<State>(found->second);
}

void MaterializedViewKeeper::note_refusal(const catalog::ContainerRid& view,
                                          const std::string& why) {
    const std::lock_guard lock(mutex_);
    State& state = states_[view.whole()];
    ++state.refused;
    state.last_refusal = why;
}

void MaterializedViewKeeper::loop() {
    int64_t wait_ms = 0;
    while (!pause(wait_ms)) {
        const auto views = engine_.catalog().materialized_views();
        wait_ms = views.empty() ? kIdleMs : kPollMs;
        std::map<uint64_t, Work> known;
        for (const auto& view : views) {
            const uint64_t rid = view.view->rid.whole();
            const auto before = works_.find(rid);
            known[rid] = before == works_.end() ? Work{view.progress, view.progress}
                                                : std::move(before->second);
        }
        works_ = std::move(known);
        for (const auto& view : views) {
            Work& work = works_[view.view->rid.whole()];
            const auto busy = advance(view, work);
            if (!busy.ok()) {
                wait_ms = std::max(wait_ms, kRetryMs);
                if (engine_.store().health().ok())
                    log::warning("the materialized view " + view.view->alt_path +
                                 " could not be brought up to date: " + busy.error().message);
            } else if (*busy) {
                wait_ms = 0;
            }
        }
        const std::lock_guard lock(mutex_);
        std::erase_if(states_, [&](const auto& entry) { return !works_.contains(entry.first); });
    }
    // Keep the positions, so that little is repeated after a clean stop.
    for (const auto& view : engine_.catalog().materialized_views())
        if (const auto work = works_.find(view.view->rid.whole()); work != works_.end())
            (void)keep(view, work->second, true);
}

Result<bool> MaterializedViewKeeper::advance(const catalog::MaterializedViewState& view,
                                             Work& work) {
    // Ranges as they are now: the source may have been split since the last round.
    TRY(const auto routed, engine_.route(*view.source));
    const catalog::Container& source = *routed.container;
    // Ranges that came of others take over their positions.
    catalog::MaterializedViewProgress now;
    now.built = work.progress.built;
    for (const auto& range : source.ranges->ranges)
        now.positions[range.number] = catalog::materialized_view_position(work.progress, range);
    work.progress = std::move(now);
    bool busy = false;
    uint64_t lag = 0;
    for (const auto& range : source.ranges->ranges) {
        TRY(const bool more, advance_range(view, range, work));
        busy = busy || more;
        lag += range.partition->lsn() - work.progress.positions[range.number];
    }
    if (!busy && lag == 0) work.progress.built = true;
    const int64_t clock_us = engine_.clock().monotonic_us();
    if (lag == 0)
        work.behind_since_us = 0;
    else if (work.behind_since_us == 0)
        work.behind_since_us = clock_us;
    {
        const std::lock_guard lock(mutex_);
        State& state = states_[view.view->rid.whole()];
        state.built = work.progress.built;
        state.lag = lag;
        state.latency_us = work.behind_since_us == 0 ? 0 : clock_us - work.behind_since_us;
    }
    TRY_STATUS(keep(view, work, false));
    return busy;
}

Result<bool> MaterializedViewKeeper::advance_range(const catalog::MaterializedViewState& view,
                                                   const catalog::PartitionRange& range,
                                                   Work& work) {
    storage::Lsn& position = work.progress.positions[range.number];
    const RequestTerms terms = own_terms();
    for (int pages = 0; pages < kPagesInARow; ++pages) {
        partition::ChangesRequest request;
        request.range = range.partition->identity().range;
        request.after = position;
        request.up_to = range.partition->lsn();
        request.deletes = true;
        request.items_max = kPageItems;
        request.bytes_max = kPageBytes;
        if (request.after >= request.up_to) return false;
        // The source pays for reading its feed, when it has something left.
        if (!engine_.admit(range, terms).ok()) return false;
        const auto storage_view = engine_.store().view();
        if (!range.partition->is_current()) return true;
        TRY(const auto page, range.partition->read_changes(*storage_view, request));
        meter::Charge charge;
        std::vector<Step> steps;
        for (const partition::Change& change : page.changes) {
            uint64_t bytes = 0;
            if (change.current.document != nullptr) {
                TRY(const auto document, json::decode_document(*change.current.document));
                bytes = document.text_bytes();
            }
            charge += meter::point_read(bytes, engine_.pricing(nullptr));
            TRY(auto step, step_of(view, change));
            steps.push_back(std::move(step));
        }
        if (!page.changes.empty()) engine_.settle(range, terms, charge);
        TRY_STATUS(apply(view.view, std::move(steps)));
        position = page.position;
        {
            const std::lock_guard lock(mutex_);
            states_[view.view->rid.whole()].applied += page.changes.size();
            if (stop_) return false;
        }
    }
    return true;
}

Result<MaterializedViewKeeper::Step> MaterializedViewKeeper::step_of(
    const catalog::MaterializedViewState& view, const partition::Change& change) const {
    const catalog::Container& target = *view.view;
    const auto& docref = change.current.docref;
    Step step;
    step.id = catalog::materialized_view_item_id(
        catalog::child_rid(view.source->rid, catalog::ChildType::kItem, docref.item_number()));
    if (change.current.document != nullptr) {
        TRY(const auto document, json::decode_document(*change.current.document));
        json::Arena arena;
        TRY(const json::Value item, document.value(arena));
        step.body = catalog::materialized_view_item(*target.materialized_view(), step.id, item);
        auto epk = epk_of(target.settings->key, step.body);
        if (epk.ok())
            step.epk = std::move(*epk);
        else
            step.body.clear();  // a value that cannot be a key: the view cannot show the item
    }
    // An item that was just created is nowhere else in the view.
    const bool created =
        change.operation == partition::LogOperation::kCreate && change.current.document != nullptr;
    if (!created || step.body.empty()) {
        TRY(step.leaves, keys_of(target, step.id));
        std::erase(step.leaves, step.epk);
    }
    return step;
}

/// Under which keys the view has an item of this id.
Result<std::vector<std::string>> MaterializedViewKeeper::keys_of(const catalog::Container& view,
                                                                 const std::string& id) const {
    const json::Member parameter[] = {{"name", json::Value::string("@id")},
                                      {"value", json::Value::string(id)}};
    const json::Value parameters[] = {json::Value::object(parameter)};
    QueryRequest request;
    request.text = "SELECT * FROM c WHERE c.id = @id";
    request.parameters = json::Value::array(parameters);
    request.over_container = true;
    request.items_max = 1000;
    request.terms.exempt = true;
    std::vector<std::string> keys;
    do {
        TRY(const auto answer, engine_.query(view, request));
        for (const std::string_view row : answer.rows) {
            TRY(auto epk, epk_of(view.settings->key, row));
            keys.push_back(std::move(epk));
        }
        request.continuation = answer.continuation;
    } while (!request.continuation.empty());
    return keys;
}

/// All at once: each item has one step, and they do not touch each other's.
Status MaterializedViewKeeper::apply(const catalog::ContainerPtr& view, std::vector<Step> steps) {
    struct Write {
        std::string epk;
        partition::ItemOperation operation;
        std::string id;
        bool upsert = false;
    };
    std::vector<Write> writes;
    const auto remove = [](const std::string& epk, const std::string& id) {
        Write write{epk, {}, id, false};
        write.operation.kind = partition::OperationKind::kDelete;
        write.operation.id = id;
        write.operation.wants_item = false;
        return write;
    };
    for (Step& step : steps) {
        for (const std::string& epk : step.leaves) writes.push_back(remove(epk, step.id));
        if (step.body.empty()) continue;
        Write write{step.epk, {}, step.id, true};
        write.operation.kind = partition::OperationKind::kUpsert;
        write.operation.body = std::move(step.body);
        write.operation.wants_item = false;
        writes.push_back(std::move(write));
    }
    const RequestTerms terms = own_terms();
    while (!writes.empty()) {
        std::vector<std::future<TransactionAnswer>> answers;
        for (const Write& write : writes) {
            partition::Transaction transaction;
            transaction.epk = write.epk;
            transaction.operations.push_back(write.operation);
            auto promise = std::make_shared<std::promise<TransactionAnswer>>();
            answers.push_back(promise->get_future());
            engine_.execute(
                view, std::move(transaction), terms,
                [promise](TransactionAnswer answer) { promise->set_value(std::move(answer)); });
        }
        std::vector<Write> again;
        int64_t wait_ms = 0;
        Status failure;
        for (size_t i = 0; i < answers.size(); ++i) {
            const TransactionAnswer answer = answers[i].get();
            const Status& status = answer.result.results.front().status;
            if (status.ok()) continue;
            const Error& error = status.error();
            if (errors::is_rate_limit(error.code)) {
                wait_ms = std::max(wait_ms, error.details.retry_after_ms);
                again.push_back(std::move(writes[i]));
            } else if (!writes[i].upsert && errors::is_absence(error.code)) {
                continue;  // gone already
            } else if (errors::is_server_failure(error.code) || !writes[i].upsert) {
                failure = status.clone();
            } else {
                // The materialized view cannot hold the item (too large, key too long), so its old
                // version must go too.
                note_refusal(view->rid, error.message);
                again.push_back(remove(writes[i].epk, writes[i].id));
            }
        }
        if (!failure.ok()) return failure;
        writes = std::move(again);
        if (!writes.empty() && wait_ms > 0 && pause(wait_ms))
            return Status(errors::service_unavailable("The server is stopping."));
    }
    return {};
}

Status MaterializedViewKeeper::keep(const catalog::MaterializedViewState& view, Work& work,
                                    bool at_once) {
    const int64_t now = engine_.clock().monotonic_us();
    if (work.progress == work.kept) return {};
    const bool news = work.progress.built != work.kept.built;
    if (!at_once && !news && now - work.kept_us < kKeepEveryUs) return {};
    TRY_STATUS(engine_.catalog().save_materialized_view_progress(view.view->rid, work.progress));
    work.kept = work.progress;
    work.kept_us = now;
    return {};
}

}  // namespace orrery::engine
