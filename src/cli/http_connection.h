#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cli/endpoint.h"

namespace orrery::cli {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpAnswer {
    int status = 0;
    Headers headers;
    std::string body;

    /// The value of the first header of that name, any letter case; empty when absent.
    std::string_view header(std::string_view name) const;
    int sub_status() const;          ///< `x-ms-substatus`, 0 when absent
    double charge() const;           ///< `x-ms-request-charge`, 0 when absent
    int64_t retry_after_ms() const;  ///< `x-ms-retry-after-ms`, 0 when absent
};

/// Why there was no answer. The number is a detail of the errors of a connection.
enum class NoAnswer : int {
    kUnreachable = 1,  ///< nothing was sent
    kLost = 2,         ///< sent, perhaps carried out, no whole answer
    kNotTrusted = 3,   ///< TLS: the certificate is not accepted; trying again is useless
    kInterrupted = 4,  ///< the user asked to stop
    kMalformed = 5,    ///< the answer is not HTTP/1.1, or larger than any page
};
bool is_no_answer(const Error& error, NoAnswer kind);

/// Which certificates are accepted. Immutable after construction; shared by connections.
class TlsTrust {
public:
    static Result<std::shared_ptr<const TlsTrust>> create(const ConnectionSettings& settings);
    ~TlsTrust();

    struct Context;
    const Context& context() const { return *context_; }

private:
    explicit TlsTrust(std::unique_ptr<Context> context);
    std::unique_ptr<Context> context_;
};

/// One HTTP/1.1 connection with keep-alive, plain or TLS, that blocks. It connects when needed and
/// forgets a broken connection; whether to send again is the caller's decision. Owned by one
/// thread.
class HttpConnection {
public:
    /// `trust` may be null for plain HTTP.
    HttpConnection(Endpoint endpoint, std::shared_ptr<const TlsTrust> trust, bool insecure);
    ~HttpConnection();
    HttpConnection(HttpConnection&&) noexcept;
    HttpConnection& operator=(HttpConnection&&) = delete;

    /// `target` is percent-encoded; Host and Content-Length are added.
    Result<HttpAnswer> exchange(std::string_view method, std::string_view target,
                                const Headers& headers, std::string_view body);
    const Endpoint& endpoint() const { return endpoint_; }

    static constexpr size_t kHeadBytesMax = 256 << 10;
    static constexpr size_t kBodyBytesMax = 64 << 20;

private:
    struct Stream;

    Status connect();
    Status send_all(std::string_view bytes);
    Status receive(HttpAnswer& answer, bool has_body);
    Status receive_body(HttpAnswer& answer);
    Status receive_chunked(HttpAnswer& answer);
    /// Appends what comes next to in_; an error at the end of the stream.
    Status fill();
    /// The next line without its end.
    Result<std::string> take_line();
    Status take(size_t count, std::string& out);

    const Endpoint endpoint_;
    const std::shared_ptr<const TlsTrust> trust_;
    const bool insecure_;
    std::unique_ptr<Stream> stream_;  ///< null: not connected
    std::string in_;
    size_t at_ = 0;  ///< everything in in_ before is taken
};

}  // namespace orrery::cli
