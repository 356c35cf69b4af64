#include "base/bytes.h"
#include "storage/store.h"

namespace orrery::storage {

void IndexDelta::add(std::string_view key, bool partial) {
    append(key, partial ? Change::kAddPartial : Change::kAdd);
}

void IndexDelta::remove(std::string_view key) {
    append(key, Change::kRemove);
}

void IndexDelta::append(std::string_view key, Change change) {
    DCHECK(key.size() >= 12);
    DCHECK(load_u64_be(key.data() + 4) >= keys::kReservedPathHashes);
    if (entries_.empty()) {
        // Enough for an ordinary item, so that the buffer does not grow several times.
        constexpr size_t kEntries = 40;
        constexpr size_t kKeyBytes = 48;
        entries_.reserve(kEntries);
        buffer_.reserve(kEntries * kKeyBytes);
    }
    entries_.push_back(
        {static_cast<uint32_t>(buffer_.size()), static_cast<uint32_t>(key.size()), change});
    buffer_.append(key);
}

}  // namespace orrery::storage
