// Physical partitions under /_orrery/containers/{database}/{container}/: what there is, splits and
// merges on demand.
#include <fmt/format.h>

#include <algorithm>

#include "base/encoding.h"
#include "base/errors.h"
#include "heads/rest/handlers.h"
#include "heads/rest/own_endpoints.h"
#include "json/write.h"

namespace orrery::rest {
namespace {

using catalog::RangeChange;
using Job = engine::RangeJob;

std::string texts_json(const std::vector<std::string>& texts) {
    std::string out = "[";
    for (const std::string& text : texts) {
        if (out.size() > 1) out.push_back(',');
        json::write_string(out, text);
    }
    return out + "]";
}

std::string_view phase_name(catalog::RangeProgress::Phase phase) {
    using Phase = catalog::RangeProgress::Phase;
    switch (phase) {
        case Phase::kWaiting:
            return "waiting";
        case Phase::kWaitingForIndex:
            return "waitingForIndex";
        case Phase::kCopying:
            return "copying";
        case Phase::kCatchingUp:
            return "catchingUp";
        case Phase::kSwitching:
            return "switching";
        case Phase::kDone:
            return "done";
        case Phase::kFailed:
            return "failed";
    }
    return "";
}

std::string job_json(const Job& job) {
    const catalog::RangeProgress& progress = *job.progress;
    std::string out = fmt::format(
        R"({{"id":{},"kind":"{}","rangeIds":{},"automatic":{},"askedAt":{},"phase":"{}","bytesCopied":{},)"
        R"("copyMs":{:.3f},"pauseMs":{:.3f},"pauseRecords":{},"pauseBytes":{},"newRangeIds":{})",
        job.number, job.change.range_ids.size() == 1 ? "split" : "merge",
        texts_json(job.change.range_ids), job.automatic, job.asked_at, phase_name(progress.phase),
        progress.bytes_copied.load(), static_cast<double>(progress.copy_us) / 1000,
        static_cast<double>(progress.pause_us) / 1000, progress.pause_records.load(),
        progress.pause_bytes.load(), texts_json(job.new_range_ids));
    if (!job.error.empty()) {
        out += R"(,"error":)";
        json::write_string(out, job.error);
    }
    return out + "}";
}

std::string partitions_json(const engine::PartitionFacts& facts) {
    std::string out = fmt::format(R"({{"mapVersion":{},"ranges":[)", facts.map_version);
    for (const auto& range : facts.ranges) {
        if (&range != &facts.ranges.front()) out.push_back(',');
        out += fmt::format(
            R"({{"id":"{}","minInclusive":"{}","maxExclusive":"{}","parents":{},"lsn":{},"birthLsn":{},"items":{},)"
            R"("bytes":{}}})",
            range.id, hex_encode_upper(range.range.min), hex_encode_upper(range.range.max),
            texts_json(range.parents), range.lsn, range.birth_lsn, range.items, range.bytes);
    }
    const auto& limits = facts.limits;
    out += fmt::format(
        R"(],"limits":{{"storageBytes":{},"throughput":{},"logicalPartitionBytes":{},"automatic":{}}},"jobs":[)",
        limits.storage_bytes, limits.throughput, limits.logical_partition_bytes, limits.automatic);
    bool first = true;
    for (const Job& job : facts.jobs) {
        if (!first) out.push_back(',');
        first = false;
        out += job_json(job);
    }
    return out + "]}";
}

Error bad_member(std::string_view name, std::string_view expected) {
    return errors::bad_request(fmt::format("The member '{}' must be {}.", name, expected));
}

Status read_members(const json::Value& body, std::initializer_list<std::string_view> known) {
    if (!body.is_object())
        return Status(errors::bad_request("The request body must be a JSON object."));
    for (const auto& member : body.members())
        if (std::find(known.begin(), known.end(), member.name) == known.end())
            return Status(
                errors::bad_request(fmt::format("The member '{}' is unknown here.", member.name)));
    return {};
}

Result<bool> what_if_of(const json::Value& body) {
    const json::Value value = body.member("whatIf");
    if (value.is_undefined()) return false;
    if (!value.is_bool()) return bad_member("whatIf", "true or false");
    return value.as_bool();
}

Status read_split(const json::Value& body, RangeChange& change) {
    TRY_STATUS(read_members(body, {"rangeId", "epk", "at", "whatIf"}));
    const json::Value id = body.member("rangeId");
    if (!id.is_string())
        return Status(bad_member("rangeId", "the id of a partition key range, a string"));
    change.range_ids = {std::string(id.as_string())};
    const json::Value at = body.member("at");
    if (!at.is_undefined()) {
        if (!at.is_string() || (at.as_string() != "middle" && at.as_string() != "bytes"))
            return Status(
                bad_member("at", "'middle' (of the key space) or 'bytes' (halves of even size)"));
        change.at = at.as_string() == "bytes" ? RangeChange::At::kBytes : RangeChange::At::kMiddle;
    }
    const json::Value epk = body.member("epk");
    if (epk.is_undefined()) return {};
    const auto bytes = epk.is_string() ? hex_decode(epk.as_string()) : std::nullopt;
    if (!bytes || bytes->empty() || !at.is_undefined())
        return Status(bad_member("epk", "an effective partition key in hex, without 'at'"));
    change.at = RangeChange::At::kGiven;
    change.epk = *bytes;
    return {};
}

Status read_merge(const json::Value& body, RangeChange& change) {
    TRY_STATUS(read_members(body, {"rangeIds", "whatIf"}));
    const json::Value ids = body.member("rangeIds");
    if (!ids.is_array() || ids.elements().size() != 2 || !ids.elements()[0].is_string() ||
        !ids.elements()[1].is_string())
        return Status(bad_member("rangeIds", "an array of the ids of two neighbouring ranges"));
    for (const json::Value& id : ids.elements()) change.range_ids.emplace_back(id.as_string());
    return {};
}

void change_ranges(const CallPtr& call, Status (*read)(const json::Value&, RangeChange&)) {
    on_worker(call, [call, read]() -> Status {
        TRY(const auto container, named_container(*call));
        TRY(const auto body, parse_body(*call));
        RangeChange change;
        change.container = container->rid;
        TRY_STATUS(read(body->value, change));
        TRY(const bool what_if, what_if_of(body->value));
        Answer answer;
        if (!what_if) {
            TRY(const Job job, call->session.change_ranges(*call, change));
            answer.status = 202;
            reply(call, answer, R"({"job":)" + job_json(job) + "}");
            return {};
        }
        TRY(const auto forecasts, call->session.forecast(*call, change));
        std::string out;
        for (const auto& forecast : forecasts)
            out += fmt::format(
                R"({}{{"minInclusive":"{}","maxExclusive":"{}","items":{},"bytes":{}}})",
                out.empty() ? "" : ",", hex_encode_upper(forecast.range.min),
                hex_encode_upper(forecast.range.max), forecast.items, forecast.bytes);
        reply(call, answer, R"({"ranges":[)" + out + "]}");
        return {};
    });
}

}  // namespace

void handle_partitions(const CallPtr& call) {
    on_worker(call, [call]() -> Status {
        TRY(const auto container, named_container(*call));
        TRY(const auto facts, call->session.partitions(*call, *container));
        reply(call, Answer{}, partitions_json(facts));
        return {};
    });
}

void handle_split(const CallPtr& call) {
    change_ranges(call, read_split);
}

void handle_merge(const CallPtr& call) {
    change_ranges(call, read_merge);
}

}  // namespace orrery::rest
