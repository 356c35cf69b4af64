#include "query/plan/position.h"

#include "base/bytes.h"
#include "base/errors.h"

namespace orrery::query {

std::string Position::encode() const {
    std::string out;
    out.push_back(static_cast<char>(order));
    append_bytes(out, segment_min);
    append_bytes(out, segment_max);
    append_u64_le(out, path);
    append_bytes(out, term);
    append_bytes(out, key);
    append_bytes(out, docref);
    append_varint(out, item_rows);
    append_varint(out, skipped);
    append_varint(out, emitted);
    for (const Piece& piece : pieces) {
        append_bytes(out, piece.max);
        append_bytes(out, piece.term);
        append_bytes(out, piece.docref);
        append_varint(out, piece.item_rows);
    }
    return out;
}

Result<Position> Position::decode(std::string_view bytes) {
    ByteReader reader(bytes);
    Position out;
    const uint8_t order = reader.u8();
    out.order = static_cast<Order>(order);
    out.segment_min = std::string(reader.bytes());
    out.segment_max = std::string(reader.bytes());
    out.path = reader.u64_le();
    out.term = std::string(reader.bytes());
    out.key = std::string(reader.bytes());
    out.docref = std::string(reader.bytes());
    out.item_rows = reader.varint();
    out.skipped = reader.varint();
    out.emitted = reader.varint();
    while (reader.ok() && !reader.at_end()) {
        Piece piece;
        piece.max = std::string(reader.bytes());
        piece.term = std::string(reader.bytes());
        piece.docref = std::string(reader.bytes());
        piece.item_rows = reader.varint();
        out.pieces.push_back(std::move(piece));
    }
    if (!reader.ok() || !reader.at_end() || order > static_cast<uint8_t>(Order::kPrimary))
        return errors::bad_request("The continuation token is malformed.");
    return out;
}

}  // namespace orrery::query
