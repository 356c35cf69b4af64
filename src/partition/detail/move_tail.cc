// What changed in the sources since the files of the targets were made.
#include <algorithm>

#include "base/bytes.h"
#include "base/errors.h"
#include "partition/detail/move_impl.h"
#include "partition/expiry.h"

namespace orrery::partition::detail {
namespace {

using storage::Count;
using storage::Family;

/// Changes are sorted in memory, so many bytes at a time.
constexpr size_t kChangesBytesMax = 48 << 20;
constexpr size_t kPartitionBytes = 4;

void add(Count& sum, const ItemVersion& version, int sign) {
    sum.items += sign;
    sum.bytes += sign * static_cast<int64_t>(version.text_bytes);
}

}  // namespace

void Changes::set(Family family, std::string key, std::optional<std::string> value) {
    bytes += key.size() + (value ? value->size() : 0) + 64;
    of(family).insert_or_assign(std::move(key), std::move(value));
}

Changes MoveImpl::no_changes() const {
    Changes changes;
    changes.targets.resize(plan_.targets.size());
    return changes;
}

/// The targets have what this view shows.
Status MoveImpl::see(const storage::ViewPtr& view) {
    std::vector<storage::Lsn> lsns;
    for (const auto& source : sources_) {
        const std::string begin = storage::keys::partition(source->identity().id);
        const auto log =
            view->scan(Family::kLog, begin, prefix_successor(begin), storage::Direction::kBackward);
        TRY_STATUS(log->status());
        const auto key = log->valid() ? storage::keys::decode_log(log->key()) : std::nullopt;
        lsns.push_back(std::max(key ? key->lsn : 0, source->birth().lsn));
    }
    lsns_ = std::move(lsns);
    view_ = view;
    return {};
}

Result<uint64_t> MoveImpl::collect(const storage::View& view, Changes& changes,
                                   const std::function<Status()>& flush) {
    uint64_t records = 0;
    for (size_t s = 0; s < sources_.size(); ++s) {
        const storage::PartitionId source = sources_[s]->identity().id;
        const auto cursor = view.scan(Family::kLog, storage::keys::log_from(source, lsns_[s] + 1),
                                      prefix_successor(storage::keys::partition(source)));
        for (; cursor->valid(); cursor->next(), ++records) {
            TRY_STATUS(add_record(view, s, cursor->key(), cursor->value(), changes));
            if (changes.bytes >= kChangesBytesMax && flush) TRY_STATUS(flush());
        }
        TRY_STATUS(cursor->status());
    }
    return records;
}

/// The record and its images go to the target as they are. The first one of an item since the files
/// were made brings the item's present state with it; those that follow have nothing to add.
Status MoveImpl::add_record(const storage::View& view, size_t source, std::string_view key,
                            std::string_view value, Changes& changes) {
    const auto decoded = storage::keys::decode_log(key);
    if (!decoded)
        return Status(errors::internal("Stored data is damaged: a malformed key in the log."));
    TRY(const LogRecord record, decode_log_record(value));
    const size_t target = target_of(record.epk);
    changes.targets[target].touched = true;
    TRY(std::optional<std::string> image, view.get(Family::kImages, key));
    std::string to(key_in(target, key.substr(kPartitionBytes)));
    if (image) changes.set(Family::kImages, to, std::move(image));
    if (record.previous_lsn != 0) {
        // Where all versions are kept, the one before says by which record it was replaced.
        const std::string next = storage::keys::image_next(sources_[source]->identity().id,
                                                           record.previous_lsn, decoded->docref);
        TRY(std::optional<std::string> note, view.get(Family::kImages, next));
        if (note)
            changes.set(Family::kImages, prefixes_[target] + next.substr(kPartitionBytes),
                        std::move(note));
    }
    changes.set(Family::kLog, std::move(to), std::string(value));
    if (record.operation != LogOperation::kCreate && record.previous_lsn > lsns_[source]) return {};
    return add_item(view,
                    {.source = source,
                     .target = target,
                     .docref = decoded->docref,
                     .epk = record.epk,
                     .id = record.id,
                     .record_key = key,
                     .directive = record.previous_directive},
                    changes);
}

/// Brings one key of the targets to what `view` shows of it in the source.
Status MoveImpl::take(const storage::View& view, Family family, size_t target,
                      const std::string& source_key, Changes& changes) const {
    TRY(std::optional<std::string> value, view.get(family, source_key));
    changes.set(family, prefixes_[target] + source_key.substr(kPartitionBytes), std::move(value));
    return {};
}

Status MoveImpl::add_item(const storage::View& view, const ChangedItem& item, Changes& changes) {
    const storage::PartitionId source = sources_[item.source]->identity().id;
    const storage::PartitionId target = plan_.targets[item.target].id;
    const std::string item_key = storage::keys::item(source, item.docref);
    const std::string id_key = storage::keys::id(source, item.epk, storage::IdKind::kItem, item.id);
    const auto version = [&](const storage::View& from,
                             IndexingDirective directive) -> Result<ItemVersionPtr> {
        TRY(std::optional<std::string> bytes, from.get(Family::kItems, item_key));
        if (!bytes) return ItemVersionPtr();
        return version_of_document(settings_, std::make_shared<std::string>(std::move(*bytes)),
                                   item.docref, directive, true);
    };
    TRY(std::optional<std::string> id_value, view.get(Family::kIds, id_key));
    IndexingDirective directive = IndexingDirective::kDefault;
    if (id_value) {
        TRY(const IdEntry entry, decode_id_entry(*id_value));
        directive = entry.directive;
    }
    TRY(const ItemVersionPtr before, version(*view_, item.directive));
    TRY(const ItemVersionPtr after, version(view, directive));

    std::optional<std::string> document;
    if (after != nullptr) document = *after->document;
    changes.set(Family::kItems, prefixes_[item.target] + item_key.substr(kPartitionBytes),
                std::move(document));
    changes.set(Family::kIds, prefixes_[item.target] + id_key.substr(kPartitionBytes),
                std::move(id_value));
    Changes::Target& to = changes.targets[item.target];
    for (const ItemVersionPtr& one : {before, after}) {
        if (one == nullptr) continue;
        for (const std::string& name : one->unique_names)
            TRY_STATUS(take(view, Family::kIds, item.target,
                            storage::keys::id(source, item.epk, storage::IdKind::kUniqueKey, name),
                            changes));
        if (const auto position = ttl_position(one->ts, one->own_ttl))
            TRY_STATUS(take(view, Family::kTtl, item.target,
                            storage::keys::ttl(source, position->kind, position->when, item.docref),
                            changes));
        const int sign = one == before ? -1 : 1;
        add(to.totals, *one, sign);
        add(to.logical[std::string(item.epk)], *one, sign);
    }
    // The source may have dropped the image, because its own index no longer needs it. The target's
    // index may need it.
    if (before != nullptr)
        changes.set(Family::kImages,
                    std::string(key_in(item.target, item.record_key.substr(kPartitionBytes))),
                    *before->document);
    const size_t index_bytes = to.index.bytes();
    append_index_changes(target, before.get(), after.get(), to.index);
    append_ts_changes(target, before.get(), after.get(), to.index);
    changes.bytes += to.index.bytes() - index_bytes;
    return {};
}

/// As files. Counters become the sums that `view` shows.
Status MoveImpl::load(const storage::View& view, Changes& changes) {
    const std::unique_ptr<storage::BulkLoad> load = deps_.store.bulk_load();
    size_t noted = 0;
    for (const Family family :
         {Family::kItems, Family::kIds, Family::kLog, Family::kImages, Family::kTtl}) {
        for (const auto& [key, value] : changes.of(family)) {
            TRY_STATUS(value ? load->put(family, key, *value) : load->remove(family, key));
            noted += key.size() + (value ? value->size() : 0);
        }
    }
    for (size_t i = 0; i < changes.targets.size(); ++i) {
        Changes::Target& target = changes.targets[i];
        if (!target.touched && target.logical.empty()) continue;
        totals_[i].items += target.totals.items;
        totals_[i].bytes += target.totals.bytes;
        TRY_STATUS(load->set_count(counter_keys::totals(plan_.targets[i].id), totals_[i]));
        for (const auto& [epk, growth] : target.logical) {
            Count sum;
            for (const auto& source : sources_) {
                if (!source->identity().range.contains(epk)) continue;
                TRY(sum, source->logical_totals(view, epk));
            }
            TRY_STATUS(
                load->set_count(counter_keys::logical_partition(plan_.targets[i].id, epk), sum));
        }
        std::map<std::string_view, storage::IndexDelta::Change> entries;
        for (const auto& entry : target.index.entries())
            entries.insert_or_assign(target.index.key(entry), entry.change);
        for (const auto& [key, change] : entries) {
            using Change = storage::IndexDelta::Change;
            TRY_STATUS(change == Change::kRemove
                           ? load->remove(Family::kIndex, key)
                           : load->put(Family::kIndex, key,
                                       change == Change::kAddPartial ? storage::kPartialTerm
                                                                     : std::string_view()));
            noted += key.size();
        }
    }
    TRY_STATUS(note(noted));
    return load->ingest();
}

Result<uint64_t> MoveImpl::catch_up() {
    const storage::ViewPtr view = deps_.store.view();
    Changes changes = no_changes();
    const auto flush = [&]() -> Status {
        TRY_STATUS(load(*view, changes));
        changes = no_changes();
        return {};
    };
    TRY(const uint64_t records, collect(*view, changes, flush));
    if (records > 0) TRY_STATUS(flush());
    TRY_STATUS(see(view));
    in_files_ = lsns_;
    return records;
}

/// What was followed in one round, on its way into the targets. Owns nothing of the move but the
/// changes.
class MoveImpl::RoundCommit final : public storage::CommitOperation {
public:
    RoundCommit(MoveImpl& move, Changes changes) : move_(move), changes_(std::move(changes)) {}
    std::future<Status> done() { return done_.get_future(); }
    bool decide(storage::CommitScope& scope) override {
        move_.write_round(scope, changes_, 0);
        return true;
    }
    void complete(Status status) override { done_.set_value(std::move(status)); }
    size_t bytes() const override { return changes_.bytes; }

private:
    MoveImpl& move_;
    Changes changes_;
    std::promise<Status> done_;
};

/// `covered`: everything of the targets up to this LSN is in the index with it, and counted. 0: a
/// crash has the index and the counts made again from where the files end, so that a round in
/// between leaves counts to the switch.
void MoveImpl::write_round(storage::CommitScope& scope, Changes& changes, storage::Lsn covered) {
    for (const Family family :
         {Family::kItems, Family::kIds, Family::kLog, Family::kImages, Family::kTtl}) {
        for (const auto& [key, value] : changes.of(family)) {
            if (value)
                scope.put(family, key, *value);
            else
                scope.remove(family, key);
        }
    }
    for (size_t i = 0; i < plan_.targets.size(); ++i) {
        Changes::Target& target = changes.targets[i];
        Changes::Target& growth = growth_[i];
        growth.touched = growth.touched || target.touched;
        if (target.touched) {
            growth.totals.items += target.totals.items;
            growth.totals.bytes += target.totals.bytes;
            for (const auto& [epk, count] : target.logical) {
                growth.logical[epk].items += count.items;
                growth.logical[epk].bytes += count.bytes;
            }
        }
        // The switch covers the earlier rounds, too.
        if (!(covered == 0 ? target.touched : growth.touched)) continue;
        target.index.may_repeat();
        scope.index(plan_.targets[i].id, covered, std::move(target.index));
    }
}

Status MoveImpl::round_written() {
    return round_.valid() ? round_.get() : Status();
}

Result<uint64_t> MoveImpl::follow() {
    const storage::ViewPtr view = deps_.store.view();
    const std::vector<storage::Lsn> before = lsns_;
    Changes changes = no_changes();
    TRY(const uint64_t records, collect(*view, changes, nullptr));
    TRY_STATUS(see(view));
    storage::Lsn commits = 0;
    for (size_t i = 0; i < lsns_.size(); ++i) {
        commits += lsns_[i] - before[i];
        if (pace_ == 0) continue;
        const auto ahead =
            static_cast<storage::Lsn>(std::max(1.0, static_cast<double>(pace_) / records_per_lsn_));
        sources_[i]->set_pace(lsns_[i] + ahead);
    }
    if (commits > 0)
        records_per_lsn_ =
            std::max(1.0, static_cast<double>(records) / static_cast<double>(commits));
    TRY_STATUS(round_written());
    if (records > 0) {
        auto commit = std::make_unique<RoundCommit>(*this, std::move(changes));
        round_ = commit->done();
        deps_.store.submit(std::move(commit));
    }
    return records;
}

}  // namespace orrery::partition::detail
