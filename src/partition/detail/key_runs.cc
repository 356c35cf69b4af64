// Runs of one logical partition: the values that its items have at paths, in order.
#include "base/bytes.h"
#include "base/errors.h"
#include "index/terms.h"
#include "json/document.h"
#include "json/select.h"
#include "partition/detail/partition_impl.h"

namespace orrery::partition::detail {
namespace {

json::Value value_at(const json::Value& item, const json::MemberPath& path) {
    json::Value value = item;
    for (const std::string& name : path) value = value.member(name);
    return value;
}

}  // namespace

Result<std::vector<index::KeyRunPtr>> PartitionImpl::build_key_runs(
    const storage::View& view, std::string_view epk,
    const std::vector<std::vector<index::PathStep>>& paths) const {
    const ContainerSettingsPtr container = settings();
    std::vector<json::MemberPath> members;
    std::vector<index::KeyRunBuilder> builders;
    for (const auto& path : paths) {
        json::MemberPath names;
        for (const index::PathStep& step : path) names.push_back(step.name);
        members.push_back(std::move(names));
        builders.emplace_back(index::path_hash(container->path_key, path));
    }
    const json::Selection selection(members);
    const std::string prefix =
        storage::keys::partition(identity_.id) + docref_prefix(container->key, epk);
    const auto cursor = view.scan(storage::Family::kItems, prefix, prefix_successor(prefix));
    json::Arena arena;
    for (; cursor->valid(); cursor->next()) {
        const auto key = storage::keys::decode_item(cursor->key());
        if (!key) return errors::internal("Stored data is damaged: a malformed key of an item.");
        TRY(const auto document, json::decode_document(cursor->value()));
        // Keys share the first bytes of their hashes.
        if (document.header.epk != epk) continue;
        arena.clear();
        TRY(const json::Value item, document.select(selection, arena));
        for (size_t i = 0; i < paths.size(); ++i)
            builders[i].add(value_at(item, members[i]), key->docref);
    }
    TRY_STATUS(cursor->status());
    std::vector<index::KeyRunPtr> out;
    for (index::KeyRunBuilder& builder : builders) {
        out.push_back(builder.finish());
        deps_.cache.key_runs().offer({identity_.id, epk}, view.commit_number(), out.back());
    }
    return out;
}

Result<bool> PartitionImpl::owns_docref_prefix(const storage::View& view,
                                               std::string_view epk) const {
    constexpr size_t kPrefixBytes = 8;
    KeyRunCache& cache = deps_.cache.key_runs();
    if (cache.is_alone({identity_.id, epk}, view.commit_number())) return true;
    std::string begin = storage::keys::partition(identity_.id);
    append_delimited(begin, epk.substr(0, kPrefixBytes));
    begin.resize(begin.size() - 2);  // without the end mark
    const auto cursor = view.scan(storage::Family::kIds, begin, prefix_successor(begin));
    std::string own = storage::keys::partition(identity_.id);
    append_delimited(own, epk);
    if (cursor->valid()) {
        if (!cursor->key().starts_with(own)) return false;
        cursor->seek(prefix_successor(own));
    }
    if (cursor->valid()) return false;
    TRY_STATUS(cursor->status());
    cache.note_alone({identity_.id, epk}, view.commit_number());
    return true;
}

}  // namespace orrery::partition::detail
