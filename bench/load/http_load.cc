#include "load/http_load.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "base/clock.h"
#include "base/encoding.h"
#include "engine/hmac.h"
#include "load/report.h"

namespace orrery::bench {
namespace {

constexpr int kEventsMax = 128;

void append(std::string& out, std::initializer_list<std::string_view> parts) {
    for (const auto part : parts) out += part;
}

/// Builds signed requests; the date is renewed once a second. The generator shares the machine with
/// the server, so what it costs itself is kept small and alike for all systems.
class Signer {
public:
    explicit Signer(const HttpLoadOptions& options)
        : host_(fmt::format("{}:{}", options.host, options.port)) {
        if (!options.key.empty()) hmac_.emplace(base64_decode(options.key).value());
    }

    /// `method` in upper case.
    void request(std::string& out, std::string_view method, std::string_view type,
                 std::string_view link, std::string_view path, std::string_view headers,
                 std::string_view body) {
        if (const int64_t second = clock_.wall_seconds(); second != date_second_) {
            date_second_ = second;
            date_ = format_http_date(second);
            date_lower_ = to_lower_ascii(date_);
        }
        out.clear();
        append(out, {method, " /", path, " HTTP/1.1\r\nhost: ", host_, "\r\nx-ms-date: ", date_,
                     "\r\nx-ms-version: 2020-07-15\r\n"});
        if (hmac_) {
            text_ = to_lower_ascii(method);
            append(text_, {"\n", type, "\n", link, "\n", date_lower_, "\n\n"});
            out += "authorization: type%3Dmaster%26ver%3D1.0%26sig%3D";
            append_percent_encoded(out, hmac_->sign_text(text_));
            out += "\r\n";
        }
        out += headers;
        if (method != "GET") {
            const fmt::format_int size(body.size());
            append(out, {"content-type: application/json\r\ncontent-length: ",
                         {size.data(), size.size()},
                         "\r\n"});
        }
        append(out, {"\r\n", body});
    }

private:
    const std::string host_;
    SystemClock clock_;
    std::optional<engine::HmacKey> hmac_;
    int64_t date_second_ = 0;
    std::string date_;
    std::string date_lower_;
    std::string text_;
};

int connect_to(const HttpLoadOptions& options) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(options.port);
    inet_pton(AF_INET, options.host.c_str(), &address.sin_addr);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        throw std::runtime_error(
            fmt::format("cannot connect to {}:{}", options.host, options.port));
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/// The value of a header in a response's head; empty: absent.
std::string_view header_value(std::string_view head, std::string_view name) {
    for (size_t line = head.find("\r\n"); line != std::string_view::npos;
         line = head.find("\r\n", line + 2)) {
        const std::string_view rest = head.substr(line + 2);
        if (rest.size() <= name.size() || rest[name.size()] != ':' ||
            !equals_ignore_case(rest.substr(0, name.size()), name))
            continue;
        const std::string_view value =
            rest.substr(name.size() + 1, rest.find("\r\n") - name.size() - 1);
        return value.substr(std::min(value.find_first_not_of(' '), value.size()));
    }
    return {};
}

/// Reads responses of one connection piece by piece.
class ResponseReader {
public:
    /// True when a whole response has arrived; status() tells how it went.
    bool feed(const char* data, size_t size) {
        buffer_.append(data, size);
        if (!head_done_) {
            const size_t end = buffer_.find("\r\n\r\n");
            if (end == std::string::npos) return false;
            head_done_ = true;
            status_ = std::stoi(buffer_.substr(9, 3));
            body_begin_ = end + 4;
            const std::string_view head = std::string_view(buffer_).substr(0, end + 2);
            const std::string_view length = header_value(head, "content-length");
            length_ = 0;
            std::from_chars(length.data(), length.data() + length.size(), length_);
            closes_ = equals_ignore_case(header_value(head, "connection"), "close");
            chunked_ = length.empty() &&
                       equals_ignore_case(header_value(head, "transfer-encoding"), "chunked");
        }
        if (chunked_) return buffer_.ends_with("0\r\n\r\n");
        return buffer_.size() >= body_begin_ + length_;
    }
    int status() const { return status_; }
    bool closes() const { return closes_; }  ///< the server ends the connection after this response
    void reset() {
        buffer_.clear();
        head_done_ = false;
        chunked_ = false;
    }

private:
    std::string buffer_;
    bool head_done_ = false;
    bool chunked_ = false;
    bool closes_ = false;
    int status_ = 0;
    size_t body_begin_ = 0;
    size_t length_ = 0;
};

struct Connection {
    int fd = -1;
    std::string out;
    size_t sent = 0;
    ResponseReader reader;
    int64_t began_us = 0;
    Operation operation = Operation::kRead;
};

class Driver {
public:
    Driver(const HttpLoadOptions& options, const WorkloadOptions& workload)
        : options_(options), signer_(options), workload_(workload) {}
    ~Driver() { ::close(epoll_); }

