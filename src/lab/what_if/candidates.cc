// Which partition keys are worth a replay.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "json/parse.h"
#include "json/write.h"
#include "lab/described.h"
#include "lab/item_samples.h"
#include "lab/query_shape.h"
#include "lab/what_if/replay.h"
#include "query/query.h"

namespace orrery::lab {
namespace {

using Kind = WorkloadOperation::Kind;

constexpr size_t kItemsLookedAt = 5000;
constexpr size_t kPathsMax = 40;

struct PathFacts {
    std::map<std::string, double> bytes;  ///< by value
    size_t items = 0;
    size_t times = 0;
    size_t numbers = 0;
};

using Facts = std::map<std::string, PathFacts>;

void gather(const json::Value& value, const std::string& path, int depth, double bytes,
            Facts& facts, std::map<std::string, std::string>& values) {
    if (value.is_object()) {
        if (depth >= 2) return;
        for (const auto& member : value.members())
            if (!member.name.starts_with("_") && member.name.find('/') == std::string_view::npos)
                gather(member.value, path + "/" + std::string(member.name), depth + 1, bytes, facts,
                       values);
        return;
    }
    if (!value.is_scalar() || (facts.size() >= kPathsMax && !facts.contains(path))) return;
    PathFacts& use = facts[path];
    const std::string text = json::to_text(value);
    use.bytes[text] += bytes;
    ++use.items;
    if (is_time_like(value)) ++use.times;
    if (value.is_number()) ++use.numbers;
    if (value.is_string()) {
        const auto month = value.as_string();
        if (month.size() == 7 && month[4] == '-' && month[0] == '2') ++use.times;
    }
    values[path] = text;
}

/// Share of operations that one key value answers: point operations know their item, queries must
/// pin every path.
double served_share(const Workload& workload, const std::vector<std::string>& paths,
                    const std::map<std::string, QueryShape>& shapes) {
    double served = 0;
    for (const auto& operation : workload.operations) {
        if (operation.kind != Kind::kQuery) {
            ++served;
            continue;
        }
        const auto shape = shapes.find(operation.query);
        if (shape == shapes.end()) continue;
        size_t pinned = 0;
        for (const auto& path : paths) {
            const auto& equal = shape->second.equality_paths;
            if (std::find(equal.begin(), equal.end(), path) == equal.end()) break;
            ++pinned;
        }
        // A prefix of a hierarchical key still asks few partitions.
        served += pinned == paths.size() ? 1 : pinned > 0 ? 0.9 : 0;
    }
    return workload.operations.empty() ? 0
                                       : served / static_cast<double>(workload.operations.size());
}

}  // namespace

std::vector<Candidate> propose_candidates(const Workload& workload, size_t count) {
    Facts facts;
    std::vector<std::map<std::string, std::string>> rows;
    std::vector<double> sizes;
    double total = 0;
    const size_t stride = std::max<size_t>(1, workload.items.size() / kItemsLookedAt);
    for (size_t i = 0; i < workload.items.size(); i += stride) {
        json::Arena arena;
        const auto parsed = json::parse(workload.items[i], arena);
        if (!parsed.ok()) continue;
        rows.emplace_back();
        sizes.push_back(static_cast<double>(workload.items[i].size()));
        total += sizes.back();
        gather(*parsed, "", 0, sizes.back(), facts, rows.back());
    }
    std::map<std::string, QueryShape> shapes;
    std::set<std::string> filtered;
    for (const auto& operation : workload.operations) {
        if (operation.kind != Kind::kQuery || shapes.contains(operation.query)) continue;
        if (const auto compiled = query::compile(operation.query); compiled.ok()) {
            shapes[operation.query] = shape_of(**compiled);
            for (const auto& path : shapes[operation.query].equality_paths) filtered.insert(path);
        }
    }
    std::set<std::vector<std::string>> wanted;
    if (!workload.key_paths.empty()) wanted.insert(workload.key_paths);
    for (const auto& [path, use] : facts) {
        const bool everywhere = use.items * 10 >= rows.size() * 9;
        if (!everywhere || use.bytes.size() < 2) continue;
        if (filtered.contains(path) || path == "/id") wanted.insert({path});
        if (filtered.contains(path) && path != "/id") wanted.insert({path, "/id"});
        for (const auto& other : filtered)
            if (other != path && filtered.contains(path) && facts.contains(other) &&
                path != "/id" && other != "/id")
                wanted.insert({path, other});
    }
    std::vector<Candidate> out;
    for (const auto& paths : wanted) {
        Candidate one;
        one.key_paths = paths;
        std::map<std::string, double> by_value;
        for (size_t i = 0; i < rows.size(); ++i) {
            std::string value;
            for (const auto& path : paths) {
                const auto found = rows[i].find(path);
                value += (found == rows[i].end() ? std::string("{}") : found->second) + "\n";
            }
            by_value[value] += sizes[i];
        }
        one.distinct = static_cast<int64_t>(by_value.size());
        for (const auto& [value, bytes] : by_value)
            one.largest_share = std::max(one.largest_share, total > 0 ? bytes / total : 0);
        one.served = served_share(workload, paths, shapes);
        const auto first = facts.find(paths[0]);
        one.time_based =
            first != facts.end() && first->second.times * 10 >= first->second.items * 9;
        // How well operations stay together, how evenly data spreads, how much room to grow there
        // is.
        const double spread = 1 - one.largest_share;
        const double room =
            std::min(1.0, std::log10(static_cast<double>(std::max<int64_t>(1, one.distinct))) / 3);
        // A last level that is an amount spreads a key value as well as one that names something,
        // but nothing that belongs together is found by it.
        const auto last = facts.find(paths.back());
        const bool amount = paths.size() > 1 && last != facts.end() &&
                            last->second.numbers * 2 > last->second.items &&
                            !is_id_name(paths.back());
        one.score = one.served * (0.4 + 0.35 * spread + 0.25 * room) * (one.time_based ? 0.5 : 1) *
                    (amount ? 0.8 : 1);
        one.why = fmt::format(
            "{:.0f} % of the operations need one key only; {} values among {} items, the largest "
            "with {:.1f} % of the bytes{}{}",
            one.served * 100, one.distinct, rows.size(), one.largest_share * 100,
            one.time_based ? "; it is a time, and all new items go to the newest value" : "",
            amount ? "; its last level is a number that names nothing" : "");
        out.push_back(std::move(one));
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
    if (out.size() > count) out.resize(count);
    return out;
}

std::string candidates_json(const std::vector<Candidate>& candidates) {
    JsonText out;
    out.begin_array();
    for (const auto& one : candidates) {
        out.begin_object().name("keyPaths").begin_array();
        for (const auto& path : one.key_paths) out.value(path);
        out.end_array()
            .member("score", std::round(one.score * 1000) / 1000)
            .member("served", one.served);
        out.member("distinct", one.distinct).member("largestShare", one.largest_share);
        out.member("timeBased", one.time_based).member("why", one.why).end_object();
    }
    out.end_array();
    return out.take();
}

}  // namespace orrery::lab
