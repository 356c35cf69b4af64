#include <algorithm>

#include "base/errors.h"
#include "json/document.h"
#include "partition/detail/partition_impl.h"
#include "partition/docref_bounds.h"
#include "partition/expiry.h"

namespace orrery::partition::detail {
namespace {

using storage::Family;
using storage::Lsn;

/// How many records' items are read at a time: few at first, because their sizes are not known.
constexpr size_t kFirstChunk = 16;
constexpr size_t kChunkMax = 512;
constexpr uint64_t kChunkBytes = 1 << 20;
/// The items of a key are read instead of the log if the key has at most this many items, and fewer
/// than the log has commits by this factor.
constexpr int64_t kKeyItemsMax = 1'000'000;
constexpr uint64_t kLogFactor = 4;
/// A page that has something ends after this many records that are not in it ...
constexpr size_t kPassedMax = 100'000;
/// ... and an empty one after this many: its reader goes on from there.
constexpr size_t kPassedByEmptyPageMax = 2'000'000;

Error malformed_log_key() {
    return errors::internal("Stored data is damaged: a malformed key in the log.");
}

/// Reads one page. Lives on one thread's stack.
class ChangesReader {
public:
    ChangesReader(storage::PartitionId partition, const ContainerSettings& settings,
                  const storage::View& view, const ChangesRequest& request, int64_t now)
        : partition_(partition),
          settings_(settings),
          view_(view),
          request_(request),
          now_(now),
          cursor_(view.scan(Family::kLog, storage::keys::log_from(partition, request.after + 1),
                            storage::keys::log_from(partition, request.up_to + 1))) {}

    Result<ChangesPage> run() {
        page_.position = request_.after;
        if (request_.all_versions) TRY_STATUS(check_window());
        TRY(by_items_, key_is_short());
        if (by_items_) TRY_STATUS(list_items());
        for (;;) {
            TRY(const bool ended, gather());
            TRY_STATUS(load());
            if (deliver()) break;
            page_.position = gathered_to_;
            if (ended) {
                page_.position = request_.up_to;
                break;
            }
            if (passed_ >= (page_.changes.empty() ? kPassedByEmptyPageMax : kPassedMax)) break;
        }
        page_.more = page_.position < request_.up_to;
        return std::move(page_);
    }
    /// run() failed because a version was not there.
    bool version_missing() const { return version_missing_; }

private:
    /// A record that may give a change.
    struct Candidate {
        Lsn lsn = 0;
        storage::Docref docref;
        bool is_delete = false;
        std::string record;  ///< with all versions or deletes
        std::optional<std::string> current;
        std::optional<std::string> previous;
    };

    /// The version is neither superseded nor expired.
    bool gives_change(const Candidate& candidate) const {
        return candidate.current || candidate.is_delete || request_.all_versions;
    }

    /// The records after the position must still exist and lie inside the window.
    Status check_window() {
        TRY(const auto note, view_.get(Family::kMeta, meta_keys::versions_from(partition_)));
        Lsn from = request_.up_to + 1;  // nothing has been written since versions are kept
        if (note) {
            TRY(from, decode_lsn_note(*note));
        }
        if (request_.after + 1 < from) return Status(errors::feed_history_gone());
        if (!cursor_->valid()) return {};
        TRY(const LogRecord oldest, decode_log_record(cursor_->value()));
        if (oldest.ts < now_ - settings_.feed_retention_seconds)
            return Status(errors::feed_history_gone());
        return {};
    }

    /// The log has all keys of the partition. For one key with few items it is quicker to look at
    /// the items.
    Result<bool> key_is_short() const {
        if (!request_.epk || request_.all_versions || request_.deletes) return false;
        TRY(const storage::Count key,
            view_.count(counter_keys::logical_partition(partition_, *request_.epk)));
        return key.items <= kKeyItemsMax &&
               static_cast<uint64_t>(key.items) * kLogFactor < request_.up_to - request_.after;
    }

    /// The versions of the key's items in LSN order.
    Status list_items() {
        const std::string prefix = storage::keys::partition(partition_);
        const DocrefBounds bounds = docref_bounds(settings_.key, request_.range);
        const auto cursor =
            view_.scan(Family::kItems, prefix + bounds.begin,
                       bounds.end.empty() ? prefix_successor(prefix) : prefix + bounds.end);
        for (; cursor->valid(); cursor->next()) {
            const auto key = storage::keys::decode_item(cursor->key());
            if (!key)
                return Status(
                    errors::internal("Stored data is damaged: a malformed key of an item."));
            TRY(const json::Document document, json::decode_document(cursor->value()));
            const json::DocumentHeader& header = document.header;
            if (header.lsn <= request_.after || header.lsn > request_.up_to ||
                !request_.range.contains(header.epk) ||
                (request_.newer_than && header.ts <= *request_.newer_than))
                continue;
            listed_.emplace_back(header.lsn, key->docref);
        }
        TRY_STATUS(cursor->status());
        std::sort(listed_.begin(), listed_.end());
        return {};
    }

