#include "partition/partition_key.h"

#include <algorithm>
#include <charconv>

#include "base/encoding.h"
#include "base/errors.h"
#include "base/limits.h"
#include "json/item.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::partition {
namespace {

constexpr std::string_view kSystemKeyPath = "/_partitionKey";

/// Text of a client for an error message: never long, never cut inside a character.
std::string excerpt(std::string_view text) {
    constexpr size_t kExcerptBytesMax = 100;
    if (text.size() <= kExcerptBytesMax) return std::string(text);
    size_t end = kExcerptBytesMax;
    while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
    return std::string(text.substr(0, end)) + "...";
}

Error bad_path(std::string_view path, std::string_view why) {
    return errors::bad_request("The partition key path '" + excerpt(path) +
                               "' is invalid: " + std::string(why) + ".");
}

/// Reads `"name"` or `'name'` at `position`, which moves behind it.
Result<std::string> take_quoted(std::string_view path, size_t& position) {
    const char quote = path[position];
    const size_t end = path.find(quote, position + 1);
    if (end == std::string_view::npos) return bad_path(path, "a quoted name does not end");
    const std::string_view name = path.substr(position + 1, end - position - 1);
    // Clients disagree on whether the backslash belongs to the name.
    if (name.find('\\') != std::string_view::npos)
        return bad_path(path, "a quoted name must not contain a backslash");
    position = end + 1;
    return std::string(name);
}

Result<std::string> take_plain(std::string_view path, size_t& position) {
    const size_t end = std::min(path.find('/', position), path.size());
    const std::string_view name = path.substr(position, end - position);
    if (name.find_first_of("*?") != std::string_view::npos)
        return bad_path(path, "wildcards are not allowed; write names with '*' or '?' in quotes");
    if (name.find_first_of("[]{}") != std::string_view::npos)
        return bad_path(path,
                        "array elements are not allowed; write names with brackets in quotes");
    if (name.find_first_of("\"'\\") != std::string_view::npos)
        return bad_path(path, "a quote or backslash inside a name");
    if (!name.empty() && (name.front() == ' ' || name.back() == ' '))
        return bad_path(path, "write names that begin or end with a blank in quotes");
    position = end;
    return std::string(name);
}

Result<json::MemberPath> split_path(std::string_view path) {
    if (path.empty() || path.front() != '/') return bad_path(path, "it must begin with '/'");
    json::MemberPath names;
    size_t position = 0;
    while (position < path.size()) {
        if (path[position] != '/') return bad_path(path, "'/' expected after a quoted name");
        ++position;
        const bool quoted =
            position < path.size() && (path[position] == '"' || path[position] == '\'');
        TRY(std::string name, quoted ? take_quoted(path, position) : take_plain(path, position));
        if (name.empty()) return bad_path(path, "a name is empty");
        if (names.size() >= limits::kNestingDepthMax)
            return bad_path(path, "it is deeper than items can be");
        names.push_back(std::move(name));
    }
    if (json::is_system_property(names.front()))
        return bad_path(path, "a system property cannot be the partition key");
    return names;
}

Status read_kind(const json::Value& value, PartitionKeyDefinition& out) {
    if (value.is_undefined() || value.is_null()) return {};
    if (value.is_string() && value.as_string() == "Hash") return {};
    if (value.is_string() && value.as_string() == "MultiHash") {
        out.kind = KeyKind::kMultiHash;
        return {};
    }
    return Status(errors::bad_request(
        "The member 'kind' of the partition key must be \"Hash\" or \"MultiHash\"."));
}

Status read_version(const json::Value& value, PartitionKeyDefinition& out) {
    const bool multi = out.kind == KeyKind::kMultiHash;
    if (value.is_undefined() || value.is_null()) {
        out.version = multi ? 2 : 1;
        out.version_given = multi;
        return {};
    }
    // The Java SDK sends the name of its enumeration's value.
    const bool one =
        value.is_string() ? value.as_string() == "V1" : value.is_number() && value.as_double() == 1;
    const bool two =
        value.is_string() ? value.as_string() == "V2" : value.is_number() && value.as_double() == 2;
    if (!one && !two)
        return Status(
            errors::bad_request("The member 'version' of the partition key must be 1 or 2."));
    if (multi && one)
        return Status(errors::bad_request(
            "A partition key of kind MultiHash needs version 2; version 1 is not possible."));
    out.version = one ? 1 : 2;
    out.version_given = true;
    return {};
}

Status set_paths(std::vector<std::string> paths, PartitionKeyDefinition& out) {
    const size_t paths_max =
        out.kind == KeyKind::kMultiHash ? limits::kPartitionKeyPathsMax : size_t{1};
    if (paths.size() > paths_max)
        return Status(errors::bad_request(
            out.kind == KeyKind::kMultiHash
                ? "A partition key of kind MultiHash has at most 3 paths."
                : "A partition key of kind Hash has exactly one path; several need the kind "
                  "MultiHash."));
    for (std::string& path : paths) {
        TRY(auto names, split_path(path));
        if (std::find(out.member_paths.begin(), out.member_paths.end(), names) !=
            out.member_paths.end())
            return Status(bad_path(path, "it appears twice"));
        out.paths.push_back(std::move(path));
        out.member_paths.push_back(std::move(names));
    }
    return {};
}

Status read_paths(const json::Value& value, PartitionKeyDefinition& out) {
    if (!value.is_array() || value.elements().empty())
        return Status(errors::bad_request(
            "The member 'paths' of the partition key must be an array of at least one path."));
    std::vector<std::string> paths;
    for (const json::Value& element : value.elements()) {
        if (!element.is_string())
            return Status(
                errors::bad_request("The member 'paths' of the partition key holds a non-string."));
        paths.emplace_back(element.as_string());
    }
    return set_paths(std::move(paths), out);
}

Status read_system_key(const json::Value& value, PartitionKeyDefinition& out) {
    if (value.is_undefined() || value.is_null()) return {};
    if (!value.is_bool())
        return Status(errors::bad_request(
            "The member 'systemKey' of the partition key must be true or false."));
    out.system_key = value.as_bool();
    if (out.system_key && (out.kind != KeyKind::kHash || out.paths.front() != kSystemKeyPath))
        return Status(
            errors::bad_request("The member 'systemKey' of the partition key belongs to the path "
                                "/_partitionKey only."));
    return {};
}

/// The Go SDK writes characters beyond the basic plane as \UXXXXXXXX, which JSON does not know.
/// Returns the header with those replaced by UTF-8; nullopt when one is malformed.
std::optional<std::string> without_long_escapes(std::string_view header) {
    constexpr size_t kDigits = 8;
    std::string out;
    for (size_t i = 0; i < header.size(); ++i) {
        if (header[i] != '\\' || i + 1 >= header.size()) {
            out.push_back(header[i]);
            continue;
        }
        if (header[i + 1] != 'U') {
            out.append(header.substr(i, 2));
            ++i;
            continue;
        }
        uint32_t code = 0;
        const char* begin = header.data() + i + 2;
        const char* end = header.data() + std::min(header.size(), i + 2 + kDigits);
        const auto [stop, error] = std::from_chars(begin, end, code, 16);
        if (error != std::errc() || stop != begin + kDigits || code < 0x10000 || code > 0x10FFFF)
            return std::nullopt;
        out.push_back(static_cast<char>(0xF0 | (code >> 18)));
        out.push_back(static_cast<char>(0x80 | ((code >> 12) & 0x3F)));
        out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
        out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
        i += 1 + kDigits;
    }
    return out;
}

}  // namespace

