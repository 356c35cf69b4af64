#include "engine/continuation.h"

#include "base/bytes.h"
#include "base/encoding.h"
#include "base/errors.h"

namespace orrery::engine {
namespace {

constexpr uint8_t kVersion = 1;
constexpr size_t kMacBytes = 16;

Error bad_token() {
    return errors::bad_request(
        "The continuation token in x-ms-continuation is invalid: it was altered, or it belongs to another request. "
        "Start again without it.");
}

}  // namespace

std::string ContinuationTokens::encode(const ContinuationPosition& position) const {
    std::string payload;
    payload.push_back(static_cast<char>(kVersion));
    append_u64_le(payload, position.scope_hash);
    append_bytes(payload, position.docref);
    append_bytes(payload, position.partial_docref);
    append_varint(payload, position.rows_done);
    const auto mac = key_.sign(payload);
    payload.append(mac.data(), kMacBytes);
    return base64_encode(payload);
}

Result<ContinuationPosition> ContinuationTokens::decode(std::string_view token, uint64_t expected_scope_hash) const {
    const auto bytes = base64_decode(token);
    if (!bytes || bytes->size() <= kMacBytes) return bad_token();
    const std::string_view payload(bytes->data(), bytes->size() - kMacBytes);
    const auto mac = key_.sign(payload);
    if (!equal_constant_time({mac.data(), kMacBytes}, std::string_view(*bytes).substr(payload.size())))
        return bad_token();
    ByteReader reader(payload);
    const uint8_t version = reader.u8();
    ContinuationPosition position;
    position.scope_hash = reader.u64_le();
    position.docref = std::string(reader.bytes());
    position.partial_docref = std::string(reader.bytes());
    position.rows_done = reader.varint();
    if (!reader.ok() || !reader.at_end() || version != kVersion || position.scope_hash != expected_scope_hash)
        return bad_token();
    return position;
}

}  // namespace orrery::engine
