#include "cli/http_connection.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/errors.h"
#include "base/system.h"
#include "cli/interrupt.h"

namespace orrery::cli {
namespace {

constexpr int64_t kConnectMs = 10'000;
/// Longer than any request of the service takes (5 s of script, 10 s of query) with a wide margin.
constexpr int64_t kSilenceMs = 70'000;
constexpr int64_t kLookMs = 100;

Error no_answer(NoAnswer kind, std::string message) {
    Error error = errors::service_unavailable(std::move(message));
    error.details.number = static_cast<int>(kind);
    return error;
}

Status interrupted_status() {
    return Status(no_answer(NoAnswer::kInterrupted, "Interrupted."));
}

/// Waits until the descriptor is ready; false when time is up. Interruption is an error.
Result<bool> wait_for(int fd, short events, int64_t timeout_ms) {
    const SystemClock clock;
    const int64_t end = clock.monotonic_us() + timeout_ms * 1000;
    while (true) {
        if (interrupted()) return interrupted_status();
        const int64_t left = (end - clock.monotonic_us()) / 1000;
        if (left <= 0) return false;
        pollfd entry{fd, events, 0};
        const int ready = ::poll(&entry, 1, static_cast<int>(std::min(left, kLookMs)));
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR)
            return no_answer(NoAnswer::kLost,
                             fmt::format("Waiting failed: {}.", errno_text(errno)));
    }
}

bool is_address(const std::string& host) {
    unsigned char bytes[16];
    return ::inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
           ::inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

std::string tls_failure() {
    const unsigned long code = ERR_get_error();
    std::string text = code == 0                                  ? "the connection ended"
                       : ERR_reason_error_string(code) == nullptr ? "unknown reason"
                                                                  : ERR_reason_error_string(code);
    ERR_clear_error();
    return text;
}

template <typename Number>
Number number_of(std::string_view text) {
    Number value{};
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

}  // namespace

std::string_view HttpAnswer::header(std::string_view name) const {
    for (const auto& [key, value] : headers)
        if (equals_ignore_case(key, name)) return value;
    return {};
}
int HttpAnswer::sub_status() const {
    return number_of<int>(header("x-ms-substatus"));
}
double HttpAnswer::charge() const {
    return number_of<double>(header("x-ms-request-charge"));
}
int64_t HttpAnswer::retry_after_ms() const {
    return number_of<int64_t>(header("x-ms-retry-after-ms"));
}

bool is_no_answer(const Error& error, NoAnswer kind) {
    return error.code == Code::kServiceUnavailable &&
           error.details.number == static_cast<int>(kind);
}

struct TlsTrust::Context {
    SSL_CTX* ssl = nullptr;
    ~Context() { SSL_CTX_free(ssl); }
};

TlsTrust::TlsTrust(std::unique_ptr<Context> context) : context_(std::move(context)) {}
TlsTrust::~TlsTrust() = default;

Result<std::shared_ptr<const TlsTrust>> TlsTrust::create(const ConnectionSettings& settings) {
    auto context = std::make_unique<Context>();
    context->ssl = SSL_CTX_new(TLS_client_method());
    if (context->ssl == nullptr || SSL_CTX_set_min_proto_version(context->ssl, TLS1_2_VERSION) != 1)
        return errors::internal("TLS: the library could not be set up.");
    SSL_CTX_set_mode(context->ssl,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_options(context->ssl, SSL_OP_IGNORE_UNEXPECTED_EOF);
    if (settings.insecure) {
        SSL_CTX_set_verify(context->ssl, SSL_VERIFY_NONE, nullptr);
    } else {
        SSL_CTX_set_verify(context->ssl, SSL_VERIFY_PEER, nullptr);
        SSL_CTX_set_default_verify_paths(context->ssl);
        if (!settings.ca_file.empty() &&
            SSL_CTX_load_verify_locations(context->ssl, settings.ca_file.c_str(), nullptr) != 1) {
            const std::string why = tls_failure();
            return errors::bad_request(
                fmt::format("--ca: '{}' holds no PEM certificate ({}).", settings.ca_file, why));
        }
    }
    return std::shared_ptr<const TlsTrust>(new TlsTrust(std::move(context)));
}

/// A connected socket, with TLS on top where asked for. Non-blocking underneath; each call waits.
struct HttpConnection::Stream {
    int fd = -1;
    SSL* ssl = nullptr;

    ~Stream() {
        SSL_free(ssl);
        if (fd >= 0) ::close(fd);
    }

    /// Bytes moved; 0 at the end of the stream.
    template <typename Operation>
    Result<size_t> step(Operation operation, short plain_events) {
        while (true) {
            const ssize_t n = operation();
            if (n > 0) return static_cast<size_t>(n);
            short events = plain_events;
            if (ssl != nullptr) {
                const int why = SSL_get_error(ssl, static_cast<int>(n));
                if (why == SSL_ERROR_ZERO_RETURN) return size_t{0};
                if (why == SSL_ERROR_WANT_READ)
                    events = POLLIN;
                else if (why == SSL_ERROR_WANT_WRITE)
                    events = POLLOUT;
                else
                    return no_answer(NoAnswer::kLost,
                                     fmt::format("TLS failed: {}.", tls_failure()));
            } else {
                if (n == 0) return size_t{0};
                if (errno == EINTR) continue;
                if (errno != EAGAIN && errno != EWOULDBLOCK)
                    return no_answer(NoAnswer::kLost, fmt::format("{}.", errno_text(errno)));
            }
            TRY(const bool ready, wait_for(fd, events, kSilenceMs));
            if (!ready)
                return no_answer(NoAnswer::kLost,
                                 fmt::format("Nothing came for {} s.", kSilenceMs / 1000));
        }
    }

    Result<size_t> read(char* out, size_t size) {
        return step(
            [&]() -> ssize_t {
                return ssl != nullptr ? SSL_read(ssl, out, static_cast<int>(size))
                                      : ::recv(fd, out, size, 0);
            },
            POLLIN);
    }
    Result<size_t> write(std::string_view bytes) {
        return step(
            [&]() -> ssize_t {
                return ssl != nullptr ? SSL_write(ssl, bytes.data(), static_cast<int>(bytes.size()))
                                      : ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            },
            POLLOUT);
    }
};

HttpConnection::HttpConnection(Endpoint endpoint, std::shared_ptr<const TlsTrust> trust,
                               bool insecure)
    : endpoint_(std::move(endpoint)), trust_(std::move(trust)), insecure_(insecure) {
    // OpenSSL writes without MSG_NOSIGNAL; a peer that is gone must not end the process.
    std::signal(SIGPIPE, SIG_IGN);
}
HttpConnection::~HttpConnection() = default;
HttpConnection::HttpConnection(HttpConnection&&) noexcept = default;

namespace {

Result<int> connect_socket(const Endpoint& endpoint) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const std::string port = std::to_string(endpoint.port);
    if (const int code = ::getaddrinfo(endpoint.host.c_str(), port.c_str(), &hints, &found);
        code != 0)
        return no_answer(NoAnswer::kUnreachable, fmt::format("The name '{}' was not found ({}).",
                                                             endpoint.host, ::gai_strerror(code)));
    std::string why = "no address";
    for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
        const int fd = ::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0) {
            why = errno_text(errno);
            continue;
        }
        int failure = ::connect(fd, at->ai_addr, at->ai_addrlen) == 0 ? 0 : errno;
        if (failure == EINPROGRESS) {
            const auto ready = wait_for(fd, POLLOUT, kConnectMs);
            if (!ready.ok()) {
                ::close(fd);
                ::freeaddrinfo(found);
                return ready.error();
            }
            socklen_t size = sizeof failure;
            if (!*ready)
                failure = ETIMEDOUT;
            else
                ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size);
        }
        if (failure == 0) {
            ::freeaddrinfo(found);
            const int on = 1;
            ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            return fd;
        }
        why = errno_text(failure);
        ::close(fd);
    }
    ::freeaddrinfo(found);
    return no_answer(
        NoAnswer::kUnreachable,
        fmt::format("Nobody answers at {} ({}).{}", endpoint.text(), why,
                    endpoint.is_loopback()
                        ? " Is the server running? Start one with: orrery serve"
                        : " Check the address, the network and the account's firewall."));
}

}  // namespace

