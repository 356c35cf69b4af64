#include "heads/rest/request_record.h"

#include <charconv>
#include <limits>

#include "base/hash.h"
#include "heads/rest/handlers.h"

namespace orrery::rest {
namespace {

using engine::OperationClass;
using engine::RequestRecord;

/// True for "true" in any case; what is no boolean was refused before.
bool is_set(const Call& call, HeaderName name) {
    const auto value = call.headers.boolean(name);
    return value.ok() && *value;
}

OperationClass operation_of(const Call& call) {
    const auto& route = call.route;
    const auto method = call.request().method;
    if (route.type == ResourceType::kProcedure && !route.feed && method == "POST")
        return OperationClass::kScript;
    if (route.type == ResourceType::kPartitionKeyDelete) return OperationClass::kDelete;
    if (route.type != ResourceType::kItem) return OperationClass::kMetadata;
    if (!route.feed) {
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

uint32_t range_number(std::string_view id) {
    uint32_t number = RequestRecord::kNoRange;
    std::from_chars(id.data(), id.data() + id.size(), number);
    return number;
}

uint32_t clamped(size_t bytes) {
    return static_cast<uint32_t>(std::min<size_t>(bytes, std::numeric_limits<uint32_t>::max()));
}

constexpr SipKey kKeyHash{0x6c61626b, 0x65797331};

}  // namespace

void record_request(const Call& call, const Answer& answer) {
    const Clock& clock = call.engine.clock();
    RequestRecord record;
    record.wall_seconds = clock.wall_seconds();
    record.duration_us = clock.monotonic_us() - call.started_us;
    record.operation = operation_of(call);
    record.status = static_cast<uint16_t>(answer.status);
    record.request_bytes = clamped(call.request().body.size());
    record.response_bytes = clamped(call.response().body.size());
    // A 429 says what it cost to refuse; no budget pays it.
    if (answer.status != 429) record.charge = answer.charge;
    const bool data = record.operation != OperationClass::kMetadata;
    if (call.container) record.container = call.container->rid.whole();
    if (data && answer.range_charges.empty() && answer.touched)
        record.range = range_number(answer.touched->range_id);
    if (data && call.container)
        if (const auto key = call.headers[HeaderName::kPartitionKey]; !key.empty())
            record.set_key(key, siphash(kKeyHash, key));
    call.recorder->observe(record);
    for (const engine::RangeCharge& part : answer.range_charges) {
        RequestRecord piece = record;
        piece.part = true;
        piece.range = part.range;
        piece.charge = part.charge;
        call.recorder->observe(piece);
    }
}

}  // namespace orrery::rest
