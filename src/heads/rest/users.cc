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
using engine::Access;

/// The permission with a fresh token; one whose resource is gone is shown without.
Result<std::string> with_token(const Call& call, const catalog::Permission& permission) {
    TRY(const int64_t lifetime, token_lifetime(call.headers));
    const auto token = call.engine.tokens().issue(permission, lifetime);
    return permission_json(permission, token.ok() ? token.value() : std::string());
}

Status check_resource(const Call& call, const json::Value& body) {
    const json::Value resource = body.member("resource");
    if (!resource.is_string()) return {};  // read_permission_body() words that refusal
    return call.engine.tokens().check_resource(resource.as_string());
}

Result<Catalog::Upsert> upsert_mode(const Call& call) {
    TRY(const bool upsert, call.headers.boolean(HeaderName::kIsUpsert));
    return upsert ? Catalog::Upsert::kYes : Catalog::Upsert::kNo;
}

Result<catalog::UserPtr> find_user(const Call& call) {
    TRY(const auto database, find_database(call));
    auto user = call.engine.catalog().find_user(database->id, call.route.ids[1]);
    if (user != nullptr) return user;
    const std::string what = "The user '" + call.route.ids[1] + "' does not exist.";
    if (call.route.type == ResourceType::kUser) return errors::resource_not_found(what);
    return errors::owner_not_found(what);
}

Status user_feed(const CallPtr& call) {
    const auto method = call->request().method;
    auto& catalog = call->engine.catalog();
    TRY(const auto database, find_database(*call));
    if (method == "POST" && !is_query(*call)) {
        TRY(const auto body, parse_body(*call));
        TRY(const auto upsert, upsert_mode(*call));
        TRY(std::string id, read_user_body(body->value));
        TRY(const auto change, catalog.create_user(database->id, std::move(id), upsert));
        reply(call,
              plain_answer(change.created ? 201 : 200, meter::metadata_write(),
                           change.user->version.etag),
              user_json(*change.user));
        return {};
    }
    const auto list = [&](const catalog::ListingRequest& page) {
        return catalog.list_users(*database, page);
    };
    const auto text = [](const catalog::User& user) -> Result<std::string> {
        return user_json(user);
    };
    const std::string rid = database->rid.text();
    return method == "POST" ? reply_listing_query(call, rid, "Users", list, text)
                            : reply_listing(call, rid, "Users", list, text);
}

Status one_user(const CallPtr& call) {
    const auto method = call->request().method;
    auto& catalog = call->engine.catalog();
    TRY(const auto user, find_user(*call));
    const std::string if_match(unquoted(call->headers[HeaderName::kIfMatch]));
    if (is_read(*call)) {
        reply(call, plain_answer(200, meter::metadata_read(), user->version.etag),
              user_json(*user));
    } else if (method == "PUT") {
        TRY(const auto body, parse_body(*call));
        TRY(std::string id, read_user_body(body->value));
        TRY(const auto replaced,
            catalog.replace_user(user->database->id, user->id, std::move(id), if_match));
        reply(call, plain_answer(200, meter::metadata_write(), replaced->version.etag),
              user_json(*replaced));
    } else {
        TRY_STATUS(catalog.delete_user(user->database->id, user->id, if_match));
        reply(call, plain_answer(204, meter::metadata_write()), "");
    }
    return {};
}

Status permission_feed(const CallPtr& call) {
    const auto method = call->request().method;
    auto& catalog = call->engine.catalog();
    TRY(const auto user, find_user(*call));
    if (method == "POST" && !is_query(*call)) {
        TRY_STATUS(token_lifetime(call->headers).status().clone());
        TRY(const auto body, parse_body(*call));
        TRY_STATUS(check_resource(*call, body->value));
        TRY(const auto upsert, upsert_mode(*call));
        TRY(auto wanted, read_permission_body(body->value));
        TRY(const auto change,
            catalog.create_permission(user->database->id, user->id, std::move(wanted), upsert));
        TRY(auto text, with_token(*call, *change.permission));
        reply(call,
              plain_answer(change.created ? 201 : 200, meter::metadata_write(),
                           change.permission->version.etag),
              std::move(text));
        return {};
    }
    const auto list = [&](const catalog::ListingRequest& page) {
        return catalog.list_permissions(*user, page);
    };
    const auto text = [&](const catalog::Permission& permission) {
        return with_token(*call, permission);
    };
    const std::string rid = user->rid.text();
    return method == "POST" ? reply_listing_query(call, rid, "Permissions", list, text)
                            : reply_listing(call, rid, "Permissions", list, text);
}

Status one_permission(const CallPtr& call) {
    const auto method = call->request().method;
    auto& catalog = call->engine.catalog();
    TRY(const auto user, find_user(*call));
    const std::string database = user->database->id;
    const std::string& id = call->route.ids[2];
    const std::string if_match(unquoted(call->headers[HeaderName::kIfMatch]));
    const auto permission = catalog.find_permission(database, user->id, id);
    if (permission == nullptr)
        return Status(errors::resource_not_found("The permission '" + id + "' does not exist."));
    if (is_read(*call)) {
        TRY(auto text, with_token(*call, *permission));
        reply(call, plain_answer(200, meter::metadata_read(), permission->version.etag),
              std::move(text));
    } else if (method == "PUT") {
        TRY_STATUS(token_lifetime(call->headers).status().clone());
        TRY(const auto body, parse_body(*call));
        TRY_STATUS(check_resource(*call, body->value));
        TRY(auto wanted, read_permission_body(body->value));
        TRY(const auto replaced, catalog.replace_permission(database, user->id, permission->id,
                                                            std::move(wanted), if_match));
        TRY(auto text, with_token(*call, *replaced));
        reply(call, plain_answer(200, meter::metadata_write(), replaced->version.etag),
              std::move(text));
    } else {
        TRY_STATUS(catalog.delete_permission(database, user->id, permission->id, if_match));
        reply(call, plain_answer(204, meter::metadata_write()), "");
    }
    return {};
}

using Handler = Status (*)(const CallPtr&);

void dispatch(const CallPtr& call, std::string_view what, Handler feed, Handler one) {
    const auto method = call->request().method;
    const bool known = call->route.feed ? method == "GET" || method == "POST"
                                        : is_read(*call) || method == "PUT" || method == "DELETE";
    if (!known) return reply_error(call, method_not_allowed(method, what));
    const bool read = is_read(*call) || is_query(*call);
    // A permission carries a token: reading one with a read-only key would let its holder write.
    const bool guarded = call->route.type == ResourceType::kPermission || !read;
    if (const Status allowed = authorize(
            call->principal, guarded ? Access::kMetadataWrite : Access::kMetadataRead, {});
        !allowed.ok())
        return reply_error(call, allowed.error());
    on_worker(call, [call, handler = call->route.feed ? feed : one] { return handler(call); });
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
    dispatch(call, "users", user_feed, one_user);
}

void handle_permissions(const CallPtr& call) {
    dispatch(call, "permissions", permission_feed, one_permission);
}

}  // namespace orrery::rest
