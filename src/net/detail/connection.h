#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/detail/loop.h"
#include "net/detail/tls_stream.h"
#include "net/http.h"
#include "net/http_parser.h"

namespace orrery::net::detail {

class Connection;

/// How long the server waits for the client's close after its own, so that an answer is not
/// destroyed by the reset that unread input would cause.
inline constexpr int64_t kLingerMs = 1000;
inline constexpr int64_t kLingerStoppingMs = 100;

/// A client that closes its sending side may have left, or may be waiting for its answers: nothing
/// tells them apart before something is sent. Each request that is under way then goes on for so
/// long.
inline constexpr int64_t kHalfClosedMs = 1000;

/// The one request of a connection that is with the handler. Reused for the next.
class Exchange final : public HttpExchange {
public:
    ~Exchange() override;
    bool cancelled() const override;
    void run_on_loop(std::unique_ptr<LoopTask> task) override;
    /// Set while the handler owns the exchange; keeps the request's bytes alive.
    std::shared_ptr<Connection> connection;

protected:
    void do_send(std::unique_ptr<HttpExchange> self) override;
};

/// One client connection: reads, parses, hands out one request at a time, writes the answer, goes
/// on. All methods run on the loop's thread except client_gone() and the destructor.
///
/// Invariants:
///  - a request with the handler points into buffer_: until its answer, buffer_ neither moves nor
///    grows; what the client sends meanwhile goes behind it, as far as there is room;
///  - events come once per change: readable_ remembers that there may be unread input;
///  - after close() nothing but the exchange and the present round of events keeps the object
///  alive.
class Connection final : public Watcher, public std::enable_shared_from_this<Connection> {
public:
    Connection(std::shared_ptr<Loop> loop, bool peer_is_loopback);
    ~Connection();

    void start(OwnedFd socket);
    void stop();   ///< the server is stopping
    void close();  ///< now, whatever is under way
    /// The handler's answer during its call, and at any later time; null: 500.
    void answer_in_dispatch(std::unique_ptr<Exchange> exchange);
    void answer_later(std::unique_ptr<Exchange> exchange);
    int64_t deadline_ms() const { return deadline_ms_; }
    void on_deadline();
    void on_events(uint32_t events) override;
    void resume() { proceed(); }  ///< after Loop::resume_later()
    void send_answer();           ///< after Loop::send_soon()

    bool client_gone() const {
        const int64_t since_ms = client_gone_ms_.load(std::memory_order_relaxed);
        return since_ms != kNever && since_ms <= coarse_now_ms();
    }
    Loop& loop() const { return *loop_; }

    size_t position_in_loop = 0;

private:
    enum class State : uint8_t { kReading, kHandling, kWriting, kLingering, kClosed };
    enum class Phase : uint8_t { kNone, kIdle, kHead, kBody };
    enum class Progress : uint8_t { kDone, kBlocked, kFailed };

    // Reading (connection.cc)
    void proceed();
    void advance();
    bool await_input();
    void enter_phase();
    void send_continue();
    void arm_read();
    bool input_waits() const { return read_armed_ && readable_; }
    void read_some();
    void on_input_end(bool orderly);
    void note_half_closed();
    void take_input(size_t count);
    bool decrypt();
    void set_buffer(size_t capacity);
    bool make_room();
    void drop_request();
    void dispatch();
    void refuse(int status, std::string_view why);
    std::unique_ptr<Exchange> take_exchange();
    void set_answer(std::unique_ptr<Exchange> exchange);

    // Writing (connection_write.cc)
    void respond();
    void build_head();
    void write_on();
    Progress send_plain();
    Progress send_tls();
    Progress flush_tls();
    void await_writable();
    int queued_bytes() const;
    bool peer_reads_on();
    void on_writable();
    void finish_response();
    void linger();

    const std::shared_ptr<Loop> loop_;
    OwnedFd socket_;
    std::unique_ptr<TlsStream> tls_;
    State state_ = State::kReading;
    Phase phase_ = Phase::kNone;
    const bool peer_is_loopback_;
    static std::atomic<uint64_t> connections;
    const uint64_t number_;
    bool first_byte_seen_ = false;
    bool read_armed_ = false;    ///< input is wanted
    bool readable_ = false;      ///< there may be some
    bool input_ending_ = false;  ///< the end of input is in sight, behind what is unread
    bool write_armed_ = false;   ///< waits until the socket takes more
    bool input_ended_ = false;
    bool tls_backlog_ = false;  ///< decryption stopped for want of room
    bool continue_sent_ = false;
    bool answered_ = false;
    bool keep_alive_ = true;
    std::atomic<int64_t> client_gone_ms_{kNever};  ///< from when on the client counts as gone
    int64_t deadline_ms_ = kNever;

    std::unique_ptr<char[]> buffer_;
    size_t capacity_ = 0;
    size_t large_bytes_ = 0;  ///< capacity_ as counted by the loop; 0 for usual sizes
    size_t begin_ = 0;        ///< start of the current request
    size_t end_ = 0;          ///< end of what was received
    HttpParser parser_;

    std::unique_ptr<Exchange> exchange_;  ///< spare, or the answer being written
    std::string head_;                    ///< status line, headers; small bodies too
    size_t head_sent_ = 0;
    std::string_view body_;  ///< what is not in head_; points into exchange_'s response
    size_t body_sent_ = 0;
    int queued_bytes_ = 0;  ///< in the kernel when last looked at, while blocked
};

}  // namespace orrery::net::detail
