#include "load/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <stdexcept>

#include "base/encoding.h"

namespace orrery::bench {

uint64_t parse_number(std::string_view digits) {
    uint64_t value = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc())
        throw std::runtime_error("not a number: " + std::string(digits));
    return value;
}

namespace {

void take(std::string_view line, std::string_view name, std::string_view& value) {
    if (line.size() <= name.size() || line[name.size()] != ':' ||
        !equals_ignore_case(line.substr(0, name.size()), name))
        return;
    value = line.substr(name.size() + 1);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
}

}  // namespace

/// Null: not all of it is there. One pass: the client shares its processors with the server that it
/// measures.
std::optional<HttpClient::Head> HttpClient::read_head(std::string_view received) {
    const size_t end = received.find("\r\n\r\n");
    if (end == std::string_view::npos) return std::nullopt;
    Head head;
    head.bytes = end + 4;
    if (end > 12)
        head.status = (received[9] - '0') * 100 + (received[10] - '0') * 10 + (received[11] - '0');
    std::string_view length;
    for (size_t begin = received.find('\n') + 1; begin < end;) {
        const size_t line_end = received.find('\r', begin);
        const std::string_view line = received.substr(begin, line_end - begin);
        take(line, "content-length", length);
        take(line, "x-ms-item-count", head.item_count);
        take(line, "x-ms-continuation", head.continuation);
        begin = line_end + 2;
    }
    if (length.empty()) throw std::runtime_error("an answer without content-length");
    head.body_bytes = parse_number(length);
    return head;
}

HttpClient::HttpClient(uint16_t port, const std::string& key)
    : host_("127.0.0.1:" + std::to_string(port)), hmac_(base64_decode(key).value()) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        throw std::runtime_error("cannot connect to " + host_);
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

HttpClient::~HttpClient() {
    if (fd_ >= 0) ::close(fd_);
}

/// Requests of one second for the same resource have the same signature: it is made once, so that
/// what is measured is the server.
void HttpClient::sign(std::string_view type, std::string_view link) {
    const int64_t second = clock_.wall_seconds();
    if (second != date_second_) {
        date_second_ = second;
        date_ = format_http_date(second);
    }
    std::string text = "post\n";
    text.append(type).append("\n").append(link).append("\n");
    text.append(to_lower_ascii(date_)).append("\n\n");
    if (text == signed_text_) return;
    signature_.clear();
    append_percent_encoded(signature_, hmac_.sign_text(text));
    signed_text_ = std::move(text);
}

void HttpClient::send(std::string_view type, std::string_view link, std::string_view path,
                      std::string_view headers, std::string_view body) {
    sign(type, link);
    out_ = "POST /";
    out_.append(path).append(" HTTP/1.1\r\nhost: ").append(host_);
    out_.append("\r\nx-ms-date: ").append(date_).append("\r\nx-ms-version: 2020-07-15\r\n");
    out_.append("authorization: type%3Dmaster%26ver%3D1.0%26sig%3D").append(signature_);
    out_.append("\r\n").append(headers);
    out_.append("content-length: ").append(std::to_string(body.size())).append("\r\n\r\n");
    out_.append(body);
    for (size_t sent = 0; sent < out_.size();) {
        const ssize_t n = ::send(fd_, out_.data() + sent, out_.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) throw std::runtime_error("the server closed the connection");
        sent += static_cast<size_t>(n);
    }
    received_ = 0;
    head_.reset();
}

std::optional<HttpAnswer> HttpClient::receive() {
    constexpr size_t kFirstBytes = 64 * 1024;
    if (in_.size() < kFirstBytes) in_.resize(kFirstBytes);
    for (;;) {
        const ssize_t n = ::recv(fd_, in_.data() + received_, in_.size() - received_, MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN) return std::nullopt;
        if (n <= 0) throw std::runtime_error("the server closed the connection");
        received_ += static_cast<size_t>(n);
        if (!head_) {
            head_ = read_head({in_.data(), received_});
            if (!head_ && received_ == in_.size())
                throw std::runtime_error("an answer with too long a head");
            if (!head_) continue;
            if (const size_t total = head_->bytes + head_->body_bytes; total > in_.size()) {
                in_.resize(total);
                head_ = read_head({in_.data(), received_});
            }
        }
        if (received_ < head_->bytes + head_->body_bytes) continue;
        return HttpAnswer{head_->status,
                          {in_.data() + head_->bytes, head_->body_bytes},
                          head_->item_count,
                          head_->continuation};
    }
}

HttpAnswer HttpClient::post(std::string_view type, std::string_view link, std::string_view path,
                            std::string_view headers, std::string_view body) {
    send(type, link, path, headers, body);
    for (;;) {
        pollfd wait{fd_, POLLIN, 0};
        ::poll(&wait, 1, -1);
        if (const auto answer = receive()) return *answer;
    }
}

}  // namespace orrery::bench
