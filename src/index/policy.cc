#include "index/policy.h"

#include <algorithm>
#include <set>

#include "base/encoding.h"
#include "base/errors.h"
#include "base/limits.h"
#include "index/path_tree.h"
#include "json/item.h"
#include "json/write.h"

namespace orrery::index {
namespace {

constexpr std::string_view kRootPath = "/*";
constexpr std::string_view kEtagPath = "/\"_etag\"/?";

std::string excerpt(std::string_view text) {
    constexpr size_t kExcerptBytesMax = 200;
    if (text.size() <= kExcerptBytesMax) return std::string(text);
    size_t end = kExcerptBytesMax;
    while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
    return std::string(text.substr(0, end)) + "...";
}

Error bad_policy(std::string_view why) {
    return errors::bad_request("The indexing policy is invalid: " + std::string(why) + ".");
}

Error bad_path(std::string_view path, std::string_view why, size_t position) {
    return errors::bad_request("The indexing path '" + excerpt(path) +
                               "' could not be accepted, failed near position '" +
                               std::to_string(position) + "': " + std::string(why) + ".");
}

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Reads one path front to back.
class PathParser {
public:
    explicit PathParser(std::string_view text) : text_(text) {}

    Result<IndexPath> parse() {
        out_.text = text_;
        if (text_.empty() || text_.front() != '/') return fail("it must begin with '/'");
        while (true) {
            ++at_;  // behind '/'
            if (rest() == "*" || rest() == "?") break;
            TRY_STATUS(step());
            if (out_.steps.size() > limits::kNestingDepthMax)
                return fail("it is deeper than items can be");
            if (at_ == text_.size()) return fail("it must end in '/?' or '/*'");
            if (text_[at_] != '/') return fail("'/' is expected; put other names in double quotes");
        }
        out_.subtree = rest() == "*";
        if (!out_.subtree && out_.steps.empty()) return fail("the item itself is not a scalar");
        return std::move(out_);
    }

private:
    std::string_view rest() const { return text_.substr(at_); }
    Error fail(std::string_view why) const { return bad_path(text_, why, at_); }

    Status step() {
        if (rest().starts_with("[]")) {
            at_ += 2;
            out_.steps.push_back({.any_element = true, .name = ""});
            return {};
        }
        if (rest().starts_with("{"))
            return Status(errors::not_supported("A tuple index path ('" + excerpt(text_) + "')",
                                                "Index the members one by one instead."));
        if (rest().starts_with("\"")) return quoted();
        const size_t start = at_;
        while (at_ < text_.size() && is_plain(text_[at_])) ++at_;
        if (at_ == start)
            return Status(
                fail("a name is expected; names with characters other than letters, "
                     "digits and '_' need double quotes"));
        out_.steps.push_back(
            {.any_element = false, .name = std::string(text_.substr(start, at_ - start))});
        return {};
    }

    Status quoted() {
        std::string name;
        for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] == '\\') {
                ++at_;
                if (at_ == text_.size() || (text_[at_] != '"' && text_[at_] != '\\'))
                    return Status(fail("a backslash stands only before '\"' and '\\'"));
            }
            name.push_back(text_[at_]);
        }
        if (at_ == text_.size()) return Status(fail("a quoted name does not end"));
        ++at_;
        out_.steps.push_back({.any_element = false, .name = std::move(name)});
        return {};
    }

    std::string_view text_;
    size_t at_ = 0;
    IndexPath out_;
};

/// What tells two paths apart, whatever their quotes.
std::string identity(const IndexPath& path) {
    std::string out(1, path.subtree ? '*' : '?');
    for (const PathStep& step : path.steps) {
        out.append(step.any_element ? "[" : "m");
        out.append(std::to_string(step.name.size())).append(":").append(step.name);
    }
    return out;
}

bool is_root(const IndexPath& path) {
    return path.subtree && path.steps.empty();
}
bool has_root(const std::vector<IndexPath>& paths) {
    return std::any_of(paths.begin(), paths.end(), is_root);
}
bool names_etag(const std::vector<IndexPath>& paths) {
    return std::any_of(paths.begin(), paths.end(), [](const IndexPath& path) {
        return !path.steps.empty() && path.steps.front().name == "_etag";
    });
}

IndexPath known_path(std::string_view text) {
    auto path = PathParser(text).parse();
    CHECK(path.ok());
    return std::move(path).value();
}

