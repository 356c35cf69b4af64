#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "json/dialect.h"

namespace orrery::json {

/// What the server knows of an item besides its text.
struct DocumentHeader {
    uint64_t lsn = 0;
    int64_t ts = 0;           ///< `_ts`, seconds
    uint64_t etag_nonce = 0;  ///< with the LSN, the etag
    int32_t own_ttl = 0;      ///< item `ttl`: seconds, -1 never, 0 none given or not valid as one
    std::string_view epk;     ///< effective partition key, binary
    Dialect dialect = Dialect::kNosql;
    /// Core id (item_id.h); empty in the dialect nosql, where the text has it.
    std::string_view id;
    /// When the client says it wrote the item, in 100 ns since 1970-01-01 UTC.
    std::optional<int64_t> client_time;
};

/// Stored form of an item: header, then the minified text. Layout in docs/formats/document.md: an
/// item of the dialect nosql without a client's time has version 1, every other one version 2.
/// LSN, ts and etag nonce are fixed up by the committer in place.
std::string encode_document(const DocumentHeader& header, std::string_view text);
void set_document_version(std::string& document, uint64_t lsn, int64_t ts);

/// A decoded document; borrows the bytes.
struct DocumentView {
    DocumentHeader header;
    std::string_view text;
};
/// Code::kInternal (damaged data) when the bytes are not a document of a known version.
Result<DocumentView> decode_document(std::string_view bytes);
/// `_ts` alone; 0 where decode_document() would fail on the header.
int64_t document_ts(std::string_view bytes);

/// The GUID-like etag text without quotes, from nonce and LSN.
std::string etag_text(uint64_t etag_nonce, uint64_t lsn);

constexpr size_t kEtagChars = 36;
/// Writes kEtagChars characters.
void etag_text_to(char* out, uint64_t etag_nonce, uint64_t lsn);

/// Appends an object: the members of the object `text`, then `members`, which are JSON members
/// without braces, at least one.
void append_item(std::string& out, std::string_view text, std::string_view members);

}  // namespace orrery::json
