#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Items and queries of the query benchmark, the same for every system that is measured.
namespace orrery::bench {

inline constexpr uint64_t kItemsPerTenant = 1000;

/// 1 KB of JSON:
///   id, pk (tenant of a thousand items), u (unique), h (100 items share it), t (10,000 items share
///   it), x and y (a pair of them names 1/200,000 of all), r (random, 0 to 10^9), g (100 groups),
///   amount, note (a text), lines (three objects with sku and quantity), filler texts.
std::string query_item(uint64_t key, uint64_t item_count);
std::string query_item_id(uint64_t key);
std::string query_tenant(uint64_t key);

/// Values of one execution: as JSON for @p0, @p1, … and as text for $1, $2, …
struct QueryValues {
    std::vector<std::string> json;
    std::vector<std::string> text;
    std::string tenant;
};

struct QueryLine {
    std::string name;
    std::string text;        ///< as Orrery takes it
    std::string sql;         ///< as PostgreSQL takes it; {key} becomes the condition on the tenant
    bool reads_all = false;  ///< every item must be read
    bool index_alone = false;  ///< the index holds the answer
    QueryValues (*draw)(uint64_t random, uint64_t item_count);
    /// As Orrery takes it inside one tenant, @pk; empty: `text`.
    std::string key_text = {};
};
const std::vector<QueryLine>& query_lines();

/// The container, with the composite index that a careful user would make.
std::string container_definition();
/// Statements that make what a careful user of PostgreSQL would make.
std::vector<std::string> postgres_tables();
std::vector<std::string> postgres_indexes();

uint64_t mix(uint64_t v);  ///< a random-looking number from another

}  // namespace orrery::bench
