#include "heads/rest/request_record.h"

#include <charconv>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "base/bytes.h"
#include "engine/outcome.h"
#include "heads/rest/handlers.h"
#include "json/document.h"
#include "json/parse.h"
#include "json/select.h"
#include "json/write.h"
#include "lab/query_shape.h"

namespace orrery::rest {
namespace {

using engine::OperationClass;
using engine::RequestRecord;
using partition::OperationKind;
using partition::OperationResult;

/// True for "true" in any case; what is no boolean was refused before.
bool is_set(const Call& call, HeaderName name) {
    if (!call.headers.has(name)) return false;
    const auto value = call.headers.boolean(name);
    return value.ok() && *value;
}

OperationClass operation_of(const Call& call, const Answer& answer) {
    if (answer.query != nullptr) return OperationClass::kQuery;
    const auto& route = call.route;
    const auto method = call.request().method;
    if (route.type == ResourceType::kProcedure && !route.feed && method == "POST")
        return OperationClass::kScript;
    if (route.type == ResourceType::kPartitionKeyDelete) return OperationClass::kDelete;
    if (route.type != ResourceType::kItem) return OperationClass::kMetadata;
    if (!route.feed) {
        if (method == "GET") return OperationClass::kRead;
        if (method == "PUT") return OperationClass::kReplace;
        if (method == "PATCH") return OperationClass::kPatch;
        if (method == "DELETE") return OperationClass::kDelete;
        return OperationClass::kRead;
    }
    if (method != "POST")
        return call.headers.has(HeaderName::kAIm) ? OperationClass::kChangeFeed
                                                  : OperationClass::kReadFeed;
    if (is_set(call, HeaderName::kIsQueryPlan)) return OperationClass::kMetadata;
    if (is_set(call, HeaderName::kIsBatch)) return OperationClass::kBatch;
    if (is_query(call)) return OperationClass::kQuery;
    return is_set(call, HeaderName::kIsUpsert) ? OperationClass::kUpsert : OperationClass::kCreate;
}

OperationClass operation_of(OperationKind kind) {
    switch (kind) {
        case OperationKind::kCreate:
            return OperationClass::kCreate;
        case OperationKind::kReplace:
            return OperationClass::kReplace;
        case OperationKind::kUpsert:
            return OperationClass::kUpsert;
        case OperationKind::kPatch:
            return OperationClass::kPatch;
        case OperationKind::kDelete:
            return OperationClass::kDelete;
        case OperationKind::kRead:
            break;
    }
    return OperationClass::kRead;
}

uint32_t range_number(std::string_view id) {
    uint32_t number = RequestRecord::kNoRange;
    std::from_chars(id.data(), id.data() + id.size(), number);
    return number;
}

uint32_t clamped(size_t bytes) {
    return static_cast<uint32_t>(std::min<size_t>(bytes, std::numeric_limits<uint32_t>::max()));
}

/// Stands for a text in sketches, also in those that outlive the server
/// (docs/formats/recording.md): eight bytes at a time, each step undoable. It withstands nobody who
/// looks for collisions; what they would gain is that two keys of theirs are shown as one.
uint64_t hash_of(std::string_view text) {
    uint64_t hash = text.size();
    const auto mix = [&hash](uint64_t word) {
        hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
        hash ^= hash >> 32;
    };
    for (; text.size() > 8; text.remove_prefix(8)) mix(load_u64_le(text.data()));
    uint64_t rest = 0;
    std::memcpy(&rest, text.data(), text.size());
    mix(rest);
    mix(0);
    return hash;
}

bool names_item(const Call& call) {
    return call.route.type == ResourceType::kItem && !call.route.feed;
}

/// What one operation wrote, added to the record.
void add_write(RequestRecord& record, const OperationResult& result) {
    if (!result.status.ok() || result.work.kind == OperationKind::kRead) return;
    ++record.writes;
    if (result.work.kind != OperationKind::kDelete && result.work.new_bytes > result.work.old_bytes)
        record.grown_bytes += static_cast<int64_t>(result.work.new_bytes - result.work.old_bytes);
    record.updated = result.work.old_bytes > 0;
}

void set_item(RequestRecord& record, const OperationResult& result) {
    if (!result.status.ok() || !result.has_item) return;
    if (record.operation != OperationClass::kRead) {
        record.docref_hash = hash_of(result.item.docref.bytes()) | 1;
        return;
    }
    record.item_ts = json::document_ts(*result.item.document);
}

void set_name(RequestRecord& record, std::string_view id) {
    record.set_id(id);
    record.item_hash = (hash_of(id) ^ record.key_hash) | 1;
}

/// The item of an upsert, or of an operation of a batch, which the path does not name: if it was
/// there before.
void set_name(RequestRecord& record, const OperationResult& result) {
    if (!record.updated || !result.has_item) return;
    const auto document = json::decode_document(*result.item.document);
    if (!document.ok()) return;
    json::Arena arena;
    if (const auto id = document->id(arena); id.ok()) set_name(record, *id);
}

/// The item of an upsert that came too late.
void set_name_of_conflict(RequestRecord& record, std::string_view body) {
    if (record.operation != OperationClass::kUpsert ||
        (record.status != 412 && record.status != 449))
        return;
    json::Arena arena;
    const auto item = json::parse(body, arena);
    if (item.ok() && item->member("id").is_string())
        set_name(record, item->member("id").as_string());
}

void set_query(RequestRecord& record, const Answer& answer) {
    const auto& found = *answer.query;
    record.query_hash = lab::shape_hash(found.compiled);
    record.retrieved = clamped(found.page.retrieved_items);
    record.output = clamped(found.page.row_count);
    record.ranges = static_cast<uint16_t>(std::min<size_t>(found.range_charges.size(), UINT16_MAX));
    record.page_size = answer.page_size;
    record.continued = answer.continued;
    record.keyed = found.keyed;
}

int64_t bytes_of(const catalog::Container& container, uint32_t range) {
    for (const catalog::PartitionRange& one : container.ranges->ranges)
        if (one.number == range) return one.partition->bytes();
    return 0;
}

/// A key in the form that headers have: there every SDK escapes what is not ASCII.
std::string header_form(std::string_view key) {
    std::string out;
    for (size_t at = 0; at < key.size();) {
        const auto lead = static_cast<unsigned char>(key[at]);
        if (lead < 0x80) {
            out.push_back(key[at++]);
            continue;
        }
        // The body was parsed: this is well-formed UTF-8.
        const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        uint32_t code = lead & (0xFFU >> (length + 1));
        for (size_t i = 1; i < length; ++i)
            code = code << 6 | (static_cast<unsigned char>(key[at + i]) & 0x3FU);
        at += length;
        if (code < 0x10000) {
            out += fmt::format("\\u{:04x}", code);
        } else {
            code -= 0x10000;
            out +=
                fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF));
        }
    }
    return out;
}

