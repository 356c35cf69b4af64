// What `orrery top` shows, read from the server.
#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "cli/top.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::cli {
namespace {

/// Containers whose partitions are asked for each time: the busiest.
constexpr size_t kContainersMax = 24;
/// Full seconds that rates are the mean of.
constexpr size_t kMeanSeconds = 3;

double number(const json::Value& value) {
    return value.is_number() ? value.as_double() : 0;
}
int64_t integer(const json::Value& value) {
    return static_cast<int64_t>(number(value));
}
std::string text(const json::Value& value) {
    return value.is_string() ? std::string(value.as_string()) : std::string();
}

Error explain(Error error) {
    if (error.code == Code::kResourceNotFound || error.code == Code::kBadRequest ||
        error.code == Code::kUnauthorized)
        error.message +=
            " `orrery top` reads endpoints that Orrery alone has; an account of Azure has none of "
            "them.";
    return error;
}

TopPartition read_partition(const json::Value& range, const std::string& container) {
    TopPartition out;
    out.container = container;
    out.id = text(range.member("id"));
    out.min = text(range.member("minInclusive"));
    out.max = text(range.member("maxExclusive"));
    out.provisioned = number(range.member("provisioned"));
    out.items = integer(range.member("items"));
    out.bytes = integer(range.member("bytes"));
    const json::Value seconds = range.member("seconds");
    if (!seconds.is_array() || seconds.elements().size() < 2) return out;
    // The last second is not over.
    const auto all = seconds.elements().first(seconds.elements().size() - 1);
    const auto last = all.last(std::min(all.size(), kMeanSeconds));
    for (const json::Value& second : last) {
        if (!second.is_array() || second.elements().size() < 3) continue;
        out.charge_per_second += number(second.elements()[0]);
        out.requests_per_second += number(second.elements()[1]);
        out.throttled_per_second += number(second.elements()[2]);
    }
    const auto count = static_cast<double>(last.size());
    out.charge_per_second /= count;
    out.requests_per_second /= count;
    out.throttled_per_second /= count;
    return out;
}

}  // namespace

Result<TopData> read_top(AccountClient& client, const std::string& only_container) {
    auto answer = client.call({.resource = own_resource({"metrics"}, "minutes=1")});
    if (!answer.ok()) return explain(answer.error());
    json::Arena arena;
    TRY(const auto account, json::parse(answer->body, arena));
    TopData out;
    out.endpoint = client.endpoint().text();
    out.now = integer(account.member("now"));
    out.resident_bytes = integer(account.member("residentBytes"));
    if (const json::Value operations = account.member("operations"); operations.is_array())
        for (const json::Value& operation : operations.elements())
            out.operations.push_back(
                {text(operation.member("operation")), integer(operation.member("requests")),
                 integer(operation.member("p50Us")), integer(operation.member("p99Us"))});
    struct Candidate {
        std::string database;
        std::string container;
        double charge;
    };
    std::vector<Candidate> candidates;
    if (const json::Value containers = account.member("containers"); containers.is_array())
        for (const json::Value& container : containers.elements()) {
            Candidate candidate{text(container.member("database")),
                                text(container.member("container")),
                                number(container.member("charge"))};
            if (!only_container.empty() &&
                candidate.database + "/" + candidate.container != only_container)
                continue;
            candidates.push_back(std::move(candidate));
        }
    if (!only_container.empty() && candidates.empty())
        return errors::bad_request(fmt::format("There is no container '{}'.", only_container));
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.charge > b.charge; });
    out.containers = candidates.size();
    if (candidates.size() > kContainersMax) {
        out.containers_left_out = candidates.size() - kContainersMax;
        candidates.resize(kContainersMax);
    }
    for (const Candidate& candidate : candidates) {
        const auto page =
            client.call({.resource = own_resource(
                             {"containers", candidate.database, candidate.container, "metrics"},
                             fmt::format("minutes=1&seconds={}", kMeanSeconds + 1))});
        if (!page.ok()) {
            if (page.error().code == Code::kResourceNotFound) continue;  // deleted meanwhile
            return page.error();
        }
        TRY(const auto parsed, json::parse(page->body, arena));
        if (const json::Value ranges = parsed.member("ranges"); ranges.is_array())
            for (const json::Value& range : ranges.elements())
                out.partitions.push_back(
                    read_partition(range, candidate.database + "/" + candidate.container));
    }
    return out;
}

std::string top_json(const TopData& data) {
    const auto quoted = [](std::string_view value) {
        std::string out;
        json::write_string(out, value);
        return out;
    };
    std::string partitions;
    for (const TopPartition& p : data.partitions) {
        if (!partitions.empty()) partitions += ',';
        partitions += fmt::format(
            R"({{"container":{},"range":{},"minInclusive":"{}","maxExclusive":"{}","chargePerSecond":{:.2f},"requestsPerSecond":{:.2f},)"
            R"("throttledPerSecond":{:.2f},"provisioned":{:.0f},"items":{},"bytes":{}}})",
            quoted(p.container), quoted(p.id), p.min, p.max, p.charge_per_second,
            p.requests_per_second, p.throttled_per_second, p.provisioned, p.items, p.bytes);
    }
    std::string operations;
    for (const TopOperation& operation : data.operations) {
        if (!operations.empty()) operations += ',';
        operations += fmt::format(
            R"({{"operation":{},"requestsLastMinute":{},"p50Us":{},"p99Us":{}}})",
            quoted(operation.name), operation.requests, operation.p50_us, operation.p99_us);
    }
    return fmt::format(
        R"({{"endpoint":{},"now":{},"residentBytes":{},"containers":{},"operations":[{}],"partitions":[{}]}})",
        quoted(data.endpoint), data.now, data.resident_bytes, data.containers, operations,
        partitions);
}

}  // namespace orrery::cli