Result<IndexPath> read_path(const json::Value& entry, std::string_view list) {
    if (!entry.is_object())
        return bad_policy("'" + std::string(list) + "' holds something that is not an object");
    for (const json::Member& member : entry.members())
        if (member.name != "path" && !(member.name == "indexes" && list == "includedPaths"))
            return bad_policy("an entry of '" + std::string(list) + "' has an unknown member '" +
                              excerpt(member.name) + "'");
    const json::Value path = entry.member("path");
    if (!path.is_string())
        return bad_policy("an entry of '" + std::string(list) + "' has no string member 'path'");
    // An old form; range indexes over whole values are the only ones left.
    const json::Value indexes = entry.member("indexes");
    if (!indexes.is_undefined() && !indexes.is_null() && !indexes.is_array())
        return bad_policy("the member 'indexes' of path '" + excerpt(path.as_string()) +
                          "' is not an array");
    return PathParser(path.as_string()).parse();
}

struct PathList {
    bool given = false;
    std::vector<IndexPath> paths;
};

Result<PathList> read_paths(const json::Value& policy, std::string_view name) {
    PathList list;
    const json::Value value = policy.member(name);
    if (value.is_undefined() || value.is_null()) return list;
    if (!value.is_array()) return bad_policy("'" + std::string(name) + "' is not an array");
    if (value.elements().size() > limits::kIndexPathsMax)
        return bad_policy("'" + std::string(name) + "' holds " +
                          std::to_string(value.elements().size()) + " paths, more than " +
                          std::to_string(limits::kIndexPathsMax));
    list.given = true;
    for (const json::Value& entry : value.elements()) {
        TRY(auto path, read_path(entry, name));
        list.paths.push_back(std::move(path));
    }
    return list;
}

/// Index kinds that are not maintained yet are refused by name; empty lists say nothing.
Status refuse_other_indexes(const json::Value& policy) {
    struct Kind {
        std::string_view member;
        std::string_view feature;
    };
    constexpr Kind kKinds[] = {{"compositeIndexes", "A composite index"},
                               {"spatialIndexes", "A spatial index"},
                               {"vectorIndexes", "A vector index"},
                               {"fullTextIndexes", "A full-text index"}};
    for (const json::Member& member : policy.members()) {
        const std::string_view name = member.name;
        if (name == "indexingMode" || name == "automatic" || name == "includedPaths" ||
            name == "excludedPaths")
            continue;
        const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                        [&](const Kind& k) { return k.member == name; });
        if (kind == std::end(kKinds))
            return Status(bad_policy("it has an unknown member '" + excerpt(name) + "'"));
        const bool empty =
            member.value.is_null() || (member.value.is_array() && member.value.elements().empty());
        if (!empty)
            return Status(errors::not_supported(std::string(kind->feature) + " ('" +
                                                    std::string(name) + "' of the indexing policy)",
                                                "Leave the member out or empty."));
    }
    return {};
}

Result<IndexingMode> read_mode(const json::Value& value) {
    if (value.is_undefined() || value.is_null()) return IndexingMode::kConsistent;
    const std::string_view text = value.is_string() ? value.as_string() : std::string_view();
    if (equals_ignore_case(text, "consistent")) return IndexingMode::kConsistent;
    if (equals_ignore_case(text, "none")) return IndexingMode::kNone;
    if (equals_ignore_case(text, "lazy"))
        return bad_policy(
            "the indexing mode 'lazy' is not available for new containers; "
            "use 'consistent' or 'none'");
    return bad_policy("'indexingMode' must be \"consistent\" or \"none\"");
}

Status check_unique(const std::vector<IndexPath>& included,
                    const std::vector<IndexPath>& excluded) {
    std::set<std::string> seen;
    for (const IndexPath& path : included)
        if (!seen.insert(identity(path)).second)
            return Status(bad_policy("the path '" + excerpt(path.text) + "' is included twice"));
    std::set<std::string> seen_excluded;
    for (const IndexPath& path : excluded) {
        std::string id = identity(path);
        if (seen.contains(id))
            return Status(
                bad_policy("the path '" + excerpt(path.text) + "' is both included and excluded"));
        if (!seen_excluded.insert(std::move(id)).second)
            return Status(bad_policy("the path '" + excerpt(path.text) + "' is excluded twice"));
    }
    return {};
}

