#pragma once

#include <cstddef>
#include <cstdint>

#include "net/http.h"
#include "net/protocol_factory.h"

namespace orrery::net {

struct HttpOptions {
    size_t header_bytes_max = 64 * 1024;  ///< request line and all headers
    size_t header_count_max = 128;
    size_t body_bytes_max = 4 * 1024 * 1024 + 64 * 1024;
    int64_t header_timeout_ms = 30'000;  ///< first byte of a request to its last header
    int64_t body_timeout_ms = 60'000;
    int64_t idle_timeout_ms = 300'000;  ///< keep-alive connection without a request
};

/// HTTP/1.1 for a listener. `handler` is borrowed and must outlive the server.
ProtocolFactory http_protocol(HttpHandler& handler, const HttpOptions& options = {});

}  // namespace orrery::net
