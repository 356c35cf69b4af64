// Client encryption keys: wrapped data keys, which clients open and the server only keeps.
#include "base/errors.h"
#include "heads/rest/bodies/resource_bodies.h"
#include "heads/rest/bodies/resource_json.h"
#include "heads/rest/handlers.h"
#include "heads/rest/resource_feed.h"

namespace orrery::rest {
namespace {

using engine::Access;

Status key_feed(const CallPtr& call) {
    auto& catalog = call->engine.catalog();
    TRY(const auto database, find_database(*call));
    if (call->request().method == "POST" && !is_query(*call)) {
        TRY(const bool upsert, call->headers.boolean(HeaderName::kIsUpsert));
        if (upsert)
            return Status(
                errors::bad_request("A client encryption key cannot be upserted: create it, or "
                                    "replace it with another wrapping (PUT)."));
        TRY(const auto body, parse_body(*call));
        TRY(auto wanted, read_encryption_key_body(body->value));
        TRY(const auto key, catalog.create_encryption_key(database->id, std::move(wanted)));
        reply(call, plain_answer(201, meter::metadata_write(), key->version.etag),
              encryption_key_json(*key));
        return {};
    }
    const auto list = [&](const catalog::ListingRequest& page) {
        return catalog.list_encryption_keys(*database, page);
    };
    const auto text = [](const catalog::EncryptionKey& key) -> Result<std::string> {
        return encryption_key_json(key);
    };
    const std::string rid = database->rid.text();
    return is_query(*call) ? reply_listing_query(call, rid, "ClientEncryptionKeys", list, text)
                           : reply_listing(call, rid, "ClientEncryptionKeys", list, text);
}

Status one_key(const CallPtr& call) {
    auto& catalog = call->engine.catalog();
    TRY(const auto database, find_database(*call));
    const std::string& id = call->route.ids[1];
    if (!is_read(*call)) {
        TRY(const auto body, parse_body(*call));
        if (catalog.find_encryption_key(database->id, id) == nullptr)
            return Status(errors::resource_not_found("The client encryption key does not exist."));
        TRY(auto wanted, read_encryption_key_body(body->value));
        TRY(const auto key,
            catalog.replace_encryption_key(database->id, id, std::move(wanted),
                                           unquoted(call->headers[HeaderName::kIfMatch])));
        reply(call, plain_answer(200, meter::metadata_write(), key->version.etag),
              encryption_key_json(*key));
        return {};
    }
    const auto key = catalog.find_encryption_key(database->id, id);
    if (key == nullptr)
        return Status(
            errors::resource_not_found("The client encryption key '" + id + "' does not exist."));
    if (unquoted(call->headers[HeaderName::kIfNoneMatch]) == key->version.etag)
        reply(call, plain_answer(304, meter::metadata_read(), key->version.etag), "");
    else
        reply(call, plain_answer(200, meter::metadata_read(), key->version.etag),
              encryption_key_json(*key));
    return {};
}

}  // namespace

void handle_encryption_keys(const CallPtr& call) {
    const auto method = call->request().method;
    const bool known =
        call->route.feed ? method == "GET" || method == "POST" : is_read(*call) || method == "PUT";
    if (!known) return reply_error(call, method_not_allowed(method, "client encryption keys"));
    const bool read = is_read(*call) || is_query(*call);
    if (const Status allowed =
            authorize(call->principal, read ? Access::kMetadataRead : Access::kMetadataWrite, {});
        !allowed.ok())
        return reply_error(call, allowed.error());
    on_worker(call, [call] { return call->route.feed ? key_feed(call) : one_key(call); });
}

}  // namespace orrery::rest
