// The HTTP parser must come to the same result however the input is cut, and never read past it.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "net/http_parser.h"

namespace {

using orrery::net::HttpLimits;
using orrery::net::HttpParser;
using orrery::net::HttpRequest;

constexpr HttpLimits kLimits{.header_bytes_max = 300, .header_count_max = 8, .body_bytes_max = 200};

/// Everything a connection can observe of one parse, as text to compare.
struct Observed {
    HttpParser::Outcome outcome = HttpParser::Outcome::kNeedMore;
    std::string text;
    size_t rest = 0;  ///< bytes of the input behind the message
};

void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "violated: %s\n", what);
    std::abort();
}

void add(std::string& text, std::string_view part) {
    text += std::to_string(part.size());
    text += ':';
    text += part;
    text += '\n';
}

/// Feeds the input in pieces of the sizes that `next_piece` gives, each time in an allocation of
/// exactly the size needed, so that the address sanitizer sees one byte too many.
template <typename NextPiece>
Observed observe(std::string_view input, NextPiece next_piece, bool compacting) {
    HttpParser parser(kLimits);
    Observed observed;
    std::unique_ptr<char[]> buffer(new char[1]);
    size_t size = 0;
    size_t given = 0;
    bool first = true;
    while (given < input.size() || first) {
        first = false;
        const size_t piece = std::min(next_piece(), input.size() - given);
        std::unique_ptr<char[]> grown(new char[size + piece]);
        std::copy(buffer.get(), buffer.get() + size, grown.get());
        std::copy(input.data() + given, input.data() + given + piece, grown.get() + size);
        buffer = std::move(grown);
        size += piece;
        given += piece;
        observed.outcome = parser.parse(buffer.get(), size);
        if (observed.outcome != HttpParser::Outcome::kNeedMore) break;
        if (compacting) size = parser.compact(buffer.get(), size);
    }
    if (observed.outcome == HttpParser::Outcome::kRefused) {
        require(parser.status() >= 400 && parser.status() <= 505 && !parser.why().empty(),
                "a refusal has a status and a reason");
        observed.text = std::to_string(parser.status()) + std::string(parser.why());
    } else if (observed.outcome == HttpParser::Outcome::kComplete) {
        HttpRequest request;
        parser.fill(buffer.get(), request);
        require(request.body.size() <= kLimits.body_bytes_max, "body limit");
        require(request.headers.size() <= kLimits.header_count_max, "header limit");
        require(!request.method.empty() && !request.target.empty(), "method and target");
        add(observed.text, request.method);
        add(observed.text, request.target);
        add(observed.text, request.body);
        for (const auto& header : request.headers) {
            require(header.name.find_first_of("\r\n: ") == std::string_view::npos, "header name");
            require(header.value.find_first_of("\r\n") == std::string_view::npos, "header value");
            add(observed.text, header.name);
            add(observed.text, header.value);
        }
        observed.text += parser.keep_alive() ? "keep" : "close";
        observed.rest = size - parser.consumed() + (input.size() - given);
    }
    return observed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 1) return 0;
    // The first byte picks the cuts, the rest is what the client sends.
    uint32_t random = data[0] * 2654435761u + 1;
    const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
    const auto random_piece = [&random] {
        random = random * 1664525u + 1013904223u;
        return static_cast<size_t>(random >> 24) % 23 + 1;
    };
    const Observed whole = observe(
        input, [&] { return input.size(); }, false);
    for (const bool compacting : {false, true}) {
        const Observed pieces = observe(input, random_piece, compacting);
        require(pieces.outcome == whole.outcome, "same outcome");
        require(pieces.text == whole.text, "same request or refusal");
        require(pieces.rest == whole.rest, "same end");
    }
    return 0;
}
