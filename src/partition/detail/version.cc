#include "partition/detail/version.h"

#include "base/encoding.h"
#include "base/errors.h"
#include "base/random.h"
#include "json/document.h"
#include "json/parse.h"
#include "partition/client_item.h"
#include "partition/expiry.h"
#include "partition/unique_key.h"

namespace orrery::partition::detail {
namespace {

/// This thread's collector for the present policy (0) or a previous one, ready for the next item.
/// Kept as long as the settings stay the same.
index::TermCollector& collector_for(const SettingsStatePtr& state, size_t policy = 0) {
    struct Kept {
        SettingsStatePtr state;
        std::vector<index::TermCollector> collectors;
    };
    thread_local Kept kept;
    if (kept.state != state) {
        kept.collectors.clear();
        kept.state = state;
        kept.collectors.emplace_back((*state)->indexing, (*state)->path_key);
        for (const auto& previous : (*state)->previous)
            kept.collectors.emplace_back(*previous, (*state)->path_key);
    }
    kept.collectors[policy].reset();
    return kept.collectors[policy];
}

/// What `version` may have in the index goes unless `after` has it too; all of `after` comes.
/// `entries_of` adds a term set's entries to a map.
template <typename EntriesOf>
void append_uncertain_changes(storage::PartitionId partition, const ItemVersion& before,
                              const ItemVersion* after, storage::IndexDelta& delta,
                              const EntriesOf& entries_of) {
    EntryMap gone;
    EntryMap come;
    entries_of(before.terms, before.ts, gone);
    for (const index::TermSet& terms : before.previous_terms) entries_of(terms, before.ts, gone);
    if (after != nullptr) entries_of(after->terms, after->ts, come);
    const auto key = [&](std::string_view entry, const storage::Docref& docref) {
        return storage::keys::partition(partition).append(entry).append(docref.bytes());
    };
    const bool same = after != nullptr && before.docref == after->docref;
    for (const auto& [entry, partial] : gone)
        if (!same || !come.contains(entry)) delta.remove(key(entry, before.docref));
    for (const auto& [entry, partial] : come) delta.add(key(entry, after->docref), partial);
    delta.may_repeat();
}

void add_plain_entries(const index::TermSet& terms, int64_t, EntryMap& entries) {
    for (const auto& entry : terms.entries())
        entries[std::string(terms.bytes(entry))] = entry.partial;
}
void add_ts_entries(const index::TermSet& terms, int64_t ts, EntryMap& entries) {
    for (size_t i = 0; i < terms.ts_entry_count(); ++i)
        entries[terms.ts_entry(i, ts)] = terms.ts_entry_partial(i);
}

Status damaged(std::string_view what) {
    return Status(errors::internal("Stored data is damaged: " + std::string(what) +
                                   ". Run `orrery check` on the data folder."));
}

Status find_expiry(const ContainerSettings& settings, const json::Document& written,
                   ItemVersion& version) {
    json::Arena arena;
    TRY(const auto values, written.values_at({settings.expiry->path}, arena));
    if (const auto time = time_of(values.front(), settings.dialect()))
        version.expires_at = *time + settings.expiry->seconds;
    return {};
}

}  // namespace

SettingsStatePtr make_settings_state(ContainerSettingsPtr settings) {
    auto state = std::make_shared<SettingsState>();
    state->unindexed = index::unindexed_terms(settings->indexing, settings->path_key);
    for (const auto& previous : settings->previous)
        state->previous_unindexed.push_back(index::unindexed_terms(*previous, settings->path_key));
    state->settings = std::move(settings);
    return state;
}

void add_entries(const index::TermSet& terms, int64_t ts, EntryMap& entries) {
    add_plain_entries(terms, ts, entries);
    add_ts_entries(terms, ts, entries);
}

std::string ItemVersion::etag() const {
    return json::etag_text(etag_nonce, lsn);
}

Result<ItemVersionPtr> version_of_body(const SettingsStatePtr& state, std::string_view body,
                                       const BodyRules& rules, std::string& id) {
    const ContainerSettings& settings = **state;
    const bool beside = !json::rules(settings.dialect()).reserves_members;
    if (beside && id.empty()) return errors::missing_property("id");
    json::ItemRules item_rules;
    item_rules.dialect = settings.dialect();
    if (rules.check_key) item_rules.partition_key_paths = &settings.key.member_paths;
    const bool indexed = state->indexed(rules.directive);
    index::TermCollector* collector = indexed ? &collector_for(state) : nullptr;
    TRY(json::IncomingItem item, json::read_item(body, item_rules, collector));
    if (rules.check_key) {
        TRY(const std::string epk, effective_partition_key(settings.key, item.partition_key));
        if (epk != rules.epk) return errors::partition_key_mismatch();
    }
    auto version = std::make_shared<ItemVersion>();
    if (beside) {
        version->own_ttl = rules.own_ttl;
    } else if (!settings.expiry) {
        TRY(version->own_ttl, own_ttl_of(item.ttl, settings.default_ttl));
    }
    version->etag_nonce = random_u64();
    version->directive = rules.directive;
    version->indexed = indexed;
    version->text_bytes = item.text.size();
    json::DocumentHeader header;
    header.etag_nonce = version->etag_nonce;
    header.own_ttl = version->own_ttl;
    header.epk = rules.epk;
    header.dialect = settings.dialect();
    header.client_time = rules.client_time;
    if (beside) header.id = id;
    auto document = std::make_shared<std::string>(json::encode_document(header, item.text));
    TRY(const json::Document written, json::decode_document(*document));
    if (indexed) {
        TRY_STATUS(collector->add_computed(written));
        version->terms = collector->take();
    } else {
        version->terms = state->unindexed;
    }
    TRY(version->unique_names, unique_key_names(settings.unique_keys, written));
    if (settings.expiry) TRY_STATUS(find_expiry(settings, written, *version));
    version->unstamped = document.get();
    version->document = std::move(document);
    if (!beside) id = std::move(item.id);
    return version;
}

Result<ItemVersionPtr> version_of_document(const SettingsStatePtr& state,
                                           std::shared_ptr<const std::string> document,
                                           const storage::Docref& docref,
                                           IndexingDirective directive, bool with_terms) {
    TRY(const json::Document view, json::decode_document(*document));
    auto version = std::make_shared<ItemVersion>();
    version->docref = docref;
    version->lsn = view.header.lsn;
    version->ts = view.header.ts;
    version->etag_nonce = view.header.etag_nonce;
    version->own_ttl = view.header.own_ttl;
    version->directive = directive;
    version->indexed = state->indexed(directive);
    version->text_bytes = view.text_bytes();
    version->document = std::move(document);
    if (with_terms) TRY_STATUS(add_terms(state, *version));
    return version;
}

Status add_terms(const SettingsStatePtr& state, ItemVersion& version) {
    TRY(const json::Document view, json::decode_document(*version.document));
    const auto collect = [&](bool indexed, const index::TermSet& unindexed, size_t policy,
                             index::TermSet& out) -> Status {
        out = unindexed;
        if (!indexed) return {};
        index::TermCollector& collector = collector_for(state, policy);
        TRY_STATUS(view.walk(collector));
        TRY_STATUS(collector.add_computed(view));
        out = collector.take();
        return {};
    };
    TRY_STATUS(collect(version.indexed, state->unindexed, 0, version.terms));
    version.previous_terms.resize((*state)->previous.size());
    for (size_t i = 0; i < version.previous_terms.size(); ++i) {
        const bool indexed = index::item_is_indexed(*(*state)->previous[i], version.directive);
        TRY_STATUS(
            collect(indexed, state->previous_unindexed[i], i + 1, version.previous_terms[i]));
    }
    TRY(version.unique_names, unique_key_names((*state)->unique_keys, view));
    return {};
}

void append_index_changes(storage::PartitionId partition, const ItemVersion* before,
                          const ItemVersion* after, storage::IndexDelta& delta) {
    static const index::TermSet kNone;
    if (before != nullptr && !before->previous_terms.empty()) {
        append_uncertain_changes(partition, *before, after, delta, add_plain_entries);
        return;
    }
    if (before != nullptr && after != nullptr && before->docref == after->docref) {
        index::append_changes(before->terms, after->terms, partition, after->docref, delta);
        return;
    }
    if (before != nullptr)
        index::append_changes(before->terms, kNone, partition, before->docref, delta);
    if (after != nullptr)
        index::append_changes(kNone, after->terms, partition, after->docref, delta);
}

void append_ts_changes(storage::PartitionId partition, const ItemVersion* before,
                       const ItemVersion* after, storage::IndexDelta& delta) {
    static const index::TermSet kNone;
    if (before != nullptr && !before->previous_terms.empty()) {
        append_uncertain_changes(partition, *before, after, delta, add_ts_entries);
        return;
    }
    const auto change = [&](const ItemVersion* old, const ItemVersion* now,
                            const storage::Docref& docref) {
        index::append_ts_changes(old != nullptr ? old->terms : kNone, old != nullptr ? old->ts : 0,
                                 now != nullptr ? now->terms : kNone, now != nullptr ? now->ts : 0,
                                 partition, docref, delta);
    };
    if (before != nullptr && after != nullptr && before->docref == after->docref) {
        change(before, after, after->docref);
        return;
    }
    if (before != nullptr) change(before, nullptr, before->docref);
    if (after != nullptr) change(nullptr, after, after->docref);
}

ChargedChange append_replace(storage::PartitionId partition, const ItemVersion& before,
                             const ItemVersion& after, storage::IndexDelta& delta) {
    DCHECK(before.docref == after.docref);
    storage::IndexDelta unused;
    const bool uncertain = !before.previous_terms.empty();
    const index::TermChange terms = index::append_changes(before.terms, after.terms, partition,
                                                          after.docref, uncertain ? unused : delta);
    if (uncertain) append_index_changes(partition, &before, &after, delta);
    ChargedChange change{2 * terms.pairs_removed + terms.cells_removed,
                         2 * terms.pairs_added + terms.cells_added};
    for (size_t i = 0; i < after.unique_names.size(); ++i) {
        const bool kept =
            before.indexed && after.indexed && before.unique_names[i] == after.unique_names[i];
        if (kept) continue;
        if (before.indexed) ++change.removed;
        if (after.indexed) ++change.added;
    }
    return change;
}

Result<IndexFill> read_index_fill(Reader& reader, storage::PartitionId partition, uint64_t change) {
    TRY(const std::optional<std::string> bytes,
        reader.get(storage::Family::kMeta, meta_keys::index_fill(partition)));
    IndexFill fill;
    if (bytes) {
        TRY(fill, decode_index_fill(*bytes));
    }
    if (fill.change != change) fill = {};
    fill.change = change;
    return fill;
}

Result<std::optional<IdEntry>> read_id_entry(Reader& reader, std::string_view id_key) {
    TRY(const std::optional<std::string> bytes, reader.get(storage::Family::kIds, id_key));
    if (!bytes) return std::optional<IdEntry>();
    TRY(const IdEntry entry, decode_id_entry(*bytes));
    return std::optional<IdEntry>(entry);
}

Result<ItemVersionPtr> read_version(Reader& reader, const SettingsStatePtr& state,
                                    storage::PartitionId partition, const IdEntry& entry,
                                    bool with_terms) {
    TRY(std::optional<std::string> bytes,
        reader.get(storage::Family::kItems, storage::keys::item(partition, entry.docref)));
    if (!bytes) return damaged("an id entry names an item that is not there");
    TRY(ItemVersionPtr version,
        version_of_document(state, std::make_shared<std::string>(std::move(*bytes)), entry.docref,
                            entry.directive, with_terms));
    if (version->lsn != entry.lsn)
        return damaged("an id entry and its item are of different versions");
    return version;
}

Result<json::Value> client_view(const ContainerSettings& settings, const ItemVersion& version,
                                json::Arena& arena) {
    TRY(const json::Document document, json::decode_document(*version.document));
    std::string text;
    ItemWriter(settings).append(text, document, version.docref);
    json::ParseOptions options;
    options.refuse_duplicate_names = false;
    return json::parse(text, arena, options);
}

}  // namespace orrery::partition::detail