    bool gather_listed() {
        candidates_.clear();
        for (; listed_at_ < listed_.size(); ++listed_at_) {
            const auto& [lsn, docref] = listed_[listed_at_];
            if (lsn != gathered_to_ && candidates_.size() >= chunk_) return false;
            gathered_to_ = lsn;
            Candidate& candidate = candidates_.emplace_back();
            candidate.lsn = lsn;
            candidate.docref = docref;
        }
        return true;
    }

    /// Takes candidates from whole commits until there are enough. True: the log is at its end.
    Result<bool> gather() {
        if (by_items_) return gather_listed();
        candidates_.clear();
        size_t looked = 0;
        for (; cursor_->valid(); cursor_->next()) {
            const auto key = storage::keys::decode_log(cursor_->key());
            if (!key) return malformed_log_key();
            if (key->lsn != gathered_to_ && (candidates_.size() >= chunk_ || looked >= kPassedMax))
                return false;
            gathered_to_ = key->lsn;
            ++looked;
            TRY(const LogRecord record, decode_log_record(cursor_->value()));
            const bool wanted = (request_.all_versions || request_.deletes ||
                                 record.operation != LogOperation::kDelete) &&
                                request_.range.contains(record.epk) &&
                                (!request_.newer_than || record.ts > *request_.newer_than);
            if (!wanted) {
                ++passed_;
                continue;
            }
            Candidate& candidate = candidates_.emplace_back();
            candidate.lsn = key->lsn;
            candidate.docref = key->docref;
            candidate.is_delete = record.operation == LogOperation::kDelete;
            if (request_.all_versions || request_.deletes) candidate.record = cursor_->value();
        }
        TRY_STATUS(cursor_->status());
        return true;
    }

    Status load() {
        std::vector<std::string> keys;
        keys.reserve(candidates_.size());
        for (const Candidate& candidate : candidates_)
            keys.push_back(storage::keys::item(partition_, candidate.docref));
        TRY(auto items, view_.multi_get(Family::kItems, keys));
        for (size_t i = 0; i < candidates_.size(); ++i) {
            if (!items[i]) continue;
            TRY(const json::Document document, json::decode_document(*items[i]));
            const json::DocumentHeader& header = document.header;
            if (header.lsn != candidates_[i].lsn) continue;
            if (!request_.all_versions &&
                is_expired(settings_.default_ttl, header.ts, header.own_ttl, now_))
                continue;
            candidates_[i].current = std::move(items[i]);
        }
        return request_.all_versions ? load_versions() : Status();
    }

    /// Versions that are no longer the latest are the images of the records that replaced them.
    Status load_versions() {
        std::vector<std::string> next_keys;
        std::vector<std::string> image_keys;
        std::vector<std::optional<std::string>*> images;
        std::vector<Candidate*> replaced;
        for (Candidate& candidate : candidates_) {
            TRY(const LogRecord record, decode_log_record(candidate.record));
            if (record.operation != LogOperation::kCreate) {
                image_keys.push_back(
                    storage::keys::log(partition_, candidate.lsn, candidate.docref));
                images.push_back(&candidate.previous);
            }
            if (record.operation == LogOperation::kDelete || candidate.current) continue;
            replaced.push_back(&candidate);
            next_keys.push_back(
                storage::keys::image_next(partition_, candidate.lsn, candidate.docref));
        }
        TRY(const auto nexts, view_.multi_get(Family::kImages, next_keys));
        for (size_t i = 0; i < replaced.size(); ++i) {
            if (!nexts[i]) return missing_version(replaced[i]->lsn);
            TRY(const Lsn next, decode_lsn_note(*nexts[i]));
            image_keys.push_back(storage::keys::log(partition_, next, replaced[i]->docref));
            images.push_back(&replaced[i]->current);
        }
        TRY(auto found, view_.multi_get(Family::kImages, image_keys));
        for (size_t i = 0; i < images.size(); ++i) {
            if (!found[i]) return missing_version(gathered_to_);
            *images[i] = std::move(found[i]);
        }
        return {};
    }

    Status missing_version(Lsn lsn) {
        version_missing_ = true;
        return Status(errors::internal("Stored data is damaged: a version around LSN " +
                                       std::to_string(lsn) +
                                       " is missing. Run `orrery check` on the data folder."));
    }

