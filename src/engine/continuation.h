#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/hmac.h"
#include "partition/partition_key.h"
#include "storage/keys.h"

namespace orrery::engine {

/// Where a feed or query goes on. Holds no partition ids, so it survives restart, split and merge.
struct ContinuationPosition {
    uint64_t scope_hash = 0;  ///< of container, scope and query: a token fits its own request only
    std::string docref;       ///< last item that is done with
};

/// How far a part of a change feed has been read. A container's positions are LSNs; they stay
/// valid through splits and merges, as children go on from their parents' LSNs.
struct ChangeFeedPosition {
    partition::EpkRange range;
    storage::Lsn after = 0;
};

/// Signed, stateless text form, safe in a header.
class ContinuationTokens {
public:
    explicit ContinuationTokens(std::string_view secret)
        : key_("continuation:" + std::string(secret)) {}
    std::string encode(const ContinuationPosition& position) const;
    /// A bad request when malformed, altered, or made for another request.
    Result<ContinuationPosition> decode(std::string_view token, uint64_t expected_scope_hash) const;
    /// The same for queries, whose positions are made and understood by `query`.
    struct QueryToken {
        std::string position;
        uint64_t pass = 0;            ///< number on the shelf of parked passes; 0: none
        partition::EpkRange range{};  ///< what the page before was about
        bool whole_range = false;     ///< query::PageAnswer::whole_range of that page
    };
    std::string encode_query(const QueryToken& token, uint64_t scope_hash) const;
    /// The longest position whose token, over this range, has no more than `token_bytes` bytes.
    static size_t payload_bytes(size_t token_bytes, const partition::EpkRange& range);
    /// The same for change feeds over several ranges.
    std::string encode_changes(const std::vector<ChangeFeedPosition>& positions,
                               uint64_t scope_hash) const;
    Result<std::vector<ChangeFeedPosition>> decode_changes(std::string_view token,
                                                           uint64_t expected_scope_hash) const;
    Result<QueryToken> decode_query(std::string_view token, uint64_t expected_scope_hash) const;
    /// The same for listings of resources and queries over them.
    std::string encode_listing(std::string_view position, uint64_t scope_hash) const;
    Result<std::string> decode_listing(std::string_view token, uint64_t expected_scope_hash) const;

private:
    std::string seal(std::string payload) const;
    /// The payload of an unaltered token.
    Result<std::string> open(std::string_view token) const;

    HmacKey key_;
};

}  // namespace orrery::engine
