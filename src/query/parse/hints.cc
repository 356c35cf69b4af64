#include "query/parse/hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/encoding.h"
#include "base/limits.h"
#include "base/spelling.h"
#include "index/policy_checks.h"
#include "json/write.h"
#include "query/functions/functions.h"

namespace orrery::query::hints {
namespace {

struct Advice {
    std::string_view key;
    std::string_view text;
};

std::string_view find(std::span<const Advice> advice, std::string_view key) {
    for (const Advice& entry : advice)
        if (entry.key == key) return entry.text;
    return {};
}

constexpr std::array kByCode = {
    Advice{"SC2041", "Name the GROUP BY expressions and aggregates: SELECT c.a, COUNT(1) AS n."},
    Advice{"SC2060", "A count is a whole number from 0 to 4294967295, or a parameter."},
    Advice{"SC2061", "A count is a whole number from 0 to 4294967295, or a parameter."},
    Advice{"SC2062", "A count is a whole number from 0 to 4294967295, or a parameter."},
    Advice{"SC2101",
           "Aggregate in two steps: SELECT VALUE MAX(g.n) FROM (SELECT COUNT(1) AS n FROM c GROUP "
           "BY c.a) AS g."},
    Advice{"SC2202", "Only the outermost query can be sorted."},
    Advice{"SC2203", "Only the outermost query can be cut: move TOP there, or use ARRAY_SLICE."},
    Advice{"SC2204",
           "Only the outermost query can be cut: move it there, or use ARRAY_SLICE on an ARRAY."},
    Advice{"2206",
           "Sort by a property of the item, as in c.name. For an expression, define a computed "
           "property in the container and sort by that."},
    Advice{"SC2240", "Write ORDER BY RANK FullTextScore(...)."},
    Advice{"SC2990",
           "An index is a number, a string or a parameter. To look at every element, use JOIN x IN "
           "c.list or EXISTS(SELECT VALUE x FROM x IN c.list WHERE ...)."},
};

/// What other dialects call it.
constexpr std::array kForeignFunctions = {
    Advice{"CARDINALITY", "Write ARRAY_LENGTH(x)."},
    Advice{"CAST", "Write TOSTRING(x), STRINGTONUMBER(x) or STRINGTOBOOLEAN(x)."},
    Advice{"CHARINDEX", "Write INDEX_OF(text, part)."},
    Advice{"COALESCE", "Write a ?? b, which is b where a is undefined."},
    Advice{"CONVERT", "Write TOSTRING(x), STRINGTONUMBER(x) or STRINGTOBOOLEAN(x)."},
    Advice{"CURRENT_TIMESTAMP", "Write GETCURRENTDATETIME() or GETCURRENTTIMESTAMP()."},
    Advice{"DATEADD", "Write DATETIMEADD(part, number, time)."},
    Advice{"DATEDIFF", "Write DATETIMEDIFF(part, start, end)."},
    Advice{"DATEPART", "Write DATETIMEPART(part, time)."},
    Advice{"GETDATE", "Write GETCURRENTDATETIME()."},
    Advice{"IF", "Write IIF(condition, a, b), or condition ? a : b."},
    Advice{"IFNULL", "Write a ?? b, which is b where a is undefined, or IIF(IS_NULL(a), b, a)."},
    Advice{"INSTR", "Write INDEX_OF(text, part)."},
    Advice{"ISNULL", "Write IS_NULL(a), or a ?? b, which is b where a is undefined."},
    Advice{"JSON_VALUE", "Write the path itself, as in c.address.city."},
    Advice{"LCASE", "Write LOWER(x)."},
    Advice{"LEN", "Write LENGTH(x)."},
    Advice{"LOCATE", "Write INDEX_OF(text, part)."},
    Advice{"MOD", "Write a % b."},
    Advice{"NVL", "Write a ?? b, which is b where a is undefined."},
    Advice{"POW", "Write POWER(x, y)."},
    Advice{"SIZE", "Write ARRAY_LENGTH(x)."},
    Advice{"STRPOS", "Write INDEX_OF(text, part)."},
    Advice{"SUBSTR", "Write SUBSTRING(text, start, length); the first character is number 0."},
    Advice{"TOLOWER", "Write LOWER(x)."},
    Advice{"TOUPPER", "Write UPPER(x)."},
    Advice{"TYPEOF", "Write IS_STRING(x), IS_NUMBER(x), and so on."},
    Advice{"UCASE", "Write UPPER(x)."},
};

constexpr std::string_view kNoFullText =
    "CONTAINS(c.text, 'word', true) finds a part of a text, whatever its case.";
constexpr std::string_view kNoVectors = "Read the vectors and compare them in the client.";
constexpr std::string_view kNoExtract =
    "REGEXMATCH tells whether a text matches; SUBSTRING and INDEX_OF take a part of it.";

constexpr std::array kInstead = {
    Advice{"FULLTEXTCONTAINS", kNoFullText},
    Advice{"FULLTEXTCONTAINSALL", kNoFullText},
    Advice{"FULLTEXTCONTAINSANY", kNoFullText},
    Advice{"VECTORDISTANCE", kNoVectors},
    Advice{"_VECTORSCORE", kNoVectors},
    Advice{"_FULLTEXTSCORE", kNoFullText},
    Advice{"_FULLTEXTWORDCOUNT", kNoFullText},
    Advice{"SUBSTRINGBEFORE", "Write LEFT(text, INDEX_OF(text, part))."},
    Advice{"SUBSTRINGAFTER",
           "Write SUBSTRING(text, INDEX_OF(text, part) + LENGTH(part), LENGTH(text))."},
    Advice{"LASTSUBSTRINGBEFORE", "Write LEFT(text, LASTINDEXOF(text, part))."},
    Advice{"LASTSUBSTRINGAFTER",
           "Write SUBSTRING(text, LASTINDEXOF(text, part) + LENGTH(part), LENGTH(text))."},
    Advice{"REGEXEXTRACT", kNoExtract},
    Advice{"REGEXEXTRACTALL", kNoExtract},
};

/// STARTS_WITH and StartsWith are STARTSWITH.
std::string without_underscores(std::string_view name) {
    std::string out;
    for (const char c : name)
        if (c != '_') out += c;
    return out;
}

bool has_typographic_quote(std::string_view name) {
    for (const std::string_view quote : {"\u2018", "\u2019", "\u201C", "\u201D", "\u00AB"})
        if (name.starts_with(quote)) return true;
    return false;
}

}  // namespace

std::string unknown_name(std::string_view name, std::span<const KnownName> known, bool bare) {
    constexpr size_t kQuotedMax = 64;
    if (name.size() > kQuotedMax) return {};
    for (const std::string_view constant : {"true", "false", "null", "undefined"})
        if (equals_ignore_case(name, constant))
            return fmt::format("Write {} in lower case.", constant);
    if (has_typographic_quote(name)) return "Strings are quoted with ' or \".";
    if (known.empty()) return "There is no FROM clause to take it from: add one, as in FROM c.";
    for (const KnownName& other : known)
        if (equals_ignore_case(name, other.name))
            return fmt::format("Upper and lower case differ: did you mean '{}'?", other.name);
    for (const KnownName& other : known)
        if (other.source == name)
            return fmt::format("FROM {} {} names it '{}': write that here.", name, other.name,
                               other.name);
    for (const KnownName& other : known)
        if (is_misspelt(name, other.name)) return fmt::format("Did you mean '{}'?", other.name);
    std::string out = fmt::format("For a property write {}.{}", known.back().name, name);
    if (bare) out += fmt::format(", for a string '{}'", name);
    return out + ".";
}

std::string unknown_function(std::string_view name) {
    const std::string upper = to_upper_ascii(name);
    if (const std::string_view foreign = find(kForeignFunctions, upper); !foreign.empty())
        return std::string(foreign);
    const std::string plain = without_underscores(upper);
    std::string_view near;
    for (const FunctionSpec& spec : all_functions()) {
        if (spec.name.starts_with('_')) continue;
        const std::string other = without_underscores(spec.name);
        if (plain == other) return fmt::format("Did you mean {}?", spec.name);
        if (near.empty() && is_misspelt(plain, other)) near = spec.name;
    }
    if (!near.empty()) return fmt::format("Did you mean {}?", near);
    constexpr size_t kQuotedMax = 64;
    if (name.size() > kQuotedMax) return "A user-defined function is called as udf.name(...).";
    return fmt::format("If it is a user-defined function, call it as udf.{}(...).", name);
}

std::string_view refused_function(std::string_view upper_name) {
    return find(kInstead, upper_name);
}

std::string argument_count(size_t count) {
    return fmt::format("This call has {}.", count);
}

std::string not_grouped(std::string_view reference) {
    constexpr size_t kQuotedMax = 200;
    if (reference.size() > kQuotedMax) return "Add it to GROUP BY, or aggregate it.";
    return fmt::format("Add it to GROUP BY, or aggregate it, as in MAX({}).", reference);
}

std::string_view of_code(std::string_view code) {
    return find(kByCode, code);
}

namespace {

constexpr std::string_view kSystemKey =
    "System properties other than _ts are not indexed and cannot be sorted by: sort by _ts, or by "
    "a property of the item's own.";
constexpr std::string_view kIndexIsOff =
    "The container's indexing mode is none: make it consistent.";

bool is_off(const index::IndexingPolicy& policy) {
    return policy.mode == index::IndexingMode::kNone;
}

}  // namespace

std::string composite_index(const index::IndexingPolicy& policy,
                            const std::vector<OrderKey>& keys) {
    std::set<std::string_view> paths;
    for (const OrderKey& key : keys) {
        if (index::is_never_indexed(key.steps)) return std::string(kSystemKey);
        if (!paths.insert(key.path).second)
            return fmt::format(
                "ORDER BY names {} twice, and the second time changes nothing: leave it out.",
                key.path);
    }
    if (keys.size() > orrery::limits::kCompositePathsMax)
        return fmt::format("A composite index has at most {} paths: sort by fewer.",
                           orrery::limits::kCompositePathsMax);
    std::string out = "Add it to the container's indexing policy: \"compositeIndexes\": [[";
    for (const OrderKey& key : keys) {
        if (out.back() == '}') out += ", ";
        out += "{\"path\": ";
        json::write_string(out, key.path);
        out += fmt::format(", \"order\": \"{}\"}}", key.descending ? "descending" : "ascending");
    }
    out += "]].";
    if (is_off(policy)) out.append(" ").append(kIndexIsOff);
    return out;
}

std::string excluded_path(const index::IndexingPolicy& policy, const OrderKey& key) {
    if (index::is_never_indexed(key.steps)) return std::string(kSystemKey);
    if (is_off(policy)) return std::string(kIndexIsOff);
    const index::IndexPath* excluded = index::named_exclusion(policy, key.steps);
    std::string quoted;
    json::write_string(quoted, excluded == nullptr ? key.path + "/?" : excluded->text);
    if (excluded == nullptr)
        return "Add {\"path\": " + quoted +
               "} to the includedPaths of the container's indexing policy.";
    if (index::is_included_around(policy, key.steps))
        return "Remove {\"path\": " + quoted +
               "} from the excludedPaths of the container's indexing policy.";
    return "Move {\"path\": " + quoted +
           "} from the excludedPaths of the container's indexing policy to its includedPaths.";
}

}  // namespace orrery::query::hints
