#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/dialect.h"
#include "json/item.h"
#include "json/select.h"
#include "json/value.h"

namespace orrery::json {

/// What the server knows about an item besides its text.
struct DocumentHeader {
    uint64_t lsn = 0;
    int64_t ts = 0;           ///< `_ts`, seconds
    uint64_t etag_nonce = 0;  ///< with the LSN, the etag
    int32_t own_ttl = 0;      ///< item `ttl`: seconds, -1 never, 0 none given or not valid as one
    std::string_view epk;     ///< effective partition key, binary
    Dialect dialect = Dialect::kNosql;
    /// Core id (item_id.h); empty in the dialect nosql, where the text has it.
    std::string_view id = {};
    /// When the client says it wrote the item, in 100 ns since 1970-01-01 UTC.
    std::optional<int64_t> client_time = {};
};

/// Stored form of an item: header, then the minified text. Layout in docs/formats/document.md: an
/// item of the dialect nosql without a client's time has version 1, every other one version 2.
/// LSN, ts and etag nonce are fixed up by the committer in place.
std::string encode_document(const DocumentHeader& header, std::string_view text);
void set_document_version(std::string& document, uint64_t lsn, int64_t ts);
void set_document_ttl(std::string& document, int32_t own_ttl);

/// A stored item, decoded. Borrows the bytes. Its text is nobody else's business: it answers what
/// others want to know. Everything below trusts the text to be a stored one; damage is an error.
class Document {
public:
    DocumentHeader header;

    /// Of the text: the item's size for limits and charges.
    size_t text_bytes() const { return text_.size(); }

    /// The core id. Borrows from the document or from `arena`.
    Result<std::string_view> id(Arena& arena) const;
    /// The whole item, with the types of its dialect. Borrows from `arena`.
    Result<Value> value(Arena& arena) const;
    /// The values at `paths`, as extract() gives them.
    Result<std::vector<Value>> values_at(const std::vector<MemberPath>& paths, Arena& arena) const;
    /// Shows the item to a visitor, as read_item() did.
    Status walk(ItemVisitor& visitor) const;

    // As SQL and REST see it (docs/formats/values.md): plain JSON, with an `id` in every dialect.

    /// The selected part, and those of `more` that are selected, as parse_selected() gives them.
    Result<Value> select(const Selection& selection, Arena& arena,
                         std::span<const Member> more = {}) const;
    /// Appends the item as an object, then `members`: JSON members without braces, maybe none.
    void append_to(std::string& out, std::string_view members) const;
    std::string text() const;  ///< without more members

private:
    friend Result<Document> decode_document(std::string_view bytes);
    bool is_plain() const { return rules(header.dialect).reserves_members; }
    Result<std::string> sql_text() const;

    std::string_view text_;
};
/// Code::kInternal (damaged data) when the bytes are not a document of a known version.
Result<Document> decode_document(std::string_view bytes);
/// `_ts` alone; 0 where decode_document() would fail on the header.
int64_t document_ts(std::string_view bytes);

/// The GUID-like etag text without quotes, from nonce and LSN.
std::string etag_text(uint64_t etag_nonce, uint64_t lsn);

constexpr size_t kEtagChars = 36;
/// Writes kEtagChars characters.
void etag_text_to(char* out, uint64_t etag_nonce, uint64_t lsn);

}  // namespace orrery::json
