#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "net/channel.h"
#include "net/detail/connection.h"
#include "net/detail/protocol.h"

namespace orrery::net::detail {

/// Messages on one connection: counts those under way, queues those to be sent, watches limits and
/// times. How a message looks on the wire is told by the class derived from it.
///
/// A connection that is ended first *finishes* (no message is taken any more, those under way get
/// their answers), then *ends* (nothing is accepted for sending any more, what is queued is sent).
class Channel : public Protocol {
public:
    struct Settings {
        ChannelHandlerFactory make_handler;
        ChannelLimits limits;
    };
    Channel(Connection& stream, std::shared_ptr<const Settings> settings);

    void advance() final;
    void on_sent() final;
    void on_wake() final {}  // advance() follows
    void on_deadline() final;
    void on_stop() final { advance(); }
    void on_closed() final;
    bool answer_due() const final { return under_way_ > 0 || unsent_bytes_ > 0; }

    // Any thread ----------------------------------------------------------------------------
    void send(std::string message, MessageKind kind);
    void trust(size_t message_bytes_max);
    void close_soon();
    void end_request();
    size_t unsent_bytes() const { return unsent_bytes_; }
    const Connection& stream() const { return stream_; }

protected:
    enum class Taken : uint8_t {
        kMessage,   ///< a message, or something else that was whole
        kNeedMore,  ///< bytes_expected_ says how much
        kEnded,     ///< end() was called
    };
    enum class Ending : uint8_t { kMalformed, kTooLarge, kTooSlow, kNoMemory, kClosed, kStopped };

    virtual Taken take_message() = 0;
    /// Between two frames of one message.
    virtual bool inside_message() const { return false; }
    /// What goes in front of a message.
    virtual std::string header(size_t message_bytes, MessageKind kind) const = 0;
    /// The last bytes to the client.
    virtual std::string farewell(Ending why) const = 0;

    void deliver(std::string_view message, MessageKind kind);
    /// Bytes that are no message, behind what was sent before.
    void send_raw(std::string bytes);
    void end(Ending why) { end_with(farewell(why)); }
    void end_with(std::string last_bytes);
    size_t message_bytes_max() const { return message_bytes_max_; }

    Connection& stream_;  ///< owns this
    size_t bytes_expected_ = 0;

private:
    enum class Stage : uint8_t { kServing, kFinishing, kEnding };

    void take_messages();
    bool room_for_requests();
    bool await_input();
    void set_time_limit();
    void pause();
    void flush();
    bool collect_outbox();
    void hand_over();
    bool enqueue(std::string header, std::string bytes);

    const std::shared_ptr<const Settings> settings_;
    const ChannelLimits& limits_;
    std::unique_ptr<ChannelHandler> handler_;

    // The loop's thread.
    Stage stage_ = Stage::kServing;
    bool advancing_ = false;
    const int64_t started_ms_;
    int64_t active_ms_;            ///< last message in either direction
    int64_t message_ms_ = kNever;  ///< first byte of the message that is arriving
    std::deque<std::string> pending_;
    std::string tail_;             ///< being sent
    size_t in_transit_bytes_ = 0;  ///< with the connection

    // Any thread.
    std::atomic<size_t> message_bytes_max_;
    std::atomic<bool> trusted_{false};
    std::atomic<bool> close_asked_{false};
    std::atomic<size_t> under_way_{0};
    /// Pairs in advance() and end_request(): either the loop sees the end of a request, or who ends
    /// it sees the loop waiting.
    std::atomic<bool> waits_for_requests_{false};
    std::atomic<size_t> unsent_bytes_{0};
    std::mutex mutex_;
    std::vector<std::string> outbox_;  ///< guarded by mutex_
    bool woken_ = false;               ///< guarded by mutex_; flush() will come
    bool overflowed_ = false;          ///< guarded by mutex_
    bool ended_ = false;               ///< guarded by mutex_; nothing is accepted any more
};

}  // namespace orrery::net::detail
