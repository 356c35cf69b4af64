#include "server/init_file.h"

#include <fstream>
#include <future>
#include <sstream>

#include "base/errors.h"
#include "heads/rest/bodies/container_body.h"
#include "heads/rest/bodies/resource_bodies.h"
#include "json/item.h"
#include "json/parse.h"
#include "json/write.h"
#include "partition/partition_key.h"

namespace orrery::server {
namespace {

/// The object without the members that belong to the file format, not to the resource.
json::Value without(const json::Value& object, std::initializer_list<std::string_view> names,
                    json::Arena& arena) {
    std::vector<json::Member> members;
    for (const auto& member : object.members()) {
        bool dropped = false;
        for (const auto name : names) dropped = dropped || member.name == name;
        if (!dropped) members.push_back(member);
    }
    return json::Value::object(arena.copy(std::span<const json::Member>(members)));
}

Result<catalog::ThroughputRequest> throughput_of(const json::Value& object,
                                                 const std::string& where) {
    catalog::ThroughputRequest request;
    const auto read = [&](std::string_view name, std::optional<int64_t>& out) -> Status {
        const json::Value value = object.member(name);
        if (value.is_undefined()) return {};
        if (!value.is_int64())
            return Status(
                errors::bad_request(where + ": '" + std::string(name) + "' must be an integer."));
        out = value.as_int64();
        return {};
    };
    TRY_STATUS(read("throughput", request.manual));
    TRY_STATUS(read("autoscaleMaxThroughput", request.autoscale_max));
    return request;
}

Result<std::string> text_id(const json::Value& object, const std::string& where) {
    const json::Value id = object.member("id");
    if (!id.is_string()) return errors::bad_request(where + " needs a string 'id'.");
    return std::string(id.as_string());
}

Status create_item(engine::Engine& engine, const catalog::ContainerPtr& container,
                   const json::Value& item, const std::string& where) {
    partition::Transaction transaction;
    const std::string text = json::to_text(item);
    json::ItemRules rules;
    rules.partition_key_paths = &container->settings->key.member_paths;
    TRY(const auto incoming, json::read_item(text, rules, nullptr));
    TRY(transaction.epk,
        partition::effective_partition_key(container->settings->key, incoming.partition_key));
    partition::ItemOperation operation;
    operation.kind = partition::OperationKind::kCreate;
    operation.body = text;
    transaction.operations.push_back(std::move(operation));
    std::promise<Status> done;
    engine::RequestTerms terms;
    terms.exempt = true;
    engine.execute(container, std::move(transaction), terms,
                   [&done](engine::TransactionAnswer answer) {
                       done.set_value(answer.result.results.front().status.clone());
                   });
    Status status = done.get_future().get();
    if (status.ok() || errors::is_duplicate(status.error().code)) return {};
    return Status(
        errors::bad_request(where + ", item '" + incoming.id + "': " + status.error().message));
}

Result<catalog::DatabasePtr> create_database(catalog::Catalog& catalog, const json::Value& body,
                                             const catalog::ThroughputRequest& throughput) {
    TRY(std::string id, rest::read_database_body(body));
    return catalog.create_database({std::move(id), throughput});
}

Result<catalog::ContainerPtr> create_container(catalog::Catalog& catalog,
                                               const std::string& database, const json::Value& body,
                                               const catalog::ThroughputRequest& throughput) {
    TRY(rest::ContainerBody wanted, rest::read_container_body(body, false));
    return catalog.create_container(
        database, {std::move(wanted.id), std::move(wanted.definition), throughput});
}

/// Ok when the resource was made now or was there before.
template <typename T>
Status made_or_there(const Result<T>& result, const std::string& where) {
    if (result.ok() || errors::is_duplicate(result.error().code)) return {};
    return Status(errors::bad_request(where + ": " + result.error().message));
}

Status apply_container(engine::Engine& engine, const std::string& database, const json::Value& spec,
                       json::Arena& arena) {
    TRY(const auto id, text_id(spec, "Each container of database '" + database + "'"));
    const std::string where = "Container '" + database + "/" + id + "'";
    auto& catalog = engine.catalog();
    if (catalog.find_container(database, id) == nullptr) {
        TRY(const auto throughput, throughput_of(spec, where));
        const auto body = without(spec, {"items", "throughput", "autoscaleMaxThroughput"}, arena);
        TRY_STATUS(made_or_there(create_container(catalog, database, body, throughput), where));
    }
    const auto container = catalog.find_container(database, id);
    if (container == nullptr)
        return Status(errors::internal(where + " vanished while the init file was applied."));
    const json::Value items = spec.member("items");
    if (items.is_undefined()) return {};
    if (!items.is_array())
        return Status(errors::bad_request(where + ": 'items' must be an array."));
    for (const auto& item : items.elements())
        TRY_STATUS(create_item(engine, container, item, where));
    return {};
}

}  // namespace

Status apply_init_file(const std::string& path, engine::Engine& engine) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    if (!file) return Status(errors::bad_request("The init file '" + path + "' cannot be read."));
    json::Arena arena;
    const std::string text = content.str();
    const auto root = json::parse(text, arena);
    if (!root.ok())
        return Status(errors::bad_request("The init file '" + path + "': " + root.error().message));
    const json::Value databases = root->member("databases");
    if (!databases.is_array())
        return Status(errors::bad_request("The init file '" + path +
                                          "' must be an object with an array 'databases'."));
    for (const auto& database : databases.elements()) {
        TRY(const auto id, text_id(database, "Each database of the init file"));
        const std::string where = "Database '" + id + "'";
        if (engine.catalog().find_database(id) == nullptr) {
            TRY(const auto throughput, throughput_of(database, where));
            const auto body =
                without(database, {"containers", "throughput", "autoscaleMaxThroughput"}, arena);
            TRY_STATUS(made_or_there(create_database(engine.catalog(), body, throughput), where));
        }
        const json::Value containers = database.member("containers");
        if (containers.is_undefined()) continue;
        if (!containers.is_array())
            return Status(errors::bad_request(where + ": 'containers' must be an array."));
        for (const auto& container : containers.elements())
            TRY_STATUS(apply_container(engine, id, container, arena));
    }
    return {};
}

}  // namespace orrery::server
