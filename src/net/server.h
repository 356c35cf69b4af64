#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "net/protocol_factory.h"
#include "net/tls.h"

namespace orrery::net {

namespace detail {
class Loop;
}

struct ServerOptions {
    size_t loop_count = 0;  ///< 0: one per core
    size_t connections_max = 10'000;
    /// For all requests of one loop that do not fit into a small buffer; more are refused.
    size_t large_request_bytes_max = 256 * 1024 * 1024;
};

struct ListenerOptions {
    std::string bind_address = "127.0.0.1";
    uint16_t port = 0;                  ///< 0: any free port
    const TlsIdentity* tls = nullptr;   ///< borrowed; null: no TLS
    int64_t write_timeout_ms = 60'000;  ///< no progress while sending
};

/// Runs the event loops and accepts connections on any number of ports. All ports share the loops
/// and the limit of connections; each has a protocol of its own. TLS and plain connections share
/// each port: a connection whose first three bytes are those of a TLS handshake is one.
///
/// listen() and start() belong to the thread that made the server; the rest is internally
/// thread-safe.
class Server {
public:
    explicit Server(const ServerOptions& options = {});
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Takes a port and gives its number. Clients can connect from now on; they are served after
    /// start(). Not after start().
    Result<uint16_t> listen(const ListenerOptions& options, ProtocolFactory protocol);
    /// Starts the loops.
    Status start();

    size_t connection_count() const { return connection_count_.load(); }

    /// Stops accepting, lets requests in progress finish until `grace_ms` have passed, closes every
    /// connection and joins the loops. Idempotent.
    void stop(int64_t grace_ms);

private:
    class Listener;

    void accept_clients(Listener& listener);
    void accept_everywhere();
    void give_to_loop(Listener& listener, int socket, bool peer_is_loopback);
    void retry_later();
    void on_connection_closed();

    const ServerOptions options_;
    std::vector<std::shared_ptr<detail::Loop>> loops_;
    std::vector<std::unique_ptr<Listener>> listeners_;  ///< constant after start()
    bool started_ = false;
    std::atomic<size_t> connection_count_{0};
    std::atomic<bool> full_{false};
    std::atomic<bool> stopping_{false};
    std::mutex stop_mutex_;  ///< held for the whole of stop()
    bool stopped_ = false;   ///< guarded by stop_mutex_
    std::mutex empty_mutex_;
    std::condition_variable empty_;
};

}  // namespace orrery::net
