#include "partition/detail/index_fill.h"

#include <algorithm>

#include "base/errors.h"
#include "json/document.h"
#include "json/item.h"
#include "partition/detail/partition_impl.h"

namespace orrery::partition::detail {
namespace {

using storage::Family;

/// Bytes of documents per commit of a fill: a client's write never waits for more.
constexpr size_t kFillBytesMax = 256 << 10;

void append(const storage::IndexDelta& from, storage::IndexDelta& to) {
    using Change = storage::IndexDelta::Change;
    for (const auto& entry : from.entries()) {
        if (entry.change == Change::kRemove)
            to.remove(from.key(entry));
        else
            to.add(from.key(entry), entry.change == Change::kAddPartial);
    }
}

}  // namespace

uint32_t append_fill(storage::PartitionId partition, const ItemVersion& version,
                     storage::IndexDelta& delta) {
    EntryMap wanted;
    add_entries(version.terms, version.ts, wanted);
    EntryMap possible;
    std::map<std::string, size_t, std::less<>> certain;  // in how many of the previous policies
    for (const index::TermSet& terms : version.previous_terms) {
        EntryMap previous;
        add_entries(terms, version.ts, previous);
        for (const auto& [entry, partial] : previous) ++certain[entry];
        possible.merge(previous);
    }
    const auto key = [&](std::string_view entry) {
        return storage::keys::partition(partition).append(entry).append(version.docref.bytes());
    };
    for (const auto& [entry, partial] : possible)
        if (!wanted.contains(entry)) delta.remove(key(entry));
    for (const auto& [entry, partial] : wanted) {
        const auto known = certain.find(entry);
        if (known == certain.end() || known->second < version.previous_terms.size())
            delta.add(key(entry), partial);
    }
    if (version.previous_terms.empty()) return 0;
    storage::IndexDelta unused;
    const index::TermChange change = index::append_changes(
        version.previous_terms.back(), version.terms, partition, version.docref, unused);
    return 2 * (change.pairs_removed + change.pairs_added) + change.cells_removed +
           change.cells_added;
}

IndexFillCommit::IndexFillCommit(std::shared_ptr<PartitionImpl> partition,
                                 SettingsStatePtr settings, std::vector<ItemToFill> items)
    : partition_(std::move(partition)), settings_(std::move(settings)), items_(std::move(items)) {
    for (const ItemToFill& item : items_) bytes_ += item.delta.bytes() + 64;
}

bool IndexFillCommit::decide(storage::CommitScope& scope) {
    if (partition_->state() != settings_ || partition_->closed_to_writers()) return false;
    storage::IndexDelta delta;
    status_ = fill(scope, delta);
    if (!status_.ok()) return false;
    filled_ = true;
    if (delta.empty()) return false;
    delta.may_repeat();  // an item written since the change began has its entries already
    scope.index(partition_->identity().id, partition_->commit_state().lsn, std::move(delta));
    return true;
}

Status IndexFillCommit::fill(storage::CommitScope& scope, storage::IndexDelta& delta) {
    ScopeReader reader(scope);
    for (const ItemToFill& item : items_) {
        TRY(const std::optional<IdEntry> entry, read_id_entry(reader, item.id_key));
        if (!entry) continue;  // its entries went with it
        if (*entry == item.entry) {
            append(item.delta, delta);
            continue;
        }
        TRY(const ItemVersionPtr version,
            read_version(reader, settings_, partition_->identity().id, *entry, true));
        append_fill(partition_->identity().id, *version, delta);
    }
    return {};
}

void IndexFillCommit::complete(Status status) {
    if (status.ok() && status_.ok())
        promise_.set_value(filled_);
    else
        promise_.set_value(status.ok() ? std::move(status_) : std::move(status));
}

IndexFill PartitionImpl::index_fill() const {
    const std::lock_guard lock(fill_mutex_);
    return fill_;
}

void PartitionImpl::set_index_fill(IndexFill fill) {
    const std::lock_guard lock(fill_mutex_);
    fill_ = std::move(fill);
}

Result<Partition::Filled> PartitionImpl::fill_index(const ContainerSettingsPtr& settings,
                                                    size_t items_max) {
    const SettingsStatePtr present = state();
    if (present->settings != settings || has_moved()) return Filled{FillState::kStale};
    if (!present->changing()) return Filled{FillState::kComplete};
    IndexFill fill = index_fill();
    if (fill.change != settings->index_change) {
        fill = {};
        fill.change = settings->index_change;
    }
    if (fill.complete) return Filled{FillState::kComplete};

    // Not older than the change: the caller saw it committed.
    const storage::ViewPtr view = deps_.store.view();
    if (fill.items_all == 0) {
        TRY(const storage::Count count, totals(*view));
        fill.items_all = static_cast<uint64_t>(std::max<int64_t>(count.items, 0));
    }
    ViewReader reader(*view);
    const std::string begin = storage::keys::partition(identity_.id);
    const auto cursor = view->scan(Family::kItems, begin + fill.position, prefix_successor(begin));
    // The item at the position is already done.
    if (!fill.position.empty() && cursor->valid() && cursor->key() == begin + fill.position)
        cursor->next();
    std::vector<ItemToFill> items;
    size_t bytes = 0;
    uint64_t terms = 0;
    for (; cursor->valid() && items.size() < items_max && bytes < kFillBytesMax; cursor->next()) {
        TRY(ItemToFill item, item_to_fill(reader, present, cursor->key(), cursor->value()));
        bytes += cursor->value().size();
        fill.position = item.entry.docref.bytes();
        ++fill.items;
        terms += item.terms;
        items.push_back(std::move(item));
    }
    TRY_STATUS(cursor->status());
    fill.complete = !cursor->valid();
    if (!items.empty()) {
        auto commit = std::make_unique<IndexFillCommit>(self(), present, std::move(items));
        std::future<Result<bool>> result = commit->result();
        deps_.store.submit(std::move(commit));
        TRY(const bool filled, result.get());
        if (!filled) return Filled{FillState::kStale};
    }
    const bool complete = fill.complete;
    set_index_fill(std::move(fill));
    return Filled{complete ? FillState::kComplete : FillState::kMore, terms};
}

Result<ItemToFill> PartitionImpl::item_to_fill(Reader& reader, const SettingsStatePtr& settings,
                                               std::string_view key, std::string_view value) {
    const auto decoded = storage::keys::decode_item(key);
    if (!decoded) return errors::internal("Stored data is damaged: a malformed key of an item.");
    TRY(const json::Document document, json::decode_document(value));
    json::Arena arena;
    TRY(const std::string_view id, document.id(arena));
    ItemToFill item;
    item.id_key = storage::keys::id(identity_.id, document.header.epk, storage::IdKind::kItem, id);
    TRY(const std::optional<IdEntry> entry, read_id_entry(reader, item.id_key));
    if (!entry || !(entry->docref == decoded->docref))
        return errors::internal("Stored data is damaged: an item has no id entry.");
    item.entry = *entry;
    TRY(const ItemVersionPtr version,
        version_of_document(settings, std::make_shared<std::string>(value), decoded->docref,
                            entry->directive, true));
    item.terms = append_fill(identity_.id, *version, item.delta);
    return item;
}

/// One value in `meta`.
class SaveFillCommit final : public storage::CommitOperation {
public:
    SaveFillCommit(storage::PartitionId partition, const IndexFill& fill)
        : key_(meta_keys::index_fill(partition)), value_(encode_index_fill(fill)) {}
    std::future<Status> done() { return done_.get_future(); }
    bool decide(storage::CommitScope& scope) override {
        scope.put(Family::kMeta, key_, value_);
        return true;
    }
    void complete(Status status) override { done_.set_value(std::move(status)); }
    size_t bytes() const override { return key_.size() + value_.size(); }

private:
    const std::string key_;
    const std::string value_;
    std::promise<Status> done_;
};

Status PartitionImpl::save_index_fill(const IndexFill& fill) {
    auto commit = std::make_unique<SaveFillCommit>(identity_.id, fill);
    std::future<Status> done = commit->done();
    deps_.store.submit(std::move(commit));
    return done.get();
}

}  // namespace orrery::partition::detail
