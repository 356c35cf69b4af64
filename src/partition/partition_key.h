#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/item.h"
#include "json/value.h"

/// Partition key definitions, values and the effective partition key (EPK), as every SDK computes
/// it. EPKs are binary here; their protocol text is upper-case hex (base/encoding.h), which sorts
/// alike. The key space is "" .. "\xFF".
namespace orrery::partition {

enum class KeyKind : uint8_t { kHash, kMultiHash };

/// Immutable once a container exists.
struct PartitionKeyDefinition {
    KeyKind kind = KeyKind::kHash;
    int version = 1;             ///< 1 or 2; MultiHash is always 2
    bool version_given = false;  ///< a missing version means 1 and stays missing in answers
    bool system_key = false;
    std::vector<std::string> paths;              ///< as given: "/a/b"
    std::vector<json::MemberPath> member_paths;  ///< the same, split

    size_t level_count() const { return kind == KeyKind::kMultiHash ? paths.size() : 1; }
};

/// A definition of these paths ("/a/b"); an error where kind, version and paths do not fit.
Result<PartitionKeyDefinition> make_partition_key_definition(KeyKind kind, int version,
                                                             std::vector<std::string> paths);
/// Validates and fills defaults as docs/containers.md says. `definition` is the JSON object.
Result<PartitionKeyDefinition> parse_partition_key_definition(const json::Value& definition);
/// The JSON that clients get back.
std::string partition_key_definition_json(const PartitionKeyDefinition& definition);

/// A value of the key: one component per path (undefined, null, boolean, number or string), fewer
/// for a prefix of a hierarchical key, none for the empty key `[]`. Strings are borrowed.
using PartitionKeyComponents = std::vector<json::Value>;

/// Reads the text form of a key (a JSON array; `{}` = undefined). Strings live in
/// `arena`. Code::kInvalidPartitionKey for anything else. Whether the components fit a container,
/// their length included, is decided by effective_partition_key().
Result<PartitionKeyComponents> parse_partition_key_header(std::string_view header,
                                                          json::Arena& arena);
/// "[\"a\",5,{}]": the header form of components.
std::string partition_key_json(const PartitionKeyComponents& components);

/// The EPK of a full key or of a prefix (MultiHash). Components must fit the definition's paths in
/// number (a prefix is allowed for MultiHash only), strings within 2,048 bytes unless the version
/// is 1; a bad request otherwise. In a container with a system key, `[]` and `[{}]` are both the
/// empty key
/// "".
Result<std::string> effective_partition_key(const PartitionKeyDefinition& definition,
                                            const PartitionKeyComponents& components);

/// Half-open range of EPKs.
struct EpkRange {
    std::string min;           ///< inclusive
    std::string max = "\xFF";  ///< exclusive

    bool contains(std::string_view epk) const { return epk >= min && epk < max; }
    /// range_of_key() of its own beginning.
    bool is_of_key() const {
        return !min.empty() && max.size() == min.size() + 1 && max.back() == '\xFF' &&
               max.starts_with(min);
    }
    friend bool operator==(const EpkRange&, const EpkRange&) = default;
};
/// The range of all keys that start with a hierarchical prefix, or of exactly one full key:
/// [E, E + FF).
EpkRange range_of_key(std::string_view epk);
/// n adjacent ranges of even width (docs/containers.md, "Partition keys").
std::vector<EpkRange> even_ranges(const PartitionKeyDefinition& definition, size_t count);

/// Where to cut a range into halves of even width; nullopt when it is too narrow.
std::optional<std::string> middle_of_range(const PartitionKeyDefinition& definition,
                                           const EpkRange& range);
/// Share of the key space, by the first level's hash: 0 to 1.
double width_of_range(const PartitionKeyDefinition& definition, const EpkRange& range);
/// The last border at or below `epk` that separates docrefs and EPKs alike. Splits lie on such
/// borders.
std::string docref_border(const PartitionKeyDefinition& definition, std::string_view epk);

/// The docref prefix of an EPK: the first 8 bytes of each level's hash; for V1 the first 8 bytes of
/// the EPK (shorter ones padded with zeros). The empty key has zeros on all levels; a hierarchical
/// prefix has as many levels as it has components.
std::string docref_prefix(const PartitionKeyDefinition& definition, std::string_view epk);

}  // namespace orrery::partition
