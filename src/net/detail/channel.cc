#include "net/detail/channel.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/check.h"
#include "base/log.h"

namespace orrery::net::detail {
namespace {

constexpr size_t kBatchBytes = 64 * 1024;          ///< small messages are sent together
constexpr size_t kCopiedMessageBytes = 16 * 1024;  ///< larger ones are sent from where they are

}  // namespace

Channel::Channel(Connection& stream, std::shared_ptr<const Settings> settings)
    : stream_(stream),
      settings_(std::move(settings)),
      limits_(settings_->limits),
      started_ms_(coarse_now_ms()),
      active_ms_(started_ms_),
      message_bytes_max_(limits_.message_bytes_max) {}

void Channel::advance() {
    if (handler_ == nullptr) {
        handler_ = settings_->make_handler(
            Peer(std::shared_ptr<Channel>(stream_.shared_from_this(), this)));
    }
    advancing_ = true;
    if (stage_ == Stage::kServing && stream_.loop().stopping()) stage_ = Stage::kFinishing;
    if (stage_ == Stage::kServing) take_messages();
    if (!stream_.closed()) flush();
    advancing_ = false;
}

/// Until more is needed, a limit is reached or the connection ends.
void Channel::take_messages() {
    while (stage_ == Stage::kServing && !close_asked_) {
        if (unsent_bytes_ > limits_.output_pause_bytes || !room_for_requests()) return pause();
        switch (take_message()) {
            case Taken::kMessage:
                message_ms_ = kNever;
                break;
            case Taken::kNeedMore:
                if (!await_input()) return;
                break;
            case Taken::kEnded:
                return;
        }
    }
}

bool Channel::room_for_requests() {
    if (under_way_ < limits_.requests_max) return true;
    waits_for_requests_ = true;
    if (under_way_ >= limits_.requests_max) return false;
    waits_for_requests_ = false;
    return true;
}

/// The client does not have to hurry while the server makes it wait. What it sends is read as far
/// as the buffer has room, to learn whether it stays.
void Channel::pause() {
    message_ms_ = kNever;
    stream_.arm_read();
    stream_.set_deadline(trusted_ ? kNever : started_ms_ + limits_.trust_timeout_ms);
}

/// True when more plaintext was at hand; else input is waited for or the connection is about to
/// end.
bool Channel::await_input() {
    if (!stream_.room_for_input() && !stream_.grow_input(bytes_expected_)) {
        end(Ending::kNoMemory);
        return false;
    }
    if (stream_.decrypt_more()) return true;
    if (stream_.closed()) return false;
    if (stream_.input_ended()) {
        stage_ = Stage::kFinishing;
        return false;
    }
    set_time_limit();
    stream_.arm_read();
    return false;
}

/// A message's time runs from its start; bytes that trickle in do not extend it.
void Channel::set_time_limit() {
    const bool arriving = stream_.input_bytes() > 0 || stream_.handshaking() || inside_message();
    if (!arriving) {
        message_ms_ = kNever;
    } else if (message_ms_ == kNever) {
        message_ms_ = coarse_now_ms();
    }
    int64_t deadline_ms =
        arriving ? message_ms_ + limits_.message_timeout_ms : active_ms_ + limits_.idle_timeout_ms;
    if (!trusted_) deadline_ms = std::min(deadline_ms, started_ms_ + limits_.trust_timeout_ms);
    stream_.set_deadline(deadline_ms);
}

void Channel::on_deadline() {
    const int64_t now_ms = coarse_now_ms();
    if (stream_.handshaking()) return stream_.close();
    if (!trusted_ && started_ms_ + limits_.trust_timeout_ms <= now_ms) return end(Ending::kTooSlow);
    if (message_ms_ != kNever) return end(Ending::kTooSlow);
    if (under_way_ > 0) active_ms_ = now_ms;
    if (active_ms_ + limits_.idle_timeout_ms <= now_ms) stage_ = Stage::kFinishing;
}

void Channel::deliver(std::string_view message, MessageKind kind) {
    active_ms_ = coarse_now_ms();
    under_way_.fetch_add(1);
    try {
        handler_->on_message(
            message, kind,
            ChannelRequest(Peer(std::shared_ptr<Channel>(stream_.shared_from_this(), this))));
    } catch (const std::exception& e) {
        log::error(std::string("a handler of messages threw: ") + e.what());
        close_soon();
    }
}

/// The answer of a request was sent before this, so that a connection which finishes sends it, too.
void Channel::end_request() {
    under_way_.fetch_sub(1);
    if (waits_for_requests_.exchange(false)) stream_.loop().wake(stream_.shared_from_this());
}

void Channel::trust(size_t message_bytes_max) {
    message_bytes_max_ = message_bytes_max;
    trusted_ = true;
}

void Channel::close_soon() {
    close_asked_ = true;
    stream_.loop().wake(stream_.shared_from_this());
}

void Channel::send(std::string message, MessageKind kind) {
    std::string head = header(message.size(), kind);
    if (!enqueue(std::move(head), std::move(message))) return;
    // On the loop, flush() follows by itself where it is called by advance().
    if (stream_.loop().on_own_thread() && advancing_) return;
    stream_.loop().wake(stream_.shared_from_this());
}

void Channel::send_raw(std::string bytes) {
    DCHECK(advancing_);
    enqueue({}, std::move(bytes));
}

/// True when nobody has promised yet that flush() will come.
bool Channel::enqueue(std::string header, std::string bytes) {
    const std::lock_guard lock(mutex_);
    if (ended_ || overflowed_) return false;
    unsent_bytes_ += header.size() + bytes.size();
    overflowed_ = unsent_bytes_ > limits_.output_bytes_max;
    if (!header.empty()) outbox_.push_back(std::move(header));
    outbox_.push_back(std::move(bytes));
    return !std::exchange(woken_, true);
}

void Channel::end_with(std::string last_bytes) {
    if (!last_bytes.empty()) enqueue({}, std::move(last_bytes));
    stage_ = Stage::kEnding;
    stream_.set_deadline(kNever);
    const std::lock_guard lock(mutex_);
    ended_ = true;
}

/// Ends the connection where that is due, and gives it what it takes of what is to be sent.
void Channel::flush() {
    if (stage_ == Stage::kFinishing) {
        stream_.set_deadline(kNever);
        waits_for_requests_ = true;
        if (under_way_ == 0) end(stream_.loop().stopping() ? Ending::kStopped : Ending::kClosed);
    }
    if (close_asked_ && stage_ != Stage::kEnding) end(Ending::kClosed);
    if (!collect_outbox()) return stream_.close();
    if (stream_.takes_output()) hand_over();
    if (stage_ == Stage::kEnding && pending_.empty() && !stream_.sending()) stream_.linger();
}

/// False when the client has left too much unread.
bool Channel::collect_outbox() {
    const std::lock_guard lock(mutex_);
    woken_ = false;
    if (overflowed_) return false;
    for (std::string& bytes : outbox_) pending_.push_back(std::move(bytes));
    outbox_.clear();
    return true;
}

void Channel::hand_over() {
    if (pending_.empty()) return;
    std::string& output = stream_.output();
    std::string_view tail;
    while (tail.empty() && !pending_.empty() && output.size() < kBatchBytes) {
        std::string& next = pending_.front();
        in_transit_bytes_ += next.size();
        if (next.size() <= kCopiedMessageBytes) {
            output.append(next);
        } else {
            tail_ = std::move(next);
            tail = tail_;
        }
        pending_.pop_front();
    }
    stream_.send(tail);
}

void Channel::on_sent() {
    unsent_bytes_ -= std::exchange(in_transit_bytes_, 0);
    tail_ = {};
    active_ms_ = coarse_now_ms();
}

/// Requests may still be under way: what they send goes nowhere.
void Channel::on_closed() {
    handler_.reset();
    pending_.clear();
    stream_.consume(stream_.input_bytes());  // others may hold the connection for long
    const std::lock_guard lock(mutex_);
    ended_ = true;
    outbox_.clear();
}

}  // namespace orrery::net::detail
