#include "index/computed.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "index/path_tree.h"
#include "index/policy.h"
#include "json/write.h"

namespace orrery::index {

ComputedProperties::ComputedProperties(std::vector<Definition> definitions)
    : definitions_(std::move(definitions)) {
    json_.push_back('[');
    for (const Definition& definition : definitions_) {
        if (json_.size() > 1) json_.push_back(',');
        json_ += R"({"name":)";
        json::write_string(json_, definition.name);
        json_ += R"(,"query":)";
        json::write_string(json_, definition.query);
        json_ += '}';
    }
    json_ += ']';
}

const ComputedProperties::Definition* ComputedProperties::find(std::string_view name) const {
    for (const Definition& definition : definitions_)
        if (definition.name == name) return &definition;
    return nullptr;
}

bool same_computed(const ComputedProperties* a, const ComputedProperties* b) {
    if (a == nullptr || b == nullptr) return a == b;
    const auto same = [](const auto& x, const auto& y) {
        return x.name == y.name && x.query == y.query;
    };
    return std::is_permutation(a->definitions().begin(), a->definitions().end(),
                               b->definitions().begin(), b->definitions().end(), same);
}

namespace {

bool begins_with(const std::vector<PathStep>& path, std::string_view name) {
    return !path.empty() && !path.front().any_element && path.front().name == name;
}

/// Whether the policy lists an index for values of the property.
bool indexes(const IndexingPolicy& policy, std::string_view name) {
    const bool included =
        std::any_of(policy.included.begin(), policy.included.end(),
                    [&](const IndexPath& path) { return begins_with(path.steps, name); });
    return included ||
           std::any_of(policy.composites.begin(), policy.composites.end(), [&](const auto& c) {
               return std::any_of(c.members.begin(), c.members.end(), [&](const auto& member) {
                   return begins_with(member.steps, name);
               });
           });
}

}  // namespace

Result<IndexingPolicy> with_computed_properties(IndexingPolicy policy,
                                                ComputedPropertiesPtr computed) {
    if (computed == nullptr) return policy;
    for (size_t i = 0; i < computed->definitions().size(); ++i) {
        const auto& definition = computed->definitions()[i];
        for (const SpatialIndex& spatial : policy.spatials)
            if (begins_with(spatial.path.steps, definition.name))
                return errors::bad_request(
                    fmt::format("Computed property '{}' at index ({}) has a spatial index. Remove "
                                "the spatial index on this path.",
                                definition.name, i));
        if (!definition.indexable && indexes(policy, definition.name))
            return errors::not_supported(
                fmt::format("An index on the computed property '{}', whose value depends on system "
                            "properties or on the whole item,",
                            definition.name),
                "Remove its path from the indexing policy: queries can use the property without "
                "an index.");
    }
    policy.computed = std::move(computed);
    policy.tree = std::make_shared<const PathTree>(policy);
    return policy;
}

std::string_view computed_query(const IndexingPolicy& policy, const std::vector<PathStep>& path) {
    if (policy.computed == nullptr || path.empty() || path.front().any_element) return {};
    const auto* definition = policy.computed->find(path.front().name);
    return definition == nullptr ? std::string_view() : definition->query;
}

}  // namespace orrery::index