Result<PartitionKeyDefinition> make_partition_key_definition(KeyKind kind, int version,
                                                             std::vector<std::string> paths) {
    PartitionKeyDefinition out;
    out.kind = kind;
    out.version = version;
    out.version_given = true;
    if (version < 1 || version > 2 || (kind == KeyKind::kMultiHash && version != 2))
        return errors::bad_request("A partition key has version 1 or 2, of kind MultiHash 2.");
    if (paths.empty()) return errors::bad_request("A partition key has at least one path.");
    TRY_STATUS(set_paths(std::move(paths), out));
    return out;
}

Result<PartitionKeyDefinition> parse_partition_key_definition(const json::Value& definition) {
    if (!definition.is_object())
        return errors::bad_request("The partition key definition must be a JSON object.");
    for (const json::Member& member : definition.members()) {
        const std::string_view name = member.name;
        if (name != "paths" && name != "kind" && name != "version" && name != "systemKey")
            return errors::bad_request("The partition key definition has an unknown member '" +
                                       excerpt(name) + "'.");
    }
    PartitionKeyDefinition out;
    TRY_STATUS(read_kind(definition.member("kind"), out));
    TRY_STATUS(read_version(definition.member("version"), out));
    TRY_STATUS(read_paths(definition.member("paths"), out));
    TRY_STATUS(read_system_key(definition.member("systemKey"), out));
    return out;
}

std::string partition_key_definition_json(const PartitionKeyDefinition& definition) {
    std::string out = R"({"paths":[)";
    for (size_t i = 0; i < definition.paths.size(); ++i) {
        if (i > 0) out.push_back(',');
        json::write_string(out, definition.paths[i]);
    }
    out += R"(],"kind":)";
    out += definition.kind == KeyKind::kMultiHash ? R"("MultiHash")" : R"("Hash")";
    if (definition.version_given) out += R"(,"version":)" + std::to_string(definition.version);
    if (definition.system_key) out += R"(,"systemKey":true)";
    out.push_back('}');
    return out;
}

Result<PartitionKeyComponents> parse_partition_key_header(std::string_view header,
                                                          json::Arena& arena) {
    const auto refuse = [&](std::string_view expected) {
        return errors::invalid_partition_key(
            is_valid_utf8(header) ? excerpt(header) : "(not UTF-8)", expected);
    };
    constexpr std::string_view kExpected =
        "a JSON array of strings, numbers, booleans, null or {} (missing), for example [\"value\"]";
    constexpr uint32_t kDepth = 2;
    auto parsed = json::parse(header, arena, {.depth_max = kDepth});
    if (!parsed.ok() && header.find("\\U") != std::string_view::npos) {
        if (const auto plain = without_long_escapes(header))
            parsed = json::parse(*plain, arena, {.depth_max = kDepth});
    }
    if (!parsed.ok() || !parsed->is_array()) return refuse(kExpected);
    const auto elements = parsed->elements();
    if (elements.size() > limits::kPartitionKeyPathsMax)
        return refuse("a JSON array of at most 3 components");
    PartitionKeyComponents components;
    components.reserve(elements.size());
    for (const json::Value& element : elements) {
        const bool missing = element.is_object() && element.members().empty();
        if (!missing && !element.is_scalar()) return refuse(kExpected);
        components.push_back(missing ? json::Value() : element);
    }
    return components;
}

std::string partition_key_json(const PartitionKeyComponents& components) {
    std::string out = "[";
    for (size_t i = 0; i < components.size(); ++i) {
        if (i > 0) out.push_back(',');
        if (components[i].is_undefined()) {
            out += "{}";
        } else {
            json::write(out, components[i], json::NumberForm::kCanonical);
        }
    }
    out.push_back(']');
    return out;
}

}  // namespace orrery::partition
