#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "meter/charge.h"

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
struct RequestRecord {
    static constexpr uint32_t kNoRange = UINT32_MAX;
    static constexpr size_t kKeyBytesMax = 55;

    int64_t wall_seconds = 0;  ///< when it was answered
    int64_t duration_us = 0;
    uint64_t container = 0;     ///< catalog::ContainerRid::whole(); 0: none
    meter::Charge charge;       ///< zero for 429, which no budget pays
    uint32_t range = kNoRange;  ///< physical partition, by its number in the container
    uint32_t request_bytes = 0;
    uint32_t response_bytes = 0;
    uint16_t status = 0;
    OperationClass operation = OperationClass::kMetadata;
    /// Only what one physical partition had of the charge: not counted as a request again.
    bool part = false;
    uint64_t key_hash = 0;  ///< of the partition key text; 0: the request names none
    uint8_t key_size = 0;
    std::array<char, kKeyBytesMax> key{};  ///< the text as the client sent it, cut

    void set_key(std::string_view text, uint64_t hash) {
        key_hash = hash | 1;
        key_size = static_cast<uint8_t>(std::min(text.size(), kKeyBytesMax));
        std::copy_n(text.data(), key_size, key.data());
    }
    std::string_view key_text() const { return {key.data(), key_size}; }
};

/// Is told of every request. Any thread; must not block.
class RequestObserver {
public:
    virtual ~RequestObserver() = default;
    virtual void observe(const RequestRecord& record) = 0;
};

}  // namespace orrery::engine
