#include "partition/detail/unique_check.h"

#include "base/errors.h"
#include "partition/expiry.h"

namespace orrery::partition::detail {

using storage::Family;

std::string UniqueCheck::key(const std::string& name) const {
    return storage::keys::id(partition_, epk_, storage::IdKind::kUniqueKey, name);
}

Result<bool> UniqueCheck::apply(Reader& reader, const SettingsStatePtr& settings,
                                const std::vector<Slot>& slots, const UniqueStep& step,
                                int64_t now) {
    static const std::vector<std::string> kNone;
    const std::string& id = slots[step.slot].id;
    const auto& old_names = step.before != nullptr ? step.before->unique_names : kNone;
    const auto& new_names = step.after != nullptr ? step.after->unique_names : kNone;
    const auto unchanged = [&](size_t i) {
        return i < old_names.size() && i < new_names.size() && old_names[i] == new_names[i];
    };
    for (size_t i = 0; i < new_names.size(); ++i) {
        if (unchanged(i) && find_owner(new_names[i]) == nullptr) continue;
        TRY(const bool taken, is_taken(reader, settings, slots, new_names[i], id, now));
        if (taken) return false;
    }
    for (size_t i = 0; i < old_names.size(); ++i) {
        if (unchanged(i)) continue;
        // The values of an expired item may have been taken by an earlier operation of the batch.
        const std::optional<std::string>* owner = find_owner(old_names[i]);
        if (owner == nullptr || *owner == id) set_owner(old_names[i], std::nullopt);
    }
    for (size_t i = 0; i < new_names.size(); ++i)
        if (!unchanged(i) || find_owner(new_names[i]) != nullptr) set_owner(new_names[i], id);
    return true;
}

Result<bool> UniqueCheck::is_taken(Reader& reader, const SettingsStatePtr& settings,
                                   const std::vector<Slot>& slots, const std::string& name,
                                   const std::string& id, int64_t now) {
    if (const auto* owner = find_owner(name)) return owner->has_value() && **owner != id;
    TRY(const std::optional<std::string> bytes, reader.get(Family::kIds, key(name)));
    if (!bytes) return false;
    TRY(std::string owner, decode_unique_entry(*bytes));
    if (owner == id) return false;
    // An expired item holds no unique value; this commit removes it.
    for (const Slot& slot : slots) {
        if (slot.id != owner || !slot.written) continue;
        if (slot.live) return true;
        for (const std::string& lost : slot.base->unique_names) set_owner(lost, std::nullopt);
        return false;
    }
    for (const ExpiredOwner& expired : expired_owners_)
        if (expired.id == owner) return false;
    std::string id_key = storage::keys::id(partition_, epk_, storage::IdKind::kItem, owner);
    TRY(const std::optional<IdEntry> entry, read_id_entry(reader, id_key));
    if (!entry)
        return errors::internal(
            "Stored data is damaged: a unique key entry names an item that is not there.");
    if (!is_expired((*settings)->default_ttl, entry->ts, entry->own_ttl, now)) return true;
    TRY(ItemVersionPtr version, read_version(reader, settings, partition_, *entry, true));
    for (const std::string& lost : version->unique_names) set_owner(lost, std::nullopt);
    expired_owners_.push_back({std::move(owner), std::move(id_key), std::move(version)});
    return false;
}

std::optional<std::string>* UniqueCheck::find_owner(const std::string& name) {
    for (auto& [known, owner] : owners_)
        if (known == name) return &owner;
    return nullptr;
}

void UniqueCheck::set_owner(const std::string& name, std::optional<std::string> owner) {
    if (auto* known = find_owner(name))
        *known = std::move(owner);
    else
        owners_.emplace_back(name, std::move(owner));
}

}  // namespace orrery::partition::detail
