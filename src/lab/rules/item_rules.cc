// Rules 11-15: what items are made of.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/described.h"
#include "lab/rules/judges.h"

namespace orrery::lab {
namespace {

constexpr double kItemBytesMax = 2.0 * 1024 * 1024;
constexpr double kSecondsPerDay = 86'400;

std::string member_of(std::string_view path) {
    const size_t at = path.rfind('/');
    return std::string(at == std::string_view::npos ? path : path.substr(at + 1));
}

/// A policy that indexes just these paths.
std::string policy_of(const std::vector<std::string>& paths) {
    JsonText out;
    out.begin_object().name("indexingPolicy").begin_object();
    out.member("indexingMode", "consistent")
        .member("automatic", true)
        .name("includedPaths")
        .begin_array();
    for (const auto& path : paths) out.begin_object().member("path", path + "/?").end_object();
    out.end_array().name("excludedPaths").begin_array();
    out.begin_object().member("path", "/*").end_object();
    out.end_array().end_object().end_object();
    return out.take();
}

double updates_of(const Observation& of) {
    double sum = 0;
    for (const std::string_view name : {"replace", "upsert", "patch"})
        if (const auto* one = of.operation(name))
            sum += static_cast<double>(one->requests - one->failed);
    return sum;
}

}  // namespace

void judge_unbounded_array(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (!of.item_use || of.item_use->samples == 0)
        return out.no_evidence("samples of written items");
    for (const auto& path : of.paths) {
        if (!path.array) continue;
        const ArrayUse& array = *path.array;
        const bool grows = array.rises >= 3 && array.falls == 0;
        const bool long_or_large = array.p99 > limits.array_p99 ||
                                   (array.size_share > limits.array_share && array.p99 > 20);
        if (!grows || !long_or_large) continue;
        const double size = of.item_use->mean_bytes;
        const double element =
            array.p50 > 0 ? size * array.size_share / static_cast<double>(array.p50) : 100;
        auto& finding =
            out.find(array.p99 > limits.array_p99 ? Severity::kHigh : Severity::kMedium,
                     fmt::format("The array {} only grows: up to {} elements, {} of the item's "
                                 "bytes; every addition writes them all again.",
                                 path.path, array.max, percent(array.size_share)));
        finding.fact("p99Length", static_cast<double>(array.p99))
            .fact("maxLength", static_cast<double>(array.max))
            .fact("sizeShare", array.size_share)
            .fact("rises", static_cast<double>(array.rises))
            .fact("falls", static_cast<double>(array.falls))
            .fact("meanItemBytes", size, "bytes");
        finding.chart =
            FindingChart{"bars",
                         "Length of " + path.path,
                         "elements",
                         {"p50", "p99", "max"},
                         {{"elements",
                           {static_cast<double>(array.p50), static_cast<double>(array.p99),
                            static_cast<double>(array.max)}}}};
        finding.advise(
            "item",
            "Make one item of each element, with the parent's id and the same partition key; keep "
            "the last few "
            "in the parent if it is read with them.",
            fmt::format(R"({{"id":"<element id>","parentId":"<parent id>","type":"{}"}})",
                        member_of(path.path)));
        const double now = 2 * write_ru(size);
        const double then = write_ru(element);
        finding.fact("replaceRuNow", now, "RU")
            .fact("createRuThen", then, "RU")
            .fact("updates", updates_of(of));
        finding.saves(of, (now - then) * updates_of(of), "(2 x W(item) - W(element)) x updates");
    }
}

void judge_large_hot_item(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (of.hot_items.empty()) {
        if (updates_of(of) > 0) out.no_evidence("items that are written often");
        return;
    }
    bool sized = false;
    for (const auto& item : of.hot_items) {
        if (item.bytes == 0) continue;
        sized = true;
        if (item.bytes <= limits.hot_item_bytes ||
            item.writes_per_day <= limits.hot_item_writes_per_day ||
            item.changed_share >= limits.hot_item_changed)
            continue;
        const auto bytes = static_cast<double>(item.bytes);
        const double hot = std::max(200.0, bytes * item.changed_share);
        std::string paths;
        for (const auto& path : item.changed_paths) paths += (paths.empty() ? "" : ", ") + path;
        auto& finding =
            out.find(Severity::kMedium, fmt::format("The item '{}' ({}) is written {:.0f} times a "
                                                    "day, but only {} of its bytes change.",
                                                    item.id, size_text(bytes), item.writes_per_day,
                                                    percent(item.changed_share)));
        finding.fact("bytes", bytes, "bytes")
            .fact("writesPerDay", item.writes_per_day)
            .fact("changedShare", item.changed_share)
            .fact("hotBytes", hot, "bytes");
        finding.chart = FindingChart{
            "bars",
            "Bytes of the item",
            "bytes",
            {"changing", "unchanged"},
            {{"bytes", {bytes * item.changed_share, bytes * (1 - item.changed_share)}}}};
        finding.advise("item", "Move what changes" +
                                   (paths.empty() ? std::string() : " (" + paths + ")") +
                                   " into an item of its own with the same partition key.");
        const double each = 2 * (write_ru(bytes) - write_ru(hot));
        finding.saves(of, each * item.writes_per_day * of.observed_seconds / kSecondsPerDay,
                      "2 x (W(item) - W(changing part)) x updates");
    }
    if (!sized && out.findings.empty())
        out.no_evidence("sampled versions of the items that are written often");
}

void judge_near_limit(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (!of.item_use || of.item_use->max_bytes == 0) return out.no_evidence("sizes of items");
    const ItemUse& use = *of.item_use;
    const auto present = static_cast<double>(use.growth_item_bytes);
    const double days =
        use.growth_bytes_per_day > 0 ? (kItemBytesMax - present) / use.growth_bytes_per_day : -1;
    const bool large = use.max_bytes > limits.large_item_bytes;
    const bool soon = days >= 0 && days < limits.forecast_days && present > 64 * 1024;
    if (!large && !soon) return;
    auto& finding = out.find(
        Severity::kHigh,
        large ? fmt::format("The largest item has {}; 2 MB is the limit.",
                            size_text(static_cast<double>(use.max_bytes)))
              : fmt::format("An item of {} grows by {} a day and reaches 2 MB in {:.0f} days.",
                            size_text(present), size_text(use.growth_bytes_per_day), days));
    finding.fact("maxBytes", static_cast<double>(use.max_bytes), "bytes")
        .fact("growthBytesPerDay", use.growth_bytes_per_day, "bytes")
        .fact("daysLeft", days, "days");
    FindingChart chart{"bars", "Items by size", "items", {}, {{"items", {}}}};
    for (size_t i = 0; i < use.size_histogram.size(); ++i) {
        chart.labels.push_back(size_text(1024.0 * std::pow(2.0, static_cast<double>(i))));
        chart.series[0].values.push_back(static_cast<double>(use.size_histogram[i]));
    }
    if (!chart.labels.empty()) finding.chart = std::move(chart);
    finding.advise(
        "item", "Split the item, or keep the large part in an object store and a reference here.");
    finding.saving_note = "Avoids 413; one write of 1 MB costs 1.7 times two of 512 KB.";
}

void judge_blob(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (!of.item_use || of.item_use->samples == 0)
        return out.no_evidence("samples of written items");
    for (const auto& path : of.paths) {
        if (path.blob_bytes_max <= limits.blob_bytes) continue;
        const double size = std::max(of.item_use->mean_bytes, path.mean_bytes);
        const double rest = std::max(200.0, size - path.mean_bytes + 200);
        const double share =
            static_cast<double>(path.samples) / static_cast<double>(of.item_use->samples);
        const auto* reads = of.operation("read");
        const double read =
            reads == nullptr ? 0 : static_cast<double>(reads->requests - reads->failed) * share;
        const double written = of.write_requests() * share;
        auto& finding = out.find(Severity::kMedium,
                                 fmt::format("{} holds binary data of up to {} as text.", path.path,
                                             size_text(static_cast<double>(path.blob_bytes_max))));
        finding.fact("blobBytesMax", static_cast<double>(path.blob_bytes_max), "bytes")
            .fact("itemBytes", size, "bytes")
            .fact("restBytes", rest, "bytes")
            .fact("reads", read)
            .fact("writes", written);
        finding.advise(
            "item", "Keep the data in an object store and its address in " + path.path + ".",
            fmt::format(R"({{"{}":"https://<store>/<container>/<id>"}})", member_of(path.path)));
        finding.saves(
            of,
            read * (read_ru(size) - read_ru(rest)) + written * (write_ru(size) - write_ru(rest)),
            "difference of R and W for the item with and without the data");
    }
}

void judge_unused_index(const Observation& of, const Thresholds& limits, Judgement& out) {
    if (!of.item_use || of.item_use->samples == 0)
        return out.no_evidence("samples of written items");
    std::vector<const PathUse*> unused;
    std::vector<std::string> used;
    int64_t indexed = 0;
    double terms = 0;
    for (const auto& path : of.paths) {
        if (!path.indexed || path.terms <= 0 || path.path == "/id") continue;
        ++indexed;
        if (path.filter_runs > 0 || path.order_runs > 0 ||
            std::find(of.key_paths.begin(), of.key_paths.end(), path.path) != of.key_paths.end()) {
            used.push_back(path.path);
        } else {
            unused.push_back(&path);
            terms += path.terms;
        }
    }
    if (unused.empty()) return;
    const double days = of.observed_seconds / kSecondsPerDay;
    const bool many = indexed > limits.indexed_paths;
    if (days < limits.unused_index_days && !many)
        return out.no_evidence(fmt::format("{:.0f} days of queries ({:.1f} have been seen)",
                                           limits.unused_index_days, days));
    if (of.queries.empty() && !many) return out.no_evidence("queries");
    std::sort(unused.begin(), unused.end(), [](const PathUse* a, const PathUse* b) {
        return a->terms != b->terms ? a->terms > b->terms : a->path < b->path;
    });
    const double saved = kTermRu * terms * of.write_requests();
    auto& finding = out.find(many ? Severity::kMedium : Severity::kLow,
                             fmt::format("{} of {} indexed paths are not used by any query; each "
                                         "write pays {:.1f} terms for them.",
                                         unused.size(), indexed, terms));
    finding.fact("indexedPaths", static_cast<double>(indexed))
        .fact("unusedPaths", static_cast<double>(unused.size()))
        .fact("termsPerWrite", terms)
        .fact("writes", of.write_requests());
    FindingChart chart{"bars", "Terms per write of unused paths", "terms", {}, {{"terms", {}}}};
    for (const auto* path : unused) {
        if (chart.labels.size() == 10) break;
        chart.labels.push_back(path->path);
        chart.series[0].values.push_back(path->terms);
    }
    finding.chart = std::move(chart);
    finding.advise("indexingPolicy", "Index only what is asked for.", policy_of(used));
    finding.saves(of, saved, "0.19 RU x terms x writes");
}

}  // namespace orrery::lab
