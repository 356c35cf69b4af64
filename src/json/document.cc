#include "json/document.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/bytes.h"
#include "base/check.h"
#include "base/errors.h"
#include "base/random.h"
#include "json/write.h"

namespace orrery::json {
namespace {

// docs/formats/document.md
constexpr uint8_t kVersion = 1;
constexpr size_t kEpkSizeAt = 2;
constexpr size_t kTtlAt = 4;
constexpr size_t kLsnAt = 8;
constexpr size_t kTsAt = 16;
constexpr size_t kNonceAt = 24;
constexpr size_t kTextSizeAt = 32;
constexpr size_t kHeaderBytes = 36;

template <typename T>
void store(char* out, T v) {
    std::memcpy(out, &v, sizeof(v));
}
template <typename T>
T load(const char* in) {
    T v;
    std::memcpy(&v, in, sizeof(v));
    return v;
}

Status damaged(const std::string& what) {
    return Status(errors::internal("A stored item is damaged: " + what +
                                   ". Run `orrery check` on the data folder."));
}

}  // namespace

std::string encode_document(const DocumentHeader& header, std::string_view text) {
    CHECK(header.epk.size() <= std::numeric_limits<uint16_t>::max());
    CHECK(text.size() <= std::numeric_limits<uint32_t>::max());
    char fixed[kHeaderBytes] = {};
    fixed[0] = static_cast<char>(kVersion);
    store(fixed + kEpkSizeAt, static_cast<uint16_t>(header.epk.size()));
    store(fixed + kTtlAt, header.own_ttl);
    store(fixed + kLsnAt, header.lsn);
    store(fixed + kTsAt, header.ts);
    store(fixed + kNonceAt, header.etag_nonce);
    store(fixed + kTextSizeAt, static_cast<uint32_t>(text.size()));
    std::string out;
    out.reserve(kHeaderBytes + header.epk.size() + text.size());
    out.append(fixed, kHeaderBytes).append(header.epk).append(text);
    return out;
}

void set_document_version(std::string& document, uint64_t lsn, int64_t ts) {
    CHECK(document.size() >= kHeaderBytes && static_cast<uint8_t>(document[0]) == kVersion);
    store(document.data() + kLsnAt, lsn);
    store(document.data() + kTsAt, ts);
}

Result<DocumentView> decode_document(std::string_view bytes) {
    if (bytes.empty()) return damaged("it is empty");
    const auto version = static_cast<uint8_t>(bytes[0]);
    if (version != kVersion) return damaged("unknown format version " + std::to_string(version));
    if (bytes.size() < kHeaderBytes) return damaged("its header is cut off");
    if (bytes[1] != 0) return damaged("unknown flags");
    const size_t epk_size = load<uint16_t>(bytes.data() + kEpkSizeAt);
    const size_t text_size = load<uint32_t>(bytes.data() + kTextSizeAt);
    if (bytes.size() != kHeaderBytes + epk_size + text_size) return damaged("its length is wrong");
    DocumentView view;
    view.header.lsn = load<uint64_t>(bytes.data() + kLsnAt);
    view.header.ts = load<int64_t>(bytes.data() + kTsAt);
    view.header.etag_nonce = load<uint64_t>(bytes.data() + kNonceAt);
    view.header.own_ttl = load<int32_t>(bytes.data() + kTtlAt);
    view.header.epk = bytes.substr(kHeaderBytes, epk_size);
    view.text = bytes.substr(kHeaderBytes + epk_size);
    return view;
}

int64_t document_ts(std::string_view bytes) {
    if (bytes.size() < kHeaderBytes || static_cast<uint8_t>(bytes[0]) != kVersion) return 0;
    return load<int64_t>(bytes.data() + kTsAt);
}

std::string etag_text(uint64_t etag_nonce, uint64_t lsn) {
    std::string out(kEtagChars, '\0');
    etag_text_to(out.data(), etag_nonce, lsn);
    return out;
}

void etag_text_to(char* out, uint64_t etag_nonce, uint64_t lsn) {
    std::array<uint8_t, 16> bytes;
    store_u64_be(reinterpret_cast<char*>(bytes.data()), etag_nonce);
    store_u64_be(reinterpret_cast<char*>(bytes.data()) + 8, lsn);
    guid_text_to(out, bytes);
}

void append_item(std::string& out, std::string_view text, std::string_view members) {
    DCHECK(text.size() >= 2 && text.front() == '{' && text.back() == '}');
    DCHECK(!members.empty());
    const size_t needed = out.size() + text.size() + members.size() + 1;
    // Many items are appended to one page: growth must stay geometric.
    if (needed > out.capacity()) out.reserve(std::max(needed, out.capacity() * 2));
    out.append(text.substr(0, text.size() - 1));
    if (text.size() > 2) out.push_back(',');
    out.append(members);
    out.push_back('}');
}

}  // namespace orrery::json
