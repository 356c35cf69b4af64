#include "net/detail/websocket_frame.h"

#include <openssl/evp.h>

#include <cstring>

#include "base/check.h"
#include "base/encoding.h"

namespace orrery::net::detail {
namespace {

constexpr size_t kControlBytesMax = 125;
constexpr uint8_t kLength16 = 126;
constexpr uint8_t kLength64 = 127;
constexpr size_t kMaskBytes = 4;

uint8_t byte_at(std::string_view bytes, size_t position) {
    return static_cast<uint8_t>(bytes[position]);
}

uint64_t read_big_endian(std::string_view bytes) {
    uint64_t value = 0;
    for (const char c : bytes) value = value << 8 | static_cast<uint8_t>(c);
    return value;
}

void append_big_endian(std::string& out, uint64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
        out.push_back(static_cast<char>(value >> shift & 0xff));
}

bool is_known(uint8_t opcode) {
    return opcode <= 0x2 || (opcode >= 0x8 && opcode <= 0xA);
}

}  // namespace

HeaderRead read_header(std::string_view bytes, FrameHeader& header) {
    if (bytes.size() < 2) return HeaderRead::kNeedMore;
    const uint8_t first = byte_at(bytes, 0);
    const uint8_t second = byte_at(bytes, 1);
    const uint8_t opcode = first & 0x0f;
    const bool reserved_bits = (first & 0x70) != 0;
    const bool masked = (second & 0x80) != 0;
    if (reserved_bits || !masked || !is_known(opcode)) return HeaderRead::kMalformed;
    header.final = (first & 0x80) != 0;
    header.opcode = static_cast<Opcode>(opcode);
    const uint8_t short_length = second & 0x7f;
    if (header.is_control() && (short_length > kControlBytesMax || !header.final))
        return HeaderRead::kMalformed;
    const size_t length_bytes = short_length == kLength64 ? 8 : short_length == kLength16 ? 2 : 0;
    header.header_bytes = 2 + length_bytes + kMaskBytes;
    if (bytes.size() < header.header_bytes) return HeaderRead::kNeedMore;
    header.payload_bytes =
        length_bytes > 0 ? read_big_endian(bytes.substr(2, length_bytes)) : short_length;
    if ((length_bytes == 2 && header.payload_bytes < kLength16) ||
        (length_bytes == 8 && (header.payload_bytes <= 0xffff || header.payload_bytes >> 63 != 0)))
        return HeaderRead::kMalformed;
    std::memcpy(header.mask, bytes.data() + 2 + length_bytes, kMaskBytes);
    return HeaderRead::kWhole;
}

std::string make_header(Opcode opcode, size_t payload_bytes) {
    std::string header;
    header.push_back(static_cast<char>(0x80 | static_cast<uint8_t>(opcode)));
    if (payload_bytes < kLength16) {
        header.push_back(static_cast<char>(payload_bytes));
    } else if (payload_bytes <= 0xffff) {
        header.push_back(static_cast<char>(kLength16));
        append_big_endian(header, payload_bytes, 2);
    } else {
        header.push_back(static_cast<char>(kLength64));
        append_big_endian(header, payload_bytes, 8);
    }
    return header;
}

std::string make_close(CloseCode code) {
    std::string frame = make_header(Opcode::kClose, 2);
    append_big_endian(frame, static_cast<uint16_t>(code), 2);
    return frame;
}

void unmask(char* bytes, size_t count, const uint8_t (&mask)[4]) {
    uint64_t wide_mask;
    std::memcpy(&wide_mask, mask, kMaskBytes);
    std::memcpy(reinterpret_cast<char*>(&wide_mask) + kMaskBytes, mask, kMaskBytes);
    size_t i = 0;
    for (; i + sizeof wide_mask <= count; i += sizeof wide_mask) {
        uint64_t eight;
        std::memcpy(&eight, bytes + i, sizeof eight);
        eight ^= wide_mask;
        std::memcpy(bytes + i, &eight, sizeof eight);
    }
    for (; i < count; ++i) bytes[i] = static_cast<char>(bytes[i] ^ mask[i % kMaskBytes]);
}

CloseCode answer_to_close(std::string_view payload) {
    if (payload.empty()) return CloseCode::kNormal;
    if (payload.size() == 1) return CloseCode::kProtocolError;
    const auto code = static_cast<uint16_t>(read_big_endian(payload.substr(0, 2)));
    const bool may_be_sent = (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
                             (code >= 3000 && code <= 4999);
    if (!may_be_sent) return CloseCode::kProtocolError;
    if (!is_valid_utf8(payload.substr(2))) return CloseCode::kInvalidData;
    return static_cast<CloseCode>(code);
}

std::string accept_key(std::string_view key) {
    constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    const std::string text = std::string(key).append(kGuid);
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    CHECK(EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha1(), nullptr) == 1);
    return base64_encode({reinterpret_cast<const char*>(digest), size});
}

}  // namespace orrery::net::detail
