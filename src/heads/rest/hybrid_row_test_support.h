#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/crc32.h"
#include "base/encoding.h"
#include "heads/rest/hybrid_row.h"

/// The client's side of the binary form: writes requests and reads answers. Written from the
/// format's description, apart from the server's code, so that the two check each other.
namespace orrery::rest::hybrid_row::testing_support {

/// Bytes of a text of hexadecimal digits and blanks.
inline std::string from_hex(std::string_view text) {
    std::string out;
    int high = -1;
    for (const char c : text) {
        if (c == ' ') continue;
        const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
        if (high < 0) {
            high = digit;
        } else {
            out.push_back(static_cast<char>(high * 16 + digit));
            high = -1;
        }
    }
    return out;
}

inline std::string segment() {
    return from_hex("81 f0d8ff7f 01 0a000000");
}

inline std::string record(const std::string& row) {
    std::string out = from_hex("81 f1d8ff7f");
    append_u32_le(out, static_cast<uint32_t>(row.size()));
    append_u32_le(out, crc32(row));
    return out + row;
}

inline std::string operation_row(const Operation& operation) {
    std::string row = from_hex("81 7054e17f");
    const std::optional<std::string_view> variable[] = {
        operation.partition_key, operation.effective_partition_key, operation.id,
        operation.binary_id, operation.resource_body};
    int presence = (operation.operation_type ? 1 : 0) | (operation.resource_type ? 2 : 0);
    for (int i = 0; i < 5; ++i)
        if (variable[i]) presence |= 4 << i;
    row.push_back(static_cast<char>(presence));
    append_u32_le(row, static_cast<uint32_t>(operation.operation_type.value_or(0)));
    append_u32_le(row, static_cast<uint32_t>(operation.resource_type.value_or(0)));
    for (const auto& column : variable)
        if (column) append_bytes(row, *column);
    const auto text = [&](char path, const std::optional<std::string_view>& value) {
        if (!value) return;
        row += {20, path};
        append_bytes(row, *value);
    };
    text(8, operation.indexing_directive);
    text(9, operation.if_match);
    text(10, operation.if_none_match);
    if (operation.time_to_live_seconds) {
        row += {7, 11};
        append_u32_le(row, static_cast<uint32_t>(*operation.time_to_live_seconds));
    }
    if (operation.minimal_return) row += {*operation.minimal_return ? '\3' : '\2', 12};
    return row;
}

inline std::string request(const std::vector<Operation>& operations) {
    std::string out = segment();
    for (const auto& operation : operations) out += record(operation_row(operation));
    return out;
}

struct ReadResult {
    int32_t status = 0;
    int32_t sub_status = 0;
    std::string etag;
    std::string body;
    uint32_t retry_after_ms = 0;
    double request_charge = -1;
};

/// The results of an answer; nullopt when it is not well-formed to the last byte.
inline std::optional<std::vector<ReadResult>> read_answer(std::string_view answer) {
    if (!answer.starts_with(segment())) return std::nullopt;
    ByteReader in(answer.substr(segment().size()));
    std::vector<ReadResult> results;
    while (!in.at_end()) {
        if (in.fixed(5) != from_hex("81 f1d8ff7f")) return std::nullopt;
        const uint32_t length = in.u32_le();
        const uint32_t sum = in.u32_le();
        const auto bytes = in.fixed(length);
        if (!in.ok() || crc32(bytes) != sum) return std::nullopt;
        ByteReader row(bytes);
        ReadResult result;
        if (row.fixed(5) != from_hex("81 7154e17f")) return std::nullopt;
        const uint8_t presence = row.u8();
        if ((presence & 3) != 3) return std::nullopt;
        result.status = static_cast<int32_t>(row.u32_le());
        result.sub_status = static_cast<int32_t>(row.u32_le());
        if ((presence & 4) != 0) result.etag = row.bytes();
        if ((presence & 8) != 0) result.body = row.bytes();
        while (!row.at_end()) {
            const uint8_t type = row.u8();
            const uint64_t path = row.varint();
            if (type == 11 && path == 5)
                result.retry_after_ms = row.u32_le();
            else if (type == 16 && path == 6)
                result.request_charge = std::bit_cast<double>(row.u64_le());
            else
                return std::nullopt;
        }
        if (!row.ok()) return std::nullopt;
        results.push_back(std::move(result));
    }
    return results;
}

}  // namespace orrery::rest::hybrid_row::testing_support
