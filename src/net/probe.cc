#include "net/probe.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

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
    const std::string authority =
        (address.find(':') == std::string::npos ? address : "[" + address + "]") + ":" +
        std::to_string(port);
    const auto unreachable = [&](const char* step) {
        return errors::service_unavailable("No answer from " + authority + ": " + step +
                                           " failed (" + errno_text(errno) + ").");
    };
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const std::string numeric = address == "localhost" ? "127.0.0.1" : address;
    if (numeric.empty() ||
        ::getaddrinfo(numeric.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
        return errors::bad_request("'" + address + "' is not an IPv4 or IPv6 address.");
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> target(found, ::freeaddrinfo);
    const Socket socket{::socket(target->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (socket.fd < 0) return unreachable("socket");
    timeval timeout{};
    timeout.tv_sec = timeout_ms / 1000;
    timeout.tv_usec = (timeout_ms % 1000) * 1000;
    ::setsockopt(socket.fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    ::setsockopt(socket.fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    if (::connect(socket.fd, target->ai_addr, target->ai_addrlen) != 0)
        return unreachable("connect");
    const std::string request =
        "GET " + path + " HTTP/1.1\r\nHost: " + authority + "\r\nConnection: close\r\n\r\n";
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
