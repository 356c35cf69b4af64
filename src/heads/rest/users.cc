// Users, permissions and the resource tokens that come with them.
#include <charconv>

#include "base/errors.h"
#include "base/limits.h"
#include "heads/rest/bodies/resource_bodies.h"
#include "heads/rest/bodies/resource_json.h"
#include "heads/rest/handlers.h"
#include "heads/rest/resource_feed.h"

namespace orrery::rest {
namespace {

using catalog::Catalog;
using engine::Operation;

/// The permission with a fresh token; one whose resource is gone is shown without.
Result<std::string> with_token(const Call& call, const catalog::Permission& permission) {
    TRY(const int64_t lifetime, token_lifetime(call.headers));
    const auto token = call.session.issue_token(permission, lifetime);
    return permission_json(permission, token.ok() ? token.value() : std::string());
}

Status check_resource(const Call& call, const json::Value& body) {
    const json::Value resource = body.member("resource");
    if (!resource.is_string()) return {};  // read_permission_body() words that refusal
    return call.session.check_token_resource(resource.as_string());
}

Result<Catalog::Upsert> upsert_mode(const Call& call) {
    TRY(const bool upsert, call.headers.boolean(HeaderName::kIsUpsert));
    return upsert ? Catalog::Upsert::kYes : Catalog::Upsert::kNo;
}

Result<catalog::UserPtr> find_user(const Call& call, const Catalog& catalog) {
    TRY(const auto database, find_database(call));
    auto user = catalog.find_user(database->id, call.route.ids[1]);
    if (user != nullptr) return user;
    const std::string what = "The user '" + call.route.ids[1] + "' does not exist.";
    if (call.route.type == ResourceType::kUser) return errors::resource_not_found(what);
    return errors::owner_not_found(what);
}

Status create_user(const CallPtr& call) {
    TRY(auto* catalog, call->session.change(*call, Operation::kCreateUser));
    TRY(const auto database, find_database(*call));
    TRY(const auto body, parse_body(*call));
    TRY(const auto upsert, upsert_mode(*call));
    TRY(std::string id, read_user_body(body->value));
    TRY(const auto change, catalog->create_user(database->id, std::move(id), upsert));
    reply(call, plain_answer(change.created ? 201 : 200, change.user->version.etag),
          user_json(*change.user));
    return {};
}

Status list_users(const CallPtr& call) {
    TRY(const auto* catalog, call->session.look_up(*call, Operation::kReadUsers));
    TRY(const auto database, find_database(*call));
    const auto list = [&](const catalog::ListingRequest& page) {
        return catalog->list_users(*database, page);
    };
    const auto text = [](const catalog::User& user) -> Result<std::string> {
        return user_json(user);
    };
    const std::string rid = database->rid.text();
    return is_query(*call) ? reply_listing_query(call, rid, "Users", list, text)
                           : reply_listing(call, rid, "Users", list, text);
}

Status read_user(const CallPtr& call) {
    TRY(const auto* catalog, call->session.look_up(*call, Operation::kReadUsers));
    TRY(const auto user, find_user(*call, *catalog));
    reply(call, plain_answer(200, user->version.etag), user_json(*user));
    return {};
}

Status replace_user(const CallPtr& call) {
    TRY(auto* catalog, call->session.change(*call, Operation::kReplaceUser));
    TRY(const auto user, find_user(*call, *catalog));
    TRY(const auto body, parse_body(*call));
    TRY(std::string id, read_user_body(body->value));
    TRY(const auto replaced, catalog->replace_user(user->database->id, user->id, std::move(id),
                                                   unquoted(call->headers[HeaderName::kIfMatch])));
    reply(call, plain_answer(200, replaced->version.etag), user_json(*replaced));
    return {};
}

Status delete_user(const CallPtr& call) {
    TRY(auto* catalog, call->session.change(*call, Operation::kDeleteUser));
    TRY(const auto user, find_user(*call, *catalog));
    TRY_STATUS(catalog->delete_user(user->database->id, user->id,
                                    unquoted(call->headers[HeaderName::kIfMatch])));
    reply(call, plain_answer(204), "");
    return {};
}

Status create_permission(const CallPtr& call) {
    TRY(auto* catalog, call->session.change(*call, Operation::kCreatePermission));
    TRY(const auto user, find_user(*call, *catalog));
    TRY_STATUS(token_lifetime(call->headers).status().clone());
    TRY(const auto body, parse_body(*call));
    TRY_STATUS(check_resource(*call, body->value));
    TRY(const auto upsert, upsert_mode(*call));
    TRY(auto wanted, read_permission_body(body->value));
    TRY(const auto change,
        catalog->create_permission(user->database->id, user->id, std::move(wanted), upsert));
    TRY(auto text, with_token(*call, *change.permission));
    reply(call, plain_answer(change.created ? 201 : 200, change.permission->version.etag),
          std::move(text));
    return {};
}

Status list_permissions(const CallPtr& call) {
    TRY(const auto* catalog, call->session.look_up(*call, Operation::kReadPermissions));
    TRY(const auto user, find_user(*call, *catalog));
    const auto list = [&](const catalog::ListingRequest& page) {
        return catalog->list_permissions(*user, page);
    };
    const auto text = [&](const catalog::Permission& permission) {
        return with_token(*call, permission);
    };
    const std::string rid = user->rid.text();
    return is_query(*call) ? reply_listing_query(call, rid, "Permissions", list, text)
                           : reply_listing(call, rid, "Permissions", list, text);
}

/// The permission that the path names.
Result<catalog::PermissionPtr> find_permission(const Call& call, const Catalog& catalog) {
    TRY(const auto user, find_user(call, catalog));
    const std::string& id = call.route.ids[2];
    auto permission = catalog.find_permission(user->database->id, user->id, id);
    if (permission != nullptr) return permission;
    return errors::resource_not_found("The permission '" + id + "' does not exist.");
}

Status read_permission(const CallPtr& call) {
    TRY(const auto* catalog, call->session.look_up(*call, Operation::kReadPermissions));
    TRY(const auto permission, find_permission(*call, *catalog));
    TRY(auto text, with_token(*call, *permission));
    reply(call, plain_answer(200, permission->version.etag), std::move(text));
    return {};
}

Status replace_permission(const CallPtr& call) {
    TRY(auto* catalog, call->session.change(*call, Operation::kReplacePermission));
    TRY(const auto permission, find_permission(*call, *catalog));
    TRY_STATUS(token_lifetime(call->headers).status().clone());
    TRY(const auto body, parse_body(*call));
    TRY_STATUS(check_resource(*call, body->value));
    TRY(auto wanted, read_permission_body(body->value));
    TRY(const auto replaced,
        catalog->replace_permission(permission->user->database->id, permission->user->id,
                                    permission->id, std::move(wanted),
                                    unquoted(call->headers[HeaderName::kIfMatch])));
    TRY(auto text, with_token(*call, *replaced));
    reply(call, plain_answer(200, replaced->version.etag), std::move(text));
    return {};
}

Status delete_permission(const CallPtr& call) {
    TRY(auto* catalog, call->session.change(*call, Operation::kDeletePermission));
    TRY(const auto permission, find_permission(*call, *catalog));
    TRY_STATUS(catalog->delete_permission(permission->user->database->id, permission->user->id,
                                          permission->id,
                                          unquoted(call->headers[HeaderName::kIfMatch])));
    reply(call, plain_answer(204), "");
    return {};
}

using Handler = Status (*)(const CallPtr&);

/// What can be done to the resources of a feed.
struct Handlers {
    std::string_view what;
    Handler create, list, read, replace, remove;
};

void dispatch(const CallPtr& call, const Handlers& handlers) {
    const auto method = call->request().method;
    Handler handler = nullptr;
    if (call->route.feed) {
        if (method == "GET" || is_query(*call))
            handler = handlers.list;
        else if (method == "POST")
            handler = handlers.create;
    } else {
        if (is_read(*call)) handler = handlers.read;
        if (method == "PUT") handler = handlers.replace;
        if (method == "DELETE") handler = handlers.remove;
    }
    if (handler == nullptr) return reply_error(call, method_not_allowed(method, handlers.what));
    on_worker(call, [call, handler] { return handler(call); });
}

}  // namespace

Result<int64_t> token_lifetime(const RequestHeaders& headers) {
    const auto text = headers[HeaderName::kExpirySeconds];
    if (text.empty()) return limits::kResourceTokenSecondsDefault;
    int64_t seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc() || end != text.data() + text.size() ||
        seconds < limits::kResourceTokenSecondsMin || seconds > limits::kResourceTokenSecondsMax)
        return bad_header("x-ms-documentdb-expiry-seconds", text, "10 to 86400 seconds");
    return seconds;
}

void handle_users(const CallPtr& call) {
    dispatch(call, {"users", create_user, list_users, read_user, replace_user, delete_user});
}

void handle_permissions(const CallPtr& call) {
    dispatch(call, {"permissions", create_permission, list_permissions, read_permission,
                    replace_permission, delete_permission});
}

}  // namespace orrery::rest
