#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/detail/loop.h"
#include "net/detail/protocol.h"
#include "net/detail/tls_stream.h"

namespace orrery::net::detail {

/// How long the server waits for the client's close after its own, so that an answer is not
/// destroyed by the reset that unread input would cause.
inline constexpr int64_t kLingerMs = 1000;
inline constexpr int64_t kLingerStoppingMs = 100;

/// A client that closes its sending side may have left, or may be waiting for its answers: nothing
/// tells them apart before something is sent. Each request that is under way then goes on for so
/// long.
inline constexpr int64_t kHalfClosedMs = 1000;

/// One client connection: a stream of bytes in and out, plain or TLS, for the protocol that it
/// owns. All methods run on the loop's thread except those marked "any thread" and the destructor.
///
/// Invariants:
///  - input() moves only inside room_for_input(), shorten_input() and consume(): what a request
///    points to stays where it is until the protocol says otherwise; what the client sends
///    meanwhile goes behind it, as far as there is room;
///  - events come once per change: readable_ remembers that there may be unread input;
///  - after close() nothing but its holders and the present round of events keeps the object
///    alive.
class Connection final : public Watcher, public std::enable_shared_from_this<Connection> {
public:
    Connection(std::shared_ptr<Loop> loop, std::shared_ptr<const Origin> origin,
               bool peer_is_loopback);
    ~Connection();

    // For the loop --------------------------------------------------------------------------
    void start(OwnedFd socket);
    void stop();  ///< the server is stopping
    int64_t deadline_ms() const { return std::min(deadline_ms_, write_deadline_ms_); }
    void on_deadline();
    void on_events(uint32_t events) override;
    void on_wake();
    void resume() { proceed(); }  ///< after Loop::resume_later()
    void send_now();              ///< after Loop::send_soon()
    size_t position_in_loop = 0;

    // For the protocol: input ---------------------------------------------------------------
    /// What was received and not yet consumed.
    char* input() const { return buffer_.get() + begin_; }
    size_t input_bytes() const { return end_ - begin_; }
    void consume(size_t bytes);
    /// The protocol has removed bytes from the middle of the input.
    void shorten_input(size_t bytes) { end_ = begin_ + bytes; }
    /// Makes free space behind the input, if it can without a larger buffer.
    bool room_for_input();
    /// A larger buffer; `expected` is the size that the input should reach, 0: unknown. False when
    /// the loop's large requests leave no memory for it.
    bool grow_input(size_t expected);
    /// Decrypts what is at hand; true when there was something. May close the connection.
    bool decrypt_more() { return tls_backlog_ && decrypt(); }
    /// Reads on when there is room and something comes.
    void arm_read();
    bool input_ended() const { return input_ended_; }
    /// The first bytes, or those of the TLS handshake, have not all arrived.
    bool handshaking() const;
    /// The client has sent its last byte: from now on what is under way has kHalfClosedMs.
    void note_half_closed();

    // For the protocol: output --------------------------------------------------------------
    /// What send() sends first; other bytes may already be in it. Precondition: takes_output().
    std::string& output() { return output_; }
    /// Sends output() and `tail`, which stays where it is until on_sent(), within this round of
    /// events. Precondition: takes_output().
    void send(std::string_view tail);
    /// Something is being sent: on_sent() will come.
    bool sending() const { return sending_; }
    /// send() may be called: nothing of what it was given before is on its way.
    bool takes_output() const { return !sending_ || (output_sent_ == 0 && tail_.empty()); }
    /// A few bytes, at once. Precondition: !sending().
    void send_at_once(std::string_view bytes);

    // For the protocol: the rest ------------------------------------------------------------
    /// kNever: none.
    void set_deadline(int64_t deadline_ms) {
        deadline_ms_ = deadline_ms;
        loop_->note_deadline(deadline_ms);
    }
    /// What follows in the input is for another protocol. The present one is not called again.
    void switch_protocol(const ProtocolFactory& make_protocol);
    void close();   ///< now, whatever is under way
    void linger();  ///< closes the sending side and waits a little for the client to do the same
    bool open() const { return state_ == State::kOpen; }
    bool closed() const { return state_ == State::kClosed; }
    bool tls() const { return tls_ != nullptr; }

    // Any thread ----------------------------------------------------------------------------
    bool client_gone() const {
        const int64_t since_ms = client_gone_ms_.load(std::memory_order_relaxed);
        return since_ms != kNever && since_ms <= coarse_now_ms();
    }
    Loop& loop() const { return *loop_; }
    bool peer_is_loopback() const { return peer_is_loopback_; }
    uint64_t number() const { return number_; }  ///< never 0; no other connection has it

private:
    enum class State : uint8_t { kOpen, kLingering, kClosed };
    enum class Progress : uint8_t { kDone, kBlocked, kFailed };

    // Reading (connection.cc)
    void proceed();
    bool input_waits() const { return read_armed_ && readable_; }
    void read_some();
    void on_input_end(bool orderly);
    void take_input(size_t count);
    void decide_on_tls();
    bool decrypt();
    void set_buffer(size_t capacity);

    // Writing (connection_write.cc)
    void write_on();
    Progress send_plain();
    Progress send_tls();
    Progress flush_tls();
    void await_progress();
    int queued_bytes() const;
    bool peer_reads_on();
    void on_writable();

    const std::shared_ptr<Loop> loop_;
    const std::shared_ptr<const Origin> origin_;
    OwnedFd socket_;
    std::unique_ptr<TlsStream> tls_;
    std::unique_ptr<Protocol> protocol_;
    std::unique_ptr<Protocol> former_protocol_;  ///< a call of it may still be on the stack
    State state_ = State::kOpen;
    const bool peer_is_loopback_;
    static std::atomic<uint64_t> connections;
    const uint64_t number_;
    bool plain_or_tls_known_ = false;
    bool read_armed_ = false;    ///< input is wanted
    bool readable_ = false;      ///< there may be some
    bool input_ending_ = false;  ///< the end of input is in sight, behind what is unread
    bool write_armed_ = false;   ///< waits until the socket takes more
    bool input_ended_ = false;
    bool tls_backlog_ = false;                     ///< decryption stopped for want of room
    bool sending_ = false;                         ///< output_ and tail_ are to be sent
    std::atomic<int64_t> client_gone_ms_{kNever};  ///< from when on the client counts as gone
    int64_t deadline_ms_ = kNever;                 ///< the protocol's
    int64_t write_deadline_ms_ = kNever;           ///< while the socket takes no more

    std::unique_ptr<char[]> buffer_;
    size_t capacity_ = 0;
    size_t large_bytes_ = 0;  ///< capacity_ as counted by the loop; 0 for usual sizes
    size_t begin_ = 0;        ///< what is before is consumed
    size_t end_ = 0;          ///< end of what was received

    std::string output_;
    size_t output_sent_ = 0;
    std::string_view tail_;  ///< sent behind output_; belongs to the protocol
    size_t tail_sent_ = 0;
    int queued_bytes_ = 0;  ///< in the kernel when last looked at, while blocked
};

}  // namespace orrery::net::detail
