#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "net/detail/connection.h"

namespace orrery::net::detail {
namespace {

constexpr size_t kCopiedTailBytesMax = 4096;    ///< cheaper to copy than to gather
constexpr size_t kTlsRecordBytes = 16 * 1024;   ///< the largest record's plaintext
constexpr size_t kTlsPieceBytes = 64 * 1024;    ///< encrypted at a time
constexpr size_t kKeptOutputBytes = 64 * 1024;  ///< larger ones are given back when sent

}  // namespace

void Connection::send(std::string_view tail) {
    DCHECK(takes_output());
    size_t copied = 0;
    if (tls_ != nullptr) {
        // Both fill the first record together.
        copied = std::min(tail.size(), kTlsRecordBytes - std::min(output_.size(), kTlsRecordBytes));
    } else if (tail.size() <= kCopiedTailBytesMax) {
        copied = tail.size();
    }
    output_.append(tail.substr(0, copied));
    tail_ = tail.substr(copied);
    if (sending_) return;  // with what is waiting for this round's end
    sending_ = true;
    loop_->send_soon(shared_from_this());
}

void Connection::send_now() {
    if (state_ != State::kOpen || !sending_) return;  // closed or sent meanwhile
    write_on();
    proceed();
}

void Connection::write_on() {
    switch (tls_ != nullptr ? send_tls() : send_plain()) {
        case Progress::kDone:
            sending_ = false;
            write_deadline_ms_ = kNever;
            output_.clear();
            if (output_.capacity() > kKeptOutputBytes) output_.shrink_to_fit();
            tail_ = {};
            output_sent_ = tail_sent_ = 0;
            protocol_->on_sent();
            break;
        case Progress::kBlocked:
            queued_bytes_ = queued_bytes();
            await_progress();
            write_armed_ = true;
            break;
        case Progress::kFailed:
            close();
            break;
    }
}

Connection::Progress Connection::send_plain() {
    for (;;) {
        iovec pieces[2];
        size_t count = 0;
        if (output_sent_ < output_.size()) {
            pieces[count++] = {output_.data() + output_sent_, output_.size() - output_sent_};
        }
        if (tail_sent_ < tail_.size()) {
            pieces[count++] = {const_cast<char*>(tail_.data()) + tail_sent_,
                               tail_.size() - tail_sent_};
        }
        if (count == 0) return Progress::kDone;
        ssize_t sent;
        if (count == 1) {
            sent = ::send(socket_.get(), pieces[0].iov_base, pieces[0].iov_len, MSG_NOSIGNAL);
        } else {
            msghdr message{};
            message.msg_iov = pieces;
            message.msg_iovlen = count;
            sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
        }
        if (sent < 0) {
            if (errno == EINTR) continue;
            return errno == EAGAIN || errno == EWOULDBLOCK ? Progress::kBlocked : Progress::kFailed;
        }
        const size_t of_output = std::min(static_cast<size_t>(sent), output_.size() - output_sent_);
        output_sent_ += of_output;
        tail_sent_ += static_cast<size_t>(sent) - of_output;
    }
}

Connection::Progress Connection::send_tls() {
    for (;;) {
        if (const Progress progress = flush_tls(); progress != Progress::kDone) return progress;
        std::string_view piece;
        if (output_sent_ < output_.size()) {
            piece = std::string_view(output_).substr(output_sent_);
            output_sent_ = output_.size();
        } else {
            piece = tail_.substr(tail_sent_, kTlsPieceBytes);
            tail_sent_ += piece.size();
        }
        if (piece.empty()) return Progress::kDone;
        if (!tls_->write(piece)) return Progress::kFailed;
    }
}

/// Sends ciphertext that waits. Blocked: on_writable() goes on.
Connection::Progress Connection::flush_tls() {
    while (!tls_->output().empty()) {
        const std::string_view output = tls_->output();
        const ssize_t sent = ::send(socket_.get(), output.data(), output.size(), MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno == EINTR) continue;
            if (errno != EAGAIN && errno != EWOULDBLOCK) return Progress::kFailed;
            write_armed_ = true;
            return Progress::kBlocked;
        }
        tls_->output_sent(static_cast<size_t>(sent));
    }
    return Progress::kDone;
}

void Connection::send_at_once(std::string_view bytes) {
    DCHECK(!sending_);
    if (tls_ != nullptr) {
        if (!tls_->write(bytes) || flush_tls() == Progress::kFailed) close();
        return;
    }
    // Nothing else is being sent, so these few bytes fit unless the connection is broken.
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(bytes.size())) close();
}

void Connection::await_progress() {
    write_deadline_ms_ = coarse_now_ms() + origin_->write_timeout_ms;
    loop_->note_deadline(write_deadline_ms_);
}

/// Sent by us and not yet acknowledged by the peer.
int Connection::queued_bytes() const {
    int count = 0;
    return ::ioctl(socket_.get(), SIOCOUTQ, &count) == 0 ? count : 0;
}

/// The kernel reports a large send buffer as writable only when a third of it is free, so a slow
/// reader may make progress for long without our hearing of it.
bool Connection::peer_reads_on() {
    const int queued = queued_bytes();
    if (queued >= queued_bytes_) return false;
    queued_bytes_ = queued;
    await_progress();
    return true;
}

void Connection::on_writable() {
    write_armed_ = false;
    if (sending_ && state_ == State::kOpen) {
        write_on();
        proceed();
    } else if (tls_ != nullptr && flush_tls() == Progress::kFailed) {
        close();
    }
}

void Connection::linger() {
    state_ = State::kLingering;
    write_deadline_ms_ = kNever;
    if (tls_ != nullptr) {
        tls_->close();
        flush_tls();
    }
    ::shutdown(socket_.get(), SHUT_WR);
    if (input_ended_) {
        close();
        return;
    }
    set_deadline(coarse_now_ms() + (loop_->stopping() ? kLingerStoppingMs : kLingerMs));
    arm_read();
}

}  // namespace orrery::net::detail
