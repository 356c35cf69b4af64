#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/channel.h"
#include "net/protocol_factory.h"

namespace orrery::net {

/// Why a connection ends with a message that is not taken.
enum class FrameRefusal : uint8_t {
    kMalformed,
    kTooLarge,
    kTooSlow,   ///< the message, or the client's proof of who it is, did not come in time
    kNoMemory,  ///< too many large messages are arriving at once
};

/// How messages follow one another on the wire.
struct FrameFormat {
    /// The least number of bytes that the message at the start of `received` is known to have; no
    /// more than there are: the message is whole. It may grow as more arrives, as when a second
    /// length stands behind a first part. Nothing: this is no message.
    std::optional<size_t> (*bytes)(std::string_view received);
    /// What the client is told before the connection ends; null or empty: nothing.
    std::string (*refusal)(FrameRefusal why) = nullptr;
};

/// A protocol of frames for a listener. Messages are whole frames in both directions.
ProtocolFactory frame_protocol(const FrameFormat& format, ChannelHandlerFactory handler,
                               const ChannelLimits& limits = {});

}  // namespace orrery::net
