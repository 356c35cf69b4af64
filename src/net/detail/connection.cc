#include "net/detail/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace orrery::net::detail {
namespace {

constexpr size_t kBufferBytes = 16 * 1024;
constexpr size_t kBufferKeepBytes = 64 * 1024;  ///< larger ones are given back when empty
constexpr size_t kBufferSlackBytes = 256;       ///< room to notice the client's end behind a body
constexpr int kReadsInARowMax = 16;             ///< then other connections get their turn
constexpr char kTlsHandshakeRecord = 0x16;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

Exchange::~Exchange() {
    if (connection == nullptr) return;
    Loop& loop = connection->loop();
    loop.answer(std::move(connection), nullptr);
}

bool Exchange::cancelled() const {
    return connection != nullptr && connection->client_gone();
}

void Exchange::run_on_loop(std::unique_ptr<LoopTask> task) {
    DCHECK(connection != nullptr);
    Loop& loop = connection->loop();
    if (loop.on_own_thread()) {
        task->run();
    } else {
        loop.post(std::move(task));
    }
}

void Exchange::do_send(std::unique_ptr<HttpExchange> self) {
    DCHECK(self.get() == this && connection != nullptr);
    std::shared_ptr<Connection> target = std::move(connection);
    Loop& loop = target->loop();
    loop.answer(std::move(target),
                std::unique_ptr<Exchange>(static_cast<Exchange*>(self.release())));
}

std::atomic<uint64_t> Connection::connections{0};

Connection::Connection(std::shared_ptr<Loop> loop, bool peer_is_loopback)
    : loop_(std::move(loop)),
      peer_is_loopback_(peer_is_loopback),
      number_(++connections),
      parser_(HttpLimits{.header_bytes_max = loop_->options().header_bytes_max,
                         .header_count_max = loop_->options().header_count_max,
                         .body_bytes_max = loop_->options().body_bytes_max}) {
    set_buffer(kBufferBytes);
}

Connection::~Connection() {
    loop_->give_large_bytes(large_bytes_);
}

void Connection::start(OwnedFd socket) {
    socket_ = std::move(socket);
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!loop_->watch(socket_.get(), EPOLLIN | EPOLLOUT | EPOLLRDHUP, *this)) {
        close();
        return;
    }
    proceed();
}

void Connection::on_events(uint32_t events) {
    if (state_ == State::kClosed) return;
    if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) input_ending_ = true;
    if ((events & EPOLLIN) != 0 || input_ending_) readable_ = true;
    if (write_armed_ && (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) on_writable();
    if (state_ == State::kClosed || !input_waits()) return;
    read_some();
    proceed();
}

void Connection::stop() {
    if (state_ == State::kReading && begin_ == end_) {
        close();
    } else if (state_ == State::kLingering) {
        deadline_ms_ = std::min(deadline_ms_, coarse_now_ms() + kLingerStoppingMs);
        loop_->note_deadline(deadline_ms_);
    }
}

void Connection::close() {
    if (state_ == State::kClosed) return;
    state_ = State::kClosed;
    deadline_ms_ = kNever;
    client_gone_ms_.store(0, std::memory_order_relaxed);
    socket_.reset();
    loop_->remove(*this);
}

/// Serves requests and reads on as far as possible without waiting. The way in after any event.
void Connection::proceed() {
    for (int reads = 0;; ++reads) {
        advance();
        if (state_ == State::kClosed || !input_waits()) return;
        if (reads == kReadsInARowMax) {
            loop_->resume_later(shared_from_this());
            return;
        }
        read_some();
    }
}

/// Serves what has been received until more is needed or a request is under way.
void Connection::advance() {
    while (state_ == State::kReading) {
        switch (parser_.parse(buffer_.get() + begin_, end_ - begin_)) {
            case HttpParser::Outcome::kNeedMore:
                if (!await_input()) return;
                break;
            case HttpParser::Outcome::kRefused:
                refuse(parser_.status(), parser_.why());
                return;
            case HttpParser::Outcome::kComplete:
                dispatch();
                break;
        }
    }
}

/// True when more plaintext was at hand; else input is waited for or the connection is closed.
bool Connection::await_input() {
    if (!make_room()) {
        refuse(503, "The server is receiving too many large requests at once. Try again later.");
        return false;
    }
    if (tls_backlog_ && decrypt()) return true;
    if (state_ == State::kClosed) return false;
    if (input_ended_) {
        close();
        return false;
    }
    if (parser_.wants_continue() && !continue_sent_) send_continue();
    if (state_ == State::kClosed) return false;
    enter_phase();
    arm_read();
    return false;
}