Status HttpConnection::connect() {
    TRY(const int fd, connect_socket(endpoint_));
    auto stream = std::make_unique<Stream>();
    stream->fd = fd;
    in_.clear();
    at_ = 0;
    if (endpoint_.tls) {
        DCHECK(trust_ != nullptr);
        stream->ssl = SSL_new(trust_->context().ssl);
        if (stream->ssl == nullptr || SSL_set_fd(stream->ssl, fd) != 1)
            return Status(errors::internal("TLS: no connection could be set up."));
        if (is_address(endpoint_.host)) {
            X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(stream->ssl), endpoint_.host.c_str());
        } else {
            SSL_set_tlsext_host_name(stream->ssl, endpoint_.host.c_str());
            SSL_set1_host(stream->ssl, endpoint_.host.c_str());
        }
        ERR_clear_error();
        // step() wants a positive number for success, as SSL_connect gives.
        const auto done =
            stream->step([&]() -> ssize_t { return SSL_connect(stream->ssl); }, POLLIN);
        const long verdict = SSL_get_verify_result(stream->ssl);
        if (!insecure_ && verdict != X509_V_OK)
            return Status(no_answer(
                NoAnswer::kNotTrusted,
                fmt::format("The certificate of {} is not trusted: {}. For a server of your own "
                            "pass --ca with its "
                            "data folder, or with the file from http://{}/_explorer/emulator.pem.",
                            endpoint_.text(), X509_verify_cert_error_string(verdict),
                            endpoint_.authority())));
        if (!done.ok() && is_no_answer(done.error(), NoAnswer::kInterrupted))
            return interrupted_status();
        if (!done.ok() || *done == 0)
            return Status(
                no_answer(NoAnswer::kUnreachable,
                          fmt::format("{} does not speak TLS as expected. {}", endpoint_.text(),
                                      done.ok() ? std::string() : done.error().message)));
    }
    stream_ = std::move(stream);
    return {};
}

