// The record of a statement: what was asked, how it ended, what it took.
#include <charconv>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/errors.h"
#include "engine/door.h"
#include "engine/engine.h"
#include "engine/outcome.h"
#include "engine/statement.h"
#include "json/document.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::engine {
namespace {

using partition::OperationKind;
using partition::OperationResult;

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
/// (docs/formats/recording.md): eight bytes at a time, each step undoable. It does not resist
/// attackers; a collision only shows two of their own keys as one.
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

/// The item of an upsert that lost its race.
void set_name_of_conflict(RequestRecord& record, const Outcome& outcome, std::string_view body) {
    if (record.operation != OperationClass::kUpsert || outcome.operations.size() != 1) return;
    const Status& status = outcome.operations[0].status;
    if (status.ok() || (status.error().code != Code::kPreconditionFailed &&
                        status.error().code != Code::kRetryWith))
        return;
    json::Arena arena;
    const auto item = json::parse(body, arena);
    if (item.ok() && item->member("id").is_string())
        set_name(record, item->member("id").as_string());
}

void set_query(RequestRecord& record, const Outcome& outcome, RequestObserver& observer) {
    const QueryAnswer& found = *outcome.query;
    record.query_hash = observer.query_hash(found.compiled);
    record.retrieved = clamped(found.page.retrieved_items);
    record.output = clamped(found.page.row_count);
    record.ranges = static_cast<uint16_t>(std::min<size_t>(found.range_charges.size(), UINT16_MAX));
    record.page_size = outcome.page_size;
    record.continued = outcome.continued;
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

/// What is known of a statement that has ended.
struct Ended {
    const catalog::Container* container;  ///< null: none was resolved
    const Outcome& outcome;
    const WireFacts& facts;
    RequestObserver& observer;
};

/// The operations of a batch, one by one.
void record_operations(const Ended& ended, const RequestRecord& whole) {
    const Outcome& outcome = ended.outcome;
    for (size_t i = 0; i < outcome.operations.size(); ++i) {
        const OperationResult& result = outcome.operations[i];
        std::string key(ended.facts.partition_key);
        RequestRecord inner = whole;
        inner.inner = true;
        inner.charge = {};
        inner.operation = operation_of(result.work.kind);
        inner.status = outcome::of(result.status);
        inner.writes = 0;
        inner.grown_bytes = 0;
        if (!outcome.places.empty()) {
            const OperationPlace& place = outcome.places[i];
            key = header_form(place.partition_key);
            set_key(inner, key);
            inner.range = place.range;
            inner.range_bytes = bytes_of(*ended.container, place.range);
            if (result.status.ok() || !errors::is_rate_limit(result.status.error().code))
                inner.charge = place.charge;
        }
        add_write(inner, result);
        set_item(inner, result);
        set_name(inner, result);
        if (ended.observer.wants_sample(inner)) {
            RequestSample sample;
            sample.record = inner;
            sample.key = std::move(key);
            sample.document = result.has_item ? result.item.document : nullptr;
            sample.settings = ended.container->settings;
            ended.observer.observe_sample(std::move(sample));
        }
        ended.observer.observe(inner);
    }
}

void record_sample(const Ended& ended, const RequestRecord& record) {
    if (!ended.observer.wants_sample(record)) return;
    const Outcome& outcome = ended.outcome;
    RequestSample sample;
    sample.record = record;
    sample.key = ended.facts.partition_key;
    sample.settings = ended.container->settings;
    sample.id = ended.facts.item_id;
    if (outcome.operations.size() == 1 && outcome.operations[0].has_item)
        sample.document = outcome.operations[0].item.document;
    if (outcome.query != nullptr) {
        sample.query = outcome.query->compiled;
        sample.index_use = outcome.query->page.index_use;
        if (outcome.query_parameters->is_array())
            sample.parameters = json::to_text(*outcome.query_parameters);
    }
    ended.observer.observe_sample(std::move(sample));
}

/// The part of a statement that one physical partition did.
void record_part(const Ended& ended, const RequestRecord& whole, uint32_t range,
                 meter::Charge charge) {
    RequestRecord piece = whole;
    piece.part = true;
    piece.range = range;
    piece.range_bytes = bytes_of(*ended.container, range);
    piece.charge = charge;
    ended.observer.observe(piece);
}

void record_housekeeping(const Ended& ended, RequestRecord record) {
    for (const RangeCharge& part : ended.outcome.range_charges)
        record_part(ended, record, part.range, part.charge);
    if (ended.outcome.range_charges.empty() && record.range != RequestRecord::kNoRange)
        record_part(ended, record, record.range, record.charge);
    record.container = 0;
    record.range = RequestRecord::kNoRange;
    ended.observer.observe(record);
}

/// What the record of a data operation on a container says beyond the common part.
void set_data(RequestRecord& record, const Ended& ended) {
    const Outcome& outcome = ended.outcome;
    const WireFacts& facts = ended.facts;
    record.range_bytes = bytes_of(*ended.container, record.range);
    set_key(record, facts.partition_key);
    if (!facts.item_id.empty() && record.operation != OperationClass::kRead)
        set_name(record, facts.item_id);
    else
        set_name_of_conflict(record, outcome, facts.item_body);
    if (!facts.correlation.empty()) record.correlation = hash_of(facts.correlation) | 1;
    for (const OperationResult& result : outcome.operations) add_write(record, result);
    if (record.operation != OperationClass::kBatch && outcome.operations.size() == 1) {
        set_item(record, outcome.operations[0]);
        if (record.item_hash == 0) set_name(record, outcome.operations[0]);
    }
    if (outcome.query != nullptr) set_query(record, outcome, ended.observer);
    if (record.operation == OperationClass::kBatch && !outcome.throttled)
        record_operations(ended, record);
    else
        record_sample(ended, record);
}

}  // namespace

void Statement::finish(const WireFacts& facts) {
    if (recorded_) return;
    recorded_ = true;
    if (is_metadata_ && !outcome_.throttled) door_.engine_.settle_metadata(outcome_.charge);
    if (door_.observer_ == nullptr) return;
    const Ended ended{container_.get(), outcome_, facts, *door_.observer_};
    const int64_t wall_us = door_.clock().wall_us();
    RequestRecord record;
    record.wall_seconds = wall_us / 1'000'000;
    record.wall_ms = static_cast<uint16_t>(wall_us / 1000 % 1000);
    record.duration_us = facts.duration_us != 0 ? facts.duration_us : age_us();
    record.operation = operation;
    record.status = facts.status != 0            ? facts.status
                    : ending_ == Ending::kFailed ? outcome::of(failed_with_)
                                                 : outcome::kDone;
    record.request_bytes = clamped(facts.request_bytes);
    record.response_bytes = clamped(facts.response_bytes);
    record.connection = facts.connection;
    // A refusal for want of throughput says what it cost to refuse; no budget pays it.
    if (!outcome_.throttled) record.charge = outcome_.charge;
    const bool data = operation != OperationClass::kMetadata;
    if (container_) record.container = container_->rid.whole();
    if (data && outcome_.range_charges.empty())
        record.range = !outcome_.touched.range_id.empty() ? range_number(outcome_.touched.range_id)
                       : outcome_.throttled               ? refused_by_.load()
                                                          : record.range;
    // A tool's own requests are charged to the partitions like all others, but are not counted as
    // the application's.
    if (record.container != 0 && facts.housekeeping) return record_housekeeping(ended, record);
    // One physical partition did it all: no parts.
    const bool whole = outcome_.range_charges.size() == 1;
    if (data && whole) record.range = outcome_.range_charges[0].range;
    if (data && container_) set_data(record, ended);
    door_.observer_->observe(record);
    if (whole || !container_) return;
    for (const RangeCharge& part : outcome_.range_charges)
        record_part(ended, record, part.range, part.charge);
}

}  // namespace orrery::engine
