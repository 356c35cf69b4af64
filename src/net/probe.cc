#include "net/probe.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/errors.h"
#include "base/system.h"

namespace orrery::net {
namespace {

/// Closes the descriptor on every way out.
struct Socket {
    int fd = -1;
    ~Socket() {
        if (fd >= 0) ::close(fd);
    }
};

}  // namespace

Result<int> probe(const std::string& address, uint16_t port, const std::string& path,
                  int64_t timeout_ms) {
    const auto unreachable = [&](const char* step) {
        return errors::service_unavailable("No answer from " + address + ":" +
                                           std::to_string(port) + ": " + step + " failed (" +
                                           errno_text(errno) + ").");
    };
    sockaddr_in target{};
    target.sin_family = AF_INET;
    target.sin_port = htons(port);
    if (::inet_pton(AF_INET, address.c_str(), &target.sin_addr) != 1)
        return errors::bad_request("'" + address + "' is not an IPv4 address.");
    const Socket socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (socket.fd < 0) return unreachable("socket");
    timeval timeout{};
    timeout.tv_sec = timeout_ms / 1000;
    timeout.tv_usec = (timeout_ms % 1000) * 1000;
    ::setsockopt(socket.fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    ::setsockopt(socket.fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    if (::connect(socket.fd, reinterpret_cast<const sockaddr*>(&target), sizeof target) != 0)
        return unreachable("connect");
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: " + address + ":" +
                                std::to_string(port) + "\r\nConnection: close\r\n\r\n";
    for (size_t sent = 0; sent < request.size();) {
        const ssize_t n =
            ::send(socket.fd, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) return unreachable("send");
        sent += static_cast<size_t>(n);
    }
    // "HTTP/1.1 200": twelve bytes tell the status.
    char status_line[12];
    for (size_t got = 0; got < sizeof status_line;) {
        const ssize_t n = ::recv(socket.fd, status_line + got, sizeof status_line - got, 0);
        if (n <= 0) return unreachable("receive");
        got += static_cast<size_t>(n);
    }
    return std::atoi(std::string(status_line + 9, 3).c_str());
}

}  // namespace orrery::net
