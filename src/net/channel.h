#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "net/loop_task.h"

/// Connections that carry messages in both directions: many requests under way at once, answers in
/// any order and from any thread, messages that nobody asked for. What a message looks like on the
/// wire is the business of frames.h and websocket.h.
namespace orrery::net {

namespace detail {
class Channel;
}

struct ChannelLimits {
    size_t message_bytes_max = 64 * 1024;        ///< before Peer::trust(), which gives another
    size_t requests_max = 128;                   ///< under way; further messages wait in the socket
    size_t output_pause_bytes = 1024 * 1024;     ///< unsent; above, no message is taken
    size_t output_bytes_max = 64 * 1024 * 1024;  ///< unsent; above, the connection is closed
    int64_t trust_timeout_ms = 10'000;           ///< from the connection's start to Peer::trust()
    int64_t message_timeout_ms = 60'000;         ///< from a message's first byte to its last
    int64_t idle_timeout_ms = 1'800'000;         ///< without a message in either direction
};

enum class MessageKind : uint8_t { kBinary, kText };  ///< only WebSocket tells them apart

/// The client at the other end of a connection. A copy costs a reference count; all copies may be
/// used by any thread, also when the connection has ended.
class Peer {
public:
    explicit Peer(std::shared_ptr<detail::Channel> channel) : channel_(std::move(channel)) {}

    /// Sends a whole message behind all those sent before.
    void send(std::string message, MessageKind kind = MessageKind::kBinary) const;
    /// The client has shown who it is: from now on its messages may be this large, and it may stay.
    void trust(size_t message_bytes_max) const;
    /// Ends the connection after what was sent before; no further message is taken.
    void close() const;
    /// True once the client has left, or has sent its last byte a while ago and may have left; long
    /// work should stop.
    bool gone() const;
    /// What the client has not taken yet. Who sends much unasked should wait while it is high.
    size_t unsent_bytes() const;
    /// Runs the task on the connection's loop thread, at once when called there. A task that comes
    /// after the server's end is destroyed unrun.
    void run_on_loop(std::unique_ptr<LoopTask> task) const;

    uint64_t connection() const;  ///< tells connections apart; never 0
    bool is_loopback() const;
    bool tls() const;  ///< known from the first message on

private:
    friend class ChannelRequest;
    std::shared_ptr<detail::Channel> channel_;
};

/// A message of the client that is being worked on. It counts as under way until this object is
/// destroyed; answers come before that. Any thread, one at a time.
class ChannelRequest {
public:
    explicit ChannelRequest(Peer peer) : peer_(std::move(peer)) {}
    ChannelRequest(ChannelRequest&& other) noexcept = default;
    ChannelRequest& operator=(ChannelRequest&& other) noexcept {
        std::swap(peer_, other.peer_);
        return *this;
    }
    ~ChannelRequest();
    const Peer& peer() const { return peer_; }

private:
    Peer peer_;
};

/// What a head keeps for one connection. All calls come on the thread of the connection's loop and
/// must not block. Destroyed there when the connection ends, possibly before its requests.
class ChannelHandler {
public:
    virtual ~ChannelHandler() = default;
    /// `message` is valid during the call.
    virtual void on_message(std::string_view message, MessageKind kind, ChannelRequest request) = 0;
};

/// `peer` may be kept by the handler.
using ChannelHandlerFactory = std::function<std::unique_ptr<ChannelHandler>(const Peer& peer)>;

}  // namespace orrery::net
