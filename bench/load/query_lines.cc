#include "load/query_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace orrery::bench {
namespace {

constexpr uint64_t kXValues = 500;
constexpr uint64_t kYValues = 400;
constexpr uint64_t kGroups = 100;
constexpr uint64_t kSkus = 1000;
constexpr uint64_t kRandomMax = 1'000'000'000;

uint64_t t_values(uint64_t item_count) {
    return std::max<uint64_t>(item_count / 10'000, 1);
}
std::string unique_text(uint64_t key) {
    return fmt::format("u{:016x}", mix(key * 3 + 1));
}

QueryValues numbers(uint64_t key, std::initializer_list<uint64_t> values) {
    QueryValues out;
    for (const uint64_t v : values) {
        out.json.push_back(std::to_string(v));
        out.text.push_back(std::to_string(v));
    }
    out.tenant = query_tenant(key);
    return out;
}
QueryValues text(uint64_t key, const std::string& value) {
    return {{'"' + value + '"'}, {value}, query_tenant(key)};
}

}  // namespace

uint64_t mix(uint64_t v) {
    v += 0x9e3779b97f4a7c15ULL;
    v = (v ^ (v >> 33)) * 0xff51afd7ed558ccdULL;
    v = (v ^ (v >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return v ^ (v >> 33);
}

std::string query_item_id(uint64_t key) {
    return fmt::format("item{:010}", key);
}
std::string query_tenant(uint64_t key) {
    return fmt::format("tenant{:06}", key / kItemsPerTenant);
}

std::string query_item(uint64_t key, uint64_t item_count) {
    constexpr int kFillers = 8;
    std::string out;
    out.reserve(1200);
    const auto to = std::back_inserter(out);
    fmt::format_to(
        to, R"({{"id":"{}","pk":"{}","u":"{}","h":{},"t":{},"x":{},"y":{},"r":{},"g":"group{:02}")",
        query_item_id(key), query_tenant(key), unique_text(key), key / 100,
        key % t_values(item_count), key % kXValues, key / kXValues % kYValues,
        mix(key) % kRandomMax, key % kGroups);
    fmt::format_to(
        to,
        R"(,"amount":{},"active":{},"note":"{:016x} {:016x}","address":{{"city":"City{}","zip":"{:05}"}})",
        mix(key + 7) % 10'000, key % 3 == 0, mix(key * 5), mix(key * 7), key % 97,
        mix(key) % 99999);
    out += R"(,"lines":[)";
    for (uint64_t i = 0; i < 3; ++i)
        fmt::format_to(to, R"({}{{"sku":"sku{:04}","quantity":{},"price":{}.5}})",
                       i == 0 ? "" : ",", mix(key * 11 + i) % kSkus, i + 1,
                       mix(key * 13 + i) % 500);
    out += ']';
    for (int i = 0; i < kFillers; ++i)
        fmt::format_to(to, R"(,"filler{}":"{:016x}{:016x}")", i,
                       mix(key * 17 + static_cast<uint64_t>(i)),
                       mix(key * 19 + static_cast<uint64_t>(i)));
    out += '}';
    return out;
}

const std::vector<QueryLine>& query_lines() {
    using V = QueryValues;
    static const std::vector<QueryLine> lines = {
        {"equality, 1 row", "SELECT * FROM c WHERE c.u = @p0",
         "SELECT doc FROM items WHERE doc->>'u' = $1{key}", false, false,
         [](uint64_t r, uint64_t n) -> V { return text(r % n, unique_text(r % n)); }},
        {"equality, 100 rows", "SELECT * FROM c WHERE c.h = @p0",
         "SELECT doc FROM items WHERE (doc->>'h')::bigint = $1{key}", false, false,
         [](uint64_t r, uint64_t n) -> V { return numbers(r % n, {r % n / 100}); }},
        {"equality, 10,000 rows", "SELECT * FROM c WHERE c.t = @p0",
         "SELECT doc FROM items WHERE (doc->>'t')::bigint = $1{key}", false, false,
         [](uint64_t r, uint64_t n) -> V { return numbers(r % n, {r % n % t_values(n)}); }},
        {"two filters", "SELECT * FROM c WHERE c.x = @p0 AND c.y = @p1",
         "SELECT doc FROM items WHERE (doc->>'x')::bigint = $1 AND (doc->>'y')::bigint = $2{key}",
         false, false,
         [](uint64_t r, uint64_t n) -> V {
             return numbers(r % n, {r % n % kXValues, r % n / kXValues % kYValues});
         }},
        {"range, ordered, 20 rows", "SELECT TOP 20 * FROM c WHERE c.r > @p0 ORDER BY c.r",
         "SELECT doc FROM items WHERE (doc->>'r')::bigint > $1{key} ORDER BY (doc->>'r')::bigint "
         "LIMIT 20",
         false, false,
         [](uint64_t r, uint64_t n) -> V { return numbers(r % n, {mix(r) % (kRandomMax / 2)}); },
         "SELECT TOP 20 * FROM c WHERE c.pk = @pk AND c.r > @p0 ORDER BY c.pk, c.r"},
        {"count with filter", "SELECT VALUE COUNT(1) FROM c WHERE c.t = @p0",
         "SELECT count(*) FROM items WHERE (doc->>'t')::bigint = $1{key}", false, true,
         [](uint64_t r, uint64_t n) -> V { return numbers(r % n, {r % n % t_values(n)}); }},
        {"100 groups", "SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g",
         "SELECT doc->>'g', count(*) FROM items WHERE true{key} GROUP BY 1", false, true,
         [](uint64_t r, uint64_t n) -> V { return numbers(r % n, {}); }},
        {"substring, counted", "SELECT VALUE COUNT(1) FROM c WHERE CONTAINS(c.note, @p0)",
         "SELECT count(*) FROM items WHERE position($1 in doc->>'note') > 0{key}", false, true,
         [](uint64_t r, uint64_t n) -> V {
             return text(r % n, fmt::format("{:04x}", mix(r) & 0xffff));
         }},
        {"every item, no index serves",
         "SELECT VALUE COUNT(1) FROM c WHERE (c.r + c.amount) % 1000 = @p0",
         "SELECT count(*) FROM items WHERE ((doc->>'r')::bigint + (doc->>'amount')::bigint) % 1000 "
         "= $1{key}",
         true, false, [](uint64_t r, uint64_t n) -> V { return numbers(r % n, {r % 1000}); }},
        {"array join", "SELECT c.id, l.quantity FROM c JOIN l IN c.lines WHERE l.sku = @p0",
         "SELECT doc->>'id', l->'quantity' FROM items, jsonb_array_elements(doc->'lines') l WHERE "
         "doc @> "
         "jsonb_build_object('lines', jsonb_build_array(jsonb_build_object('sku', $1::text))) AND "
         "l->>'sku' = $1{key}",
         false, false,
         [](uint64_t r, uint64_t n) -> V {
             return text(r % n, fmt::format("sku{:04}", r % kSkus));
         }},
    };
    return lines;
}

std::string container_definition() {
    return R"({"id":"queries","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},)"
           R"("indexingPolicy":{"compositeIndexes":[[{"path":"/pk"},{"path":"/r"}]]}})";
}

std::vector<std::string> postgres_tables() {
    return {"DROP TABLE IF EXISTS items",
            "CREATE TABLE items (pk text NOT NULL, id text NOT NULL, doc jsonb NOT NULL)"};
}

std::vector<std::string> postgres_indexes() {
    std::vector<std::string> out = {"ALTER TABLE items ADD PRIMARY KEY (pk, id)",
                                    "CREATE INDEX ON items USING gin (doc jsonb_path_ops)"};
    for (const char* expression :
         {"(doc->>'u')", "((doc->>'h')::bigint)", "((doc->>'t')::bigint)", "((doc->>'x')::bigint)",
          "((doc->>'y')::bigint)", "((doc->>'r')::bigint)", "(doc->>'g')"}) {
        out.push_back(fmt::format("CREATE INDEX ON items ({})", expression));
        out.push_back(fmt::format("CREATE INDEX ON items (pk, {})", expression));
    }
    out.push_back("VACUUM ANALYZE items");
    return out;
}

}  // namespace orrery::bench
