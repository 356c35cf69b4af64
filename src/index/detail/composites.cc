#include <algorithm>

#include "base/encoding.h"
#include "base/errors.h"
#include "base/limits.h"
#include "index/detail/path_parser.h"
#include "json/item.h"
#include "json/write.h"

namespace orrery::index::detail {
namespace {

constexpr std::string_view kList = "compositeIndexes";

bool same_path(const CompositeIndex::Member& a, const CompositeIndex::Member& b) {
    return a.steps == b.steps;
}

Result<bool> read_order(const json::Value& order, std::string_view path) {
    if (order.is_undefined() || order.is_null()) return false;
    const std::string_view text = order.is_string() ? order.as_string() : std::string_view();
    if (equals_ignore_case(text, "ascending")) return false;
    if (equals_ignore_case(text, "descending")) return true;
    return bad_policy("the member 'order' of the composite path '" + excerpt(path) +
                      "' must be \"ascending\" or \"descending\"");
}

Result<CompositeIndex::Member> read_member(const json::Value& entry) {
    if (!entry.is_object())
        return bad_policy("a composite index holds something that is not an object");
    for (const json::Member& member : entry.members())
        if (member.name != "path" && member.name != "order")
            return bad_policy("a path of a composite index has an unknown member '" +
                              excerpt(member.name) + "'");
    const json::Value path = entry.member("path");
    if (!path.is_string())
        return bad_policy("a path of a composite index has no string member 'path'");
    TRY(IndexPath parsed, parse_index_path(path.as_string(), PathEnding::kImplied));
    if (parsed.subtree)
        return bad_policy("the composite path '" + excerpt(parsed.text) +
                          "' has a wildcard; a composite index is over single values");
    if (std::any_of(parsed.steps.begin(), parsed.steps.end(),
                    [](const PathStep& step) { return step.any_element; }))
        return errors::not_supported(
            "An array wildcard in a composite index ('" + excerpt(parsed.text) + "')",
            "Use paths that lead to one value per item.");
    const bool is_ts = parsed.steps.size() == 1 && parsed.steps[0].name == "_ts";
    if (json::is_system_property(parsed.steps[0].name) && !is_ts)
        return errors::not_supported(
            "The system property in the composite path '" + excerpt(parsed.text) + "'",
            "Of the system properties, only '_ts' can be in a composite index.");
    CompositeIndex::Member out;
    TRY(out.descending, read_order(entry.member("order"), parsed.text));
    out.steps = std::move(parsed.steps);
    out.text = std::move(parsed.text);
    return out;
}

Result<CompositeIndex> read_composite(const json::Value& list) {
    if (!list.is_array())
        return bad_policy("'compositeIndexes' holds something that is not an array of paths");
    const size_t count = list.elements().size();
    if (count < 2 || count > limits::kCompositePathsMax)
        return bad_policy("a composite index has 2 to " +
                          std::to_string(limits::kCompositePathsMax) + " paths, not " +
                          std::to_string(count));
    CompositeIndex out;
    for (const json::Value& entry : list.elements()) {
        TRY(CompositeIndex::Member member, read_member(entry));
        for (const CompositeIndex::Member& other : out.members)
            if (same_path(member, other))
                return bad_policy("the path '" + excerpt(member.text) +
                                  "' is twice in one composite index");
        out.members.push_back(std::move(member));
    }
    return out;
}

}  // namespace

Result<std::vector<CompositeIndex>> parse_composites(const json::Value& list) {
    std::vector<CompositeIndex> out;
    if (list.is_undefined() || list.is_null()) return out;
    if (!list.is_array()) return bad_policy("'" + std::string(kList) + "' is not an array");
    size_t paths = 0;
    for (const json::Value& entry : list.elements()) {
        TRY(CompositeIndex composite, read_composite(entry));
        paths += composite.members.size();
        if (paths > limits::kCompositePathsTotalMax)
            return bad_policy("the composite indexes have more than " +
                              std::to_string(limits::kCompositePathsTotalMax) + " paths in all");
        if (std::find(out.begin(), out.end(), composite) != out.end())
            return bad_policy("the same composite index is listed twice (it begins with '" +
                              excerpt(composite.members[0].text) + "')");
        out.push_back(std::move(composite));
    }
    return out;
}

void append_composites(std::string& out, const std::vector<CompositeIndex>& composites) {
    out.append(",\"").append(kList).append("\":[");
    for (size_t i = 0; i < composites.size(); ++i) {
        out.append(i == 0 ? "[" : ",[");
        for (size_t j = 0; j < composites[i].members.size(); ++j) {
            const CompositeIndex::Member& member = composites[i].members[j];
            out.append(j == 0 ? "{\"path\":" : ",{\"path\":");
            json::write_string(out, member.text);
            out.append(member.descending ? R"(,"order":"descending"})"
                                         : R"(,"order":"ascending"})");
        }
        out.push_back(']');
    }
    out.push_back(']');
}

}  // namespace orrery::index::detail
