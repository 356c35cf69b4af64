// Stored procedures, triggers and user-defined functions.
#include <algorithm>
#include <array>

#include "base/encoding.h"
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

/// The body of a request, checked; version and number are the caller's.
Result<records::Script> read_script(const ContainerRid& container, ChildType type,
                                    const json::Value& body) {
    records::Script out;
    out.container = container;
    out.type = type;
    TRY(out.id, body_id(body));
    const json::Value text = body.member("body");
    if (is_absent(text)) return errors::missing_property("body");
    if (!text.is_string())
        return errors::bad_request(
            "The property 'body' of a script must be a string with JavaScript.");
    out.body = text.as_string();
    const std::string what = "A " + std::string(rules_of(type).name);
    if (type != ChildType::kTrigger) {
        TRY_STATUS(refuse_unknown(body, what, {"id", "body"}));
        return out;
    }
    TRY_STATUS(refuse_unknown(body, what, {"id", "body", "triggerType", "triggerOperation"}));
    const json::Value when = body.member("triggerType");
    if (is_absent(when)) return errors::missing_property("triggerType");
    const bool pre = when.is_string() && equals_ignore_case(when.as_string(), "Pre");
    if (!pre && !(when.is_string() && equals_ignore_case(when.as_string(), "Post")))
        return errors::bad_request(
            "The property 'triggerType' of the trigger must be 'Pre' or 'Post'.");
    out.runs_after = !pre;
    const json::Value operation = body.member("triggerOperation");
    if (is_absent(operation)) return errors::missing_property("triggerOperation");
    for (const TriggerOperation one :
         {TriggerOperation::kAll, TriggerOperation::kCreate, TriggerOperation::kUpdate,
          TriggerOperation::kDelete, TriggerOperation::kReplace}) {
        if (!operation.is_string() ||
            !equals_ignore_case(operation.as_string(), trigger_operation_name(one)))
            continue;
        out.operation = one;
        return out;
    }
    return errors::bad_request(
        "The property 'triggerOperation' of the trigger must be 'All', 'Create', 'Update', "
        "'Delete' or 'Replace'.");
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
                                                         ChildType type, const json::Value& body,
                                                         Upsert upsert) {
    WriteLock write(write_mutex_);
    TRY(const ScriptPlace place, script_place(container));
    TRY(records::Script record, read_script(container, type, body));
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
                                              std::string_view script, const json::Value& body,
                                              std::string_view if_match) {
    WriteLock write(write_mutex_);
    TRY(const ScriptPlace place, script_place(container));
    const ScriptNode* node = script_node(container, type, script);
    if (node == nullptr) return missing(type);
    const ScriptPtr before = node->script;
    TRY(records::Script record, read_script(container, type, body));
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