/// Consistent mode: what was left out is filled in from the default policy.
Status fill_paths(PathList included, PathList excluded, IndexingPolicy& out) {
    if (included.paths.empty() && excluded.paths.empty()) included.given = excluded.given = false;
    out.included = std::move(included.paths);
    out.excluded = std::move(excluded.paths);
    if (!included.given && !has_root(out.excluded)) out.included.push_back(known_path(kRootPath));
    if (!names_etag(out.included) && !names_etag(out.excluded))
        out.excluded.push_back(known_path(kEtagPath));
    TRY_STATUS(check_unique(out.included, out.excluded));
    if (!has_root(out.included) && !has_root(out.excluded))
        return Status(
            bad_policy("the mandatory path '/*' is neither included nor excluded; add it "
                       "to one of the two lists"));
    return {};
}

/// Mode none: there is nothing to list; what clients send along with it is accepted.
Status fill_no_paths(PathList included, PathList excluded, IndexingPolicy& out) {
    for (const auto* list : {&included.paths, &excluded.paths})
        for (const IndexPath& path : *list)
            if (!is_root(path) && !names_etag({path}))
                return Status(bad_policy("with indexing mode 'none' the path '" +
                                         excerpt(path.text) + "' cannot be listed"));
    out.included = std::move(included.paths);
    out.excluded = std::move(excluded.paths);
    return check_unique(out.included, out.excluded);
}

void append_paths(std::string& out, std::string_view name, const std::vector<IndexPath>& paths) {
    out.append(",\"").append(name).append("\":[");
    for (size_t i = 0; i < paths.size(); ++i) {
        out.append(i == 0 ? "{\"path\":" : ",{\"path\":");
        json::write_string(out, paths[i].text);
        out.push_back('}');
    }
    out.push_back(']');
}

std::string policy_json(const IndexingPolicy& policy) {
    std::string out = policy.mode == IndexingMode::kNone ? R"({"indexingMode":"none")"
                                                         : R"({"indexingMode":"consistent")";
    out += policy.automatic ? R"(,"automatic":true)" : R"(,"automatic":false)";
    append_paths(out, "includedPaths", policy.included);
    append_paths(out, "excludedPaths", policy.excluded);
    out.push_back('}');
    return out;
}

}  // namespace

Result<IndexingPolicy> parse_indexing_policy(const json::Value& policy) {
    const bool given = !policy.is_undefined() && !policy.is_null();
    if (given && !policy.is_object()) return bad_policy("it is not a JSON object");
    IndexingPolicy out;
    PathList included;
    PathList excluded;
    if (given) {
        TRY_STATUS(refuse_other_indexes(policy));
        TRY(out.mode, read_mode(policy.member("indexingMode")));
        const json::Value automatic = policy.member("automatic");
        if (automatic.is_bool()) {
            out.automatic = automatic.as_bool();
        } else if (automatic.is_undefined() || automatic.is_null()) {
            out.automatic = out.mode != IndexingMode::kNone;
        } else {
            return bad_policy("'automatic' must be true or false");
        }
        TRY(included, read_paths(policy, "includedPaths"));
        TRY(excluded, read_paths(policy, "excludedPaths"));
    }
    TRY_STATUS(out.mode == IndexingMode::kNone
                   ? fill_no_paths(std::move(included), std::move(excluded), out)
                   : fill_paths(std::move(included), std::move(excluded), out));
    out.tree = std::make_shared<const PathTree>(out.included, out.excluded);
    out.json = policy_json(out);
    return out;
}

bool item_is_indexed(const IndexingPolicy& policy, ItemIndexing directive) {
    if (policy.mode == IndexingMode::kNone || directive == ItemIndexing::kExclude) return false;
    return policy.automatic || directive == ItemIndexing::kInclude;
}

bool path_is_indexed(const IndexingPolicy& policy, const std::vector<PathStep>& path) {
    if (policy.mode == IndexingMode::kNone || path.empty()) return false;
    const PathStep& first = path.front();
    if (!first.any_element) {
        if (path.size() == 1 && (first.name == "id" || first.name == "_ts")) return true;
        if (json::is_system_property(first.name)) return false;
    }
    return policy.tree->find(path).included;
}

bool path_posts_undefined(const IndexingPolicy& policy, const std::vector<PathStep>& path) {
    if (policy.mode == IndexingMode::kNone || path.empty()) return false;
    return policy.tree->find(path).explicit_path != PathTree::kNotExplicit;
}

}  // namespace orrery::index
