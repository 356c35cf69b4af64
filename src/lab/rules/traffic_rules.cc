// Rules 19, 20, 23, 25, 30 and 34-37: how the application talks to the container.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lab/rules/judges.h"

namespace orrery::lab {
namespace {

constexpr double kConflictRu = 26.0 / 21.0;

int64_t requests_of(const Observation& of, std::string_view name) {
    const auto* one = of.operation(name);
    return one == nullptr ? 0 : one->requests;
}

bool is_generic_key(std::string_view path) {
    static const std::set<std::string, std::less<>> kGeneric = {
        "/pk", "/partitionKey", "/partition_key", "/key", "/partitionkey", "/id", "/PK", "/_pk"};
    return kGeneric.contains(path);
}

}  // namespace

void judge_chatty(const Observation& of, const Thresholds&, Judgement& out) {
    if (!of.bursts) return out.no_evidence("sequences of requests by connection");
    if (of.bursts->bursts < 3) return;
    const double each =
        static_cast<double>(of.bursts->queries) / static_cast<double>(of.bursts->bursts);
    auto& finding = out.find(
        Severity::kMedium,
        fmt::format("{} times a client asked {:.1f} queries on one partition key within 50 ms.",
                    of.bursts->bursts, each));
    finding.fact("bursts", static_cast<double>(of.bursts->bursts))
        .fact("queries", static_cast<double>(of.bursts->queries));
    finding.advise("query",
                   "Embed what is read together, or keep the types in one logical partition and "
                   "ask once: all items of "
                   "the key, told apart by a type property.",
                   {}, "SELECT * FROM c WHERE c.type IN ('<a>', '<b>')");
    finding.saves(of,
                  kQueryPartitionRu * static_cast<double>(of.bursts->queries - of.bursts->bursts),
                  "(queries - bursts) x 2.79 RU");
}

void judge_denormalise(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (of.pairs.empty())
        return out.no_evidence("requests that follow one another on a connection");
    for (const auto& pair : of.pairs) {
        if (pair.second.find(" read") == std::string::npos || pair.count < 100) continue;
        if (static_cast<double>(pair.second_reads) <=
            limits.read_write_ratio * static_cast<double>(std::max<int64_t>(1, pair.second_writes)))
            continue;
        const double refresh = static_cast<double>(pair.second_writes) * 2 * write_ru(1024);
        const double gain = pair.second_ru - refresh;
        auto& finding = out.find(
            gain > 0 ? Severity::kMedium : Severity::kInfo,
            fmt::format("{} reads of '{}' follow '{}' within 50 ms; what they fetch is read {:.0f} "
                        "times for each change.",
                        pair.count, pair.second_container, pair.first,
                        static_cast<double>(pair.second_reads) /
                            static_cast<double>(std::max<int64_t>(1, pair.second_writes))));
        finding.fact("pairs", static_cast<double>(pair.count))
            .fact("secondReads", static_cast<double>(pair.second_reads))
            .fact("secondWrites", static_cast<double>(pair.second_writes))
            .fact("followingReadsRu", pair.second_ru, "RU")
            .fact("refreshRu", refresh, "RU");
        finding.advise("item",
                       "Copy the few fields that are needed into the item that refers to them, and "
                       "refresh the copies from "
                       "the change feed.");
        finding.saves(of, gain, "charge of the following reads - charge of refreshing copies");
    }
}

void judge_feed_dilution(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (of.feeds.empty())
        return out.no_evidence(
            "consumers of the change feed that report how many changes they use");
    for (const auto& feed : of.feeds) {
        if (feed.read == 0) continue;
        const double discarded =
            1 - static_cast<double>(feed.used) / static_cast<double>(feed.read);
        if (discarded <= limits.discarded) continue;
        auto& finding =
            out.find(Severity::kMedium,
                     fmt::format("The consumer '{}' discards {} of the changes that it reads.",
                                 feed.consumer, percent(discarded)));
        finding.fact("read", static_cast<double>(feed.read))
            .fact("used", static_cast<double>(feed.used))
            .fact("feedRu", feed.ru, "RU");
        finding.advise("container",
                       "Keep the items that this consumer wants in a container of their own.");
        finding.saves(of, discarded * feed.ru, "share discarded x charge of the feed");
    }
}

void judge_strong(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (of.consistency != "Strong" && of.consistency != "BoundedStaleness") return;
    const double total = of.total_ru();
    if (total <= 0) return out.no_evidence("charges");
    const double share = of.read_ru() / total;
    if (of.regions > 1 && share <= limits.strong_read_share) return;
    auto& finding = out.find(
        Severity::kMedium,
        fmt::format("Reads cost twice under {}; {} of the charge is reads{}.", of.consistency,
                    percent(share), of.regions == 1 ? ", and the account has one region" : ""));
    finding.fact("readRu", of.read_ru(), "RU")
        .fact("shareOfReads", share)
        .fact("regions", static_cast<double>(of.regions));
    finding.advise("account",
                   "Use Session, and pass the session token where another client must see a write.",
                   R"({"defaultConsistencyLevel":"Session"})");
    finding.saves(of, of.read_ru() / 2, "half of the charge of reads");
}

void judge_container_per_type(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (!of.neighbours) return out.no_evidence("other containers of the database");
    const auto& same = of.neighbours->same_key;
    if (static_cast<int64_t>(same.size()) < limits.containers_per_key) return;
    if (of.pairs.empty())
        return out.no_evidence(
            "requests that follow one another on a connection: whether the application joins them");
    int64_t joined = 0;
    std::set<std::string> partners;
    for (const auto& pair : of.pairs) {
        if (pair.second_container == of.container) continue;
        if (std::find(same.begin(), same.end(), pair.second_container) == same.end()) continue;
        joined += pair.count;
        partners.insert(pair.second_container);
    }
    if (joined < 100 || static_cast<int64_t>(partners.size()) + 1 < limits.containers_per_key)
        return;
    std::string names;
    for (const auto& name : same) names += (names.empty() ? "" : ", ") + name;
    const double spare = of.neighbours->shared_throughput
                             ? 0
                             : static_cast<double>((static_cast<int64_t>(same.size()) - 1) *
                                                   of.neighbours->minimum_ru);
    auto& finding =
        out.find(Severity::kMedium,
                 fmt::format("{} containers ({}) share the key {} and are used together.",
                             same.size(), names, of.key_paths.empty() ? "" : of.key_paths[0]));
    finding.fact("containers", static_cast<double>(same.size()))
        .fact("usedTogether", static_cast<double>(joined))
        .fact("minimumRu", static_cast<double>(of.neighbours->minimum_ru), "RU/s");
    finding.advise("container",
                   "Keep the types in one container, told apart by a type property: one "
                   "throughput, one query, one "
                   "transaction for what belongs together.",
                   R"({"id":"<id>","type":"<type>"})");
    finding.saves_throughput(of, spare, "minimum throughput of each container but one");
}

void judge_no_expiry(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (of.default_ttl) return;
    const int64_t creates = requests_of(of, "create") + requests_of(of, "upsert");
    const int64_t changes =
        requests_of(of, "replace") + requests_of(of, "patch") + requests_of(of, "delete");
    if (creates < 100) return out.no_evidence("enough creates (100)");
    if (changes * 20 > creates) return;  // not append-only
    if (of.item_use && of.item_use->updates * 20 > of.item_use->samples)
        return;  // upserts that replace
    const bool timed =
        std::any_of(of.paths.begin(), of.paths.end(), [](const PathUse& p) { return p.time_like; });
    if (!timed) return;
    if (!of.read_ages || of.read_ages->reads < 100)
        return out.no_evidence("enough reads with the age of what was read (100)");
    const double newest =
        static_cast<double>(of.read_ages->newest) / static_cast<double>(of.read_ages->reads);
    if (newest < limits.newest_reads) return;
    const auto life = static_cast<int64_t>(of.read_ages->life_seconds);
    const int64_t ttl = std::max<int64_t>(86'400, life / 20 * 2);
    auto& finding =
        out.find(Severity::kLow, fmt::format("Items are added and never changed, and {} of the "
                                             "reads ask for the newest twentieth; nothing expires.",
                                             percent(newest)));
    finding.fact("creates", static_cast<double>(creates))
        .fact("otherWrites", static_cast<double>(changes))
        .fact("readsOfNewest", newest)
        .fact("bytes", static_cast<double>(of.bytes), "bytes");
    finding.advise("container",
                   "Let items expire, and carry what must stay to a colder container by the change "
                   "feed. The value is twice "
                   "the age of what is read.",
                   fmt::format(R"({{"defaultTtl":{}}})", ttl));
    finding.saved_month = of.bytes / 1024 * 9 / 10 * kStorageGbMonth / (1 << 20) * of.regions;
    finding.saving_note =
        "Storage of what is older than twice the age of what is read: nine tenths.";
}

void judge_contended(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (of.hot_items.empty()) {
        if (of.write_requests() > 0) out.no_evidence("items that are written often");
        return;
    }
    for (const auto& item : of.hot_items) {
        if (item.attempts < 100 || item.conflicts == 0) continue;
        const double share =
            static_cast<double>(item.conflicts) / static_cast<double>(item.attempts);
        if (share <= limits.conflicts) continue;
        auto& finding =
            out.find(share > 0.1 ? Severity::kHigh : Severity::kMedium,
                     fmt::format("{} of {} writes to the item '{}' met another writer (412, 449).",
                                 percent(share), item.attempts, item.id));
        finding.fact("attempts", static_cast<double>(item.attempts))
            .fact("conflicts", static_cast<double>(item.conflicts))
            .fact("share", share);
        finding.advise("item",
                       "Increment by patch instead of reading and replacing, or shard the counter "
                       "over several items and add "
                       "them up when reading.",
                       R"({"operations":[{"op":"incr","path":"/count","value":1}]})");
        finding.saves(of, kConflictRu * static_cast<double>(item.conflicts),
                      "1.24 RU for each conflict, retries not counted");
    }
}

void judge_key_name(const Observation& of, const Thresholds&, Judgement& out) {
    if (!of.item_use || of.item_use->samples == 0)
        return out.no_evidence("samples of written items");
    if (of.item_use->type_property.empty() || of.item_use->types.size() < 2) return;
    if (of.key_paths.size() != 1 || is_generic_key(of.key_paths[0])) return;
    std::string lacking;
    int64_t without = 0;
    for (const auto& type : of.item_use->types) {
        if (type.with_key == type.samples) continue;
        without += type.samples - type.with_key;
        lacking += (lacking.empty() ? "" : ", ") + type.name;
    }
    if (without == 0) return;
    auto& finding = out.find(
        Severity::kLow,
        fmt::format("The container holds {} types, and the partition key {} means nothing to {}.",
                    of.item_use->types.size(), of.key_paths[0], lacking));
    finding.fact("types", static_cast<double>(of.item_use->types.size()))
        .fact("samplesWithoutKey", static_cast<double>(without));
    FindingChart chart{
        "bars", "Samples by type", "samples", {}, {{"with key", {}}, {"without", {}}}};
    for (const auto& type : of.item_use->types) {
        chart.labels.push_back(type.name);
        chart.series[0].values.push_back(static_cast<double>(type.with_key));
        chart.series[1].values.push_back(static_cast<double>(type.samples - type.with_key));
    }
    finding.chart = std::move(chart);
    finding.advise("partitionKey",
                   "Name the key for its purpose (/pk), and let each type put there what suits it.",
                   R"({"partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}})");
    finding.saving_note = "Avoids a migration: the partition key of a container cannot be changed.";
}