    uint64_t run(Report& report) {
        std::vector<Connection> connections(options_.connections);
        for (auto& connection : connections) {
            open(connection);
            if (!begin(connection)) break;
        }
        const int64_t until = now_us() + static_cast<int64_t>(options_.seconds * 1e6);
        while (busy_ > 0) {
            epoll_event events[kEventsMax];
            const int ready = epoll_wait(epoll_, events, kEventsMax, 1000);
            for (int i = 0; i < ready; ++i)
                advance(*static_cast<Connection*>(events[i].data.ptr), report, until);
        }
        for (auto& connection : connections) shut(connection);
        return errors_;
    }

private:
    static void shut(Connection& connection) {
        if (connection.fd >= 0) ::close(connection.fd);
        connection.fd = -1;
    }

    void open(Connection& connection) {
        connection.fd = connect_to(options_);
        ::fcntl(connection.fd, F_SETFL, O_NONBLOCK);
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.ptr = &connection;
        epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.fd, &event);
    }

    bool begin(Connection& connection) {
        if (options_.operations_max > 0 && begun_ >= options_.operations_max) return false;
        ++begun_;
        next_request(connection.out, connection.operation);
        connection.sent = 0;
        connection.reader.reset();
        connection.began_us = now_us();
        ++busy_;
        send(connection);
        return true;
    }

    void send(Connection& connection) {
        while (connection.sent < connection.out.size()) {
            const ssize_t n = ::send(connection.fd, connection.out.data() + connection.sent,
                                     connection.out.size() - connection.sent, MSG_NOSIGNAL);
            if (n < 0 && errno == EAGAIN) {
                // Requests are small against the socket buffer; waiting here is rare.
                ::usleep(50);
                continue;
            }
            if (n <= 0)
                throw std::runtime_error("the server closed a connection while it was written to");
            connection.sent += static_cast<size_t>(n);
        }
    }

    void advance(Connection& connection, Report& report, int64_t until) {
        char buffer[64 * 1024];
        const ssize_t n = ::recv(connection.fd, buffer, sizeof buffer, 0);
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) throw std::runtime_error("the server closed a connection");
        if (!connection.reader.feed(buffer, static_cast<size_t>(n))) return;
        --busy_;
        const int64_t now = now_us();
        const bool ok = connection.reader.status() >= 200 && connection.reader.status() < 300;
        if (!ok && errors_++ == 0)
            fmt::print(stderr, "first failure: HTTP {}\n", connection.reader.status());
        report.add(now - connection.began_us, ok);
        if (connection.reader.closes()) shut(connection);
        if (options_.operations_max == 0 && now >= until) return;
        if (connection.fd < 0) open(connection);
        begin(connection);
    }

    void next_request(std::string& out, Operation& operation) {
        const auto step = workload_.next();
        operation = step.operation;
        if (!options_.fixed_path.empty())
            return signer_.request(out, "GET", "", "", options_.fixed_path, "", "");
        const std::string id = item_id(step.key);
        const std::string key = "x-ms-documentdb-partitionkey: [\"" + id + "\"]\r\n";
        switch (step.operation) {
            case Operation::kRead: {
                const std::string link = docs_ + "/" + id;
                return signer_.request(out, "GET", "docs", link, link, key, "");
            }
            case Operation::kCreate:
                return signer_.request(out, "POST", "docs", options_.container, docs_, key,
                                       item_json(step.key, 0));
            case Operation::kUpsert:
                return signer_.request(out, "POST", "docs", options_.container, docs_,
                                       key + "x-ms-documentdb-is-upsert: True\r\n",
                                       item_json(step.key, ++version_));
            case Operation::kFeed:
                return signer_.request(out, "GET", "docs", options_.container, docs_,
                                       "x-ms-max-item-count: 100\r\n", "");
        }
    }

    const HttpLoadOptions& options_;
    const int epoll_ = epoll_create1(EPOLL_CLOEXEC);
    const std::string docs_ = options_.container + "/docs";
    Signer signer_;
    Workload workload_;
    uint64_t begun_ = 0;
    uint64_t busy_ = 0;
    uint64_t errors_ = 0;
    uint64_t version_ = 0;
};

}  // namespace

uint64_t run_http_load(const HttpLoadOptions& options, const WorkloadOptions& workload) {
    Driver driver(options, workload);
    Report report(options.system, workload.name, options.server_pids);
    report.note(fmt::format("\"items\":{}", workload.item_count));
    const uint64_t errors = driver.run(report);
    if (!options.quiet) report.print();
    return errors;
}

int send_once(const HttpLoadOptions& options, const std::string& method, const std::string& type,
              const std::string& link, const std::string& path, const std::string& extra_headers,
              const std::string& body) {
    Signer signer(options);
    std::string request;
    signer.request(request, method, type, link, path, extra_headers, body);
    const int fd = connect_to(options);
    for (size_t sent = 0; sent < request.size();) {
        const ssize_t n = ::send(fd, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) throw std::runtime_error("the server closed the connection");
        sent += static_cast<size_t>(n);
    }
    ResponseReader reader;
    char buffer[16 * 1024];
    for (;;) {
        const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
        if (n <= 0) throw std::runtime_error("the server closed the connection");
        if (reader.feed(buffer, static_cast<size_t>(n))) break;
    }
    ::close(fd);
    return reader.status();
}

}  // namespace orrery::bench
