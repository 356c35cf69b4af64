// How far a container's index is: present and previous policies, as records and as settings.
#include <fmt/format.h>

#include <algorithm>

#include "catalog/definition.h"
#include "index/policy_checks.h"
#include "json/parse.h"

namespace orrery::catalog {
namespace {

std::vector<std::string> sorted_texts(const std::vector<index::IndexPath>& paths) {
    std::vector<std::string> out;
    out.reserve(paths.size());
    for (const index::IndexPath& path : paths) out.push_back(path.text);
    std::sort(out.begin(), out.end());
    return out;
}

/// A previous policy: its JSON, in an object of both if it has computed properties.
std::string policy_record(const index::IndexingPolicy& policy) {
    if (policy.computed == nullptr) return policy.json;
    return fmt::format(R"({{"indexingPolicy":{},"computedProperties":{}}})", policy.json,
                       policy.computed->json());
}

Result<index::IndexingPolicy> read_policy_record(std::string_view text,
                                                 const index::ComputedCompiler& compiler) {
    json::Arena arena;
    TRY(const json::Value record, json::parse(text, arena));
    const json::Value inner = record.member("indexingPolicy");
    TRY(index::IndexingPolicy policy,
        index::parse_indexing_policy(inner.is_undefined() ? record : inner));
    TRY(auto computed, read_computed_properties(record.member("computedProperties"), compiler));
    return index::with_computed_properties(std::move(policy), std::move(computed));
}

}  // namespace

records::IndexState index_state(const partition::ContainerSettings& settings) {
    const auto texts = [](const index::IndexingPolicy& policy) {
        std::vector<std::string> out;
        for (const auto& path : policy.sorted) out.push_back(index::path_text(path));
        return out;
    };
    records::IndexState state;
    state.change = settings.index_change;
    state.sorted = texts(settings.indexing);
    for (const auto& policy : settings.previous)
        state.previous.push_back({policy_record(*policy), texts(*policy)});
    return state;
}

Status apply_index_state(const records::IndexState& state, partition::ContainerSettings& settings,
                         const index::ComputedCompiler& compiler) {
    const auto with_sorted =
        [](index::IndexingPolicy policy,
           const std::vector<std::string>& texts) -> Result<index::IndexingPolicy> {
        std::vector<std::vector<index::PathStep>> paths;
        for (const std::string& text : texts) {
            TRY(auto path, index::parse_path_text(text));
            paths.push_back(std::move(path));
        }
        if (paths.empty()) return policy;
        return index::with_sorted_paths(std::move(policy), paths);
    };
    settings.index_change = state.change;
    auto present = with_sorted(std::move(settings.indexing), state.sorted);
    if (!present.ok()) return std::move(present).take_status();
    settings.indexing = std::move(present).value();
    settings.previous.clear();
    for (const records::IndexState::Policy& policy : state.previous) {
        TRY(index::IndexingPolicy parsed, read_policy_record(policy.json, compiler));
        TRY(parsed, with_sorted(std::move(parsed), policy.sorted));
        settings.previous.push_back(
            std::make_shared<const index::IndexingPolicy>(std::move(parsed)));
    }
    return {};
}

bool same_indexing(const index::IndexingPolicy& a, const index::IndexingPolicy& b) {
    return a.mode == b.mode && a.automatic == b.automatic &&
           sorted_texts(a.included) == sorted_texts(b.included) &&
           sorted_texts(a.excluded) == sorted_texts(b.excluded) &&
           std::is_permutation(a.composites.begin(), a.composites.end(), b.composites.begin(),
                               b.composites.end()) &&
           std::is_permutation(a.spatials.begin(), a.spatials.end(), b.spatials.begin(),
                               b.spatials.end()) &&
           a.sorted == b.sorted && index::same_computed(a.computed.get(), b.computed.get());
}

}  // namespace orrery::catalog
