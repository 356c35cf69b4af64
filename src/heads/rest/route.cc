#include "heads/rest/route.h"

#include <array>

#include "base/encoding.h"
#include "base/errors.h"

namespace orrery::rest {
namespace {

constexpr size_t kSegmentsMax = 10;

struct SegmentRule {
    std::string_view parent;  ///< segment type above, "" at the root
    std::string_view name;
    ResourceType type;
};
constexpr std::array<SegmentRule, 14> kRules = {{
    {"", "dbs", ResourceType::kDatabase},
    {"", "offers", ResourceType::kOffer},
    {"dbs", "colls", ResourceType::kContainer},
    {"dbs", "users", ResourceType::kUser},
    {"dbs", "clientencryptionkeys", ResourceType::kEncryptionKey},
    {"users", "permissions", ResourceType::kPermission},
    {"colls", "docs", ResourceType::kItem},
    {"colls", "sprocs", ResourceType::kProcedure},
    {"colls", "triggers", ResourceType::kTrigger},
    {"colls", "udfs", ResourceType::kUdf},
    {"colls", "conflicts", ResourceType::kConflict},
    {"colls", "pkranges", ResourceType::kRange},
    {"colls", "operations", ResourceType::kPartitionKeyDelete},
    {"docs", "attachments", ResourceType::kAttachment},
}};

bool is_public(std::string_view first) {
    return first == "_explorer" || first == "alive" || first == "ready" || first == "status" ||
           first == "favicon.ico" || first == "metrics";
}

Result<std::vector<std::string>> split(std::string_view target) {
    std::string_view path = target.substr(0, target.find_first_of("?#"));
    while (path.starts_with('/')) path.remove_prefix(1);
    while (path.ends_with('/')) path.remove_suffix(1);
    std::vector<std::string> segments;
    segments.reserve(kSegmentsMax + 1);
    while (!path.empty()) {
        const size_t slash = path.find('/');
        const auto raw = path.substr(0, slash);
        if (raw.empty()) return errors::bad_request("The request path has an empty segment.");
        auto decoded = percent_decode(raw);
        if (!decoded || !is_valid_utf8(*decoded))
            return errors::bad_request(
                "The request path has a malformed percent escape or is not UTF-8.");
        if (decoded->find_first_of("/\\") != std::string::npos)
            return errors::invalid_id(
                "'/' and '\\' are not allowed in a resource id, encoded or not");
        segments.push_back(std::move(*decoded));
        if (segments.size() > kSegmentsMax)
            return errors::resource_not_found("The request path is too deep.");
        if (slash == std::string_view::npos) break;
        path.remove_prefix(slash + 1);
    }
    return segments;
}

/// The link that clients sign: the path's segments, without the last one of a feed.
std::string link_of(const std::vector<std::string>& segments, size_t count) {
    size_t size = count;
    for (size_t i = 0; i < count; ++i) size += segments[i].size();
    std::string link;
    link.reserve(size);
    for (size_t i = 0; i < count; ++i) {
        if (i > 0) link.push_back('/');
        link += segments[i];
    }
    return link;
}

}  // namespace

Result<Route> parse_route(std::string_view target) {
    TRY(auto segments, split(target));
    Route route;
    if (segments.empty()) return route;
    if (is_public(segments[0])) {
        route.type = ResourceType::kPublic;
        for (const auto& segment : segments) route.path += "/" + segment;
        return route;
    }
    if (segments[0] == "_orrery") {
        route.type = ResourceType::kOwn;
        route.type_segment = segments[0];
        segments.erase(segments.begin());
        route.link = link_of(segments, segments.size());
        route.ids = std::move(segments);
        return route;
    }
    if (segments[0] == "addresses") {
        route.type = ResourceType::kAddress;
        return route;
    }
    route.feed = segments.size() % 2 == 1;
    route.link = link_of(segments, route.feed ? segments.size() - 1 : segments.size());
    route.ids.reserve(segments.size() / 2);
    std::string_view parent;
    for (size_t i = 0; i < segments.size(); i += 2) {
        const SegmentRule* rule = nullptr;
        for (const auto& candidate : kRules)
            if (candidate.parent == parent && equals_ignore_case(candidate.name, segments[i]))
                rule = &candidate;
        if (rule == nullptr)
            return errors::resource_not_found("The path segment '" + segments[i] +
                                              "' names no resource type here.");
        route.type = rule->type;
        parent = rule->name;
        if (i + 1 < segments.size()) route.ids.push_back(std::move(segments[i + 1]));
    }
    route.type_segment = std::string(parent);
    if (route.type == ResourceType::kPartitionKeyDelete) {
        if (route.feed || route.last_id() != "partitionkeydelete")
            return errors::resource_not_found(
                "The only operation here is 'operations/partitionkeydelete'.");
        route.ids.pop_back();
        route.link = "dbs/" + route.ids[0] + "/colls/" + route.ids[1];
        route.type_segment = "colls";
    }
    return route;
}

}  // namespace orrery::rest
