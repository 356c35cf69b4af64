#include <fmt/format.h>

#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "base/encoding.h"
#include "base/errors.h"
#include "base/random.h"
#include "json/document.h"
#include "json/item.h"
#include "partition/detail/partition_impl.h"
#include "partition/expiry.h"

namespace orrery::partition::detail {
namespace {

using storage::Count;
using storage::Family;

constexpr size_t kFindingsMax = 1000;

/// A set of byte strings as its size and the sum of two secret hashes: two sets are compared in one
/// pass over each, in any order.
struct SetSum {
    uint64_t count = 0;
    uint64_t sum_a = 0;
    uint64_t sum_b = 0;
    friend bool operator==(const SetSum&, const SetSum&) = default;
};

/// One verification pass. The items are the truth; everything else is compared with them.
class Checker {
public:
    Checker(const PartitionIdentity& identity, SettingsStatePtr settings, const storage::View& view,
            std::vector<std::string>& findings)
        : identity_(identity),
          settings_(std::move(settings)),
          view_(view),
          findings_(findings),
          reader_(view),
          key_a_{random_u64(), random_u64()},
          key_b_{random_u64(), random_u64()} {}

    Status run() {
        TRY(const std::optional<std::string> birth,
            view_.get(Family::kMeta, meta_keys::birth(identity_.id)));
        if (birth) {
            TRY(birth_, decode_birth(*birth));
        }
        TRY(const std::optional<std::string> complete,
            view_.get(Family::kMeta, meta_keys::ttl_complete(identity_.id)));
        ttl_complete_ = complete.has_value() && (*settings_)->default_ttl.has_value();
        if (settings_->changing()) {
            TRY(fill_, read_index_fill(reader_, identity_.id, (*settings_)->index_change));
        }
        TRY_STATUS(check_items());
        TRY_STATUS(check_ids());
        TRY_STATUS(check_log());
        TRY_STATUS(check_images());
        TRY_STATUS(check_ttl());
        TRY_STATUS(check_index());
        return check_counters();
    }

private:
    void report(std::string_view id, const std::string& what) {
        if (findings_.size() == kFindingsMax)
            findings_.push_back("further findings are not listed");
        if (findings_.size() > kFindingsMax) return;
        findings_.push_back(
            id.empty() ? fmt::format("partition {}: {}", identity_.id, what)
                       : fmt::format("partition {}: item '{}': {}", identity_.id, id, what));
    }
    void add(SetSum& sum, std::string_view bytes, int sign = 1) const {
        sum.count += static_cast<uint64_t>(sign);
        sum.sum_a += static_cast<uint64_t>(sign) * siphash(key_a_, bytes);
        sum.sum_b += static_cast<uint64_t>(sign) * siphash(key_b_, bytes);
    }
    std::string version_bytes(const storage::Docref& docref, storage::Lsn lsn) const {
        std::string bytes(docref.bytes());
        append_u64_be(bytes, lsn);
        return bytes;
    }
    std::unique_ptr<storage::Cursor> scan(Family family) const {
        const std::string begin = storage::keys::partition(identity_.id);
        return view_.scan(family, begin, prefix_successor(begin));
    }
    /// Calls `use` for each index entry that the item must have.
    template <typename Use>
    void index_entries(const ItemVersion& version, Use use) const {
        EntryMap entries;
        add_entries(version.terms, version.ts, entries);
        for (const auto& [entry, partial] : entries) use(index_key(entry, version), partial);
    }
    std::string index_key(std::string_view entry, const ItemVersion& version) const {
        return storage::keys::partition(identity_.id).append(entry).append(version.docref.bytes());
    }
    /// While a policy change runs, an item not yet reached has the entries of one of the policies.
    bool is_uncertain(const ItemVersion& version) const {
        return settings_->changing() && !fill_.reached(version.docref);
    }
    Status add_uncertain_entries(const ItemVersion& version, std::string_view id);
    static std::string with_flag(std::string_view key, bool partial) {
        std::string out(key);
        out.push_back(partial ? '\1' : '\0');
        return out;
    }