/// A phase's time runs from its start; bytes that trickle in do not extend it.
void Connection::enter_phase() {
    const bool idle = begin_ == end_ && (tls_ == nullptr || tls_->handshake_done());
    const Phase phase = idle ? Phase::kIdle : parser_.head_complete() ? Phase::kBody : Phase::kHead;
    if (phase == phase_) return;
    phase_ = phase;
    const HttpServerOptions& options = loop_->options();
    deadline_ms_ = coarse_now_ms() + (phase == Phase::kIdle   ? options.idle_timeout_ms
                                      : phase == Phase::kBody ? options.body_timeout_ms
                                                              : options.header_timeout_ms);
}

void Connection::send_continue() {
    continue_sent_ = true;
    if (tls_ != nullptr) {
        if (!tls_->write(kContinue) || flush_tls() == Progress::kFailed) close();
        return;
    }
    // Nothing else is being sent, so so few bytes fit unless the connection is beyond help.
    const ssize_t sent = ::send(socket_.get(), kContinue.data(), kContinue.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(kContinue.size())) close();
}

void Connection::arm_read() {
    if (input_ended_) return;
    const bool room = state_ == State::kLingering ? true
                      : tls_ != nullptr           ? tls_->input_used_up()
                                                  : end_ < capacity_;
    if (room) read_armed_ = true;
}

/// Precondition: input_waits(). One read; what follows from it is up to proceed().
void Connection::read_some() {
    char* space = buffer_.get() + end_;
    size_t size = capacity_ - end_;
    if (state_ == State::kLingering) {
        space = buffer_.get();  // whatever comes is dropped
        size = capacity_;
    } else if (tls_ != nullptr) {
        space = tls_->input_space();
        size = TlsStream::kInputBytes;
    }
    DCHECK(size > 0);
    const ssize_t count = ::recv(socket_.get(), space, size, 0);
    if (count < 0 && errno == EINTR) return;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        readable_ = false;
        return;
    }
    read_armed_ = false;
    if (count <= 0) {
        on_input_end(count == 0);
        return;
    }
    // Less than asked for: that was all. What comes later is another event.
    if (static_cast<size_t>(count) < size && !input_ending_) readable_ = false;
    if (state_ != State::kLingering) take_input(static_cast<size_t>(count));
    if (state_ == State::kHandling || state_ == State::kLingering) arm_read();
}

/// A client that has only closed its sending side still gets its answer.
void Connection::on_input_end(bool orderly) {
    note_half_closed();
    const bool answer_due = state_ == State::kHandling || state_ == State::kWriting;
    if (!orderly || !answer_due) close();
}

void Connection::note_half_closed() {
    input_ended_ = true;
    client_gone_ms_.store(coarse_now_ms() + kHalfClosedMs, std::memory_order_relaxed);
}

void Connection::take_input(size_t count) {
    if (tls_ != nullptr) {
        tls_->input_received(count);
        decrypt();
        return;
    }
    end_ += count;
    if (first_byte_seen_) return;
    first_byte_seen_ = true;
    if (buffer_[0] != kTlsHandshakeRecord || loop_->options().tls == nullptr) return;
    tls_ = TlsStream::create(*loop_->options().tls);
    if (tls_ == nullptr) {
        close();
        return;
    }
    tls_->add_input({buffer_.get(), count});
    end_ = 0;
    decrypt();
}

/// Moves plaintext into the buffer; true when there was some. May close the connection.
bool Connection::decrypt() {
    const size_t end_before = end_;
    tls_backlog_ = false;
    bool failed = false;
    for (bool more = true; more;) {
        if (end_ == capacity_) {
            tls_backlog_ = true;
            break;
        }
        size_t count = 0;
        switch (tls_->read(buffer_.get() + end_, capacity_ - end_, count)) {
            case TlsStream::Read::kData:
                end_ += count;
                break;
            case TlsStream::Read::kNeedInput:
                more = false;
                break;
            case TlsStream::Read::kClosed:
                note_half_closed();
                more = false;
                break;
            case TlsStream::Read::kFailed:
                failed = true;
                more = false;
                break;
        }
    }
    // Handshake messages, alerts and key updates. Requested ones without end are an attack.
    constexpr size_t kPendingBytesMax = 1024 * 1024;
    if (state_ != State::kWriting) failed |= flush_tls() == Progress::kFailed;
    if (failed || tls_->output().size() > kPendingBytesMax) {
        close();
        return false;
    }
    return end_ > end_before;
}

