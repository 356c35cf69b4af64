// Everything that one view shows of the sources, as files of the targets.
#include <algorithm>

#include "base/bytes.h"
#include "base/errors.h"
#include "json/document.h"
#include "partition/detail/move_impl.h"

namespace orrery::partition::detail {
namespace {

using storage::Family;

constexpr size_t kPartitionBytes = 4;
constexpr uint64_t kAskEvery = 1 << 20;

Error damaged(std::string_view what) {
    return errors::internal("Stored data is damaged: a malformed " + std::string(what) +
                            ". Run `orrery check` on the data folder.");
}

/// One family of all sources, in the order of the keys behind the partition's number.
class MergedScan {
public:
    MergedScan(const storage::View& view, Family family,
               const std::vector<std::shared_ptr<PartitionImpl>>& sources) {
        for (const auto& source : sources) {
            const std::string begin = storage::keys::partition(source->identity().id);
            cursors_.push_back(view.scan(family, begin, prefix_successor(begin)));
        }
        choose();
    }
    bool valid() const { return at_ != nullptr; }
    std::string_view suffix() const { return at_->key().substr(kPartitionBytes); }
    std::string_view value() const { return at_->value(); }
    void next() {
        at_->next();
        if (cursors_.size() > 1 || !at_->valid()) choose();
    }
    Status status() const {
        for (const auto& cursor : cursors_) TRY_STATUS(cursor->status());
        return {};
    }

private:
    void choose() {
        at_ = nullptr;
        for (const auto& cursor : cursors_) {
            if (!cursor->valid()) continue;
            if (at_ == nullptr || cursor->key().substr(kPartitionBytes) < suffix())
                at_ = cursor.get();
        }
    }
    std::vector<std::unique_ptr<storage::Cursor>> cursors_;
    storage::Cursor* at_ = nullptr;
};

}  // namespace

size_t MoveImpl::target_of(std::string_view epk) const {
    size_t at = 0;
    while (at + 1 < plan_.targets.size() && epk >= plan_.targets[at].range.max) ++at;
    return at;
}

size_t MoveImpl::target_of_docref(std::string_view docref) const {
    size_t at = 0;
    while (at < borders_.size() && docref >= borders_[at]) ++at;
    if (!strays_.empty() && strays_.contains(docref)) {
        // Between two targets there is one other side; with more of them the item was looked up.
        CHECK(plan_.targets.size() == 2);
        at = 1 - at;
    }
    return at;
}

std::string_view MoveImpl::key_in(size_t target, std::string_view suffix) {
    key_.assign(prefixes_[target]);
    key_.append(suffix);
    return key_;
}

/// Counts, and asks now and then whether to go on.
Status MoveImpl::note(size_t bytes) {
    noted_ += bytes;
    if (noted_ < kAskEvery) return {};
    if (plan_.bytes != nullptr) plan_.bytes->fetch_add(noted_, std::memory_order_relaxed);
    noted_ = 0;
    if (plan_.cancelled && plan_.cancelled())
        return Status(errors::service_unavailable("The split or merge was cancelled."));
    return {};
}

/// `target`: of a suffix and value.
template <typename Target>
Status MoveImpl::copy_family(storage::BulkLoad& load, Family family, Target target) {
    MergedScan scan(*view_, family, sources_);
    for (; scan.valid(); scan.next()) {
        TRY(const size_t to, target(scan.suffix(), scan.value()));
        TRY_STATUS(load.put(family, key_in(to, scan.suffix()), scan.value()));
        TRY_STATUS(note(scan.suffix().size() + scan.value().size()));
    }
    return scan.status();
}

Status MoveImpl::copy() {
    TRY_STATUS(see(deps_.store.view()));
    in_files_ = lsns_;
    TRY_STATUS(hold_logs());
    const std::unique_ptr<storage::BulkLoad> load = deps_.store.bulk_load();
    const size_t docref_bytes = 8 * ((*settings_)->key.level_count() + 1);
    const auto by_epk = [&](std::string_view, std::string_view value) -> Result<size_t> {
        TRY(const json::DocumentView document, json::decode_document(value));
        return target_of(document.header.epk);
    };
    const auto by_docref = [&](std::string_view suffix, std::string_view) -> Result<size_t> {
        if (suffix.size() < docref_bytes) return damaged("key");
        return target_of_docref(suffix.substr(suffix.size() - docref_bytes));
    };
    TRY_STATUS(copy_family(*load, Family::kItems,
                           [&](std::string_view suffix, std::string_view value) -> Result<size_t> {
                               TRY(const size_t target, by_epk(suffix, value));
                               if (target != target_of_docref(suffix)) strays_.emplace(suffix);
                               return target;
                           }));
    TRY_STATUS(copy_family(
        *load, Family::kIds, [&](std::string_view suffix, std::string_view) -> Result<size_t> {
            const auto id =
                storage::keys::decode_id(std::string(kPartitionBytes, '\0').append(suffix));
            if (!id) return damaged("key of an id");
            return target_of(id->epk);
        }));
    TRY_STATUS(copy_family(*load, Family::kLog,
                           [&](std::string_view, std::string_view value) -> Result<size_t> {
                               TRY(const LogRecord record, decode_log_record(value));
                               return target_of(record.epk);
                           }));
    TRY_STATUS(copy_family(*load, Family::kImages,
                           [&](std::string_view suffix, std::string_view value) -> Result<size_t> {
                               constexpr size_t kLsnBytes = 8;
                               if (suffix.size() < kLsnBytes + docref_bytes)
                                   return damaged("key of an image");
                               if (suffix.size() == kLsnBytes + docref_bytes)
                                   return by_epk(suffix, value);
                               return target_of_docref(suffix.substr(kLsnBytes, docref_bytes));
                           }));
    TRY_STATUS(copy_family(*load, Family::kTtl, by_docref));
    TRY_STATUS(copy_counts(*load));
    TRY_STATUS(copy_family(*load, Family::kIndex, by_docref));
    return load->ingest();
}

/// What the log holds from here on must be there when the copy catches up.
Status MoveImpl::hold_logs() {
    log_trimmed_ = UINT64_MAX;
    for (size_t i = 0; i < sources_.size(); ++i) {
        sources_[i]->hold_log(lsns_[i]);
        TRY(const auto note,
            view_->get(Family::kMeta, meta_keys::log_trimmed(sources_[i]->identity().id)));
        storage::Lsn trimmed = 0;
        if (note) {
            TRY(trimmed, decode_lsn_note(*note));
        }
        log_trimmed_ = std::min(log_trimmed_, trimmed);
    }
    return {};
}

/// Counters stand before the entries: first the totals, then the logical partitions.
Status MoveImpl::copy_counts(storage::BulkLoad& load) {
    totals_.assign(plan_.targets.size(), {});
    const auto each = [&](const auto& use) -> Status {
        for (const auto& source : sources_) {
            const std::string prefix = counter_keys::logical_partition(source->identity().id, {});
            TRY_STATUS(view_->each_count(prefix, prefix_successor(prefix),
                                         [&](std::string_view key, const storage::Count& count) {
                                             return use(key.substr(prefix.size()), count);
                                         }));
        }
        return {};
    };
    TRY_STATUS(each([&](std::string_view epk, const storage::Count& count) -> Status {
        storage::Count& sum = totals_[target_of(epk)];
        sum.items += count.items;
        sum.bytes += count.bytes;
        return {};
    }));
    for (size_t i = 0; i < plan_.targets.size(); ++i)
        TRY_STATUS(load.set_count(counter_keys::totals(plan_.targets[i].id), totals_[i]));
    return each([&](std::string_view epk, const storage::Count& count) -> Status {
        if (count.items == 0 && count.bytes == 0) return {};
        return load.set_count(
            counter_keys::logical_partition(plan_.targets[target_of(epk)].id, epk), count);
    });
}

}  // namespace orrery::partition::detail
