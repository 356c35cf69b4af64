#include "net/websocket.h"

#include <algorithm>
#include <utility>

#include "base/encoding.h"
#include "net/detail/channel.h"
#include "net/detail/http_chars.h"
#include "net/detail/websocket_frame.h"

namespace orrery::net {
namespace detail {
namespace {

class WebSocketChannel final : public Channel {
public:
    using Channel::Channel;

private:
    Taken take_message() override {
        const std::string_view received(stream_.input(), stream_.input_bytes());
        FrameHeader frame;
        switch (read_header(received, frame)) {
            case HeaderRead::kNeedMore:
                bytes_expected_ = 0;
                return Taken::kNeedMore;
            case HeaderRead::kMalformed:
                return fail(CloseCode::kProtocolError);
            case HeaderRead::kWhole:
                break;
        }
        const size_t limit = message_bytes_max();
        const size_t room = limit - std::min(limit, message_.size());
        if (!frame.is_control() && frame.payload_bytes > room) return fail(CloseCode::kTooLarge);
        const size_t frame_bytes = frame.header_bytes + static_cast<size_t>(frame.payload_bytes);
        if (received.size() < frame_bytes) {
            bytes_expected_ = frame_bytes;
            return Taken::kNeedMore;
        }
        char* payload = stream_.input() + frame.header_bytes;
        const auto payload_bytes = static_cast<size_t>(frame.payload_bytes);
        unmask(payload, payload_bytes, frame.mask);
        const Taken taken = take_frame(frame, {payload, payload_bytes});
        stream_.consume(frame_bytes);
        return taken;
    }

    Taken take_frame(const FrameHeader& frame, std::string_view payload) {
        switch (frame.opcode) {
            case Opcode::kPing:
                send_raw(make_header(Opcode::kPong, payload.size()).append(payload));
                return Taken::kMessage;
            case Opcode::kPong:
                return Taken::kMessage;
            case Opcode::kClose:
                return fail(answer_to_close(payload));
            case Opcode::kText:
            case Opcode::kBinary:
                if (inside_message_) return fail(CloseCode::kProtocolError);
                kind_ = frame.opcode == Opcode::kText ? MessageKind::kText : MessageKind::kBinary;
                if (frame.final) return take_whole(payload);
                break;
            case Opcode::kContinuation:
                if (!inside_message_) return fail(CloseCode::kProtocolError);
                break;
        }
        message_.append(payload);
        inside_message_ = !frame.final;
        if (inside_message_) return Taken::kMessage;
        const std::string whole = std::exchange(message_, {});
        return take_whole(whole);
    }

    Taken take_whole(std::string_view message) {
        if (kind_ == MessageKind::kText && !is_valid_utf8(message))
            return fail(CloseCode::kInvalidData);
        deliver(message, kind_);
        return Taken::kMessage;
    }

    Taken fail(CloseCode code) {
        end_with(make_close(code));
        return Taken::kEnded;
    }

    bool inside_message() const override { return inside_message_; }

    std::string header(size_t message_bytes, MessageKind kind) const override {
        return make_header(kind == MessageKind::kText ? Opcode::kText : Opcode::kBinary,
                           message_bytes);
    }

    std::string farewell(Ending why) const override {
        switch (why) {
            case Ending::kMalformed:
                return make_close(CloseCode::kProtocolError);
            case Ending::kTooLarge:
                return make_close(CloseCode::kTooLarge);
            case Ending::kTooSlow:
                return make_close(CloseCode::kPolicy);
            case Ending::kNoMemory:
                return make_close(CloseCode::kTryLater);
            case Ending::kClosed:
                return make_close(CloseCode::kNormal);
            case Ending::kStopped:
                return make_close(CloseCode::kGoingAway);
        }
        return {};
    }

    bool inside_message_ = false;
    MessageKind kind_ = MessageKind::kBinary;
    std::string message_;  ///< the pieces of a message that has not ended
};

bool names(std::string_view list, std::string_view lower_token) {
    while (!list.empty()) {
        const size_t comma = std::min(list.find(','), list.size());
        if (equals_lower(trim(list.substr(0, comma)), lower_token)) return true;
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return false;
}

void refuse(std::unique_ptr<HttpExchange> exchange, int status, std::string_view why) {
    exchange->response.status = status;
    exchange->response.add_header("content-type", "text/plain");
    exchange->response.body = why;
    HttpExchange::send(std::move(exchange));
}

}  // namespace
}  // namespace detail

bool asks_for_websocket(const HttpRequest& request) {
    return detail::names(request.header("upgrade"), "websocket") &&
           detail::names(request.header("connection"), "upgrade");
}

void accept_websocket(std::unique_ptr<HttpExchange> exchange, ChannelHandlerFactory handler,
                      const ChannelLimits& limits) {
    constexpr size_t kNonceBytes = 16;
    const HttpRequest& request = exchange->request;
    if (!asks_for_websocket(request) || request.header("sec-websocket-version") != "13") {
        exchange->response.add_header("upgrade", "websocket");
        exchange->response.add_header("sec-websocket-version", "13");
        return detail::refuse(std::move(exchange), 426,
                              "Version 13 of WebSocket is spoken here.\n");
    }
    const std::string_view key = request.header("sec-websocket-key");
    const auto nonce = base64_decode(key);
    if (request.method != "GET" || !request.body.empty() || !nonce.has_value() ||
        nonce->size() != kNonceBytes)
        return detail::refuse(std::move(exchange), 400, "This is no WebSocket handshake.\n");
    HttpResponse& response = exchange->response;
    response.status = 101;
    response.add_header("upgrade", "websocket");
    response.add_header("connection", "upgrade");
    response.add_header("sec-websocket-accept", detail::accept_key(key));
    auto settings = std::make_shared<const detail::Channel::Settings>(
        detail::Channel::Settings{std::move(handler), limits});
    exchange->next_protocol =
        [settings = std::move(settings)](
            detail::Connection& connection) -> std::unique_ptr<detail::Protocol> {
        return std::make_unique<detail::WebSocketChannel>(connection, settings);
    };
    HttpExchange::send(std::move(exchange));
}

}  // namespace orrery::net
