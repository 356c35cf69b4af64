#include "engine/resource_token.h"

#include "base/bytes.h"
#include "base/encoding.h"
#include "base/errors.h"
#include "partition/partition_key.h"

namespace orrery::engine {
namespace {

constexpr uint8_t kVersion = 1;
constexpr std::string_view kPrefix = "type=resource&ver=1.0&sig=";

/// A permission's resource link in parts: dbs/{d}/colls/{c}[/docs/{id} or /sprocs/{id}], by names
/// or rids.
struct Link {
    std::string database;
    std::string container;
    std::string item;
    std::string procedure;
};

std::optional<Link> split_link(std::string_view text) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const size_t slash = text.find('/');
        const auto part = text.substr(0, slash);
        if (!part.empty()) parts.push_back(part);
        if (slash == std::string_view::npos) break;
        text.remove_prefix(slash + 1);
    }
    if (parts.size() < 4 || parts[0] != "dbs" || parts[2] != "colls") return std::nullopt;
    Link link{std::string(parts[1]), std::string(parts[3]), {}, {}};
    if (parts.size() == 6 && parts[4] == "docs") link.item = parts[5];
    if (parts.size() == 6 && parts[4] == "sprocs") link.procedure = parts[5];
    if (parts.size() != 4 && link.item.empty() && link.procedure.empty()) return std::nullopt;
    return link;
}

/// What a permission's link stands for. Links are taken as they are, else percent-decoded, as
/// clients write both.
struct Resolved {
    catalog::ContainerPtr container;  ///< null: does not exist
    std::string item;
    bool by_rid = false;
    catalog::ScriptPtr procedure;  ///< null: none was named, or it does not exist
};

Resolved resolve(const catalog::Catalog& catalog, const Link& link) {
    const auto decoded = [](const std::string& text) {
        return percent_decode(text).value_or(text);
    };
    Resolved resolved;
    resolved.container = catalog.find_container(link.database, link.container);
    resolved.item = link.item;
    if (resolved.container == nullptr) {
        resolved.container =
            catalog.find_container(decoded(link.database), decoded(link.container));
        resolved.item = decoded(link.item);
    }
    if (resolved.container != nullptr)
        resolved.by_rid = resolved.container->id != link.container &&
                          resolved.container->rid_text == link.container;
    if (resolved.container != nullptr && !link.procedure.empty()) {
        const auto find = [&](std::string_view name) {
            return catalog.find_script(resolved.container->rid, catalog::ChildType::kProcedure,
                                       name);
        };
        resolved.procedure = find(link.procedure);
        if (resolved.procedure == nullptr) resolved.procedure = find(decoded(link.procedure));
    }
    return resolved;
}

}  // namespace

ResourceTokens::ResourceTokens(const catalog::Catalog& catalog, const Clock& clock)
    : catalog_(catalog), clock_(clock), key_("resource-token:" + catalog.signing_secret()) {}

Status ResourceTokens::check_resource(std::string_view link_text) const {
    const auto link = split_link(link_text);
    if (!link || link->item.empty()) return {};
    const auto resolved = resolve(catalog_, *link);
    if (resolved.container == nullptr || !resolved.by_rid ||
        !parse_item_rid(resolved.container->rid, resolved.item))
        return {};
    return Status(
        errors::not_supported("A permission on an item by its _self link",
                              "Name the item by its id: dbs/{db}/colls/{container}/docs/{id}."));
}

Result<std::string> ResourceTokens::issue(const catalog::Permission& permission,
                                          int64_t lifetime_seconds) const {
    const auto link = split_link(permission.resource);
    if (!link)
        return errors::bad_request("The permission's resource '" + permission.resource +
                                   "' is not a container, an item or a stored procedure, so no "
                                   "token can be issued for it.");
    const auto container = resolve(catalog_, *link).container;
    if (container == nullptr)
        return errors::resource_not_found("The permission's container does not exist.");

    std::string payload;
    payload.push_back(static_cast<char>(kVersion));
    append_u64_le(payload, static_cast<uint64_t>(clock_.wall_seconds() + lifetime_seconds));
    append_bytes(payload, permission.user->database->id);
    append_bytes(payload, permission.user->id);
    append_bytes(payload, permission.id);
    append_bytes(payload, permission.version.etag);
    append_bytes(payload, container->rid_text);
    const std::string payload_text = base64_encode(payload);
    return std::string(kPrefix) + key_.sign_text(payload_text) + ";" + payload_text + ";";
}

Result<Principal> ResourceTokens::verify(std::string_view token) const {
    const auto forged = [] {
        return errors::unauthorized(
            "The resource token is not one that this server issued, or it was altered.");
    };
    if (!token.starts_with(kPrefix)) return forged();
    token.remove_prefix(kPrefix.size());
    const size_t split = token.find(';');
    if (split == std::string_view::npos || !token.ends_with(';') || split + 1 >= token.size())
        return forged();
    const auto signature = token.substr(0, split);
    const auto payload_text = token.substr(split + 1, token.size() - split - 2);
    if (!equal_constant_time(signature, key_.sign_text(payload_text))) return forged();

    const auto payload = base64_decode(payload_text);
    if (!payload) return forged();
    ByteReader reader(*payload);
    const uint8_t version = reader.u8();
    const auto expires = static_cast<int64_t>(reader.u64_le());
    const auto database = reader.bytes();
    const auto user = reader.bytes();
    const auto permission_id = reader.bytes();
    const auto etag = reader.bytes();
    const auto container_rid = reader.bytes();
    if (!reader.ok() || version != kVersion) return forged();

    if (clock_.wall_seconds() >= expires)
        return errors::forbidden(
            "The resource token has expired. Read the permission again for a fresh one.");
    const auto permission = catalog_.find_permission(database, user, permission_id);
    if (permission == nullptr || permission->version.etag != etag)
        return errors::forbidden(
            "The permission behind the resource token was deleted or changed.");
    const auto link = split_link(permission->resource);
    const auto [container, item, by_rid, procedure] = link ? resolve(catalog_, *link) : Resolved();
    if (container == nullptr || container->rid_text != container_rid)
        return errors::forbidden(
            "The container behind the resource token does not exist any more.");

    if (!link->procedure.empty() && procedure == nullptr)
        return errors::forbidden(
            "The stored procedure behind the resource token does not exist any more.");

    Principal principal;
    principal.kind = Principal::Kind::kToken;
    if (procedure != nullptr) principal.scope.script_rid = procedure->rid();
    principal.scope.container = container->rid;
    principal.scope.item_id = item;
    principal.scope.mode = permission->mode;
    if (!permission->partition_key.empty()) {
        json::Arena arena;
        TRY(const auto components,
            partition::parse_partition_key_header(permission->partition_key, arena));
        TRY(auto epk, partition::effective_partition_key(container->settings->key, components));
        principal.scope.epk = std::move(epk);
    }
    return principal;
}

}  // namespace orrery::engine
