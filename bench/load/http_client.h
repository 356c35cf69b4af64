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

/// One signed keep-alive connection that waits for each answer. Owned by one thread.
class HttpClient {
public:
    HttpClient(uint16_t port, const std::string& key);
    ~HttpClient();
    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;

    /// POSTs to `link`/docs (or any other type). `headers` are whole lines. Throws when the
    /// connection fails.
    HttpAnswer post(std::string_view type, std::string_view link, std::string_view path,
                    std::string_view headers, std::string_view body);

private:
    void sign(std::string_view type, std::string_view link);
    HttpAnswer receive();

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
};

}  // namespace orrery::bench
