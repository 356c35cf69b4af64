#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "meter/charge.h"
#include "query/page.h"

namespace orrery::engine {

/// What a request asked for, as metrics tell it apart.
enum class OperationClass : uint8_t {
    kRead,
    kCreate,
    kReplace,
    kUpsert,
    kPatch,
    kDelete,
    kBatch,
    kQuery,
    kReadFeed,
    kChangeFeed,
    kScript,
    kMetadata,
    kCount,
};
std::string_view operation_name(OperationClass operation);

/// One request that was answered, or one physical partition's part of one that went to several.
/// Copied for every request: texts come last, and only as much of them as there is (see bytes()).
struct RequestRecord {
    static constexpr uint32_t kNoRange = UINT32_MAX;
    static constexpr size_t kKeyBytesMax = 55;
    static constexpr size_t kIdBytesMax = 47;

    int64_t wall_seconds = 0;  ///< when it was answered
    int64_t duration_us = 0;
    uint64_t container = 0;    ///< catalog::ContainerRid::whole(); 0: none
    meter::Charge charge;      ///< zero where a rate limit refused it: no budget pays that
    int64_t range_bytes = 0;   ///< what the range held then, text bytes; 0: not known
    uint64_t key_hash = 0;     ///< of the partition key text; 0: the request names none
    uint64_t connection = 0;   ///< tells clients apart; 0: unknown
    uint64_t correlation = 0;  ///< hash of what the client says belongs together; 0: nothing
    int64_t grown_bytes = 0;   ///< by which items are larger than what was there; not negative
    int64_t item_ts = 0;       ///< `_ts` of an item that was read; 0: none
    uint64_t item_hash = 0;    ///< of key and id, where the request names them
    uint64_t docref_hash = 0;  ///< the same for every version of an item; 0: none
    uint64_t query_hash = 0;   ///< of its text without constants; 0: no query

    uint32_t range = kNoRange;  ///< physical partition, by its number in the container
    uint32_t request_bytes = 0;
    uint32_t response_bytes = 0;
    uint32_t retrieved = 0;  ///< items that a query read
    uint32_t output = 0;     ///< rows that it returned
    uint32_t page_size = 0;  ///< items asked for
    uint16_t status = 0;     ///< see outcome.h
    uint16_t wall_ms = 0;    ///< within the second
    uint16_t writes = 0;     ///< items written; in a batch all of them
    uint16_t ranges = 0;     ///< physical partitions that a query visited

    OperationClass operation = OperationClass::kMetadata;
    /// One physical partition's part of the charge. It is not counted as another request.
    bool part = false;
    /// One operation of a batch: no request of its own. In bulk it has its key, range and charge,
    /// which are part of the request's.
    bool inner = false;
    bool updated = false;    ///< the item was there before
    bool continued = false;  ///< not the first page of a query
    bool keyed = false;      ///< filter or header name a partition key or a prefix of one
    uint8_t key_size = 0;
    uint8_t id_size = 0;
    std::array<char, kKeyBytesMax> key;  ///< the text as the client sent it, cut; see key_size
    std::array<char, kIdBytesMax> id;    ///< of the item, cut; see id_size

    void set_id(std::string_view text) {
        id_size = static_cast<uint8_t>(std::min(text.size(), kIdBytesMax));
        std::copy_n(text.data(), id_size, id.data());
    }
    std::string_view id_text() const { return {id.data(), id_size}; }
    void set_key(std::string_view text, uint64_t hash) {
        key_hash = hash | 1;
        key_size = static_cast<uint8_t>(std::min(text.size(), kKeyBytesMax));
        std::copy_n(text.data(), key_size, key.data());
    }
    std::string_view key_text() const { return {key.data(), key_size}; }
    /// How many of its bytes, from the beginning, say anything.
    size_t bytes() const {
        if (id_size > 0) return offsetof(RequestRecord, id) + id_size;
        return offsetof(RequestRecord, key) + key_size;
    }
};

/// A request that is looked at more closely. Shares what it points to.
struct RequestSample {
    RequestRecord record;
    std::string key;                              ///< partition key as the client sent it
    std::string id;                               ///< of the item, where the request names it
    std::shared_ptr<const std::string> document;  ///< item that was read or written; may be null
    std::shared_ptr<const query::CompiledQuery> query;
    std::string parameters;  ///< of the query, JSON text
    query::IndexUse index_use;
    partition::ContainerSettingsPtr settings;
};

/// Called for every request, on any thread. It must not block.
class RequestObserver {
public:
    virtual ~RequestObserver() = default;
    virtual void observe(const RequestRecord& record) = 0;
    /// Stands for a query without its constants; 0: queries are not told apart.
    virtual uint64_t query_hash(const std::shared_ptr<const query::CompiledQuery>&) { return 0; }
    /// True if it wants a sample of this request. Ask once, before observe().
    virtual bool wants_sample(const RequestRecord&) { return false; }
    virtual void observe_sample(RequestSample) {}
};

}  // namespace orrery::engine
