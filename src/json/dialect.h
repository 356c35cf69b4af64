#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace orrery::json {

/// Whose rules the items of a container follow. The numbers are stored: docs/formats/numbers.md.
enum class Dialect : uint8_t { kNosql = 0, kMongo = 1, kCassandra = 2, kTable = 3 };

/// How values of different types follow one another.
enum class TypeOrder : uint8_t {
    kSql,   ///< undefined, null, booleans, numbers, strings, arrays, objects
    kBson,  ///< null, numbers, strings, objects, arrays, binary, ObjectIds, booleans, dates
};

/// What a dialect decides about items, their ids and their index entries.
struct DialectRules {
    Dialect dialect = Dialect::kNosql;
    std::string_view name;
    /// The item's members `id` and `ttl` are its id and its time to live, and the members that the
    /// server adds on output (is_system_property) are not the client's. False: all members are the
    /// client's, whatever they are called; id and time to live stand beside the item.
    bool reserves_members = true;
    /// `{"$t":n,"$v":…}` in a stored text is a value that JSON lacks. False: it is an object.
    bool typed_values = false;
    TypeOrder type_order = TypeOrder::kSql;
    /// The elements of an array stand at the path of the array itself, one level deep. False: at a
    /// path of their own.
    bool transparent_arrays = false;
    bool missing_is_null = false;  ///< in index entries
};

namespace detail {
inline constexpr DialectRules kDialectRules[] = {
    {.dialect = Dialect::kNosql, .name = "nosql"},
    {.dialect = Dialect::kMongo,
     .name = "mongo",
     .reserves_members = false,
     .typed_values = true,
     .type_order = TypeOrder::kBson,
     .transparent_arrays = true,
     .missing_is_null = true},
    {.dialect = Dialect::kCassandra,
     .name = "cassandra",
     .reserves_members = false,
     .typed_values = true},
    {.dialect = Dialect::kTable, .name = "table", .reserves_members = false, .typed_values = true},
};
}  // namespace detail

inline constexpr size_t kDialectCount = 4;

constexpr const DialectRules& rules(Dialect dialect) {
    return detail::kDialectRules[static_cast<size_t>(dialect)];
}

/// The dialect of a stored number; nullopt for a number of no known one.
constexpr std::optional<Dialect> dialect_of_number(uint64_t number) {
    if (number >= kDialectCount) return std::nullopt;
    return static_cast<Dialect>(number);
}

}  // namespace orrery::json
