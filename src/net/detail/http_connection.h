#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/detail/connection.h"
#include "net/detail/protocol.h"
#include "net/http.h"
#include "net/http_parser.h"
#include "net/http_protocol.h"

namespace orrery::net::detail {

class HttpConnection;

/// The one request of a connection that is with the handler. Reused for the next.
class Exchange final : public HttpExchange {
public:
    ~Exchange() override;
    bool cancelled() const override;
    void run_on_loop(std::unique_ptr<LoopTask> task) override;
    /// Set while the handler owns the exchange; keeps the connection and the request's bytes alive.
    std::shared_ptr<HttpConnection> connection;

protected:
    void do_send(std::unique_ptr<HttpExchange> self) override;
};

/// HTTP/1.1 on one connection: parses, hands out one request at a time, sends the answer, goes on.
/// All methods run on the loop's thread except answer() and stream().
///
/// Invariant: a request with the handler points into the connection's input, which is neither
/// consumed nor moved until its answer.
class HttpConnection final : public Protocol {
public:
    HttpConnection(Connection& stream, HttpHandler& handler,
                   std::shared_ptr<const HttpOptions> options);

    void advance() override;
    void on_sent() override;
    void on_wake() override;
    void on_deadline() override;
    void on_stop() override;
    void on_closed() override {}
    bool answer_due() const override { return state_ != State::kReading; }

    /// The handler's answer; null: it gave up without one. Any thread.
    void answer(std::unique_ptr<Exchange> exchange);
    const Connection& stream() const { return stream_; }

private:
    enum class State : uint8_t { kReading, kHandling, kWriting };
    enum class Phase : uint8_t { kNone, kIdle, kHead, kBody };

    bool await_input();
    bool make_room();
    void enter_phase();
    void dispatch();
    void set_answer(std::unique_ptr<Exchange> exchange);
    void refuse(int status, std::string_view why);
    std::unique_ptr<Exchange> take_exchange();
    void respond();
    void refuse_switch();
    std::string_view build_head();

    Connection& stream_;  ///< owns this
    HttpHandler& handler_;
    const std::shared_ptr<const HttpOptions> options_;
    State state_ = State::kReading;
    Phase phase_ = Phase::kNone;
    bool continue_sent_ = false;
    bool answered_ = false;  ///< during dispatch()
    bool keep_alive_ = true;
    HttpParser parser_;
    std::unique_ptr<Exchange> exchange_;  ///< spare, or the answer being written
    std::unique_ptr<Exchange> arrived_;   ///< answer() left it for on_wake()
};

}  // namespace orrery::net::detail
