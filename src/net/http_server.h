#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "net/http.h"
#include "net/tls.h"

namespace orrery::net {

struct HttpServerOptions {
    std::string bind_address = "127.0.0.1";
    uint16_t port = 0;                    ///< 0: any free port
    size_t loop_count = 0;                ///< 0: one per core
    const TlsIdentity* tls = nullptr;     ///< borrowed; null: plain HTTP only
    size_t header_bytes_max = 64 * 1024;  ///< request line and all headers
    size_t header_count_max = 128;
    size_t body_bytes_max = 4 * 1024 * 1024 + 64 * 1024;
    /// For all requests of one loop that do not fit into a small buffer; more are refused with 503.
    size_t large_request_bytes_max = 256 * 1024 * 1024;
    size_t connections_max = 10'000;
    int64_t header_timeout_ms = 30'000;  ///< first byte of a request to its last header
    int64_t body_timeout_ms = 60'000;
    int64_t idle_timeout_ms = 300'000;  ///< keep-alive connection without a request
    int64_t write_timeout_ms = 60'000;  ///< no progress while sending
};

/// Accepts connections and runs the loops. Plain HTTP and TLS share the port: the first byte of a
/// connection decides. Internally thread-safe.
class HttpServer {
public:
    /// Listens and starts the loops. `handler` is borrowed and must outlive the server.
    static Result<std::unique_ptr<HttpServer>> start(const HttpServerOptions& options,
                                                     HttpHandler& handler);
    virtual ~HttpServer() = default;

    virtual uint16_t port() const = 0;
    virtual size_t connection_count() const = 0;

    /// Stops accepting, lets requests in progress finish until `grace_ms` have passed, closes every
    /// connection and joins the loops. Idempotent.
    virtual void stop(int64_t grace_ms) = 0;
};

}  // namespace orrery::net
