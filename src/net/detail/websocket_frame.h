#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// The bytes of RFC 6455, without a connection.
namespace orrery::net::detail {

enum class Opcode : uint8_t {
    kContinuation = 0x0,
    kText = 0x1,
    kBinary = 0x2,
    kClose = 0x8,
    kPing = 0x9,
    kPong = 0xA,
};

enum class CloseCode : uint16_t {
    kNormal = 1000,
    kGoingAway = 1001,
    kProtocolError = 1002,
    kInvalidData = 1007,
    kPolicy = 1008,
    kTooLarge = 1009,
    kTryLater = 1013,
};

/// What stands in front of a frame's payload. From a client only: servers do not mask.
struct FrameHeader {
    bool final = false;
    Opcode opcode = Opcode::kContinuation;
    uint8_t mask[4] = {};
    size_t header_bytes = 0;
    uint64_t payload_bytes = 0;

    bool is_control() const { return opcode >= Opcode::kClose; }
};

enum class HeaderRead : uint8_t { kWhole, kNeedMore, kMalformed };

/// Reads the header of a client's frame. kMalformed: extensions, unknown opcodes, no mask, lengths
/// that are not in their shortest form, control frames that are long or in pieces.
HeaderRead read_header(std::string_view bytes, FrameHeader& header);

/// The header of a whole message, or of a control frame, from the server.
std::string make_header(Opcode opcode, size_t payload_bytes);
std::string make_close(CloseCode code);

void unmask(char* bytes, size_t count, const uint8_t (&mask)[4]);

/// How a client's close frame is answered: with its own code, or with that of what is wrong with
/// it.
CloseCode answer_to_close(std::string_view payload);

/// `Sec-WebSocket-Accept` for a `Sec-WebSocket-Key`.
std::string accept_key(std::string_view key);

}  // namespace orrery::net::detail