Status HttpConnection::send_all(std::string_view bytes) {
    while (!bytes.empty()) {
        TRY(const size_t n, stream_->write(bytes));
        bytes.remove_prefix(n);
    }
    return {};
}

Status HttpConnection::fill() {
    char buffer[64 << 10];
    TRY(const size_t n, stream_->read(buffer, sizeof buffer));
    if (n == 0) return Status(no_answer(NoAnswer::kLost, "The server closed the connection."));
    if (at_ == in_.size()) {
        in_.clear();
        at_ = 0;
    }
    in_.append(buffer, n);
    return {};
}

Result<std::string> HttpConnection::take_line() {
    while (true) {
        const size_t end = in_.find('\n', at_);
        if (end != std::string::npos) {
            std::string line = in_.substr(at_, end - at_);
            at_ = end + 1;
            if (line.ends_with('\r')) line.pop_back();
            return line;
        }
        if (in_.size() - at_ > kHeadBytesMax)
            return no_answer(NoAnswer::kMalformed, "The answer has a line that never ends.");
        TRY_STATUS(fill());
    }
}

Status HttpConnection::take(size_t count, std::string& out) {
    while (count > 0) {
        if (at_ == in_.size()) TRY_STATUS(fill());
        const size_t piece = std::min(count, in_.size() - at_);
        out.append(in_, at_, piece);
        at_ += piece;
        count -= piece;
    }
    return {};
}