void set_key(RequestRecord& record, std::string_view key) {
    if (!key.empty()) record.set_key(key, hash_of(key));
}

/// The operations of a batch, one by one.
void record_operations(const Call& call, const Answer& answer, const RequestRecord& whole) {
    for (size_t i = 0; i < answer.operations.size(); ++i) {
        const OperationResult& result = answer.operations[i];
        std::string key(call.headers[HeaderName::kPartitionKey]);
        RequestRecord inner = whole;
        inner.inner = true;
        inner.charge = {};
        inner.operation = operation_of(result.work.kind);
        inner.status = engine::outcome::of(result.status);
        inner.writes = 0;
        inner.grown_bytes = 0;
        if (!answer.places.empty()) {
            const OperationPlace& place = answer.places[i];
            key = header_form(place.partition_key);
            set_key(inner, key);
            inner.range = place.range;
            inner.range_bytes = bytes_of(*call.container, place.range);
            if (!engine::outcome::is_rate_limit(inner.status)) inner.charge = place.charge;
        }
        add_write(inner, result);
        set_item(inner, result);
        set_name(inner, result);
        if (call.recorder->wants_sample(inner)) {
            engine::RequestSample sample;
            sample.record = inner;
            sample.key = std::move(key);
            sample.document = result.has_item ? result.item.document : nullptr;
            sample.settings = call.container->settings;
            call.recorder->observe_sample(std::move(sample));
        }
        call.recorder->observe(inner);
    }
}

