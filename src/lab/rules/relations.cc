#include "lab/rules/relations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/described.h"
#include "lab/rules/rule.h"

namespace orrery::lab {
namespace {

constexpr int64_t kUnboundedLength = 1000;
constexpr double kLargeBytes = 512 << 10;  ///< a quarter of what an item may have

double requests(const Observation& of, std::initializer_list<std::string_view> names) {
    double sum = 0;
    for (const auto name : names)
        if (const auto* one = of.operation(name))
            sum += static_cast<double>(one->requests - one->failed);
    return sum;
}

/// Of a query inside one logical partition that finds so many items of this size.
double query_ru(double items, double bytes) {
    return kQueryPartitionRu + items * 0.0125 + items * bytes / 1024 * (0.0085 + 0.03);
}

Relation embedded(const Observation& of, const PathUse& path) {
    const ItemUse& items = *of.item_use;
    const ArrayUse& array = *path.array;
    Relation out;
    out.path = path.path;
    out.elements_p50 = static_cast<double>(array.p50);
    out.elements_p99 = static_cast<double>(array.p99);
    const double share = static_cast<double>(path.samples) / static_cast<double>(items.samples);
    out.element_bytes =
        array.p50 > 0 ? path.mean_bytes / static_cast<double>(array.p50) : path.mean_bytes;
    out.rest_bytes = std::max(100.0, items.mean_bytes - path.mean_bytes);
    out.reads = requests(of, {"read"}) * share;
    out.updates = requests(of, {"replace", "patch", "upsert"}) * share;
    const double sampled_updates = std::max<double>(1, static_cast<double>(items.updates));
    out.relation_updates =
        out.updates * std::min(1.0, static_cast<double>(path.changes) / sampled_updates);
    out.grows = array.rises >= 3 && array.falls == 0;
    const double whole = out.rest_bytes + path.mean_bytes;
    const double now = out.reads * read_ru(whole) + out.updates * 2 * write_ru(whole);
    // Each change of the relation writes one element; each read also asks for the elements.
    const double then =
        out.reads * (read_ru(out.rest_bytes) + query_ru(out.elements_p50, out.element_bytes)) +
        out.relation_updates * 2 * write_ru(out.element_bytes) +
        (out.updates - out.relation_updates) * 2 * write_ru(out.rest_bytes);
    out.embedded_ru_month = of.per_month(now);
    out.referenced_ru_month = of.per_month(then);
    const bool unbounded = out.grows && array.p99 > kUnboundedLength;
    if (unbounded) {
        out.advice =
            out.reads > out.updates ? Relation::Advice::kMixed : Relation::Advice::kReference;
        out.why = fmt::format(
            "{} only grows and has {} elements at the 99th percentile; an item ends at 2 MB.",
            path.path, array.p99);
    } else if (whole > kLargeBytes) {
        out.advice =
            out.reads > out.updates ? Relation::Advice::kMixed : Relation::Advice::kReference;
        out.why = fmt::format(
            "{} makes items of {}, and an item ends at 2 MB; with references each element can be "
            "read alone.",
            path.path, size_text(whole));
    } else if (then < now) {
        out.advice = Relation::Advice::kReference;
        out.why =
            fmt::format("{:.0f} of {:.0f} updates change {}, and each writes the whole item of {}.",
                        out.relation_updates, out.updates, path.path, size_text(whole));
    } else {
        out.advice = Relation::Advice::kEmbed;
        out.why = fmt::format(
            "{} is bounded ({} elements at the 99th percentile) and read with its item.", path.path,
            array.p99);
    }
    if (out.advice != Relation::Advice::kEmbed)
        out.saved_month = std::max<MicroDollars>(0, worth_of_ru(of, of.per_month(now - then)));
    return out;
}

/// "/customerId" leads to a container like "customers".
std::string target_of(const PathUse& path, const Observation& of) {
    const size_t slash = path.path.rfind('/');
    std::string name = path.path.substr(slash + 1);
    if (name.ends_with("Id") || name.ends_with("ID"))
        name.resize(name.size() - 2);
    else if (name.ends_with("_id"))
        name.resize(name.size() - 3);
    else
        return {};
    if (name.empty()) return {};
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const auto& pair : of.pairs) {
        std::string other = pair.second_container;
        std::transform(other.begin(), other.end(), other.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        if (other.starts_with(name)) return pair.second_container;
    }
    return {};
}

}  // namespace

std::vector<Relation> relations_of(const Observation& of) {
    std::vector<Relation> out;
    if (!of.item_use || of.item_use->samples == 0) return out;
    for (const auto& path : of.paths) {
        if (path.array && path.array->of_objects) {
            out.push_back(embedded(of, path));
            continue;
        }
        const std::string target = target_of(path, of);
        if (target.empty()) continue;
        Relation one;
        one.kind = Relation::Kind::kReferenced;
        one.path = path.path;
        one.target = target;
        one.rest_bytes = of.item_use->mean_bytes;
        one.element_bytes = 200;  // of what would be copied
        double following = 0;
        double writes = 0;
        for (const auto& pair : of.pairs) {
            if (pair.second_container != target) continue;
            one.reads += static_cast<double>(pair.count);
            following += pair.second_ru;
            writes = std::max(writes, static_cast<double>(pair.second_writes));
        }
        one.relation_updates = writes;
        // A change of the other item is carried to each that refers to it.
        const double fan = static_cast<double>(path.samples) /
                           std::max<double>(1, static_cast<double>(path.distinct));
        const double copies = writes * fan * 2 * write_ru(one.rest_bytes + one.element_bytes);
        one.referenced_ru_month = of.per_month(following);
        one.embedded_ru_month = of.per_month(copies);
        if (one.reads == 0) continue;
        if (copies < following) {
            one.advice = Relation::Advice::kMixed;
            one.why = fmt::format(
                "{:.0f} reads of '{}' follow; it was written {:.0f} times. Copy the few fields "
                "that are needed, "
                "keep {} as the reference.",
                one.reads, target, writes, path.path);
            one.saved_month = worth_of_ru(of, of.per_month(following - copies));
        } else {
            one.advice = Relation::Advice::kReference;
            one.why = fmt::format(
                "'{}' changes on its own ({:.0f} writes), and each copy would be written again.",
                target, writes);
        }
        out.push_back(std::move(one));
    }
    std::stable_sort(out.begin(), out.end(), [](const Relation& a, const Relation& b) {
        return a.saved_month > b.saved_month;
    });
    return out;
}

std::string relations_json(const std::vector<Relation>& relations) {
    JsonText out;
    out.begin_array();
    for (const auto& one : relations) {
        const auto whole = [](double value) { return std::llround(value); };
        out.begin_object().member(
            "now", one.kind == Relation::Kind::kEmbedded ? "embedded" : "referenced");
        out.member("path", one.path).member("target", one.target);
        out.member("advice", one.advice == Relation::Advice::kEmbed       ? "embed"
                             : one.advice == Relation::Advice::kReference ? "reference"
                                                                          : "mixed");
        out.member("why", one.why)
            .member("elementsP50", one.elements_p50)
            .member("elementsP99", one.elements_p99);
        out.member("elementBytes", whole(one.element_bytes))
            .member("restBytes", whole(one.rest_bytes));
        out.member("reads", whole(one.reads)).member("updates", whole(one.updates));
        out.member("relationUpdates", whole(one.relation_updates)).member("grows", one.grows);
        out.member("embeddedRuPerMonth", whole(one.embedded_ru_month));
        out.member("referencedRuPerMonth", whole(one.referenced_ru_month));
        out.member("savedMicroDollarsPerMonth", one.saved_month).end_object();
    }
    out.end_array();
    return out.take();
}

}  // namespace orrery::lab
