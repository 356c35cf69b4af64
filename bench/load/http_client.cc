#include "load/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
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

/// Where the values of the headers that matter are in an answer's head. One pass: the client shares
/// its processors with the server that it measures.
struct Head {
    explicit Head(std::string_view head) {
        status =
            head.size() > 12 ? (head[9] - '0') * 100 + (head[10] - '0') * 10 + (head[11] - '0') : 0;
        for (size_t line = head.find('\n'); line != std::string_view::npos;) {
            const size_t begin = line + 1;
            line = head.find('\n', begin);
            if (line == std::string_view::npos) break;
            const std::string_view text = head.substr(begin, line - begin - 1);
            take(text, "content-length", length);
            take(text, "x-ms-item-count", item_count);
            take(text, "x-ms-continuation", continuation);
        }
    }

    int status = 0;
    std::string_view length;
    std::string_view item_count;
    std::string_view continuation;

private:
    static void take(std::string_view line, std::string_view name, std::string_view& value) {
        if (line.size() <= name.size() || line[name.size()] != ':' ||
            !equals_ignore_case(line.substr(0, name.size()), name))
            return;
        value = line.substr(name.size() + 1);
        value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    }
};

}  // namespace

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

HttpAnswer HttpClient::post(std::string_view type, std::string_view link, std::string_view path,
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
    return receive();
}

HttpAnswer HttpClient::receive() {
    constexpr size_t kFirstBytes = 64 * 1024;
    if (in_.size() < kFirstBytes) in_.resize(kFirstBytes);
    size_t received = 0;
    size_t head_end = 0;
    size_t total = 0;
    std::optional<Head> head;
    while (head_end == 0 || received < total) {
        if (received == in_.size()) throw std::runtime_error("an answer with too long a head");
        const ssize_t n = ::recv(fd_, in_.data() + received, in_.size() - received, 0);
        if (n <= 0) throw std::runtime_error("the server closed the connection");
        received += static_cast<size_t>(n);
        if (head_end != 0) continue;
        const size_t at = std::string_view(in_.data(), received).find("\r\n\r\n");
        if (at == std::string_view::npos) continue;
        head_end = at + 2;
        head.emplace(std::string_view(in_.data(), head_end));
        if (head->length.empty()) throw std::runtime_error("an answer without content-length");
        total = head_end + 2 + parse_number(head->length);
        if (total <= in_.size()) continue;
        in_.resize(total);
        head.emplace(std::string_view(in_.data(), head_end));
    }
    return {head->status,
            {in_.data() + head_end + 2, total - head_end - 2},
            head->item_count,
            head->continuation};
}

}  // namespace orrery::bench
