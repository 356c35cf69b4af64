#include "partition/detail/log_trim.h"

#include <algorithm>

#include "base/errors.h"
#include "partition/detail/partition_impl.h"

// The log keeps, for ever, the newest record of every item that exists: the latest-version feed
// starts anywhere. A record names the one that it supersedes, so going once through the log finds
// all that can go: no item is read. Going through it in LSN order keeps, of each item's records,
// always the newest ones.
namespace orrery::partition::detail {
namespace {

using storage::Family;
using storage::Lsn;

/// Records per commit: a client's write never waits for more.
constexpr size_t kRecordsPerCommit = 500;

}  // namespace

LogTrimCommit::LogTrimCommit(std::shared_ptr<PartitionImpl> partition, Change change)
    : partition_(std::move(partition)), change_(std::move(change)) {}

bool LogTrimCommit::decide(storage::CommitScope& scope) {
    if (partition_->closed_to_writers()) return false;
    const storage::PartitionId partition = partition_->identity().id;
    CommitState& state = partition_->commit_state();
    // The window may have ended or restarted since this was prepared.
    moves_window_ = state.versions_from != 0 && change_.versions_from > state.versions_from;
    if (moves_window_) {
        state.versions_from = change_.versions_from;
        scope.put(Family::kMeta, meta_keys::versions_from(partition),
                  encode_lsn_note(change_.versions_from));
    }
    for (const std::string& key : change_.removed) scope.remove(Family::kLog, key);
    if (change_.trimmed != 0)
        scope.put(Family::kMeta, meta_keys::log_trimmed(partition),
                  encode_lsn_note(change_.trimmed));
    return moves_window_ || change_.trimmed != 0;
}

void LogTrimCommit::published(const storage::View&) {
    // Only after the note is durable: records that it still promises must stay.
    if (moves_window_ && partition_->commit_state().versions_from == change_.versions_from)
        partition_->move_window(change_.versions_from);
}

void LogTrimCommit::complete(Status status) {
    promise_.set_value(std::move(status));
}

Status PartitionImpl::recover_feed(const storage::View& view) {
    TRY(const auto trimmed, view.get(Family::kMeta, meta_keys::log_trimmed(identity_.id)));
    if (trimmed) {
        TRY(log_trimmed_, decode_lsn_note(*trimmed));
    }
    if ((*settings_)->feed_retention_seconds == 0) return {};
    TRY(const auto from, view.get(Family::kMeta, meta_keys::versions_from(identity_.id)));
    if (from) {
        TRY(commit_.versions_from, decode_lsn_note(*from));
    }
    move_window(from ? commit_.versions_from : commit_.lsn + 1);
    return {};
}

void PartitionImpl::move_window(Lsn from) {
    window_from_ = from;
    set_image_horizon();
}

void PartitionImpl::hold_log(Lsn from) {
    log_hold_ = from;
    set_image_horizon();
}

void PartitionImpl::set_image_horizon() {
    const Lsn window = window_from_;
    deps_.store.set_image_horizon(
        identity_.id, std::min(window == kNoHorizon ? kNoHorizon : window - 1, log_hold_.load()));
}

/// The last LSN whose record may be gone through; `versions_from` is set if the window moves.
Result<Lsn> PartitionImpl::trim_limit(const storage::View& view, const SettingsStatePtr& settings,
                                      Lsn& versions_from) {
    const Lsn last = lsn();
    // The newest record stays: it says what the highest LSN is.
    Lsn limit = std::min(last == 0 ? 0 : last - 1, deps_.store.covered_lsn(identity_.id));
    limit = std::min({limit, log_hold_.load(), reader_hold_.load()});
    if ((*settings)->feed_retention_seconds == 0) return limit;
    TRY(const auto note, view.get(Family::kMeta, meta_keys::versions_from(identity_.id)));
    if (!note) return limit;  // whatever is there was written before versions were kept
    TRY(Lsn from, decode_lsn_note(*note));
    const int64_t oldest = deps_.clock.wall_seconds() - (*settings)->feed_retention_seconds;
    TRY(const Lsn outside, lsn_before(view, oldest - 1, last));
    if (outside + 1 > from) from = versions_from = outside + 1;
    return std::min(limit, from - 1);
}

Result<size_t> PartitionImpl::trim_log(size_t records_max) {
    const SettingsStatePtr settings = state();
    const storage::ViewPtr view = deps_.store.view();
    if (!is_current()) return size_t{0};
    LogTrimCommit::Change change;
    TRY(const Lsn limit, trim_limit(*view, settings, change.versions_from));
    const auto submit = [&]() -> Status {
        const Lsn trimmed = change.trimmed;
        auto commit = std::make_unique<LogTrimCommit>(self(), std::move(change));
        change = {};
        std::future<Status> result = commit->result();
        deps_.store.submit(std::move(commit));
        TRY_STATUS(result.get());
        if (trimmed != 0) log_trimmed_ = trimmed;
        return {};
    };
    const Lsn begin = log_trimmed_;
    size_t looked = 0;
    if (begin < limit) {
        const auto cursor =
            view->scan(Family::kLog, storage::keys::log_from(identity_.id, begin + 1),
                       storage::keys::log_from(identity_.id, limit + 1));
        for (; cursor->valid(); cursor->next(), ++looked) {
            const auto key = storage::keys::decode_log(cursor->key());
            if (!key)
                return errors::internal("Stored data is damaged: a malformed key in the log.");
            // A commit's records are gone through together.
            if (key->lsn != change.trimmed &&
                (change.removed.size() >= kRecordsPerCommit || looked >= records_max)) {
                TRY_STATUS(submit());
                if (looked >= records_max) return looked;
            }
            TRY(const LogRecord record, decode_log_record(cursor->value()));
            change.trimmed = key->lsn;
            if (record.previous_lsn != 0)
                change.removed.push_back(
                    storage::keys::log(identity_.id, record.previous_lsn, key->docref));
            if (record.operation == LogOperation::kDelete)
                change.removed.emplace_back(cursor->key());
        }
        TRY_STATUS(cursor->status());
        change.trimmed = limit;
    }
    if (change.trimmed != 0 || change.versions_from != 0) TRY_STATUS(submit());
    if (const Lsn window = window_from_; window != kNoHorizon && window != reclaimed_to_) {
        reclaimed_to_ = window;
        deps_.store.reclaim_images(identity_.id, window - 1);
    }
    return looked;
}

}  // namespace orrery::partition::detail
