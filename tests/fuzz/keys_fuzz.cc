// Key decoders: any bytes either decode and encode back to the same bytes, or are refused.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "storage/keys.h"

namespace keys = orrery::storage::keys;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view key(reinterpret_cast<const char*>(data), size);
    if (const auto id = keys::decode_id(key)) {
        require(keys::id(id->partition, id->epk, id->kind, id->name) == key);
    }
    if (const auto log = keys::decode_log(key)) {
        require(keys::log(log->partition, log->lsn, log->docref) == key);
        require(key.starts_with(keys::log_from(log->partition, log->lsn)));
    }
    if (const auto item = keys::decode_item(key)) {
        require(keys::item(item->partition, item->docref) == key);
        require(key.starts_with(keys::partition(item->partition)));
    }
    if (const auto ttl = keys::decode_ttl(key)) {
        require(keys::ttl(ttl->partition, ttl->kind, ttl->when, ttl->docref) == key);
    }
    return 0;
}
