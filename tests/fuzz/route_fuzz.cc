// Request paths and authorization headers are read before anybody is known to be allowed in.
// Whatever is accepted must be consistent: a route names what its type needs, its link can be sent
// as a path again and means the same, a token's parts make up its text.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/encoding.h"
#include "base/errors.h"
#include "heads/rest/authorization_token.h"
#include "heads/rest/route.h"

using namespace orrery;        // NOLINT
using namespace orrery::rest;  // NOLINT

namespace {

/// How many ids the path of one resource of a type has; its feed has one less.
size_t ids_of(ResourceType type) {
    switch (type) {
        case ResourceType::kAccount:
        case ResourceType::kAddress:
        case ResourceType::kPublic:
            return 0;
        case ResourceType::kDatabase:
        case ResourceType::kOffer:
            return 1;
        case ResourceType::kContainer:
        case ResourceType::kUser:
        case ResourceType::kEncryptionKey:
        case ResourceType::kPartitionKeyDelete:
            return 2;
        case ResourceType::kAttachment:
            return 4;
        default:
            return 3;
    }
}

void check_route(std::string_view target) {
    const auto route = parse_route(target);
    if (!route.ok()) {
        const Code code = route.error().code;
        CHECK(errors::is_bad_request(code) || errors::is_absence(code));
        CHECK(!route.error().message.empty());
        return;
    }
    // What stands behind /_orrery is as long as it likes.
    const bool own = route->type == ResourceType::kOwn;
    if (!own) CHECK(route->ids.size() == ids_of(route->type) - (route->feed ? 1 : 0));
    for (const auto& id : route->ids) {
        CHECK(!id.empty() && is_valid_utf8(id));
        CHECK(id.find_first_of("/\\") == std::string::npos);
    }
    if (route->type == ResourceType::kAccount || route->type == ResourceType::kAddress ||
        route->type == ResourceType::kPublic || route->link.empty())
        return;
    // The link, sent as a path, is the same resource (of a feed: its parent).
    std::string again = own ? "/" + route->type_segment : "";
    std::string_view rest = route->link;
    while (true) {
        const size_t slash = rest.find('/');
        again += "/" + percent_encode(rest.substr(0, slash));
        if (slash == std::string_view::npos) break;
        rest.remove_prefix(slash + 1);
    }
    const auto second = parse_route(again);
    CHECK(second.ok() && second->link == route->link && second->ids == route->ids);
    if (!route->feed && route->type != ResourceType::kPartitionKeyDelete)
        CHECK(second->type == route->type);
}

void check_authorization(std::string_view header) {
    const auto token = parse_authorization(header);
    if (!token) return;
    CHECK(token->text ==
          "type=" + token->type + "&ver=" + token->version + "&sig=" + token->signature);
    const auto again = parse_authorization(percent_encode(token->text));
    CHECK(again && again->text == token->text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    check_route(input);
    check_authorization(input);
    return 0;
}
