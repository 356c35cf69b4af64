#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "engine/hmac.h"

namespace orrery::bench {

/// Points into the client that received it, until its next request.
struct HttpAnswer {
    int status = 0;
    std::string_view body;
    std::string_view item_count;    ///< x-ms-item-count; empty: absent
    std::string_view continuation;  ///< x-ms-continuation; empty: absent
};

uint64_t parse_number(std::string_view digits);

/// One signed keep-alive connection with one request under way at most. Owned by one thread.
class HttpClient {
public:
    HttpClient(uint16_t port, const std::string& key);
    ~HttpClient();
    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;

    /// POSTs to `link`/docs (or any other type) and waits for the answer. `headers` are whole
    /// lines. Throws, as do the others, when the connection fails.
    HttpAnswer post(std::string_view type, std::string_view link, std::string_view path,
                    std::string_view headers, std::string_view body);
    /// The same without waiting: send, then receive whenever fd() is readable, until there is an
    /// answer.
    void send(std::string_view type, std::string_view link, std::string_view path,
              std::string_view headers, std::string_view body);
    std::optional<HttpAnswer> receive();
    int fd() const { return fd_; }

private:
    /// Where the values that matter are in an answer's head.
    struct Head {
        int status = 0;
        size_t bytes = 0;  ///< with the empty line behind it
        size_t body_bytes = 0;
        std::string_view item_count;
        std::string_view continuation;
    };

    void sign(std::string_view type, std::string_view link);
    static std::optional<Head> read_head(std::string_view received);

    int fd_ = -1;
    const std::string host_;
    const engine::HmacKey hmac_;
    SystemClock clock_;
    int64_t date_second_ = 0;
    std::string date_;
    std::string signed_text_;  ///< by the signature, which is good for a second
    std::string signature_;
    std::string out_;
    std::vector<char> in_;
    size_t received_ = 0;       ///< of the answer under way
    std::optional<Head> head_;  ///< its head; points into in_
};

}  // namespace orrery::bench
