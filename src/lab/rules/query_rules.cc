// Rules 8-10, 16-18, 21, 22 and 24: queries.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "json/parse.h"
#include "lab/described.h"
#include "lab/rules/judges.h"

namespace orrery::lab {
namespace {

/// Of a query that an index serves and that finds one item.
constexpr double kServedQueryRu = 2.9;

bool contains(const std::vector<std::string>& list, std::string_view value) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

double per_hour(const Observation& of, int64_t runs) {
    return of.observed_seconds <= 0 ? 0 : static_cast<double>(runs) * 3600 / of.observed_seconds;
}

/// A policy like the present one with one more member in a list.
std::string policy_with(const Observation& of, std::string_view list, std::string_view entry) {
    json::Arena arena;
    const auto parsed = json::parse(of.indexing_policy.empty() ? "{}" : of.indexing_policy, arena);
    JsonText out;
    out.begin_object().name("indexingPolicy").begin_object();
    bool added = false;
    if (parsed.ok() && parsed->is_object())
        for (const auto& member : parsed->members()) {
            out.name(member.name);
            if (member.name == list && member.value.is_array()) {
                out.begin_array();
                for (const auto& element : member.value.elements()) out.raw(json::to_text(element));
                out.raw(entry).end_array();
                added = true;
            } else {
                out.raw(json::to_text(member.value));
            }
        }
    if (!added) out.name(list).begin_array().raw(entry).end_array();
    out.end_object().end_object();
    return out.take();
}

std::string without_ending(std::string path) {
    if (path.ends_with("/?") || path.ends_with("/*")) path.resize(path.size() - 2);
    return path;
}

Severity by_share(const Observation& of, double ru) {
    const double total = of.total_ru();
    const double share = total > 0 ? ru / total : 0;
    return share > 0.2 ? Severity::kHigh : Severity::kMedium;
}

}  // namespace

void judge_fan_out(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (of.queries.empty()) return out.no_evidence("queries");
    const double total = of.total_ru();
    for (const auto& query : of.queries) {
        if (query.keyed_runs >= query.runs || query.ranges_max <= 1) continue;
        const bool frequent = per_hour(of, query.runs) > limits.fan_out_runs_per_hour;
        const bool dear = total > 0 && query.ru / total > limits.fan_out_ru_share;
        if (!frequent && !dear) continue;
        const double ranges =
            query.pages > 0 ? static_cast<double>(query.ranges) / static_cast<double>(query.pages)
                            : 0;
        auto& finding = out.find(
            by_share(of, query.ru),
            fmt::format(
                "'{}' names no partition key and asks {:.1f} physical partitions each time.",
                query.text, ranges));
        finding.fact("runs", static_cast<double>(query.runs))
            .fact("rangesPerPage", ranges)
            .fact("pages", static_cast<double>(query.pages))
            .fact("ru", query.ru, "RU")
            .fact("shareOfRu", total > 0 ? query.ru / total : 0);
        const std::string condition =
            of.key_paths.empty() ? "" : query_path("c", of.key_paths.front()) + " = @key";
        std::string rewritten = query.text;
        if (const size_t at = rewritten.find(" WHERE "); at != std::string::npos)
            rewritten.insert(at + 7, condition + " AND ");
        else
            rewritten += " WHERE " + condition;
        const auto filter =
            query.equality_paths.empty() ? std::string() : query.equality_paths.front();
        finding.advise(
            "query",
            "Filter by the partition key where the application knows it." +
                (filter.empty() ? std::string()
                                : " Otherwise keep a second copy of the item under " + filter +
                                      " (change feed, materialized view), and ask that."),
            filter.empty()
                ? std::string()
                : fmt::format(R"({{"partitionKey":{{"paths":["{}"],"kind":"Hash","version":2}}}})",
                              filter),
            rewritten);
        finding.saves(
            of, std::max(0.0, ranges - 1) * kQueryPartitionRu * static_cast<double>(query.pages),
            "(partitions - 1) x 2.79 RU for each page");
    }
}

void judge_point_query(const Observation& of, const Thresholds&, Judgement& out) {
    if (of.queries.empty()) return out.no_evidence("queries");
    for (const auto& query : of.queries) {
        if (!query.pins_key_and_id || query.runs == 0 || query.aggregates) continue;
        if (query.output > query.runs) continue;
        const double bytes = query.output > 0 ? static_cast<double>(query.output_bytes) /
                                                    static_cast<double>(query.output)
                                              : 1024;
        const double each = query.ru / static_cast<double>(query.runs);
        auto& finding = out.find(by_share(of, query.ru),
                                 fmt::format("'{}' asks for one item by partition key and id, at "
                                             "{:.2f} RU; a point read costs {:.2f}.",
                                             query.text, each, read_ru(bytes)));
        finding.fact("runs", static_cast<double>(query.runs))
            .fact("ru", query.ru, "RU")
            .fact("pointReadRu", read_ru(bytes), "RU");
        finding.advise(
            "query",
            "Read the item by id and partition key (ReadItem); several at once with read-many.");
        finding.saves(of, query.ru - read_ru(bytes) * static_cast<double>(query.runs),
                      "(charge of the query - charge of a point read) x runs");
    }
}

void judge_meaningless_id(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (of.queries.empty()) return out.no_evidence("queries");
    if (!of.item_use || of.item_use->samples < 20)
        return out.no_evidence("enough samples of written items (20)");
    if (of.item_use->random_ids < 0.8) return;
    std::map<std::string, int64_t> alone;  // by the only property that is filtered
    std::map<std::string, double> cost;
    int64_t runs = 0;
    for (const auto& query : of.queries) {
        runs += query.runs;
        std::vector<std::string> others;
        for (const auto& path : query.filter_paths)
            if (!contains(of.key_paths, path)) others.push_back(path);
        if (others.size() != 1 || !contains(query.equality_paths, others[0]) || others[0] == "/id")
            continue;
        alone[others[0]] += query.runs;
        cost[others[0]] += query.ru;
    }
    for (const auto& [path, count] : alone) {
        if (static_cast<double>(count) <= limits.alone_share * static_cast<double>(runs)) continue;
        const auto use = std::find_if(of.paths.begin(), of.paths.end(),
                                      [&, &p = path](const PathUse& one) { return one.path == p; });
        if (use == of.paths.end() || use->samples < 20) {
            out.no_evidence("enough samples of " + path);
            continue;
        }
        const double unique =
            static_cast<double>(use->distinct) / static_cast<double>(use->samples);
        if (unique < 0.95) continue;
        auto& finding = out.find(
            Severity::kMedium,
            fmt::format("Items have random ids, but {} of the queries look for {} alone, which is "
                        "different in every item.",
                        percent(static_cast<double>(count) / static_cast<double>(runs)), path));
        finding.fact("runs", static_cast<double>(count))
            .fact("shareOfRuns", static_cast<double>(count) / static_cast<double>(runs))
            .fact("distinctShare", unique)
            .fact("randomIds", of.item_use->random_ids)
            .fact("ru", cost[path], "RU");
        finding.advise("item", "Put the value of " + path +
                                   " into the id: what is a query now is a point read then.");
        finding.saves(of,
                      cost[path] - read_ru(of.item_use->mean_bytes) * static_cast<double>(count),
                      "(charge of the queries - charge of point reads)");
    }
}

void judge_missing_index(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (of.queries.empty()) return out.no_evidence("queries");
    for (const auto& query : of.queries) {
        if (query.potential.empty()) continue;
        const double output = std::max<double>(1, static_cast<double>(query.output));
        const double ratio = static_cast<double>(query.retrieved) / output;
        if (ratio <= limits.retrieved_times_output) continue;
        std::string paths;
        std::string policy = of.indexing_policy;
        Observation changed;
        changed.indexing_policy = of.indexing_policy;
        for (const auto& path : query.potential) {
            if (!paths.empty()) paths += ", ";
            paths += path;
            // Of single indexes, only spatial ones are named by a subtree.
            const bool spatial = path.ends_with("/*");
            std::string entry = "{\"path\":";
            json::write_string(entry, spatial || path.ends_with("/?") ? path : path + "/?");
            if (spatial) entry += R"(,"types":["Point","LineString","Polygon","MultiPolygon"])";
            policy =
                policy_with(changed, spatial ? "spatialIndexes" : "includedPaths", entry + "}");
            // The next entry goes into what this one made.
            json::Arena arena;
            if (const auto parsed = json::parse(policy, arena); parsed.ok())
                changed.indexing_policy = json::to_text(parsed->member("indexingPolicy"));
        }
        auto& finding = out.find(
            by_share(of, query.ru),
            fmt::format("'{}' reads {:.0f} items for each that it returns; {} is not indexed.",
                        query.text, ratio, paths));
        finding.fact("runs", static_cast<double>(query.runs))
            .fact("ru", query.ru, "RU")
            .fact("retrieved", static_cast<double>(query.retrieved))
            .fact("output", static_cast<double>(query.output));
        finding.advise("indexingPolicy", "Index " + paths + ".", policy);
        finding.saves(of, query.ru - kServedQueryRu * static_cast<double>(query.runs),
                      "charge now - 2.9 RU x runs");
    }
}

void judge_missing_composite(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (of.queries.empty()) return out.no_evidence("queries");
    for (const auto& query : of.queries) {
        if (query.runs == 0) continue;
        const double each = query.ru / static_cast<double>(query.runs);
        const bool sorts_by_several = query.order_paths.size() >= 2;
        const bool filters_and_sorts = query.order_paths.size() == 1 &&
                                       !query.filter_paths.empty() && each > limits.composite_ru;
        if (query.potential_composite.empty() || (!sorts_by_several && !filters_and_sorts))
            continue;
        const auto& members = query.potential_composite.front();
        std::string entry = "[";
        std::string order;
        for (const auto& member : members) {
            const size_t blank = member.rfind(' ');
            const std::string path = without_ending(member.substr(0, blank));
            const bool descending =
                blank != std::string::npos && member.substr(blank + 1) == "DESC";
            if (entry.size() > 1) entry += ',';
            entry += "{\"path\":";
            json::write_string(entry, path);
            entry += fmt::format(R"(,"order":"{}"}})", descending ? "descending" : "ascending");
            if (!order.empty()) order += ", ";
            order += query_path("c", path) + (descending ? " DESC" : " ASC");
        }
        entry += "]";
        auto& finding = out.find(
            by_share(of, query.ru),
            fmt::format(
                "'{}' filters and sorts at {:.2f} RU a run; a composite index on ({}) serves both.",
                query.text, each, order));
        finding.fact("runs", static_cast<double>(query.runs))
            .fact("ru", query.ru, "RU")
            .fact("retrieved", static_cast<double>(query.retrieved))
            .fact("output", static_cast<double>(query.output));
        std::string rewritten = query.text;
        if (const size_t at = rewritten.find(" ORDER BY "); at != std::string::npos) {
            const size_t end = rewritten.find(" OFFSET ", at);
            rewritten = rewritten.substr(0, at) + " ORDER BY " + order +
                        (end == std::string::npos ? std::string() : rewritten.substr(end));
        }
        finding.advise("indexingPolicy", "Add the composite index, and sort by all of its members.",
                       policy_with(of, "compositeIndexes", entry), rewritten);
        const double needless = query.retrieved > query.output
                                    ? query.ru * (1 - static_cast<double>(query.output) /
                                                          static_cast<double>(query.retrieved))
                                    : 0;
        finding.saves(of, needless,
                      "charge x share of items read in vain; a what-if run measures it");
    }
}

void judge_scan_function(const Observation& of, const Thresholds&, Judgement& out) {
    if (of.queries.empty()) return out.no_evidence("queries");
    for (const auto& query : of.queries) {
        if (query.scan_functions.empty()) continue;
        const std::string& function = query.scan_functions.front();
        // Where the index has the values, each of them is looked at instead of each item: it grows
        // all the same.
        const bool reads_items = query.retrieved > query.output;
        auto& finding =
            out.find(reads_items ? by_share(of, query.ru) : Severity::kLow,
                     fmt::format("'{}' calls {} in its filter, which no look-up serves: {}.",
                                 query.text, function,
                                 reads_items ? fmt::format("{} items are read for {} results",
                                                           query.retrieved, query.output)
                                             : "every value of the path is looked at"));
        finding.fact("runs", static_cast<double>(query.runs))
            .fact("ru", query.ru, "RU")
            .fact("retrieved", static_cast<double>(query.retrieved))
            .fact("output", static_cast<double>(query.output));
        std::string json;
        const bool cases = function == "UPPER" || function == "LOWER";
        if (!query.filter_paths.empty()) {
            json = "{\"computedProperties\":[{\"name\":\"cp_lab\",\"query\":";
            json::write_string(json, fmt::format("SELECT VALUE {}({}) FROM c", function,
                                                 query_path("c", query.filter_paths.front())));
            json += "}]}";
        }
        finding.advise(
            "query",
            cases ? "Store the text in one letter case, index a computed property, or compare with "
                    "STRINGEQUALS(a, b, true), which the index serves."
                  : "Store the result, or index a computed property, and filter by that.",
            json);
        finding.saves(of, query.ru - kServedQueryRu * static_cast<double>(query.runs),
                      "charge now - 2.9 RU x runs");
    }
}

void judge_second_path(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (of.queries.empty()) return out.no_evidence("queries");
    std::map<std::string, std::pair<int64_t, double>> by_path;  // runs, RU without key
    int64_t runs = 0;
    for (const auto& query : of.queries) {
        runs += query.runs;
        for (const auto& path : query.equality_paths) {
            by_path[path].first += query.runs;
            if (query.keyed_runs < query.runs) by_path[path].second += query.ru;
        }
    }
    // The partition key given by header is an access path, too.
    for (const auto& query : of.queries)
        if (!of.key_paths.empty() && !contains(query.equality_paths, of.key_paths[0]))
            by_path[of.key_paths[0]].first += query.keyed_runs;
    std::vector<std::string> dominant;
    for (const auto& [path, use] : by_path)
        if (path != "/id" &&
            static_cast<double>(use.first) > limits.access_path_share * static_cast<double>(runs))
            dominant.push_back(path);
    if (dominant.size() < 2 || of.key_paths.empty() || !contains(dominant, of.key_paths[0])) return;
    for (const auto& path : dominant) {
        if (contains(of.key_paths, path) || by_path[path].second <= 0) continue;
        const double bytes = of.item_use ? of.item_use->mean_bytes : 1024;
        double terms = 0;
        for (const auto& use : of.paths) terms += use.terms;
        const double extra = of.write_requests() * write_ru(bytes, terms);
        const double gain = by_path[path].second - extra;
        auto& finding = out.find(
            gain > 0 ? Severity::kMedium : Severity::kInfo,
            fmt::format(
                "Items are found by {} ({} of the queries) and by {} ({}); only the first is the "
                "partition key.",
                of.key_paths[0],
                percent(static_cast<double>(by_path[of.key_paths[0]].first) /
                        static_cast<double>(runs)),
                path,
                percent(static_cast<double>(by_path[path].first) / static_cast<double>(runs))));
        finding.fact("runs", static_cast<double>(runs))
            .fact("runsByPath", static_cast<double>(by_path[path].first))
            .fact("fanOutRu", by_path[path].second, "RU")
            .fact("extraWriteRu", extra, "RU");
        FindingChart chart{"bars", "Queries by equality filter", "runs", {}, {{"runs", {}}}};
        for (const auto& [name, use] : by_path) {
            chart.labels.push_back(name);
            chart.series[0].values.push_back(static_cast<double>(use.first));
        }
        finding.chart = std::move(chart);
        finding.advise(
            "container",
            gain > 0
                ? "Keep a second copy under " + path + ": another item, or a materialized view."
                : "A second copy under " + path +
                      " would cost more writes than it saves in queries.",
            fmt::format(R"({{"partitionKey":{{"paths":["{}"],"kind":"Hash","version":2}}}})",
                        path));
        finding.saves(of, gain, "charge of fan-out queries - charge of writing every item twice");
    }
}

void judge_select_star(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (of.queries.empty()) return out.no_evidence("queries");
    for (const auto& query : of.queries) {
        const bool unused = query.used_bytes &&
                            static_cast<double>(query.output_bytes) >
                                limits.result_times_used * static_cast<double>(*query.used_bytes);
        const bool huge = query.returns_items && query.p50_result_bytes > limits.result_bytes;
        if (!unused && !huge) continue;
        // If the application reports nothing, assume one page of 100 KB.
        const double needed = query.used_bytes ? static_cast<double>(*query.used_bytes)
                                               : static_cast<double>(limits.result_bytes) *
                                                     static_cast<double>(query.pages);
        auto& finding = out.find(
            Severity::kMedium,
            fmt::format("'{}' returns {} a page{}.", query.text,
                        size_text(static_cast<double>(query.p50_result_bytes)),
                        unused ? ", of which the application uses " +
                                     percent(static_cast<double>(*query.used_bytes) /
                                             std::max(1.0, static_cast<double>(query.output_bytes)))
                               : std::string()));
        finding.fact("outputBytes", static_cast<double>(query.output_bytes), "bytes")
            .fact("neededBytes", needed, "bytes")
            .fact("p50ResultBytes", static_cast<double>(query.p50_result_bytes), "bytes")
            .fact("pages", static_cast<double>(query.pages));
        std::string rewritten = query.text;
        if (const size_t star = rewritten.find("SELECT *"); star != std::string::npos)
            rewritten.replace(star, 8, "SELECT c.id, c.<the properties that are used>");
        finding.advise("query", "Project the properties that are used, and ask for smaller pages.",
                       {}, rewritten);
        finding.saves(of,
                      0.03 * std::max(0.0, static_cast<double>(query.output_bytes) - needed) / 1024,
                      "0.03 RU for each KB that is not returned");
    }
}

void judge_small_pages(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (of.queries.empty()) return out.no_evidence("queries");
    for (const auto& query : of.queries) {
        if (query.small_page_runs == 0) continue;
        const double pages =
            static_cast<double>(query.small_pages) / static_cast<double>(query.small_page_runs);
        if (pages <= limits.small_pages) continue;
        auto& finding = out.find(
            Severity::kLow, fmt::format("'{}' is read in {:.1f} pages of fewer than ten items.",
                                        query.text, pages));
        finding.fact("runs", static_cast<double>(query.small_page_runs))
            .fact("pages", static_cast<double>(query.small_pages));
        finding.advise("query", "Ask for a page size of -1 (as many items as fit), or 100.");
        finding.saves(
            of, kQueryPartitionRu * static_cast<double>(query.small_pages - query.small_page_runs),
            "2.79 RU for each page but the first");
    }
}

}  // namespace orrery::lab