void judge_cross_key(const Observation& of, const Thresholds&, Judgement& out) {
    if (!of.correlated || of.correlated->groups == 0)
        return out.no_evidence(
            "writes with a correlation id (header traceparent or "
            "x-ms-cosmos-correlated-activityid)");
    const double share = static_cast<double>(of.correlated->several_keys) /
                         static_cast<double>(of.correlated->groups);
    if (of.correlated->several_keys < 10 || share < 0.05) return;
    std::string keys;
    for (const auto& key : of.correlated->example_keys) keys += (keys.empty() ? "" : " and ") + key;
    auto& finding = out.find(
        Severity::kMedium,
        fmt::format(
            "{} of {} related groups of writes go to several partition keys within 50 ms{}.",
            of.correlated->several_keys, of.correlated->groups,
            keys.empty() ? "" : " (such as " + keys + ")"));
    finding.fact("groups", static_cast<double>(of.correlated->groups))
        .fact("severalKeys", static_cast<double>(of.correlated->several_keys))
        .fact("share", share);
    finding.advise("partitionKey",
                   "What must change together needs one partition key value (a transactional "
                   "batch); otherwise write one item "
                   "and let a consumer of the change feed do the rest.");
    finding.saving_note = "Consistency: several keys are never written in one transaction.";
}

}  // namespace orrery::lab