void record_sample(const Call& call, const Answer& answer, const RequestRecord& record) {
    if (!call.container || !call.recorder->wants_sample(record)) return;
    engine::RequestSample sample;
    sample.record = record;
    sample.key = call.headers[HeaderName::kPartitionKey];
    sample.settings = call.container->settings;
    if (names_item(call)) sample.id = call.route.ids[2];
    if (answer.operations.size() == 1 && answer.operations[0].has_item)
        sample.document = answer.operations[0].item.document;
    if (answer.query != nullptr) {
        sample.query = answer.query->compiled;
        sample.index_use = answer.query->page.index_use;
        if (answer.query_parameters->is_array())
            sample.parameters = json::to_text(*answer.query_parameters);
    }
    call.recorder->observe_sample(std::move(sample));
}

/// The part of a request that one physical partition did.
void record_part(const Call& call, const RequestRecord& whole, uint32_t range,
                 meter::Charge charge) {
    RequestRecord piece = whole;
    piece.part = true;
    piece.range = range;
    piece.range_bytes = bytes_of(*call.container, range);
    piece.charge = charge;
    call.recorder->observe(piece);
}

void record_housekeeping(const Call& call, const Answer& answer, RequestRecord record) {
    for (const engine::RangeCharge& part : answer.range_charges)
        record_part(call, record, part.range, part.charge);
    if (answer.range_charges.empty() && record.range != RequestRecord::kNoRange)
        record_part(call, record, record.range, record.charge);
    record.container = 0;
    record.range = RequestRecord::kNoRange;
    call.recorder->observe(record);
}

}  // namespace

void record_request(const Call& call, const Answer& answer, int64_t duration_us) {
    const int64_t wall_us = call.engine.clock().wall_us();
    RequestRecord record;
    record.wall_seconds = wall_us / 1'000'000;
    record.wall_ms = static_cast<uint16_t>(wall_us / 1000 % 1000);
    record.duration_us = duration_us;
    record.operation = operation_of(call, answer);
    record.status = static_cast<uint16_t>(answer.status);
    record.request_bytes = clamped(call.request().body.size());
    record.response_bytes = clamped(call.response().body.size());
    record.connection = call.request().connection;
    // A 429 says what it cost to refuse; no budget pays it.
    if (answer.status != 429) record.charge = answer.charge;
    const bool data = record.operation != OperationClass::kMetadata;
    if (call.container) record.container = call.container->rid.whole();
    if (data && answer.range_charges.empty())
        record.range = answer.touched         ? range_number(answer.touched->range_id)
                       : answer.status == 429 ? call.refused_by.load()
                                              : record.range;
    // What a tool does for itself is charged to the partitions like everything else, and is no part
    // of what the container's application does.
    if (record.container != 0 && is_set(call, HeaderName::kHousekeeping))
        return record_housekeeping(call, answer, record);
    // One physical partition did it all: no parts.
    const bool whole = answer.range_charges.size() == 1;
    if (data && whole) record.range = answer.range_charges[0].range;
    if (data && call.container) {
        record.range_bytes = bytes_of(*call.container, record.range);
        set_key(record, call.headers[HeaderName::kPartitionKey]);
        if (names_item(call) && record.operation != OperationClass::kRead)
            set_name(record, call.route.ids[2]);
        else
            set_name_of_conflict(record, call.request().body);
        auto correlation = call.headers[HeaderName::kCorrelatedActivity];
        // version-trace-span-flags: the trace is what spans have in common.
        if (const auto trace = call.headers[HeaderName::kTraceParent];
            correlation.empty() && trace.size() >= 35)
            correlation = trace.substr(3, 32);
        if (!correlation.empty()) record.correlation = hash_of(correlation) | 1;
        for (const OperationResult& result : answer.operations) add_write(record, result);
        if (record.operation != OperationClass::kBatch && answer.operations.size() == 1) {
            set_item(record, answer.operations[0]);
            if (record.item_hash == 0) set_name(record, answer.operations[0]);
        }
        if (answer.query != nullptr) set_query(record, answer);
        if (record.operation == OperationClass::kBatch && answer.status != 429)
            record_operations(call, answer, record);
        else
            record_sample(call, answer, record);
    }
    call.recorder->observe(record);
    if (whole) return;
    if (!call.container) return;
    for (const engine::RangeCharge& part : answer.range_charges)
        record_part(call, record, part.range, part.charge);
}

}  // namespace orrery::rest
