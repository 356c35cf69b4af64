#include "json/document.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/bytes.h"
#include "base/check.h"
#include "base/errors.h"
#include "base/random.h"
#include "json/detail/scan_handler.h"
#include "json/parse.h"
#include "json/sql_view.h"

namespace orrery::json {
namespace {

// docs/formats/document.md
constexpr uint8_t kPlainVersion = 1;
constexpr uint8_t kTaggedVersion = 2;
constexpr size_t kEpkSizeAt = 2;
constexpr size_t kTtlAt = 4;
constexpr size_t kLsnAt = 8;
constexpr size_t kTsAt = 16;
constexpr size_t kNonceAt = 24;
constexpr size_t kTextSizeAt = 32;
constexpr size_t kHeaderBytes = 36;
// Version 2 goes on with the dialect, the size of the id, and the client's time if there is one.
constexpr size_t kDialectAt = 36;
constexpr size_t kIdSizeAt = 37;
constexpr size_t kTaggedHeaderBytes = 39;
constexpr char kHasClientTime = 0x01;

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

bool has_version(std::string_view bytes) {
    return bytes.size() >= kHeaderBytes && (bytes[0] == static_cast<char>(kPlainVersion) ||
                                            bytes[0] == static_cast<char>(kTaggedVersion));
}

std::string encode_tagged(const char* fixed, const DocumentHeader& header, std::string_view text) {
    CHECK(header.id.size() <= std::numeric_limits<uint16_t>::max());
    CHECK(header.id.empty() == rules(header.dialect).reserves_members);
    std::string out(fixed, kHeaderBytes);
    out.reserve(kTaggedHeaderBytes + 8 + header.epk.size() + header.id.size() + text.size());
    out[0] = static_cast<char>(kTaggedVersion);
    if (header.client_time) out[1] = kHasClientTime;
    out.resize(kTaggedHeaderBytes);
    out[kDialectAt] = static_cast<char>(header.dialect);
    store(out.data() + kIdSizeAt, static_cast<uint16_t>(header.id.size()));
    if (header.client_time) append_u64_le(out, static_cast<uint64_t>(*header.client_time));
    return out.append(header.epk).append(header.id).append(text);
}

/// What version 2 has behind the fixed fields, and where the EPK begins.
Result<size_t> decode_tagged(std::string_view bytes, DocumentHeader& header) {
    if (bytes.size() < kTaggedHeaderBytes) return damaged("its header is cut off");
    const char flags = bytes[1];
    if ((flags & ~kHasClientTime) != 0) return damaged("unknown flags");
    const auto dialect = dialect_of_number(static_cast<uint8_t>(bytes[kDialectAt]));
    if (!dialect) return damaged("unknown dialect");
    header.dialect = *dialect;
    const size_t id_size = load<uint16_t>(bytes.data() + kIdSizeAt);
    if ((id_size == 0) != rules(*dialect).reserves_members) return damaged("its id is wrong");
    size_t epk_at = kTaggedHeaderBytes;
    if (flags == kHasClientTime) {
        if (bytes.size() < epk_at + 8) return damaged("its header is cut off");
        header.client_time = load<int64_t>(bytes.data() + epk_at);
        epk_at += 8;
    }
    const size_t id_at = epk_at + load<uint16_t>(bytes.data() + kEpkSizeAt);
    if (bytes.size() < id_at + id_size) return damaged("its length is wrong");
    header.id = bytes.substr(id_at, id_size);
    if (id_size > 0 && !is_tagged_id(header.id)) return damaged("its id is wrong");
    return epk_at;
}

Result<Value> parse_stored(std::string_view text, Arena& arena, bool typed_values) {
    return parse(text, arena,
                 {.depth_max = detail::kScanDepthCap,
                  .refuse_duplicate_names = false,
                  .typed_values = typed_values});
}

/// The members of the object `text`, then `members`, as one object.
void append_object(std::string& out, std::string_view text, std::string_view members) {
    DCHECK(text.size() >= 2 && text.front() == '{' && text.back() == '}');
    const size_t needed = out.size() + text.size() + members.size() + 1;
    // A page appends many items, so growth must stay geometric.
    if (needed > out.capacity()) out.reserve(std::max(needed, out.capacity() * 2));
    out.append(text.substr(0, text.size() - 1));
    if (text.size() > 2 && !members.empty()) out.push_back(',');
    out.append(members);
    out.push_back('}');
}

}  // namespace

std::string encode_document(const DocumentHeader& header, std::string_view text) {
    CHECK(header.epk.size() <= std::numeric_limits<uint16_t>::max());
    CHECK(text.size() <= std::numeric_limits<uint32_t>::max());
    char fixed[kHeaderBytes] = {};
    fixed[0] = static_cast<char>(kPlainVersion);
    store(fixed + kEpkSizeAt, static_cast<uint16_t>(header.epk.size()));
    store(fixed + kTtlAt, header.own_ttl);
    store(fixed + kLsnAt, header.lsn);
    store(fixed + kTsAt, header.ts);
    store(fixed + kNonceAt, header.etag_nonce);
    store(fixed + kTextSizeAt, static_cast<uint32_t>(text.size()));
    if (header.dialect != Dialect::kNosql || header.client_time) [[unlikely]]
        return encode_tagged(fixed, header, text);
    std::string out;
    out.reserve(kHeaderBytes + header.epk.size() + text.size());
    out.append(fixed, kHeaderBytes).append(header.epk).append(text);
    return out;
}

void set_document_version(std::string& document, uint64_t lsn, int64_t ts) {
    CHECK(has_version(document));
    store(document.data() + kLsnAt, lsn);
    store(document.data() + kTsAt, ts);
}

void set_document_ttl(std::string& document, int32_t own_ttl) {
    CHECK(has_version(document));
    store(document.data() + kTtlAt, own_ttl);
}

Result<Document> decode_document(std::string_view bytes) {
    if (bytes.empty()) return damaged("it is empty");
    const auto version = static_cast<uint8_t>(bytes[0]);
    if (version != kPlainVersion && version != kTaggedVersion)
        return damaged("unknown format version " + std::to_string(version));
    if (bytes.size() < kHeaderBytes) return damaged("its header is cut off");
    Document view;
    size_t epk_at = kHeaderBytes;
    if (version == kTaggedVersion) [[unlikely]] {
        TRY(epk_at, decode_tagged(bytes, view.header));
    } else if (bytes[1] != 0) {
        return damaged("unknown flags");
    }
    const size_t epk_size = load<uint16_t>(bytes.data() + kEpkSizeAt);
    const size_t text_size = load<uint32_t>(bytes.data() + kTextSizeAt);
    const size_t text_at = epk_at + epk_size + view.header.id.size();
    if (bytes.size() != text_at + text_size) return damaged("its length is wrong");
    view.header.lsn = load<uint64_t>(bytes.data() + kLsnAt);
    view.header.ts = load<int64_t>(bytes.data() + kTsAt);
    view.header.etag_nonce = load<uint64_t>(bytes.data() + kNonceAt);
    view.header.own_ttl = load<int32_t>(bytes.data() + kTtlAt);
    view.header.epk = bytes.substr(epk_at, epk_size);
    view.text_ = bytes.substr(text_at);
    return view;
}

int64_t document_ts(std::string_view bytes) {
    return has_version(bytes) ? load<int64_t>(bytes.data() + kTsAt) : 0;
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

Result<std::string_view> Document::id(Arena& arena) const {
    if (!header.id.empty()) return header.id;
    static const Selection kId(std::vector<MemberPath>{{"id"}});
    TRY(const Value item, parse_selected(text_, kId, arena));
    const Value found = item.member("id");
    if (!found.is_string()) return damaged("it has no id");
    return found.as_string();
}

Result<Value> Document::value(Arena& arena) const {
    return parse_stored(text_, arena, rules(header.dialect).typed_values);
}

Result<std::vector<Value>> Document::values_at(const std::vector<MemberPath>& paths,
                                               Arena& arena) const {
    return extract(text_, paths, arena, header.dialect);
}

Status Document::walk(ItemVisitor& visitor) const {
    return walk_item(text_, visitor, header.dialect);
}

Result<std::string> Document::sql_text() const {
    Arena arena;
    TRY(const Value item, parse_stored(text_, arena, false));
    return sql_view_text(item, header);
}

Result<Value> Document::select(const Selection& selection, Arena& arena,
                               std::span<const Member> more) const {
    if (is_plain()) [[likely]]
        return parse_selected(text_, selection, arena, more);
    TRY(const std::string text, sql_text());
    return parse_selected(arena.copy(text), selection, arena, more);
}

void Document::append_to(std::string& out, std::string_view members) const {
    if (is_plain()) [[likely]]
        return append_object(out, text_, members);
    const auto text = sql_text();
    append_object(out, text.ok() ? *text : "{}", members);
}

std::string Document::text() const {
    std::string out;
    append_to(out, {});
    return out;
}

}  // namespace orrery::json
