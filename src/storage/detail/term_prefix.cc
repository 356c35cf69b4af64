#include "storage/detail/term_prefix.h"

#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "storage/keys.h"

namespace orrery::storage::detail {
namespace {

constexpr size_t kHeadBytes = 12;  // partition and path

// First bytes of terms (docs/formats/index.md). All others stand alone.
constexpr uint8_t kNumber = 0x40;
constexpr uint8_t kString = 0x50;
constexpr uint8_t kCell = 0x78;
constexpr uint8_t kInverted = 0x80;

class TermPrefix final : public rocksdb::SliceTransform {
public:
    /// Filters written under another name are not used: a new rule needs a new name.
    const char* Name() const override { return "orrery.term.1"; }
    rocksdb::Slice Transform(const rocksdb::Slice& key) const override {
        return {key.data(), term_prefix_bytes(key.data(), key.size())};
    }
    bool InDomain(const rocksdb::Slice& key) const override {
        return term_prefix_bytes(key.data(), key.size()) > 0;
    }
};

}  // namespace

size_t term_prefix_bytes(const char* key, size_t size) {
    if (size <= kHeadBytes || load_u64_be(key + 4) < keys::kReservedPathHashes) return 0;
    const auto type = static_cast<uint8_t>(key[kHeadBytes]);
    if (type >= kInverted) return 0;
    size_t end = kHeadBytes + 1;
    if (type == kNumber || type == kCell) {
        end += 8;
    } else if (type == kString) {
        // Ends with a zero byte and another one that is not FF.
        while (true) {
            const void* zero = std::memchr(key + end, 0, size - end);
            if (zero == nullptr) return 0;
            end = static_cast<size_t>(static_cast<const char*>(zero) - key) + 2;
            if (end > size) return 0;
            if (key[end - 1] != '\xFF') break;
        }
    }
    return end <= size ? end : 0;
}

size_t shared_term_bytes(std::string_view begin, std::string_view end) {
    const size_t bytes = term_prefix_bytes(begin.data(), begin.size());
    if (bytes == 0) return 0;
    const std::string_view prefix = begin.substr(0, bytes);
    return end.starts_with(prefix) || end == prefix_successor(prefix) ? bytes : 0;
}

std::shared_ptr<const rocksdb::SliceTransform> term_prefix() {
    static const auto instance = std::make_shared<const TermPrefix>();
    return instance;
}

}  // namespace orrery::storage::detail
