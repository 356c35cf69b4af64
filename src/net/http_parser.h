#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "net/http.h"

namespace orrery::net {

struct HttpLimits {
    size_t header_bytes_max;  ///< request line, headers and the blank line; trailers again as much
    size_t header_count_max;
    size_t body_bytes_max;  ///< after removal of chunk framing
};

/// A strict, incremental HTTP/1.1 request parser over one contiguous buffer that the caller owns.
///
/// The caller appends what it receives and calls parse() with the whole message so far. Between
/// calls the bytes may move as a block; bytes already given must not change. Chunked bodies are
/// decoded in place, so the body is always one view. The outcome does not depend on how the input
/// was cut into pieces. Not thread-safe; owned by one connection.
class HttpParser {
public:
    enum class Outcome : uint8_t { kNeedMore, kComplete, kRefused };

    explicit HttpParser(const HttpLimits& limits) : limits_(limits) {}

    /// Forgets the message; the next parse() starts a new one. Keeps memory.
    void reset();

    /// `data` is the start of the message, `size` the bytes of it (and of later ones) present.
    Outcome parse(char* data, size_t size);

    // While more is needed ------------------------------------------------------------------
    bool head_complete() const { return state_ > State::kHeaders; }
    /// The client waits for "100 Continue" before it sends the body.
    bool wants_continue() const { return expects_continue_ && head_complete(); }
    /// Bytes from the start of the message to its end; 0 while unknown.
    size_t bytes_expected() const {
        return state_ == State::kFixedBody ? body_begin_ + content_length_ : 0;
    }
    /// Removes chunk framing that was consumed already from the buffer; returns its new size.
    size_t compact(char* data, size_t size);

    // After kComplete -----------------------------------------------------------------------
    /// Bytes of the buffer that belong to this message.
    size_t consumed() const { return pos_; }
    bool keep_alive() const { return keep_alive_; }
    bool is_head_method() const { return is_head_method_; }
    bool version_1_0() const { return version_1_0_; }
    /// Points the request's views into `data`. Leaves `tls` and `peer_is_loopback` alone.
    void fill(const char* data, HttpRequest& request) const;

    // After kRefused ------------------------------------------------------------------------
    int status() const { return status_; }
    std::string_view why() const { return why_; }  ///< one sentence, static storage

private:
    enum class State : uint8_t {
        kStart,
        kRequestLine,
        kHeaders,
        kFixedBody,
        kChunkSize,
        kChunkData,
        kChunkEnd,
        kTrailers,
        kComplete,
        kRefused,
    };
    enum class Line : uint8_t { kPartial, kWhole, kTooLong, kMalformed };
    /// Offsets, not views: the buffer may move until the message is complete.
    struct Field {
        uint32_t name;
        uint32_t name_size;
        uint32_t value;
        uint32_t value_size;
    };

    Outcome step(char* data, size_t size);
    Outcome refuse(int status, std::string_view why);
    Line next_line(const char* data, size_t size, size_t end_max, std::string_view& line);

    Outcome on_start(const char* data, size_t size);
    Outcome on_request_line(const char* data, size_t size);
    Outcome on_header(const char* data, size_t size);
    Outcome on_head_end();
    Outcome on_fixed_body(size_t size);
    Outcome on_chunk_size(const char* data, size_t size);
    Outcome on_chunk_data(char* data, size_t size);
    Outcome on_chunk_end(const char* data, size_t size);
    Outcome on_trailer(const char* data, size_t size);

    bool parse_request_line(const char* data, std::string_view line);
    bool parse_target(const char* data, std::string_view target, std::string_view method);
    bool parse_field(const char* data, std::string_view line, Field& field);
    bool note_known_header(std::string_view name, std::string_view value);
    bool note_content_length(std::string_view value);
    bool note_transfer_encoding(std::string_view value);
    bool note_host(std::string_view value);
    void note_connection(std::string_view value);

    const HttpLimits limits_;
    State state_ = State::kStart;
    bool version_1_0_ = false;
    bool keep_alive_ = true;
    bool close_asked_ = false;
    bool keep_alive_asked_ = false;
    bool host_seen_ = false;
    bool length_seen_ = false;
    bool chunked_ = false;
    bool expects_continue_ = false;
    bool target_is_root_ = false;  ///< absolute form without a path: the target is "/"
    bool is_head_method_ = false;

    size_t pos_ = 0;    ///< everything before is parsed
    size_t scan_ = 0;   ///< no line feed in [pos_, scan_)
    size_t start_ = 0;  ///< first byte of the request line (a blank line may precede it)
    size_t method_size_ = 0;
    size_t target_ = 0;
    size_t target_size_ = 0;
    uint64_t content_length_ = 0;
    size_t body_begin_ = 0;
    size_t body_end_ = 0;  ///< end of the decoded body
    uint64_t chunk_left_ = 0;
    size_t trailer_bytes_ = 0;
    size_t trailer_count_ = 0;
    std::vector<Field> fields_;
    int status_ = 0;
    std::string_view why_;
};

}  // namespace orrery::net
