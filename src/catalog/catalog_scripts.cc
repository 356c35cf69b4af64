// Stored procedures, triggers and user-defined functions.
#include <algorithm>

#include "base/errors.h"
#include "base/limits.h"
#include "base/script_errors.h"
#include "catalog/catalog_impl.h"
#include "catalog/names.h"

namespace orrery::catalog {
namespace {

struct TypeRules {
    std::string_view name;
    std::string_view plural;
    uint32_t count_max;
};
const TypeRules& rules_of(ChildType type) {
    static constexpr TypeRules kProcedure{"stored procedure", "stored procedures", 100};
    static constexpr TypeRules kTrigger{"trigger", "triggers", 25};
    static constexpr TypeRules kFunction{"user-defined function", "user-defined functions", 50};
    return type == ChildType::kTrigger ? kTrigger
           : type == ChildType::kUdf   ? kFunction
                                       : kProcedure;
}

Error missing(ChildType type) {
    return errors::resource_not_found("The " + std::string(rules_of(type).name) +
                                      " does not exist.");
}

/// Version and number are the caller's.
Result<records::Script> script_record(const ContainerRid& container, ChildType type,
                                      NewScript wanted) {
    TRY_STATUS(check_name(wanted.id));
    records::Script out;
    out.container = container;
    out.type = type;
    out.id = std::move(wanted.id);
    out.body = std::move(wanted.body);
    out.runs_after = wanted.runs_after;
    out.operation = wanted.operation;
    return out;
}

}  // namespace

ScriptPtr make_script(records::Script record) {
    auto out = std::make_shared<Script>();
    out->type = record.type;
    out->id = std::move(record.id);
    out->container = record.container;
    out->number = record.number;
    out->version = std::move(record.version);
    out->body = std::move(record.body);
    out->runs_after = record.runs_after;
    out->operation = record.operation;
    return out;
}

const ScriptNode* CatalogImpl::script_node(const ContainerRid& container, ChildType type,
                                           std::string_view name_or_rid) const {
    const DatabaseNode* database = state_.databases.find_number(container.database.number);
    if (database == nullptr) return nullptr;
    const auto nodes = database->scripts.find(container.number);
    if (nodes == database->scripts.end()) return nullptr;
    const Children<ScriptNode>& children = nodes->second.of(type);
    if (const ScriptNode* node = children.find(name_or_rid)) return node;
    const auto number = parse_child_rid(container, type, name_or_rid);
    return number ? children.find_number(*number) : nullptr;
}

ScriptPtr CatalogImpl::find_script(const ContainerRid& container, ChildType type,
                                   std::string_view script) const {
    std::shared_lock lock(mutex_);
    const ScriptNode* node = script_node(container, type, script);
    return node == nullptr ? nullptr : node->script;
}

Result<CatalogImpl::ScriptPlace> CatalogImpl::script_place(const ContainerRid& container) {
    ScriptPlace place;
    place.database = state_.databases.find_number(container.database.number);
    if (place.database == nullptr ||
        place.database->containers.find_number(container.number) == nullptr)
        return errors::owner_not_found("The container does not exist.");
    const auto nodes = place.database->scripts.find(container.number);
    if (nodes != place.database->scripts.end()) place.nodes = &nodes->second;
    return place;
}

Result<ScriptPtr> CatalogImpl::store_script(const ScriptPlace& place, records::Script record,
                                            const Script* before) {
    record.version = new_version();
    if (before != nullptr) {
        record.number = before->number;
    } else {
        // Numbers grow, also past those of scripts that are gone.
        const auto* last = place.nodes == nullptr || place.nodes->of(record.type).size() == 0
                               ? nullptr
                               : &*place.nodes->of(record.type).nodes().rbegin();
        record.number = std::max<uint64_t>(static_cast<uint64_t>(deps_.clock.wall_us()),
                                           last == nullptr ? 1 : last->first + 1);
    }
    MetaChange change;
    change.put(record);
    TRY_STATUS(commit(std::move(change)));
    const std::string before_id = before == nullptr ? std::string() : before->id;
    ScriptPtr after = make_script(std::move(record));
    std::unique_lock lock(mutex_);
    Children<ScriptNode>& children =
        place.database->scripts[after->container.number].of(after->type);
    if (before != nullptr) children.rename(after->number, before_id, after->id);
    children.add(after->number, after->id, {after});
    return after;
}

Result<Catalog::ScriptChange> CatalogImpl::create_script(const ContainerRid& container,
                                                         ChildType type, NewScript wanted,
                                                         Upsert upsert) {
    WriteLock write(write_mutex_);
    TRY(const ScriptPlace place, script_place(container));
    TRY(records::Script record, script_record(container, type, std::move(wanted)));
    ScriptPtr before;
    if (place.nodes != nullptr)
        if (const ScriptNode* node = place.nodes->of(type).find(record.id)) before = node->script;
    if (before != nullptr && upsert == Upsert::kNo) return errors::conflict();
    const TypeRules& rules = rules_of(type);
    if (before == nullptr && place.nodes != nullptr &&
        place.nodes->of(type).size() >= rules.count_max)
        return errors::too_many_scripts(rules.plural, rules.count_max);
    TRY(ScriptPtr stored, store_script(place, std::move(record), before.get()));
    return ScriptChange{std::move(stored), before == nullptr};
}

Result<ScriptPtr> CatalogImpl::replace_script(const ContainerRid& container, ChildType type,
                                              std::string_view script, NewScript wanted,
                                              std::string_view if_match) {
    WriteLock write(write_mutex_);
    TRY(const ScriptPlace place, script_place(container));
    const ScriptNode* node = script_node(container, type, script);
    if (node == nullptr) return missing(type);
    const ScriptPtr before = node->script;
    TRY(records::Script record, script_record(container, type, std::move(wanted)));
    TRY_STATUS(check_if_match(if_match, before->version.etag));
    if (record.id != before->id && place.nodes->of(type).find(record.id) != nullptr)
        return errors::conflict();
    return store_script(place, std::move(record), before.get());
}

Status CatalogImpl::delete_script(const ContainerRid& container, ChildType type,
                                  std::string_view script, std::string_view if_match) {
    WriteLock write(write_mutex_);
    auto place = script_place(container);
    if (!place.ok()) return std::move(place).take_status();
    const ScriptNode* node = script_node(container, type, script);
    if (node == nullptr) return Status(missing(type));
    const ScriptPtr gone = node->script;
    TRY_STATUS(check_if_match(if_match, gone->version.etag));
    MetaChange change;
    change.remove(records::key(records::Script{container, type, gone->number, {}, {}, {}, {}, {}}));
    TRY_STATUS(commit(std::move(change)));
    std::unique_lock lock(mutex_);
    place->nodes->of(type).erase(gone->number, gone->id);
    return {};
}

void CatalogImpl::remove_scripts(const ContainerRid& container, MetaChange& change) const {
    const DatabaseNode* database = state_.databases.find_number(container.database.number);
    const auto nodes = database->scripts.find(container.number);
    if (nodes == database->scripts.end()) return;
    for (const ChildType type : {ChildType::kProcedure, ChildType::kTrigger, ChildType::kUdf})
        for (const auto& [number, node] : nodes->second.of(type).nodes())
            change.remove(
                records::key(records::Script{container, type, number, {}, {}, {}, {}, {}}));
}

}  // namespace orrery::catalog
