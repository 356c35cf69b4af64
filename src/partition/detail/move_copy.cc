// Everything that one view shows of the sources, as files of the targets.
#include <algorithm>
#include <future>
#include <utility>

#include "base/bytes.h"
#include "base/errors.h"
#include "base/worker_pool.h"
#include "json/document.h"
#include "partition/detail/move_impl.h"

namespace orrery::partition::detail {
namespace {

using storage::Family;

constexpr size_t kPartitionBytes = 4;
constexpr size_t kAskEvery = 1 << 20;

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
        // With two targets there is only one other side; with more, the item was looked up.
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

/// Counts, and asks now and then whether to go on. Any thread that copies.
Status MoveImpl::note(size_t bytes) {
    if (plan_.bytes != nullptr) plan_.bytes->fetch_add(bytes, std::memory_order_relaxed);
    if (plan_.cancelled && plan_.cancelled())
        return Status(errors::service_unavailable("The split or merge was cancelled."));
    return {};
}

/// Files of some families, made by one thread.
class MoveImpl::Lane {
public:
    explicit Lane(MoveImpl& move) : move_(move), load_(move.deps_.store.bulk_load()) {}

    /// `target`: of a suffix and value.
    template <typename Target>
    Status copy(Family family, Target target) {
        MergedScan scan(*move_.view_, family, move_.sources_);
        for (; scan.valid(); scan.next()) {
            TRY(const size_t to, target(scan.suffix(), scan.value()));
            key_.assign(move_.prefixes_[to]).append(scan.suffix());
            TRY_STATUS(load_->put(family, key_, scan.value()));
            noted_ += key_.size() + scan.value().size();
            if (noted_ >= kAskEvery) TRY_STATUS(move_.note(std::exchange(noted_, 0)));
        }
        return scan.status();
    }
    Status set_count(const std::string& key, const storage::Count& count) {
        return load_->set_count(key, count);
    }
    Status ingest() {
        TRY_STATUS(move_.note(std::exchange(noted_, 0)));
        return load_->ingest();
    }

private:
    MoveImpl& move_;
    const std::unique_ptr<storage::BulkLoad> load_;
    std::string key_;
    size_t noted_ = 0;
};

/// The index on a thread of its own: it is about half of everything.
Status MoveImpl::copy() {
    TRY_STATUS(see(deps_.store.view()));
    in_files_ = lsns_;
    TRY_STATUS(hold_logs());
    TRY_STATUS(find_strays());
    std::future<Status> index = std::async(std::launch::async, [this] {
        set_thread_name("split-index");
        Lane lane(*this);
        TRY_STATUS(copy_counts(lane));
        TRY_STATUS(copy_index(lane));
        return lane.ingest();
    });
    const auto copy_rest = [this]() -> Status {
        Lane lane(*this);
        TRY_STATUS(copy_data(lane));
        return lane.ingest();
    };
    Status rest = copy_rest();
    Status indexed = index.get();
    return rest.ok() ? std::move(indexed) : std::move(rest);
}

/// Items at a border whose docref says the other side.
Status MoveImpl::find_strays() {
    strays_.clear();
    for (const auto& source : sources_) {
        for (const std::string& border : borders_) {
            const std::string begin = storage::keys::partition(source->identity().id) + border;
            const auto cursor = view_->scan(Family::kItems, begin, prefix_successor(begin));
            for (; cursor->valid(); cursor->next()) {
                TRY(const json::Document document, json::decode_document(cursor->value()));
                const std::string_view docref = cursor->key().substr(kPartitionBytes);
                if (target_of(document.header.epk) != target_of_docref(docref))
                    strays_.emplace(docref);
            }
            TRY_STATUS(cursor->status());
        }
    }
    return {};
}

size_t MoveImpl::docref_bytes() const {
    return 8 * ((*settings_)->key.level_count() + 1);
}

Status MoveImpl::copy_index(Lane& lane) {
    return lane.copy(Family::kIndex,
                     [this](std::string_view suffix, std::string_view) -> Result<size_t> {
                         if (suffix.size() < docref_bytes()) return damaged("key");
                         return target_of_docref(suffix.substr(suffix.size() - docref_bytes()));
                     });
}

Status MoveImpl::copy_data(Lane& lane) {
    const auto by_epk = [&](std::string_view, std::string_view value) -> Result<size_t> {
        TRY(const json::Document document, json::decode_document(value));
        return target_of(document.header.epk);
    };
    TRY_STATUS(lane.copy(
        Family::kItems, [&](std::string_view suffix, std::string_view value) -> Result<size_t> {
            TRY(const size_t target, by_epk(suffix, value));
            if (target != target_of_docref(suffix))
                return errors::internal("An item's place does not tell on which side it belongs.");
            return target;
        }));
    TRY_STATUS(
        lane.copy(Family::kIds, [&](std::string_view suffix, std::string_view) -> Result<size_t> {
            const auto id =
                storage::keys::decode_id(std::string(kPartitionBytes, '\0').append(suffix));
            if (!id) return damaged("key of an id");
            return target_of(id->epk);
        }));
    TRY_STATUS(
        lane.copy(Family::kLog, [&](std::string_view, std::string_view value) -> Result<size_t> {
            TRY(const LogRecord record, decode_log_record(value));
            return target_of(record.epk);
        }));
    TRY_STATUS(lane.copy(Family::kImages,
                         [&](std::string_view suffix, std::string_view value) -> Result<size_t> {
                             constexpr size_t kLsnBytes = 8;
                             if (suffix.size() < kLsnBytes + docref_bytes())
                                 return damaged("key of an image");
                             if (suffix.size() == kLsnBytes + docref_bytes())
                                 return by_epk(suffix, value);
                             return target_of_docref(suffix.substr(kLsnBytes, docref_bytes()));
                         }));
    return lane.copy(Family::kTtl,
                     [this](std::string_view suffix, std::string_view) -> Result<size_t> {
                         if (suffix.size() < docref_bytes()) return damaged("key");
                         return target_of_docref(suffix.substr(suffix.size() - docref_bytes()));
                     });
}

/// The log must keep its records from here on until the copy has caught up.
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
        TRY(const auto complete,
            view_->get(Family::kMeta, meta_keys::ttl_complete(sources_[i]->identity().id)));
        ttl_complete_ = ttl_complete_ && complete.has_value();
    }
    return {};
}

/// Counters stand before the entries: first the totals, then the logical partitions.
Status MoveImpl::copy_counts(Lane& lane) {
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
        TRY_STATUS(lane.set_count(counter_keys::totals(plan_.targets[i].id), totals_[i]));
    return each([&](std::string_view epk, const storage::Count& count) -> Status {
        if (count.items == 0 && count.bytes == 0) return {};
        return lane.set_count(
            counter_keys::logical_partition(plan_.targets[target_of(epk)].id, epk), count);
    });
}

}  // namespace orrery::partition::detail