/// Makes free space behind what was received. The parser refuses at its limits, so the buffer
/// stays below twice their sum. False when the loop's large requests leave no memory for it.
bool Connection::make_room() {
    DCHECK(state_ == State::kReading);
    if (begin_ > 0 && capacity_ - end_ < capacity_ / 2) {
        std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    if (end_ < capacity_) return true;
    end_ = begin_ + parser_.compact(buffer_.get() + begin_, end_ - begin_);
    if (capacity_ - end_ >= kBufferSlackBytes) return true;
    size_t capacity = capacity_ * 2;
    if (const size_t expected = parser_.bytes_expected(); expected > 0) {
        capacity = std::min(capacity, begin_ + expected + kBufferSlackBytes);
    }
    if (capacity <= capacity_) return true;
    if (capacity > kBufferKeepBytes) {
        if (!loop_->take_large_bytes(capacity - large_bytes_)) return false;
        large_bytes_ = capacity;
    }
    set_buffer(capacity);
    return true;
}

/// Replaces the buffer, keeping what was received.
void Connection::set_buffer(size_t capacity) {
    auto buffer = std::make_unique_for_overwrite<char[]>(capacity);
    if (end_ > 0) std::memcpy(buffer.get(), buffer_.get(), end_);
    buffer_ = std::move(buffer);
    capacity_ = capacity;
}

void Connection::drop_request() {
    begin_ += parser_.consumed();
    parser_.reset();
    continue_sent_ = false;
    phase_ = Phase::kNone;
    if (begin_ != end_) return;
    begin_ = end_ = 0;
    if (capacity_ <= kBufferKeepBytes) return;
    set_buffer(kBufferBytes);
    loop_->give_large_bytes(std::exchange(large_bytes_, 0));
}

std::unique_ptr<Exchange> Connection::take_exchange() {
    return exchange_ != nullptr ? std::move(exchange_) : std::make_unique<Exchange>();
}

void Connection::dispatch() {
    state_ = State::kHandling;
    phase_ = Phase::kNone;
    deadline_ms_ = kNever;
    if (input_ended_) note_half_closed();  // this one has its own time
    std::unique_ptr<Exchange> exchange = take_exchange();
    parser_.fill(buffer_.get() + begin_, exchange->request);
    exchange->request.tls = tls_ != nullptr;
    exchange->request.peer_is_loopback = peer_is_loopback_;
    exchange->request.connection = number_;
    exchange->connection = shared_from_this();
    loop_->dispatch(*this, std::move(exchange));
    if (answered_) {
        answered_ = false;
        respond();
    } else {
        arm_read();  // to learn whether the client stays
    }
}

void Connection::set_answer(std::unique_ptr<Exchange> exchange) {
    if (exchange == nullptr) {
        exchange = take_exchange();
        exchange->response = {};
        exchange->response.status = 500;
        exchange->response.add_header("content-type", "text/plain");
        exchange->response.body = "The server gave up on this request.\n";
    }
    exchange_ = std::move(exchange);
}

void Connection::answer_in_dispatch(std::unique_ptr<Exchange> exchange) {
    set_answer(std::move(exchange));
    answered_ = true;
}

void Connection::answer_later(std::unique_ptr<Exchange> exchange) {
    if (state_ == State::kClosed) return;
    DCHECK(state_ == State::kHandling);
    set_answer(std::move(exchange));
    respond();
    proceed();
}

void Connection::refuse(int status, std::string_view why) {
    exchange_ = take_exchange();
    exchange_->response.status = status;
    loop_->handler().refuse(status, why, exchange_->response);
    keep_alive_ = false;
    respond();
}

void Connection::on_deadline() {
    if (state_ == State::kWriting && peer_reads_on()) return;
    if (state_ != State::kReading || phase_ == Phase::kIdle ||
        (tls_ != nullptr && !tls_->handshake_done())) {
        close();
    } else if (phase_ == Phase::kBody) {
        refuse(408, "The request's body did not arrive in time.");
    } else {
        refuse(408, "The request's headers did not arrive in time.");
    }
    if (state_ != State::kClosed) proceed();
}

}  // namespace orrery::net::detail