    /// Adds whole commits to the page. True: the page is full, and its position is set.
    bool deliver() {
        uint64_t seen_bytes = 0;
        for (size_t at = 0; at < candidates_.size();) {
            const Lsn lsn = candidates_[at].lsn;
            size_t end = at;
            size_t count = 0;
            uint64_t bytes = 0;
            for (; end < candidates_.size() && candidates_[end].lsn == lsn; ++end) {
                const Candidate& candidate = candidates_[end];
                if (!gives_change(candidate)) continue;
                ++count;
                bytes += (candidate.current ? candidate.current->size() : 0) +
                         (candidate.previous ? candidate.previous->size() : 0);
            }
            passed_ += end - at - count;
            if (count > 0 && !page_.changes.empty() &&
                (page_.changes.size() + count > request_.items_max ||
                 bytes_ + bytes > request_.bytes_max)) {
                page_.position = lsn - 1;
                return true;
            }
            for (; at < end; ++at) append(candidates_[at]);
            bytes_ += bytes;
            seen_bytes += bytes;
            if (page_.changes.size() >= request_.items_max || bytes_ >= request_.bytes_max) {
                page_.position = lsn;
                return true;
            }
        }
        // The next chunk is as large as what is known of sizes allows, and no larger than the page.
        const uint64_t average = candidates_.empty() ? 1 : 1 + seen_bytes / candidates_.size();
        const uint64_t fits = std::max<uint64_t>(kFirstChunk, kChunkBytes / average);
        chunk_ = std::min<uint64_t>({chunk_ * 4, fits, kChunkMax});
        chunk_ = std::clamp<uint64_t>(request_.items_max - page_.changes.size(), 1, chunk_);
        return false;
    }

    void append(Candidate& candidate) {
        if (!gives_change(candidate)) return;
        Change& change = page_.changes.emplace_back();
        change.lsn = candidate.lsn;
        const auto stored = [&](std::optional<std::string>& bytes) -> StoredItem {
            if (!bytes) return {nullptr, candidate.docref};
            return {std::make_shared<const std::string>(std::move(*bytes)), candidate.docref};
        };
        change.current = stored(candidate.current);
        change.previous = stored(candidate.previous);
        if (candidate.record.empty()) return;
        const LogRecord record = decode_log_record(candidate.record).value();
        change.operation = record.operation;
        change.expired = record.expired;
        change.ts = record.ts;
        change.previous_lsn = record.previous_lsn;
        if (record.operation == LogOperation::kDelete) change.id = record.id;
    }

    const storage::PartitionId partition_;
    const ContainerSettings& settings_;
    const storage::View& view_;
    const ChangesRequest& request_;
    const int64_t now_;
    const std::unique_ptr<storage::Cursor> cursor_;
    bool by_items_ = false;  ///< `listed_` instead of the log
    std::vector<std::pair<Lsn, storage::Docref>> listed_;
    size_t listed_at_ = 0;
    std::vector<Candidate> candidates_;
    Lsn gathered_to_ = 0;  ///< all of its records are gathered
    size_t chunk_ = kFirstChunk;
    size_t passed_ = 0;  ///< records looked at that are not in the page
    uint64_t bytes_ = 0;
    bool version_missing_ = false;
    ChangesPage page_;
};

}  // namespace

Result<ChangesPage> PartitionImpl::read_changes(const storage::View& view,
                                                const ChangesRequest& request) {
    const SettingsStatePtr settings = state();
    if (request.all_versions && (*settings)->feed_retention_seconds == 0)
        return errors::bad_request(
            "The container keeps no earlier versions and deletes. Set its "
            "'changeFeedPolicy.retentionDuration' (minutes) to read them from then on.");
    if (request.after >= request.up_to) return ChangesPage{{}, request.after, false};
    ChangesReader reader(identity_.id, **settings, view, request, deps_.clock.wall_seconds());
    Result<ChangesPage> page = reader.run();
    // Images are dropped even while a view could show them.
    if (!page.ok() && reader.version_missing() && window_from_ > request.after + 1)
        return errors::feed_history_gone();
    return page;
}

Result<Lsn> PartitionImpl::lsn_before(const storage::View& view, int64_t ts, Lsn up_to) {
    // Invariant: everything up to `low` is old enough, what follows `high` is not.
    Lsn low = 0;
    Lsn high = up_to;
    if (birth_.merged) {
        // Records from before the merge have no one order of `_ts`: all of them are old enough, or
        // the reader looks at each.
        if (birth_.ts > ts) return Lsn{0};
        low = std::min(birth_.lsn, up_to);
    }
    const auto cursor = view.scan(Family::kLog, storage::keys::log_from(identity_.id, 1),
                                  storage::keys::log_from(identity_.id, up_to + 1));
    while (low < high) {
        const Lsn middle = low + (high - low) / 2;
        cursor->seek(storage::keys::log_from(identity_.id, middle + 1));
        TRY_STATUS(cursor->status());
        if (!cursor->valid()) {
            // All records after it have been trimmed.
            high = middle;
            continue;
        }
        const auto key = storage::keys::decode_log(cursor->key());
        if (!key) return malformed_log_key();
        TRY(const LogRecord record, decode_log_record(cursor->value()));
        if (record.ts <= ts)
            low = key->lsn;
        else
            high = middle;
    }
    return low;
}

}  // namespace orrery::partition::detail
