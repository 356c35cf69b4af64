#include "partition/detail/version.h"

#include "base/encoding.h"
#include "base/errors.h"
#include "base/random.h"
#include "json/document.h"
#include "json/parse.h"
#include "partition/expiry.h"
#include "partition/unique_key.h"

namespace orrery::partition::detail {
namespace {

/// This thread's collector, ready for the next item. Kept as long as the settings stay the same.
index::TermCollector& collector_for(const SettingsStatePtr& state) {
    struct Kept {
        SettingsStatePtr state;
        std::optional<index::TermCollector> collector;
    };
    thread_local Kept kept;
    if (kept.state != state) {
        kept.collector.reset();
        kept.state = state;
        kept.collector.emplace((*state)->indexing, (*state)->path_key);
    }
    kept.collector->reset();
    return *kept.collector;
}

Status damaged(std::string_view what) {
    return Status(errors::internal("Stored data is damaged: " + std::string(what) +
                                   ". Run `orrery check` on the data folder."));
}

}  // namespace

bool SettingsState::indexed(IndexingDirective directive) const {
    if (settings->indexing.mode == index::IndexingMode::kNone) return false;
    if (directive == IndexingDirective::kDefault) return settings->indexing.automatic;
    return directive == IndexingDirective::kInclude;
}

SettingsStatePtr make_settings_state(storage::PartitionId partition,
                                     ContainerSettingsPtr settings) {
    auto state = std::make_shared<SettingsState>();
    state->settings = std::move(settings);
    state->ts_prefix = storage::keys::index_path(
        partition, index::path_hash((*state)->path_key,
                                    {index::PathStep{.any_element = false, .name = "_ts"}}));
    state->indexed_by_default = state->indexed(IndexingDirective::kDefault);
    return state;
}

std::string ItemVersion::etag() const {
    return json::etag_text(etag_nonce, lsn);
}

Result<ItemVersionPtr> version_of_body(const SettingsStatePtr& state, std::string_view body,
                                       const BodyRules& rules, std::string& id) {
    const ContainerSettings& settings = **state;
    json::ItemRules item_rules;
    if (rules.check_key) item_rules.partition_key_paths = &settings.key.member_paths;
    index::TermCollector* collector = rules.indexed ? &collector_for(state) : nullptr;
    TRY(json::IncomingItem item, json::read_item(body, item_rules, collector));
    if (rules.check_key) {
        TRY(const std::string epk, effective_partition_key(settings.key, item.partition_key));
        if (epk != rules.epk) return errors::partition_key_mismatch();
    }
    auto version = std::make_shared<ItemVersion>();
    TRY(version->own_ttl, own_ttl_of(item.ttl, settings.default_ttl));
    version->etag_nonce = random_u64();
    version->indexed = rules.indexed;
    version->text_bytes = item.text.size();
    if (collector != nullptr) version->terms = collector->take();
    TRY(version->unique_names, unique_key_names(settings.unique_keys, item.text));
    const json::DocumentHeader header{
        .etag_nonce = version->etag_nonce, .own_ttl = version->own_ttl, .epk = rules.epk};
    auto document = std::make_shared<std::string>(json::encode_document(header, item.text));
    version->unstamped = document.get();
    version->document = std::move(document);
    id = std::move(item.id);
    return version;
}

Result<ItemVersionPtr> version_of_document(const SettingsStatePtr& state,
                                           std::shared_ptr<const std::string> document,
                                           const storage::Docref& docref, bool indexed,
                                           bool with_terms) {
    TRY(const json::DocumentView view, json::decode_document(*document));
    auto version = std::make_shared<ItemVersion>();
    version->docref = docref;
    version->lsn = view.header.lsn;
    version->ts = view.header.ts;
    version->etag_nonce = view.header.etag_nonce;
    version->own_ttl = view.header.own_ttl;
    version->indexed = indexed;
    version->text_bytes = view.text.size();
    version->document = std::move(document);
    if (with_terms) TRY_STATUS(add_terms(state, *version));
    return version;
}

Status add_terms(const SettingsStatePtr& state, ItemVersion& version) {
    TRY(const json::DocumentView view, json::decode_document(*version.document));
    if (version.indexed) {
        index::TermCollector& collector = collector_for(state);
        TRY_STATUS(json::walk_item(view.text, collector));
        version.terms = collector.take();
    }
    TRY(version.unique_names, unique_key_names((*state)->unique_keys, view.text));
    return {};
}

void append_index_changes(storage::PartitionId partition, const ItemVersion* before,
                          const ItemVersion* after, storage::IndexDelta& delta) {
    static const index::TermSet kNone;
    if (before != nullptr && after != nullptr && before->docref == after->docref) {
        index::append_changes(before->terms, after->terms, partition, after->docref, delta);
        return;
    }
    if (before != nullptr)
        index::append_changes(before->terms, kNone, partition, before->docref, delta);
    if (after != nullptr)
        index::append_changes(kNone, after->terms, partition, after->docref, delta);
}

ChargedChange append_replace(storage::PartitionId partition, const ItemVersion& before,
                             const ItemVersion& after, storage::IndexDelta& delta) {
    DCHECK(before.docref == after.docref);
    const index::TermChange pairs =
        index::append_changes(before.terms, after.terms, partition, after.docref, delta);
    ChargedChange change{2 * pairs.pairs_removed, 2 * pairs.pairs_added};
    for (size_t i = 0; i < after.unique_names.size(); ++i) {
        const bool kept =
            before.indexed && after.indexed && before.unique_names[i] == after.unique_names[i];
        if (kept) continue;
        if (before.indexed) ++change.removed;
        if (after.indexed) ++change.added;
    }
    return change;
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
                            entry.indexed, with_terms));
    if (version->lsn != entry.lsn)
        return damaged("an id entry and its item are of different versions");
    return version;
}

Result<json::Value> client_view(const ContainerSettings& settings, const ItemVersion& version,
                                json::Arena& arena) {
    TRY(const json::DocumentView document, json::decode_document(*version.document));
    std::string rid;
    std::string self;
    if (settings.container_rid.size() == 8) {
        std::string bytes = settings.container_rid;
        append_u64_le(bytes, version.docref.item_number());
        rid = rid_encode(bytes);
        self = "dbs/" + rid_encode(settings.container_rid.substr(0, 4)) + "/colls/" +
               rid_encode(settings.container_rid) + "/docs/" + rid + "/";
    }
    const std::string etag = version.etag();
    std::string text;
    json::append_item(text, document.text,
                      {.rid = rid, .self = self, .etag = etag, .ts = version.ts, .lsn = {}});
    json::ParseOptions options;
    options.refuse_duplicate_names = false;
    return json::parse(text, arena, options);
}

}  // namespace orrery::partition::detail
