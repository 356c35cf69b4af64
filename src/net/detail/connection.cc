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

/// A TLS client's first record: handshake, version 3.1 to 3.3. Read as a little-endian length these
/// bytes would be more than 64 KB, which no protocol of lengths accepts as its first message.
constexpr size_t kTlsFirstBytes = 3;
bool may_be_tls(const char* bytes, size_t count) {
    return (count < 1 || bytes[0] == 0x16) && (count < 2 || bytes[1] == 0x03) &&
           (count < 3 || (bytes[2] >= 0x01 && bytes[2] <= 0x03));
}

}  // namespace

std::atomic<uint64_t> Connection::connections{0};

Connection::Connection(std::shared_ptr<Loop> loop, std::shared_ptr<const Origin> origin,
                       bool peer_is_loopback)
    : loop_(std::move(loop)),
      origin_(std::move(origin)),
      peer_is_loopback_(peer_is_loopback),
      number_(++connections),
      plain_or_tls_known_(origin_->tls == nullptr) {
    set_buffer(kBufferBytes);
}

Connection::~Connection() {
    loop_->give_large_bytes(large_bytes_);
}

void Connection::start(OwnedFd socket) {
    socket_ = std::move(socket);
    protocol_ = origin_->make_protocol(*this);
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

void Connection::on_wake() {
    if (state_ == State::kClosed) return;
    protocol_->on_wake();
    proceed();
}

void Connection::stop() {
    if (state_ == State::kOpen) {
        protocol_->on_stop();
    } else if (state_ == State::kLingering) {
        set_deadline(std::min(deadline_ms_, coarse_now_ms() + kLingerStoppingMs));
    }
}

void Connection::switch_protocol(const ProtocolFactory& make_protocol) {
    DCHECK(former_protocol_ == nullptr);
    former_protocol_ = std::move(protocol_);
    protocol_ = make_protocol(*this);
}

void Connection::close() {
    if (state_ == State::kClosed) return;
    state_ = State::kClosed;
    deadline_ms_ = write_deadline_ms_ = kNever;
    client_gone_ms_.store(0, std::memory_order_relaxed);
    socket_.reset();
    protocol_->on_closed();
    loop_->remove(*this);
}

/// Serves requests and reads on as far as possible without waiting. The way in after any event.
void Connection::proceed() {
    for (int reads = 0;; ++reads) {
        if (state_ == State::kOpen) protocol_->advance();
        if (state_ == State::kClosed || !input_waits()) return;
        if (reads == kReadsInARowMax) {
            loop_->resume_later(shared_from_this());
            return;
        }
        read_some();
    }
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
    // Fewer bytes than asked for: the input is empty. Later input is another event.
    if (static_cast<size_t>(count) < size && !input_ending_) readable_ = false;
    if (state_ == State::kLingering) {
        arm_read();
    } else {
        take_input(static_cast<size_t>(count));
    }
}

/// A client that has only closed its sending side still gets its answer.
void Connection::on_input_end(bool orderly) {
    note_half_closed();
    if (!orderly || state_ != State::kOpen || !protocol_->answer_due()) close();
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
    if (!plain_or_tls_known_) decide_on_tls();
}

/// Bytes that do not tell yet count as consumed: the protocol does not see them.
void Connection::decide_on_tls() {
    begin_ = 0;
    if (!may_be_tls(buffer_.get(), end_)) {
        plain_or_tls_known_ = true;
        return;
    }
    if (end_ < kTlsFirstBytes) {
        begin_ = end_;
        return;
    }
    plain_or_tls_known_ = true;
    tls_ = TlsStream::create(*origin_->tls);
    if (tls_ == nullptr) {
        close();
        return;
    }
    tls_->add_input({buffer_.get(), end_});
    end_ = 0;
    decrypt();
}

bool Connection::handshaking() const {
    return tls_ != nullptr ? !tls_->handshake_done() : !plain_or_tls_known_ && end_ > 0;
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
    // Handshake messages, alerts and key updates. An endless stream of them is an attack.
    constexpr size_t kPendingBytesMax = 1024 * 1024;
    if (!sending_) failed |= flush_tls() == Progress::kFailed;
    if (failed || tls_->output().size() > kPendingBytesMax) {
        close();
        return false;
    }
    return end_ > end_before;
}

bool Connection::room_for_input() {
    if (begin_ > 0 && capacity_ - end_ < capacity_ / 2) {
        std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    return end_ < capacity_;
}

bool Connection::grow_input(size_t expected) {
    if (capacity_ - end_ >= kBufferSlackBytes) return true;
    size_t capacity = capacity_ * 2;
    if (expected > 0) capacity = std::min(capacity, begin_ + expected + kBufferSlackBytes);
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

void Connection::consume(size_t bytes) {
    begin_ += bytes;
    DCHECK(begin_ <= end_);
    if (begin_ != end_) return;
    begin_ = end_ = 0;
    if (capacity_ <= kBufferKeepBytes) return;
    set_buffer(kBufferBytes);
    loop_->give_large_bytes(std::exchange(large_bytes_, 0));
}

void Connection::on_deadline() {
    const int64_t now_ms = coarse_now_ms();
    const bool blocked = write_deadline_ms_ <= now_ms && !peer_reads_on();
    if (blocked || state_ != State::kOpen) {
        close();
        return;
    }
    if (deadline_ms_ > now_ms) return;
    protocol_->on_deadline();
    if (state_ != State::kClosed) proceed();
}

}  // namespace orrery::net::detail