    Status check_items();
    Result<ItemVersionPtr> check_item(std::string_view key, std::string_view value);
    Status check_item_log(const ItemVersion& version, std::string_view id);
    Status check_ids();
    bool is_of_constraint(std::string_view name) const;
    Status check_log();
    Status check_images();
    Status check_ttl();
    Status check_index();
    Status name_index_findings();
    Status check_counters();

    const PartitionIdentity& identity_;
    const SettingsStatePtr settings_;
    const storage::View& view_;
    std::vector<std::string>& findings_;
    ViewReader reader_;
    const SipKey key_a_;
    const SipKey key_b_;
    bool ttl_complete_ = false;
    IndexFill fill_;
    Birth birth_;

    // What the other families must hold, according to the items.
    SetSum index_;
    SetSum ttl_;
    SetSum versions_;
    uint64_t item_count_ = 0;
    uint64_t unique_count_ = 0;
    storage::Lsn lsn_max_ = 0;
    Count totals_;
    absl::flat_hash_map<std::string, Count>
        logical_;  ///< also those that the log names and are empty
};

Status Checker::check_items() {
    const auto cursor = scan(Family::kItems);
    for (; cursor->valid(); cursor->next()) {
        auto version = check_item(cursor->key(), cursor->value());
        if (!version.ok())
            report("", fmt::format("the item under key {} cannot be read: {}",
                                   hex_encode_upper(cursor->key()), version.error().message));
    }
    return cursor->status().clone();
}

/// Compares one item with its id entry, log record, ttl and unique key entries, and adds what it
/// demands of the rest.
Result<ItemVersionPtr> Checker::check_item(std::string_view key, std::string_view value) {
    const auto decoded = storage::keys::decode_item(key);
    if (!decoded) return errors::internal("malformed key");
    TRY(const json::Document document, json::decode_document(value));
    json::Arena arena;
    TRY(const std::string_view stored_id, document.id(arena));
    const std::string id(stored_id);
    const std::string epk(document.header.epk);
    if (!identity_.range.contains(epk))
        report(id, "its partition key belongs to another partition");
    if (decoded->docref.prefix() != docref_prefix((*settings_)->key, epk))
        report(id, "its place does not follow from its partition key");

    const std::string id_key = storage::keys::id(identity_.id, epk, storage::IdKind::kItem, id);
    TRY(const std::optional<IdEntry> entry, read_id_entry(reader_, id_key));
    TRY(const ItemVersionPtr version,
        version_of_document(settings_, std::make_shared<std::string>(value), decoded->docref,
                            entry ? entry->directive : IndexingDirective::kDefault, true));
    if (!entry)
        report(id, "it has no id entry");
    else if (*entry != version->entry())
        report(id, fmt::format("its id entry (LSN {}) is not of this version (LSN {})", entry->lsn,
                               version->lsn));
    TRY_STATUS(check_item_log(*version, id));
    for (const std::string& name : version->unique_names) {
        ++unique_count_;
        TRY(const std::optional<std::string> bytes,
            view_.get(Family::kIds,
                      storage::keys::id(identity_.id, epk, storage::IdKind::kUniqueKey, name)));
        if (!bytes) {
            report(id, "a unique key entry is missing");
            continue;
        }
        TRY(const std::string owner, decode_unique_entry(*bytes));
        if (owner != id)
            report(id, fmt::format("its unique key values belong to item '{}'", owner));
    }
    if (const auto position = ttl_position(version->ts, version->own_ttl))
        add(ttl_,
            storage::keys::ttl(identity_.id, position->kind, position->when, version->docref));
    if (is_uncertain(*version))
        TRY_STATUS(add_uncertain_entries(*version, id));
    else
        index_entries(*version, [&](const std::string& term_key, bool partial) {
            add(index_, with_flag(term_key, partial));
        });
    add(versions_, version_bytes(version->docref, version->lsn));
    ++item_count_;
    lsn_max_ = std::max(lsn_max_, version->lsn);
    for (Count* sum : {&totals_, &logical_[epk]}) {
        ++sum->items;
        sum->bytes += static_cast<int64_t>(version->text_bytes);
    }
    return version;
}

/// What all policies agree on must be there; of the rest, what is there is expected.
Status Checker::add_uncertain_entries(const ItemVersion& version, std::string_view id) {
    EntryMap all;
    add_entries(version.terms, version.ts, all);
    std::vector<EntryMap> policies{all};
    for (const index::TermSet& terms : version.previous_terms) {
        policies.emplace_back();
        add_entries(terms, version.ts, policies.back());
        all.insert(policies.back().begin(), policies.back().end());
    }
    std::vector<bool> fits(policies.size(), true);
    for (const auto& [entry, partial] : all) {
        const std::string key = index_key(entry, version);
        TRY(const std::optional<std::string> value, view_.get(Family::kIndex, key));
        if (value) add(index_, with_flag(key, partial));
        for (size_t i = 0; i < policies.size(); ++i)
            fits[i] = fits[i] && policies[i].contains(entry) == value.has_value();
    }
    if (std::find(fits.begin(), fits.end(), true) == fits.end())
        report(id, "its index entries are those of none of the policies of the running change");
    return {};
}

Status Checker::check_item_log(const ItemVersion& version, std::string_view id) {
    TRY(const std::optional<std::string> bytes,
        view_.get(Family::kLog, storage::keys::log(identity_.id, version.lsn, version.docref)));
    if (!bytes) {
        report(id, fmt::format("its version (LSN {}) has no log record", version.lsn));
        return {};
    }
    TRY(const LogRecord record, decode_log_record(*bytes));
    if (record.operation == LogOperation::kDelete || record.id != id || record.ts != version.ts ||
        record.etag_nonce != version.etag_nonce || record.directive != version.directive)
        report(id,
               fmt::format("its log record (LSN {}) does not describe this version", version.lsn));
    return {};
}

/// Entries of constraints that were dropped stay and mean nothing.
bool Checker::is_of_constraint(std::string_view name) const {
    const auto number = unique_key_number(name);
    const auto& keys = (*settings_)->unique_keys;
    return !number || std::any_of(keys.begin(), keys.end(),
                                  [&](const UniqueKey& key) { return key.number == *number; });
}

Status Checker::check_ids() {
    uint64_t item_entries = 0;
    uint64_t unique_entries = 0;
    const auto cursor = scan(Family::kIds);
    for (; cursor->valid(); cursor->next()) {
        const auto key = storage::keys::decode_id(cursor->key());
        if (!key) {
            report("", "malformed key in ids: " + hex_encode_upper(cursor->key()));
            continue;
        }
        if (key->kind == storage::IdKind::kItem)
            ++item_entries;
        else if (is_of_constraint(key->name))
            ++unique_entries;
    }
    TRY_STATUS(cursor->status());
    if (unique_entries != unique_count_)
        report("", fmt::format("{} unique key entries, but the items have {}", unique_entries,
                               unique_count_));
    if (item_entries == item_count_) return {};
    report("", fmt::format("{} id entries, but {} items", item_entries, item_count_));
    for (const auto again = scan(Family::kIds); again->valid(); again->next()) {
        const auto key = storage::keys::decode_id(again->key());
        if (!key || key->kind != storage::IdKind::kItem) continue;
        const auto entry = decode_id_entry(again->value());
        if (!entry.ok()) {
            report(key->name, "its id entry is malformed");
            continue;
        }
        TRY(const std::optional<std::string> item,
            view_.get(Family::kItems, storage::keys::item(identity_.id, entry->docref)));
        if (!item) report(key->name, "its id entry names an item that is not there");
    }
    return {};
}

/// LSNs must be dense above what was trimmed, and the chain of versions that the records describe
/// must end in exactly the items that are there: each record adds its version and takes the
/// previous one away, unless trimming has taken its record.
Status Checker::check_log() {
    storage::Lsn trimmed = 0;
    TRY(const auto trimmed_note, view_.get(Family::kMeta, meta_keys::log_trimmed(identity_.id)));
    if (trimmed_note) {
        TRY(trimmed, decode_lsn_note(*trimmed_note));
    }
    SetSum versions;
    storage::Lsn last = 0;
    int64_t last_ts = 0;
    const auto cursor = scan(Family::kLog);
    for (; cursor->valid(); cursor->next()) {
        const auto key = storage::keys::decode_log(cursor->key());
        const auto record = decode_log_record(cursor->value());
        if (!key || !record.ok()) {
            report("", "malformed log record under key " + hex_encode_upper(cursor->key()));
            continue;
        }
        // The share of a source's log has gaps; from the birth on there are none.
        if (key->lsn > birth_.lsn && last < birth_.lsn) last = birth_.lsn;
        if (last >= birth_.lsn && last != 0 && key->lsn > last + 1 && key->lsn > trimmed + 1)
            report("",
                   fmt::format("the log has no records from LSN {} to {}", last + 1, key->lsn - 1));
        if (record->ts < last_ts && !(birth_.merged && key->lsn <= birth_.lsn))
            report(record->id, fmt::format("_ts runs backwards in the log at LSN {}", key->lsn));
        if (record->previous_lsn >= key->lsn)
            report(record->id, fmt::format("log record {} follows a later one", key->lsn));
        last = key->lsn;
        last_ts = std::max(last_ts, record->ts);
        if (record->operation == LogOperation::kDelete)
            logical_.try_emplace(std::string(record->epk));
        if (record->operation != LogOperation::kDelete)
            add(versions, version_bytes(key->docref, key->lsn));
        if (record->operation == LogOperation::kCreate) continue;
        if (key->lsn <= trimmed && record->operation == LogOperation::kDelete)
            report(record->id,
                   fmt::format("a delete at LSN {} should have been trimmed", key->lsn));
        const std::string previous =
            storage::keys::log(identity_.id, record->previous_lsn, key->docref);
        if (record->previous_lsn <= std::max(trimmed, birth_.lsn)) {
            TRY(const auto kept, view_.get(Family::kLog, previous));
            if (!kept) continue;
            if (key->lsn <= trimmed)
                report(record->id, fmt::format("the record at LSN {} should have been trimmed",
                                               record->previous_lsn));
        }
        add(versions, version_bytes(key->docref, record->previous_lsn), -1);
    }
    TRY_STATUS(cursor->status());
    if (last < lsn_max_)
        report("", fmt::format("the log ends at LSN {}, an item has LSN {}", last, lsn_max_));
    if (versions != versions_)
        report("", "the log does not lead to the versions of the items that are there");
    return {};
}

/// Where all versions are kept, each record in the window has its image, and each version that was
/// replaced there says by which record.
Status Checker::check_images() {
    if ((*settings_)->feed_retention_seconds == 0) return {};
    TRY(const auto note, view_.get(Family::kMeta, meta_keys::versions_from(identity_.id)));
    if (!note) return {};
    TRY(const storage::Lsn from, decode_lsn_note(*note));
    const auto cursor = view_.scan(Family::kLog, storage::keys::log_from(identity_.id, from),
                                   prefix_successor(storage::keys::partition(identity_.id)));
    for (; cursor->valid(); cursor->next()) {
        const auto key = storage::keys::decode_log(cursor->key());
        const auto record = decode_log_record(cursor->value());
        if (!key || !record.ok() || record->operation == LogOperation::kCreate) continue;
        TRY(const auto image, view_.get(Family::kImages, cursor->key()));
        if (!image)
            report(record->id,
                   fmt::format("the version that LSN {} replaced is missing", key->lsn));
        if (record->previous_lsn < from) continue;
        TRY(const auto next,
            view_.get(Family::kImages,
                      storage::keys::image_next(identity_.id, record->previous_lsn, key->docref)));
        const auto lsn = next ? decode_lsn_note(*next) : Result<storage::Lsn>(storage::Lsn{0});
        if (!lsn.ok() || *lsn != key->lsn)
            report(record->id, fmt::format("its version {} does not say that LSN {} replaced it",
                                           record->previous_lsn, key->lsn));
    }
    return cursor->status().clone();
}

Status Checker::check_ttl() {
    SetSum found;
    const auto cursor = scan(Family::kTtl);
    for (; cursor->valid(); cursor->next()) {
        add(found, cursor->key());
        if (ttl_complete_) continue;
        // While TTL is off or being filled, entries may be missing, but none may be wrong.
        const auto key = storage::keys::decode_ttl(cursor->key());
        if (!key) {
            report("", "malformed key in ttl: " + hex_encode_upper(cursor->key()));
            continue;
        }
        TRY(const std::optional<std::string> item,
            view_.get(Family::kItems, storage::keys::item(identity_.id, key->docref)));
        if (!item) {
            report("", "a TTL entry names an item that is not there");
            continue;
        }
        TRY(const json::Document document, json::decode_document(*item));
        if (ttl_position(document.header.ts, document.header.own_ttl) !=
            TtlPosition{key->kind, key->when})
            report("", "a TTL entry does not fit its item");
    }
    TRY_STATUS(cursor->status());
    if (ttl_complete_ && found != ttl_)
        report("",
               fmt::format(
                   "the TTL index has {} entries and does not agree with the items, which have {}",
                   found.count, ttl_.count));
    return {};
}

Status Checker::check_index() {
    SetSum found;
    const auto cursor = scan(Family::kIndex);
    for (; cursor->valid(); cursor->next())
        add(found, with_flag(cursor->key(), !cursor->value().empty()));
    TRY_STATUS(cursor->status());
    if (found == index_) return {};
    report("",
           fmt::format("the index has {} entries and does not agree with the items, which have {}",
                       found.count, index_.count));
    return name_index_findings();
}

/// The slow way, which names the entries: compares each item with the index and each entry with its
/// item.
Status Checker::name_index_findings() {
    const auto items = scan(Family::kItems);
    for (; items->valid() && findings_.size() < kFindingsMax; items->next()) {
        const auto key = storage::keys::decode_item(items->key());
        auto document = json::decode_document(items->value());
        if (!key || !document.ok()) continue;
        json::Arena arena;
        const auto found = document->id(arena);
        if (!found.ok()) continue;
        const std::string_view id = *found;
        TRY(const std::optional<IdEntry> entry,
            read_id_entry(reader_, storage::keys::id(identity_.id, document->header.epk,
                                                     storage::IdKind::kItem, id)));
        TRY(const ItemVersionPtr version,
            version_of_document(settings_, std::make_shared<std::string>(items->value()),
                                key->docref, entry ? entry->directive : IndexingDirective::kDefault,
                                true));
        if (is_uncertain(*version)) continue;
        Status status;
        size_t missing = 0;
        index_entries(*version, [&](const std::string& term_key, bool partial) {
            auto value = view_.get(Family::kIndex, term_key);
            if (!value.ok())
                status = std::move(value).take_status();
            else if (!*value || (*value)->empty() == partial)
                ++missing;
        });
        TRY_STATUS(status.clone());
        if (missing != 0)
            report(id, fmt::format("{} of its index entries are missing or wrong", missing));
    }
    return items->status().clone();
}

Status Checker::check_counters() {
    TRY(const Count totals, view_.count(counter_keys::totals(identity_.id)));
    if (totals.items != totals_.items || totals.bytes != totals_.bytes)
        report("", fmt::format("the totals say {} items, {} bytes; there are {} items, {} bytes",
                               totals.items, totals.bytes, totals_.items, totals_.bytes));
    for (const auto& [epk, expected] : logical_) {
        TRY(const Count size, view_.count(counter_keys::logical_partition(identity_.id, epk)));
        if (size.items != expected.items || size.bytes != expected.bytes)
            report("", fmt::format("logical partition {}: the size says {} items, {} bytes; there "
                                   "are {} items, {} bytes",
                                   hex_encode_upper(epk), size.items, size.bytes, expected.items,
                                   expected.bytes));
    }
    return {};
}

}  // namespace

Status PartitionImpl::check(const storage::View& view, std::vector<std::string>& findings) {
    return Checker(identity_, state(), view, findings).run();
}

}  // namespace orrery::partition::detail
