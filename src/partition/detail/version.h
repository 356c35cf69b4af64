#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "index/terms.h"
#include "partition/operation.h"
#include "partition/partition.h"
#include "partition/record.h"
#include "storage/store.h"

namespace orrery::partition::detail {

/// A container's settings and what follows from them for one partition. Immutable.
struct SettingsState {
    ContainerSettingsPtr settings;
    /// Entries of an item that is not indexed: under the policy, and under each previous one.
    index::TermSet unindexed;
    std::vector<index::TermSet> previous_unindexed;

    const ContainerSettings& operator*() const { return *settings; }
    const ContainerSettings* operator->() const { return settings.get(); }
    bool indexed(IndexingDirective directive) const {
        return index::item_is_indexed(settings->indexing, directive);
    }
    /// The index entries of stored items may be those of a previous policy.
    bool changing() const { return !settings->previous.empty(); }
};
using SettingsStatePtr = std::shared_ptr<const SettingsState>;
SettingsStatePtr make_settings_state(ContainerSettingsPtr settings);

/// One version of an item: as stored, or about to be.
struct ItemVersion {
    std::shared_ptr<const std::string> document;
    /// The same bytes while this version is new: the committer writes LSN and `_ts` into them
    /// before anybody else sees them. Null for a stored version.
    std::string* unstamped = nullptr;
    storage::Docref docref;
    storage::Lsn lsn = 0;  ///< 0: not yet committed
    int64_t ts = 0;
    uint64_t etag_nonce = 0;
    int32_t own_ttl = 0;
    /// While it is new: what `own_ttl` follows from, once `_ts` is known.
    std::optional<int64_t> expires_at;
    IndexingDirective directive = IndexingDirective::kDefault;
    bool indexed = true;  ///< under the present policy
    uint64_t text_bytes = 0;
    index::TermSet terms;
    /// The terms under each previous policy: a stored version may have them instead.
    std::vector<index::TermSet> previous_terms;
    std::vector<std::string> unique_names;  ///< unique_key.h

    std::string etag() const;
    StoredItem stored() const { return {document, docref}; }
    IdEntry entry() const { return {docref, lsn, etag_nonce, ts, own_ttl, directive}; }
    /// Terms of the RU formula.
    uint32_t charged_terms() const {
        if (!indexed) return 0;
        return 2 * terms.pair_count() + terms.cell_count() +
               static_cast<uint32_t>(unique_names.size());
    }
};
using ItemVersionPtr = std::shared_ptr<ItemVersion>;

/// A version from the body of a request: validated, key checked, terms collected. `id` receives the
/// body's id; where the dialect keeps ids beside items, it is the item's core id already.
struct BodyRules {
    std::string_view epk;
    bool check_key = true;
    IndexingDirective directive = IndexingDirective::kDefault;
    int32_t own_ttl = 0;  ///< where the dialect keeps it beside items
    std::optional<int64_t> client_time = {};
};
Result<ItemVersionPtr> version_of_body(const SettingsStatePtr& state, std::string_view body,
                                       const BodyRules& rules, std::string& id);

/// A version from stored bytes; damage is an error. `with_terms`: also terms and unique names.
Result<ItemVersionPtr> version_of_document(const SettingsStatePtr& state,
                                           std::shared_ptr<const std::string> document,
                                           const storage::Docref& docref,
                                           IndexingDirective directive, bool with_terms);
/// For a version made without them.
Status add_terms(const SettingsStatePtr& state, ItemVersion& version);

/// Index changes from one version to the other (either may be null) but those of entries with
/// `_ts`, which the committer adds. While a policy change runs, what `before` has in the index is
/// not known: whatever it may have goes, all that `after` has comes.
void append_index_changes(storage::PartitionId partition, const ItemVersion* before,
                          const ItemVersion* after, storage::IndexDelta& delta);
/// The same for the entries with `_ts`.
void append_ts_changes(storage::PartitionId partition, const ItemVersion* before,
                       const ItemVersion* after, storage::IndexDelta& delta);

/// Complete index entries (without partition and docref) and their flags, sorted.
using EntryMap = std::map<std::string, bool, std::less<>>;
void add_entries(const index::TermSet& terms, int64_t ts, EntryMap& entries);

/// Charged terms that a replace removes and adds; its index changes go to `delta`.
struct ChargedChange {
    uint32_t removed = 0;
    uint32_t added = 0;
};
ChargedChange append_replace(storage::PartitionId partition, const ItemVersion& before,
                             const ItemVersion& after, storage::IndexDelta& delta);

/// Reads a store's newest or published state.
class Reader {
public:
    virtual ~Reader() = default;
    virtual Result<std::optional<std::string>> get(storage::Family family,
                                                   std::string_view key) = 0;
};
class ViewReader final : public Reader {
public:
    explicit ViewReader(const storage::View& view) : view_(view) {}
    Result<std::optional<std::string>> get(storage::Family family, std::string_view key) override {
        return view_.get(family, key);
    }

private:
    const storage::View& view_;
};
class ScopeReader final : public Reader {
public:
    explicit ScopeReader(storage::CommitScope& scope) : scope_(scope) {}
    Result<std::optional<std::string>> get(storage::Family family, std::string_view key) override {
        return scope_.get(family, key);
    }

private:
    storage::CommitScope& scope_;
};

/// The stored position of a policy change; from the start if there is none of that number.
Result<IndexFill> read_index_fill(Reader& reader, storage::PartitionId partition, uint64_t change);
Result<std::optional<IdEntry>> read_id_entry(Reader& reader, std::string_view id_key);
/// The version that `entry` names; its absence is damage.
Result<ItemVersionPtr> read_version(Reader& reader, const SettingsStatePtr& state,
                                    storage::PartitionId partition, const IdEntry& entry,
                                    bool with_terms);

/// The item as clients see it, for patch conditions. Borrows from `document` and `arena`.
Result<json::Value> client_view(const ContainerSettings& settings, const ItemVersion& version,
                                json::Arena& arena);

}  // namespace orrery::partition::detail
