#include "net/http_parser.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "net/detail/http_chars.h"

namespace orrery::net {

using detail::all_in;
using detail::equals_lower;
using detail::has_control;
using detail::hex_digit;
using detail::is_blank;
using detail::is_token;
using detail::kHostSet;
using detail::kTokenSet;
using detail::trim;

namespace {

/// A chunk's size line with its extensions, which are skipped.
constexpr size_t kChunkLineBytesMax = 1024;

}  // namespace

void HttpParser::reset() {
    state_ = State::kStart;
    version_1_0_ = false;
    keep_alive_ = true;
    close_asked_ = false;
    keep_alive_asked_ = false;
    host_seen_ = false;
    length_seen_ = false;
    chunked_ = false;
    expects_continue_ = false;
    target_is_root_ = false;
    is_head_method_ = false;
    pos_ = scan_ = start_ = method_size_ = target_ = target_size_ = 0;
    content_length_ = 0;
    body_begin_ = body_end_ = 0;
    chunk_left_ = 0;
    trailer_bytes_ = trailer_count_ = 0;
    fields_.clear();
    status_ = 0;
    why_ = {};
}

HttpParser::Outcome HttpParser::parse(char* data, size_t size) {
    DCHECK(size >= pos_);
    for (;;) {
        const State before = state_;
        const size_t pos_before = pos_;
        const Outcome outcome = step(data, size);
        if (outcome != Outcome::kNeedMore) return outcome;
        if (state_ == before && pos_ == pos_before) return Outcome::kNeedMore;
    }
}

HttpParser::Outcome HttpParser::step(char* data, size_t size) {
    switch (state_) {
        case State::kStart:
            return on_start(data, size);
        case State::kRequestLine:
            return on_request_line(data, size);
        case State::kHeaders:
            return on_header(data, size);
        case State::kFixedBody:
            return on_fixed_body(size);
        case State::kChunkSize:
            return on_chunk_size(data, size);
        case State::kChunkData:
            return on_chunk_data(data, size);
        case State::kChunkEnd:
            return on_chunk_end(data, size);
        case State::kTrailers:
            return on_trailer(data, size);
        case State::kComplete:
            return Outcome::kComplete;
        case State::kRefused:
            return Outcome::kRefused;
    }
    return Outcome::kRefused;
}

HttpParser::Outcome HttpParser::refuse(int status, std::string_view why) {
    state_ = State::kRefused;
    status_ = status;
    why_ = why;
    return Outcome::kRefused;
}

/// Takes the line at pos_, without its CRLF. `end_max` is the highest offset at which it may end;
/// a line that passes it is too long whatever it contains, so pieces and whole agree.
HttpParser::Line HttpParser::next_line(const char* data, size_t size, size_t end_max,
                                       std::string_view& line) {
    const void* found = scan_ < size ? std::memchr(data + scan_, '\n', size - scan_) : nullptr;
    if (found == nullptr) {
        scan_ = size;
        return size > end_max ? Line::kTooLong : Line::kPartial;
    }
    const auto feed = static_cast<size_t>(static_cast<const char*>(found) - data);
    if (feed + 1 > end_max) return Line::kTooLong;
    if (feed == pos_ || data[feed - 1] != '\r') return Line::kMalformed;
    line = {data + pos_, feed - 1 - pos_};
    pos_ = scan_ = feed + 1;
    return Line::kWhole;
}

/// One blank line before a request is tolerated (RFC 9112 §2.2); anything else must start a method.
HttpParser::Outcome HttpParser::on_start(const char* data, size_t size) {
    if (size == 0) return Outcome::kNeedMore;
    if (data[0] == '\r') {
        if (size == 1) return Outcome::kNeedMore;
        if (data[1] != '\n')
            return refuse(400, "A carriage return is not followed by a line feed.");
        if (size == 2) return Outcome::kNeedMore;
        start_ = 2;
    }
    if (!kTokenSet[static_cast<uint8_t>(data[start_])]) {
        return refuse(400, "The request does not start with an HTTP method.");
    }
    pos_ = scan_ = start_;
    state_ = State::kRequestLine;
    return Outcome::kNeedMore;
}

HttpParser::Outcome HttpParser::on_request_line(const char* data, size_t size) {
    std::string_view line;
    switch (next_line(data, size, start_ + limits_.header_bytes_max, line)) {
        case Line::kPartial:
            return Outcome::kNeedMore;
        case Line::kTooLong:
            return refuse(414, "The request line is too long.");
        case Line::kMalformed:
            return refuse(400, "A line does not end with CR LF.");
        case Line::kWhole:
            break;
    }
    if (!parse_request_line(data, line)) return Outcome::kRefused;
    state_ = State::kHeaders;
    return Outcome::kNeedMore;
}

bool HttpParser::parse_request_line(const char* data, std::string_view line) {
    const size_t first = line.find(' ');
    const size_t last = line.rfind(' ');
    if (first == std::string_view::npos || first == last) {
        refuse(400, "The request line is not 'method target version'.");
        return false;
    }
    const std::string_view method = line.substr(0, first);
    const std::string_view target = line.substr(first + 1, last - first - 1);
    const std::string_view version = line.substr(last + 1);
    if (!is_token(method)) {
        refuse(400, "The method is not a token.");
        return false;
    }
    if (version == "HTTP/1.1") {
        version_1_0_ = false;
    } else if (version == "HTTP/1.0") {
        version_1_0_ = true;
    } else {
        const bool other_version = version.size() == 8 && version.starts_with("HTTP/") &&
                                   version[5] >= '0' && version[5] <= '9' && version[6] == '.' &&
                                   version[7] >= '0' && version[7] <= '9';
        if (other_version) {
            refuse(505, "This server speaks HTTP/1.1 and HTTP/1.0.");
        } else {
            refuse(400, "The request line has no valid HTTP version.");
        }
        return false;
    }
    method_size_ = method.size();
    is_head_method_ = method == "HEAD";
    return parse_target(data, target, method);
}

bool HttpParser::parse_target(const char* data, std::string_view target, std::string_view method) {
    if (target.empty() || has_control(target, 0x21, false)) {
        refuse(400, "The request target is empty or holds blanks or control characters.");
        return false;
    }
    if (target[0] != '/' && !(target == "*" && method == "OPTIONS")) {
        // Absolute form, as sent to proxies: scheme and authority say nothing that Host does not.
        const size_t scheme_size = equals_lower(target.substr(0, 7), "http://")    ? 7
                                   : equals_lower(target.substr(0, 8), "https://") ? 8
                                                                                   : 0;
        const size_t slash = std::min(target.find('/', scheme_size), target.size());
        const std::string_view authority = target.substr(scheme_size, slash - scheme_size);
        if (scheme_size == 0 || authority.empty() || !all_in(kHostSet, authority)) {
            refuse(400, "The request target is neither a path nor an http URI with a host.");
            return false;
        }
        target_is_root_ = slash == target.size();
        target = target.substr(slash);
    }
    target_ = static_cast<size_t>(target.data() - data);
    target_size_ = target.size();
    return true;
}

HttpParser::Outcome HttpParser::on_header(const char* data, size_t size) {
    std::string_view line;
    switch (next_line(data, size, start_ + limits_.header_bytes_max, line)) {
        case Line::kPartial:
            return Outcome::kNeedMore;
        case Line::kTooLong:
            return refuse(431, "The request headers are too large.");
        case Line::kMalformed:
            return refuse(400, "A line does not end with CR LF.");
        case Line::kWhole:
            break;
    }
    if (line.empty()) return on_head_end();
    if (fields_.size() == limits_.header_count_max) {
        return refuse(431, "The request has too many headers.");
    }
    Field field;
    if (!parse_field(data, line, field)) return Outcome::kRefused;
    fields_.push_back(field);
    const std::string_view name(data + field.name, field.name_size);
    if (!note_known_header(name, {data + field.value, field.value_size})) return Outcome::kRefused;
    return Outcome::kNeedMore;
}

bool HttpParser::parse_field(const char* data, std::string_view line, Field& field) {
    if (is_blank(line[0])) {
        refuse(400, "A header line starts with a blank; folded headers are not accepted.");
        return false;
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
        refuse(400, "A header line has no valid name followed by a colon.");
        return false;
    }
    const std::string_view value = trim(line.substr(colon + 1));
    if (has_control(value, 0x20, true)) {
        refuse(400, "A header value holds control characters.");
        return false;
    }
    field.name = static_cast<uint32_t>(line.data() - data);
    field.name_size = static_cast<uint32_t>(colon);
    field.value = static_cast<uint32_t>(value.data() - data);
    field.value_size = static_cast<uint32_t>(value.size());
    return true;
}

/// The headers that steer the connection. False when refused.
bool HttpParser::note_known_header(std::string_view name, std::string_view value) {
    switch (name.size()) {
        case 4:
            return !equals_lower(name, "host") || note_host(value);
        case 6:
            if (equals_lower(name, "expect") && equals_lower(value, "100-continue")) {
                expects_continue_ = true;
            }
            return true;
        case 10:
            if (equals_lower(name, "connection")) note_connection(value);
            return true;
        case 14:
            return !equals_lower(name, "content-length") || note_content_length(value);
        case 17:
            return !equals_lower(name, "transfer-encoding") || note_transfer_encoding(value);
        default:
            return true;
    }
}

bool HttpParser::note_host(std::string_view value) {
    if (host_seen_) {
        refuse(400, "The request has several Host headers.");
        return false;
    }
    if (!all_in(kHostSet, value)) {
        refuse(400, "The Host header is not a host and port.");
        return false;
    }
    host_seen_ = true;
    return true;
}

bool HttpParser::note_content_length(std::string_view value) {
    constexpr size_t kDigitsMax = 18;  // always fits 64 bits
    uint64_t length = 0;
    bool valid = !value.empty() && value.size() <= kDigitsMax;
    for (size_t i = 0; valid && i < value.size(); ++i) {
        valid = value[i] >= '0' && value[i] <= '9';
        length = length * 10 + static_cast<uint64_t>(value[i] - '0');
    }
    if (!valid) {
        refuse(400, "The Content-Length header is not a decimal number.");
        return false;
    }
    if (length_seen_ && length != content_length_) {
        refuse(400, "The request has several Content-Length headers that differ.");
        return false;
    }
    length_seen_ = true;
    content_length_ = length;
    return true;
}

bool HttpParser::note_transfer_encoding(std::string_view value) {
    if (chunked_) {
        refuse(400, "The request has several Transfer-Encoding headers.");
        return false;
    }
    if (!equals_lower(value, "chunked")) {
        refuse(501, "The only transfer encoding accepted is 'chunked'.");
        return false;
    }
    chunked_ = true;
    return true;
}

void HttpParser::note_connection(std::string_view value) {
    while (!value.empty()) {
        const size_t comma = std::min(value.find(','), value.size());
        const std::string_view option = trim(value.substr(0, comma));
        if (equals_lower(option, "close")) close_asked_ = true;
        if (equals_lower(option, "keep-alive")) keep_alive_asked_ = true;
        value.remove_prefix(std::min(comma + 1, value.size()));
    }
}

HttpParser::Outcome HttpParser::on_head_end() {
    if (!version_1_0_ && !host_seen_) return refuse(400, "The Host header is missing.");
    if (chunked_ && length_seen_) {
        return refuse(400, "The request has both Content-Length and Transfer-Encoding.");
    }
    if (chunked_ && version_1_0_) return refuse(400, "HTTP/1.0 has no chunked bodies.");
    if (content_length_ > limits_.body_bytes_max) return refuse(413, "The body is too large.");
    keep_alive_ = !close_asked_ && (!version_1_0_ || keep_alive_asked_);
    if (version_1_0_) expects_continue_ = false;
    body_begin_ = body_end_ = pos_;
    state_ = chunked_ ? State::kChunkSize : State::kFixedBody;
    return Outcome::kNeedMore;
}

HttpParser::Outcome HttpParser::on_fixed_body(size_t size) {
    if (size - body_begin_ < content_length_) return Outcome::kNeedMore;
    body_end_ = pos_ = body_begin_ + content_length_;
    state_ = State::kComplete;
    return Outcome::kComplete;
}

HttpParser::Outcome HttpParser::on_chunk_size(const char* data, size_t size) {
    std::string_view line;
    switch (next_line(data, size, pos_ + kChunkLineBytesMax, line)) {
        case Line::kPartial:
            return Outcome::kNeedMore;
        case Line::kTooLong:
            return refuse(400, "A chunk's size line is too long.");
        case Line::kMalformed:
            return refuse(400, "A chunk's size line does not end with CR LF.");
        case Line::kWhole:
            break;
    }
    constexpr size_t kDigitsMax = 15;  // always fits 64 bits
    size_t digits = 0;
    uint64_t chunk_size = 0;
    while (digits < line.size() && hex_digit(line[digits]) >= 0 && digits <= kDigitsMax) {
        chunk_size = chunk_size * 16 + static_cast<uint64_t>(hex_digit(line[digits]));
        ++digits;
    }
    const std::string_view rest = trim(line.substr(digits));
    const bool clean_rest =
        rest.empty() ? digits == line.size() : rest[0] == ';' && !has_control(rest, 0x20, true);
    if (digits == 0 || digits > kDigitsMax || !clean_rest) {
        return refuse(400, "A chunk's size is not a hexadecimal number.");
    }
    if (chunk_size > limits_.body_bytes_max - (body_end_ - body_begin_)) {
        return refuse(413, "The body is too large.");
    }
    chunk_left_ = chunk_size;
    state_ = chunk_size == 0 ? State::kTrailers : State::kChunkData;
    return Outcome::kNeedMore;
}

HttpParser::Outcome HttpParser::on_chunk_data(char* data, size_t size) {
    const size_t count = static_cast<size_t>(std::min<uint64_t>(chunk_left_, size - pos_));
    if (body_end_ != pos_) std::memmove(data + body_end_, data + pos_, count);
    body_end_ += count;
    pos_ += count;
    scan_ = pos_;
    chunk_left_ -= count;
    if (chunk_left_ == 0) state_ = State::kChunkEnd;
    return Outcome::kNeedMore;
}

HttpParser::Outcome HttpParser::on_chunk_end(const char* data, size_t size) {
    if (size - pos_ >= 1 && data[pos_] != '\r') {
        return refuse(400, "A chunk does not end with CR LF.");
    }
    if (size - pos_ < 2) return Outcome::kNeedMore;
    if (data[pos_ + 1] != '\n') return refuse(400, "A chunk does not end with CR LF.");
    pos_ += 2;
    scan_ = pos_;
    state_ = State::kChunkSize;
    return Outcome::kNeedMore;
}

/// Trailers are checked like headers and dropped: nothing here gives them a meaning.
HttpParser::Outcome HttpParser::on_trailer(const char* data, size_t size) {
    std::string_view line;
    const size_t line_begin = pos_;
    switch (next_line(data, size, pos_ + (limits_.header_bytes_max - trailer_bytes_), line)) {
        case Line::kPartial:
            return Outcome::kNeedMore;
        case Line::kTooLong:
            return refuse(431, "The request trailers are too large.");
        case Line::kMalformed:
            return refuse(400, "A line does not end with CR LF.");
        case Line::kWhole:
            break;
    }
    trailer_bytes_ += pos_ - line_begin;
    if (line.empty()) {
        state_ = State::kComplete;
        return Outcome::kComplete;
    }
    if (++trailer_count_ > limits_.header_count_max) {
        return refuse(431, "The request has too many trailers.");
    }
    Field field;
    return parse_field(data, line, field) ? Outcome::kNeedMore : Outcome::kRefused;
}

size_t HttpParser::compact(char* data, size_t size) {
    if (state_ <= State::kFixedBody || state_ >= State::kComplete || pos_ == body_end_) return size;
    const size_t gap = pos_ - body_end_;
    std::memmove(data + body_end_, data + pos_, size - pos_);
    pos_ -= gap;
    scan_ -= gap;
    return size - gap;
}

void HttpParser::fill(const char* data, HttpRequest& request) const {
    DCHECK(state_ == State::kComplete);
    request.method = {data + start_, method_size_};
    request.target =
        target_is_root_ ? std::string_view("/") : std::string_view(data + target_, target_size_);
    request.body = {data + body_begin_, body_end_ - body_begin_};
    request.headers.clear();
    for (const Field& field : fields_) {
        request.headers.push_back(
            {{data + field.name, field.name_size}, {data + field.value, field.value_size}});
    }
}

}  // namespace orrery::net
