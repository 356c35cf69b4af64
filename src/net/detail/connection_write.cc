#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/check.h"
#include "net/detail/connection.h"
#include "net/detail/reason_phrase.h"

namespace orrery::net::detail {
namespace {

constexpr size_t kCopiedBodyBytesMax = 4096;    ///< cheaper to copy than to gather
constexpr size_t kTlsRecordBytes = 16 * 1024;   ///< the largest record's plaintext
constexpr size_t kTlsPieceBytes = 64 * 1024;    ///< encrypted at a time
constexpr size_t kKeptStringBytes = 64 * 1024;  ///< larger ones are given back after an answer

void append_number(std::string& out, uint64_t value) {
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void clear_string(std::string& text) {
    text.clear();
    if (text.capacity() > kKeptStringBytes) text.shrink_to_fit();
}

}  // namespace

/// exchange_'s response is built now and sent soon, with those of other connections.
void Connection::respond() {
    keep_alive_ = keep_alive_ && parser_.keep_alive() && !loop_->stopping();
    build_head();
    drop_request();
    state_ = State::kWriting;
    deadline_ms_ = kNever;  // the client's part is done; writing has a time limit of its own
    loop_->send_soon(shared_from_this());
}

void Connection::send_answer() {
    if (state_ != State::kWriting) return;  // closed meanwhile
    write_on();
    proceed();
}

void Connection::build_head() {
    const HttpResponse& response = exchange_->response;
    DCHECK(response.status >= 200 && response.status <= 999);
    const bool body_exists = response.status != 204 && response.status != 304;
    head_.clear();
    head_.append("HTTP/1.1 ");
    append_number(head_, static_cast<uint64_t>(response.status));
    head_.push_back(' ');
    head_.append(reason_phrase(response.status));
    head_.append("\r\n");
    head_.append(loop_->date_line());
    if (body_exists) {
        head_.append("content-length: ");
        append_number(head_, response.body.size());
        head_.append("\r\n");
    }
    if (!keep_alive_) {
        head_.append("connection: close\r\n");
    } else if (parser_.version_1_0()) {
        head_.append("connection: keep-alive\r\n");
    }
    head_.append(response.head);
    head_.append("\r\n");

    body_ = body_exists && !parser_.is_head_method() ? std::string_view(response.body)
                                                     : std::string_view();
    size_t copied = 0;
    if (tls_ != nullptr) {
        // Head and body fill the first record together.
        copied = std::min(body_.size(), kTlsRecordBytes - std::min(head_.size(), kTlsRecordBytes));
    } else if (body_.size() <= kCopiedBodyBytesMax) {
        copied = body_.size();
    }
    head_.append(body_.substr(0, copied));
    body_.remove_prefix(copied);
    head_sent_ = body_sent_ = 0;
}

void Connection::write_on() {
    switch (tls_ != nullptr ? send_tls() : send_plain()) {
        case Progress::kDone:
            finish_response();
            break;
        case Progress::kBlocked:
            queued_bytes_ = queued_bytes();
            deadline_ms_ = coarse_now_ms() + loop_->options().write_timeout_ms;
            await_writable();
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
        if (head_sent_ < head_.size()) {
            pieces[count++] = {head_.data() + head_sent_, head_.size() - head_sent_};
        }
        if (body_sent_ < body_.size()) {
            pieces[count++] = {const_cast<char*>(body_.data()) + body_sent_,
                               body_.size() - body_sent_};
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
        const size_t of_head = std::min(static_cast<size_t>(sent), head_.size() - head_sent_);
        head_sent_ += of_head;
        body_sent_ += static_cast<size_t>(sent) - of_head;
    }
}

Connection::Progress Connection::send_tls() {
    for (;;) {
        if (const Progress progress = flush_tls(); progress != Progress::kDone) return progress;
        std::string_view piece;
        if (head_sent_ < head_.size()) {
            piece = std::string_view(head_).substr(head_sent_);
            head_sent_ = head_.size();
        } else {
            piece = body_.substr(body_sent_, kTlsPieceBytes);
            body_sent_ += piece.size();
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
            await_writable();
            return Progress::kBlocked;
        }
        tls_->output_sent(static_cast<size_t>(sent));
    }
    return Progress::kDone;
}

void Connection::await_writable() {
    write_armed_ = true;
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
    deadline_ms_ = coarse_now_ms() + loop_->options().write_timeout_ms;
    return true;
}

void Connection::on_writable() {
    write_armed_ = false;
    if (state_ == State::kClosed) return;
    if (state_ == State::kWriting) {
        write_on();
        proceed();
    } else if (tls_ != nullptr && flush_tls() == Progress::kFailed) {
        close();
    }
}

void Connection::finish_response() {
    exchange_->response.status = 200;
    clear_string(exchange_->response.head);
    clear_string(exchange_->response.body);
    body_ = {};
    // A stop that came behind this answer's head found the connection busy and waits for its end.
    if (!keep_alive_ || (loop_->stopping() && begin_ == end_)) {
        linger();
        return;
    }
    state_ = State::kReading;
}

/// Closes the sending side and waits a little for the client to do the same.
void Connection::linger() {
    state_ = State::kLingering;
    if (tls_ != nullptr) {
        tls_->close();
        flush_tls();
    }
    ::shutdown(socket_.get(), SHUT_WR);
    if (input_ended_) {
        close();
        return;
    }
    deadline_ms_ = coarse_now_ms() + (loop_->stopping() ? kLingerStoppingMs : kLingerMs);
    loop_->note_deadline(deadline_ms_);
    arm_read();
}

}  // namespace orrery::net::detail
