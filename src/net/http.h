#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/loop_task.h"
#include "net/protocol_factory.h"

/// HTTP as a handler sees it. `net` knows nothing of databases; handlers know nothing of sockets.
namespace orrery::net {

struct HttpHeader {
    std::string_view name;   ///< as sent; compare without case
    std::string_view value;  ///< without surrounding blanks
};

/// A complete, syntactically valid request. All views point into buffers owned by the exchange
/// and stay valid until it is sent or destroyed.
struct HttpRequest {
    std::string_view method;
    std::string_view target;  ///< origin form as sent: path and query, not decoded
    std::vector<HttpHeader> headers;
    std::string_view body;
    bool tls = false;
    bool peer_is_loopback = false;
    uint64_t connection = 0;  ///< tells connections apart; never 0 for one that exists

    /// First header of that name, compared without case; empty view (data() == nullptr) if absent.
    std::string_view header(std::string_view name) const;
};

/// What goes back. The server adds `Content-Length`, `Date` and, where needed, `Connection`.
struct HttpResponse {
    int status = 200;
    /// Header lines, each "name: value\r\n"; names and values must hold no CR or LF
    /// (add_header replaces them by blanks).
    std::string head;
    std::string body;

    void add_header(std::string_view name, std::string_view value);
    void add_header(std::string_view name, int64_t value);
};

/// One request and its one answer. Owned by the handler from handle() to send().
class HttpExchange {
public:
    virtual ~HttpExchange() = default;  ///< destroyed without send(): the client gets a 500
    HttpRequest request;
    HttpResponse response;
    /// With status 101: what is spoken on the connection behind this answer.
    ProtocolFactory next_protocol;

    /// True once the client has gone, or has sent its last byte a while ago and may have gone; long
    /// work should stop. Any thread.
    virtual bool cancelled() const = 0;

    /// Runs the task on the connection's loop thread, at once when called there. Any thread. For
    /// threads that should not spend time on building answers. A task that comes after the server's
    /// end is destroyed unrun.
    virtual void run_on_loop(std::unique_ptr<LoopTask> task) { task->run(); }

    /// Sends the answer and gives up the exchange. Any thread; cheap when called on the
    /// connection's own loop thread, one queued hop otherwise.
    static void send(std::unique_ptr<HttpExchange> exchange);

protected:
    virtual void do_send(std::unique_ptr<HttpExchange> self) = 0;
};

/// Called on a loop thread for each complete request; must not block. Thread-safe.
class HttpHandler {
public:
    virtual ~HttpHandler() = default;
    virtual void handle(std::unique_ptr<HttpExchange> exchange) = 0;
    /// The answer to a request that the server itself refuses (bad syntax, too large, too slow):
    /// gives the handler's protocol the chance to word the body. `status` is 400, 408, 411, 413,
    /// 414, 431, 501, 503 or 505; `why` is one sentence.
    virtual void refuse(int status, std::string_view why, HttpResponse& response) = 0;
};

}  // namespace orrery::net
