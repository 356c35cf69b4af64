#include "net/frames.h"

#include "net/detail/channel.h"

namespace orrery::net {
namespace detail {
namespace {

class FrameChannel final : public Channel {
public:
    FrameChannel(Connection& stream, std::shared_ptr<const Settings> settings,
                 const FrameFormat& format)
        : Channel(stream, std::move(settings)), format_(format) {}

private:
    Taken take_message() override {
        const std::string_view received(stream_.input(), stream_.input_bytes());
        const std::optional<size_t> bytes = format_.bytes(received);
        if (!bytes.has_value() || *bytes == 0) {
            end(Ending::kMalformed);
            return Taken::kEnded;
        }
        if (*bytes > message_bytes_max()) {
            end(Ending::kTooLarge);
            return Taken::kEnded;
        }
        if (*bytes > received.size()) {
            bytes_expected_ = *bytes;
            return Taken::kNeedMore;
        }
        deliver(received.substr(0, *bytes), MessageKind::kBinary);
        stream_.consume(*bytes);
        return Taken::kMessage;
    }

    std::string header(size_t /*message_bytes*/, MessageKind /*kind*/) const override { return {}; }

    std::string farewell(Ending why) const override {
        if (format_.refusal == nullptr) return {};
        switch (why) {
            case Ending::kMalformed:
                return format_.refusal(FrameRefusal::kMalformed);
            case Ending::kTooLarge:
                return format_.refusal(FrameRefusal::kTooLarge);
            case Ending::kTooSlow:
                return format_.refusal(FrameRefusal::kTooSlow);
            case Ending::kNoMemory:
                return format_.refusal(FrameRefusal::kNoMemory);
            case Ending::kClosed:
            case Ending::kStopped:
                break;
        }
        return {};
    }

    const FrameFormat format_;
};

}  // namespace
}  // namespace detail

ProtocolFactory frame_protocol(const FrameFormat& format, ChannelHandlerFactory handler,
                               const ChannelLimits& limits) {
    auto settings = std::make_shared<const detail::Channel::Settings>(
        detail::Channel::Settings{std::move(handler), limits});
    return [format, settings = std::move(settings)](
               detail::Connection& connection) -> std::unique_ptr<detail::Protocol> {
        return std::make_unique<detail::FrameChannel>(connection, settings, format);
    };
}

}  // namespace orrery::net
