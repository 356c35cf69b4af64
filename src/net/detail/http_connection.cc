#include "net/detail/http_connection.h"

#include <time.h>

#include <charconv>
#include <exception>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/detail/reason_phrase.h"

namespace orrery::net {
namespace detail {
namespace {

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr size_t kKeptStringBytes = 64 * 1024;  ///< larger ones are given back after an answer

/// The one whose handler is being called on this thread.
thread_local const HttpConnection* dispatching = nullptr;

/// "date: …\r\n", renewed each second.
std::string_view date_line() {
    thread_local int64_t line_second = -1;
    thread_local std::string line;
    timespec now{};
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (const auto second = static_cast<int64_t>(now.tv_sec); second != line_second) {
        line_second = second;
        line = "date: " + format_http_date(second) + "\r\n";
    }
    return line;
}

void append_number(std::string& out, uint64_t value) {
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void clear_string(std::string& text) {
    text.clear();
    if (text.capacity() > kKeptStringBytes) text.shrink_to_fit();
}

}  // namespace

Exchange::~Exchange() {
    if (connection == nullptr) return;
    const std::shared_ptr<HttpConnection> target = std::move(connection);
    target->answer(nullptr);
}

bool Exchange::cancelled() const {
    return connection != nullptr && connection->stream().client_gone();
}

void Exchange::run_on_loop(std::unique_ptr<LoopTask> task) {
    DCHECK(connection != nullptr);
    connection->stream().loop().run(std::move(task));
}

void Exchange::do_send(std::unique_ptr<HttpExchange> self) {
    DCHECK(self.get() == this && connection != nullptr);
    const std::shared_ptr<HttpConnection> target = std::move(connection);
    target->answer(std::unique_ptr<Exchange>(static_cast<Exchange*>(self.release())));
}

HttpConnection::HttpConnection(Connection& stream, HttpHandler& handler,
                               std::shared_ptr<const HttpOptions> options)
    : stream_(stream),
      handler_(handler),
      options_(std::move(options)),
      parser_(HttpLimits{.header_bytes_max = options_->header_bytes_max,
                         .header_count_max = options_->header_count_max,
                         .body_bytes_max = options_->body_bytes_max}) {}

/// Serves what has been received until more is needed or a request is under way.
void HttpConnection::advance() {
    while (state_ == State::kReading) {
        switch (parser_.parse(stream_.input(), stream_.input_bytes())) {
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
    if (state_ == State::kHandling) stream_.arm_read();  // to learn whether the client stays
}

/// True when more plaintext was at hand; else input is waited for or the connection is closed.
bool HttpConnection::await_input() {
    if (!make_room()) {
        refuse(503, "The server is receiving too many large requests at once. Try again later.");
        return false;
    }
    if (stream_.decrypt_more()) return true;
    if (stream_.closed()) return false;
    if (stream_.input_ended()) {
        stream_.close();
        return false;
    }
    if (parser_.wants_continue() && !continue_sent_) {
        continue_sent_ = true;
        stream_.send_at_once(kContinue);
        if (stream_.closed()) return false;
    }
    enter_phase();
    stream_.arm_read();
    return false;
}

/// The parser refuses at its limits, so the buffer stays below twice their sum.
bool HttpConnection::make_room() {
    if (stream_.room_for_input()) return true;
    stream_.shorten_input(parser_.compact(stream_.input(), stream_.input_bytes()));
    return stream_.grow_input(parser_.bytes_expected());
}

/// A phase's time runs from its start; bytes that trickle in do not extend it.
void HttpConnection::enter_phase() {
    const bool idle = stream_.input_bytes() == 0 && !stream_.handshaking();
    const Phase phase = idle ? Phase::kIdle : parser_.head_complete() ? Phase::kBody : Phase::kHead;
    if (phase == phase_) return;
    phase_ = phase;
    stream_.set_deadline(coarse_now_ms() + (phase == Phase::kIdle   ? options_->idle_timeout_ms
                                            : phase == Phase::kBody ? options_->body_timeout_ms
                                                                    : options_->header_timeout_ms));
}

std::unique_ptr<Exchange> HttpConnection::take_exchange() {
    return exchange_ != nullptr ? std::move(exchange_) : std::make_unique<Exchange>();
}

void HttpConnection::dispatch() {
    state_ = State::kHandling;
    phase_ = Phase::kNone;
    stream_.set_deadline(kNever);
    if (stream_.input_ended()) stream_.note_half_closed();  // this one has its own time
    std::unique_ptr<Exchange> exchange = take_exchange();
    parser_.fill(stream_.input(), exchange->request);
    exchange->request.tls = stream_.tls();
    exchange->request.peer_is_loopback = stream_.peer_is_loopback();
    exchange->request.connection = stream_.number();
    exchange->connection = std::shared_ptr<HttpConnection>(stream_.shared_from_this(), this);
    DCHECK(dispatching == nullptr);
    dispatching = this;
    try {
        handler_.handle(std::move(exchange));
    } catch (const std::exception& e) {
        // The exchange died with the handler's stack: the client gets its 500.
        log::error(std::string("an HTTP handler threw: ") + e.what());
    }
    dispatching = nullptr;
    if (std::exchange(answered_, false)) respond();
}

/// At most one exchange of a connection is with its handler, so arrived_ is free.
void HttpConnection::answer(std::unique_ptr<Exchange> exchange) {
    if (dispatching == this) {
        set_answer(std::move(exchange));
        answered_ = true;
        return;
    }
    arrived_ = std::move(exchange);
    // Inside another connection's call its answer waits: calls of handlers do not nest.
    if (dispatching == nullptr && stream_.loop().on_own_thread()) {
        stream_.on_wake();
    } else {
        stream_.loop().wake(stream_.shared_from_this());
    }
}

void HttpConnection::on_wake() {
    DCHECK(state_ == State::kHandling);
    set_answer(std::move(arrived_));
    respond();
}

void HttpConnection::set_answer(std::unique_ptr<Exchange> exchange) {
    if (exchange == nullptr) {
        exchange = take_exchange();
        exchange->response = {};
        exchange->response.status = 500;
        exchange->response.add_header("content-type", "text/plain");
        exchange->response.body = "The server gave up on this request.\n";
    }
    exchange_ = std::move(exchange);
}

void HttpConnection::refuse(int status, std::string_view why) {
    exchange_ = take_exchange();
    exchange_->response.status = status;
    handler_.refuse(status, why, exchange_->response);
    keep_alive_ = false;
    respond();
}

/// exchange_'s response is built now and sent soon, with those of other connections.
void HttpConnection::respond() {
    keep_alive_ = keep_alive_ && parser_.keep_alive() && !stream_.loop().stopping();
    if (exchange_->next_protocol && (!keep_alive_ || parser_.version_1_0())) refuse_switch();
    const std::string_view body = build_head();
    stream_.consume(parser_.consumed());
    parser_.reset();
    continue_sent_ = false;
    phase_ = Phase::kNone;
    state_ = State::kWriting;
    stream_.set_deadline(kNever);  // the client's part is done; writing has a limit of its own
    stream_.send(body);
}

/// The connection is about to end, or its client cannot know what 101 means.
void HttpConnection::refuse_switch() {
    exchange_->next_protocol = nullptr;
    exchange_->response = {};
    exchange_->response.status = 503;
    handler_.refuse(503, "The connection ends with this answer: it cannot change its protocol.",
                    exchange_->response);
    keep_alive_ = false;
}

/// Writes status line and headers and gives what follows them.
std::string_view HttpConnection::build_head() {
    const HttpResponse& response = exchange_->response;
    DCHECK(response.status >= 200 ? response.status <= 999
                                  : response.status == 101 && exchange_->next_protocol);
    const bool body_exists =
        response.status >= 200 && response.status != 204 && response.status != 304;
    std::string& head = stream_.output();
    head.append("HTTP/1.1 ");
    append_number(head, static_cast<uint64_t>(response.status));
    head.push_back(' ');
    head.append(reason_phrase(response.status));
    head.append("\r\n");
    head.append(date_line());
    if (body_exists) {
        head.append("content-length: ");
        append_number(head, response.body.size());
        head.append("\r\n");
    }
    if (!keep_alive_) {
        head.append("connection: close\r\n");
    } else if (parser_.version_1_0()) {
        head.append("connection: keep-alive\r\n");
    }
    head.append(response.head);
    head.append("\r\n");
    return body_exists && !parser_.is_head_method() ? std::string_view(response.body)
                                                    : std::string_view();
}

void HttpConnection::on_sent() {
    exchange_->response.status = 200;
    clear_string(exchange_->response.head);
    clear_string(exchange_->response.body);
    if (exchange_->next_protocol) {
        stream_.switch_protocol(std::exchange(exchange_->next_protocol, nullptr));
        return;
    }
    // A stop that came behind this answer's head found the connection busy and waits for its end.
    if (!keep_alive_ || (stream_.loop().stopping() && stream_.input_bytes() == 0)) {
        stream_.linger();
        return;
    }
    state_ = State::kReading;
}

void HttpConnection::on_stop() {
    if (state_ == State::kReading && stream_.input_bytes() == 0) stream_.close();
}

void HttpConnection::on_deadline() {
    if (phase_ == Phase::kIdle || stream_.handshaking()) {
        stream_.close();
    } else if (phase_ == Phase::kBody) {
        refuse(408, "The request's body did not arrive in time.");
    } else {
        refuse(408, "The request's headers did not arrive in time.");
    }
}

}  // namespace detail

ProtocolFactory http_protocol(HttpHandler& handler, const HttpOptions& options) {
    return [&handler, shared = std::make_shared<const HttpOptions>(options)](
               detail::Connection& connection) -> std::unique_ptr<detail::Protocol> {
        return std::make_unique<detail::HttpConnection>(connection, handler, shared);
    };
}

}  // namespace orrery::net