Status HttpConnection::receive_chunked(HttpAnswer& answer) {
    while (true) {
        TRY(const std::string line, take_line());
        size_t size = 0;
        const auto [end, code] = std::from_chars(line.data(), line.data() + line.size(), size, 16);
        if (code != std::errc() || end == line.data() || answer.body.size() + size > kBodyBytesMax)
            return Status(
                no_answer(NoAnswer::kMalformed, "The answer's chunks are malformed or too large."));
        if (size == 0) break;
        TRY_STATUS(take(size, answer.body));
        TRY(const std::string blank, take_line());
        if (!blank.empty())
            return Status(no_answer(NoAnswer::kMalformed, "The answer's chunks are malformed."));
    }
    while (true) {
        TRY(const std::string trailer, take_line());
        if (trailer.empty()) return {};
    }
}

Status HttpConnection::receive_body(HttpAnswer& answer) {
    if (equals_ignore_case(answer.header("transfer-encoding"), "chunked"))
        return receive_chunked(answer);
    const std::string_view length = answer.header("content-length");
    if (!length.empty()) {
        const auto size = number_of<size_t>(length);
        if (size > kBodyBytesMax)
            return Status(
                no_answer(NoAnswer::kMalformed, "The answer is larger than any page may be."));
        answer.body.reserve(size);
        return take(size, answer.body);
    }
    // Without either, the end of the stream ends the body.
    answer.body.assign(in_, at_, std::string::npos);
    at_ = in_.size();
    while (answer.body.size() <= kBodyBytesMax) {
        char buffer[64 << 10];
        TRY(const size_t n, stream_->read(buffer, sizeof buffer));
        if (n == 0) {
            answer.headers.emplace_back("connection", "close");
            return {};
        }
        answer.body.append(buffer, n);
    }
    return Status(no_answer(NoAnswer::kMalformed, "The answer is larger than any page may be."));
}

Status HttpConnection::receive(HttpAnswer& answer, bool has_body) {
    do {
        answer.headers.clear();
        TRY(const std::string first, take_line());
        if (!first.starts_with("HTTP/1.") || first.size() < 12)
            return Status(no_answer(NoAnswer::kMalformed,
                                    fmt::format("{} does not speak HTTP/1.1.", endpoint_.text())));
        answer.status = number_of<int>(std::string_view(first).substr(9, 3));
        size_t head_bytes = 0;
        while (true) {
            TRY(const std::string line, take_line());
            if (line.empty()) break;
            head_bytes += line.size();
            const size_t colon = line.find(':');
            if (colon == std::string::npos || head_bytes > kHeadBytesMax)
                return Status(no_answer(NoAnswer::kMalformed,
                                        "The answer's headers are malformed or too large."));
            const size_t begin = line.find_first_not_of(" \t", colon + 1);
            answer.headers.emplace_back(line.substr(0, colon), begin == std::string::npos
                                                                   ? std::string()
                                                                   : line.substr(begin));
        }
    } while (answer.status >= 100 && answer.status < 200);
    if (!has_body || answer.status == 204 || answer.status == 304) return {};
    return receive_body(answer);
}

Result<HttpAnswer> HttpConnection::exchange(std::string_view method, std::string_view target,
                                            const Headers& headers, std::string_view body) {
    if (stream_ == nullptr) TRY_STATUS(connect());
    std::string request =
        fmt::format("{} {} HTTP/1.1\r\nhost: {}\r\n", method, target, endpoint_.authority());
    for (const auto& [name, value] : headers)
        request.append(name).append(": ").append(value).append("\r\n");
    if (!body.empty() || method == "POST" || method == "PUT" || method == "PATCH")
        request.append(fmt::format("content-length: {}\r\n", body.size()));
    request.append("\r\n").append(body);
    HttpAnswer answer;
    Status status = send_all(request);
    if (status.ok()) status = receive(answer, method != "HEAD");
    if (!status.ok()) {
        stream_.reset();
        return status;
    }
    if (equals_ignore_case(answer.header("connection"), "close")) stream_.reset();
    return answer;
}

}  // namespace orrery::cli
