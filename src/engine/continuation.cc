#include "engine/continuation.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/encoding.h"
#include "base/errors.h"

namespace orrery::engine {
namespace {

// Kinds and versions of tokens; 1 and 3 are retired.
constexpr uint8_t kFeed = 2;
constexpr uint8_t kChanges = 4;
constexpr uint8_t kQuery = 5;
constexpr uint8_t kListing = 6;
constexpr size_t kMacBytes = 16;

}  // namespace

std::string ContinuationTokens::seal(std::string payload) const {
    const auto mac = key_.sign(payload);
    payload.append(mac.data(), kMacBytes);
    return base64_encode(payload);
}

Result<std::string> ContinuationTokens::open(std::string_view token) const {
    const auto bytes = base64_decode(token);
    if (!bytes || bytes->size() <= kMacBytes) return errors::foreign_continuation();
    const std::string_view payload(bytes->data(), bytes->size() - kMacBytes);
    const auto mac = key_.sign(payload);
    if (!equal_constant_time({mac.data(), kMacBytes},
                             std::string_view(*bytes).substr(payload.size())))
        return errors::foreign_continuation();
    return std::string(payload);
}

std::string ContinuationTokens::encode(const ContinuationPosition& position) const {
    std::string payload(1, static_cast<char>(kFeed));
    append_u64_le(payload, position.scope_hash);
    append_bytes(payload, position.docref);
    return seal(std::move(payload));
}

Result<ContinuationPosition> ContinuationTokens::decode(std::string_view token,
                                                        uint64_t expected_scope_hash) const {
    const Result<std::string> payload = open(token);
    if (!payload.ok()) return payload.error();
    ByteReader reader(*payload);
    const uint8_t kind = reader.u8();
    ContinuationPosition position;
    position.scope_hash = reader.u64_le();
    position.docref = std::string(reader.bytes());
    if (!reader.ok() || !reader.at_end() || kind != kFeed ||
        position.scope_hash != expected_scope_hash)
        return errors::foreign_continuation();
    return position;
}

std::string ContinuationTokens::encode_query(const QueryToken& token, uint64_t scope_hash) const {
    std::string payload(1, static_cast<char>(kQuery));
    append_u64_le(payload, scope_hash);
    append_u64_le(payload, token.pass);
    append_bytes(payload, token.range.min);
    append_bytes(payload, token.range.max);
    payload.push_back(token.whole_range ? 1 : 0);
    append_bytes(payload, token.position);
    return seal(std::move(payload));
}

std::string ContinuationTokens::encode_changes(const std::vector<ChangeFeedPosition>& positions,
                                               uint64_t scope_hash) const {
    std::string payload(1, static_cast<char>(kChanges));
    append_u64_le(payload, scope_hash);
    for (const ChangeFeedPosition& position : positions) {
        append_bytes(payload, position.range.min);
        append_bytes(payload, position.range.max);
        append_varint(payload, position.after);
    }
    return seal(std::move(payload));
}

Result<std::vector<ChangeFeedPosition>> ContinuationTokens::decode_changes(
    std::string_view token, uint64_t expected_scope_hash) const {
    const Error invalid = errors::foreign_feed_position();
    const Result<std::string> payload = open(token);
    if (!payload.ok()) return invalid;
    ByteReader reader(*payload);
    const uint8_t kind = reader.u8();
    const uint64_t scope = reader.u64_le();
    std::vector<ChangeFeedPosition> positions;
    while (reader.ok() && !reader.at_end()) {
        ChangeFeedPosition position;
        position.range.min = reader.bytes();
        position.range.max = reader.bytes();
        position.after = reader.varint();
        positions.push_back(std::move(position));
    }
    if (!reader.ok() || kind != kChanges || scope != expected_scope_hash || positions.empty())
        return invalid;
    return positions;
}

size_t ContinuationTokens::payload_bytes(size_t token_bytes, const partition::EpkRange& range) {
    // Kind, scope, pass, range, whole or not, and the lengths of the three.
    const size_t around = 1 + 8 + 8 + range.min.size() + range.max.size() + 1 + 9 + kMacBytes;
    const size_t bytes = token_bytes / 4 * 3;
    return bytes - std::min(bytes, around);
}

Result<ContinuationTokens::QueryToken> ContinuationTokens::decode_query(
    std::string_view token, uint64_t expected_scope_hash) const {
    const Result<std::string> payload = open(token);
    if (!payload.ok()) return payload.error();
    ByteReader reader(*payload);
    const uint8_t kind = reader.u8();
    const uint64_t scope = reader.u64_le();
    QueryToken out;
    out.pass = reader.u64_le();
    out.range.min = std::string(reader.bytes());
    out.range.max = std::string(reader.bytes());
    out.whole_range = reader.u8() != 0;
    out.position = std::string(reader.bytes());
    if (!reader.ok() || !reader.at_end() || kind != kQuery || scope != expected_scope_hash)
        return errors::foreign_continuation();
    return out;
}

std::string ContinuationTokens::encode_listing(std::string_view position,
                                               uint64_t scope_hash) const {
    std::string payload(1, static_cast<char>(kListing));
    append_u64_le(payload, scope_hash);
    append_bytes(payload, position);
    return seal(std::move(payload));
}

Result<std::string> ContinuationTokens::decode_listing(std::string_view token,
                                                       uint64_t expected_scope_hash) const {
    const Result<std::string> payload = open(token);
    if (!payload.ok()) return payload.error();
    ByteReader reader(*payload);
    const uint8_t kind = reader.u8();
    const uint64_t scope = reader.u64_le();
    std::string position(reader.bytes());
    if (!reader.ok() || !reader.at_end() || kind != kListing || scope != expected_scope_hash)
        return errors::foreign_continuation();
    return position;
}

}  // namespace orrery::engine
