#include "net/http.h"

#include <charconv>
#include <cstring>

namespace orrery::net {
namespace {

bool equals_ignoring_case(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
        if (a[i] == b[i]) continue;
        const char x = static_cast<char>(a[i] | 0x20);
        if (x != static_cast<char>(b[i] | 0x20) || x < 'a' || x > 'z') return false;
    }
    return true;
}

/// A line break inside a header would let a value forge headers or a whole answer.
void append_clean(std::string& out, std::string_view text) {
    const size_t start = out.size();
    out.append(text);
    if (std::memchr(text.data(), '\r', text.size()) == nullptr &&
        std::memchr(text.data(), '\n', text.size()) == nullptr &&
        std::memchr(text.data(), '\0', text.size()) == nullptr) {
        return;
    }
    for (size_t i = start; i < out.size(); ++i) {
        if (out[i] == '\r' || out[i] == '\n' || out[i] == '\0') out[i] = ' ';
    }
}

}  // namespace

std::string_view HttpRequest::header(std::string_view name) const {
    for (const HttpHeader& h : headers) {
        if (equals_ignoring_case(h.name, name)) return h.value;
    }
    return {};
}

void HttpResponse::add_header(std::string_view name, std::string_view value) {
    append_clean(head, name);
    head.append(": ");
    append_clean(head, value);
    head.append("\r\n");
}

void HttpResponse::add_header(std::string_view name, int64_t value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    add_header(name, std::string_view(digits, static_cast<size_t>(end - digits)));
}

void HttpExchange::send(std::unique_ptr<HttpExchange> exchange) {
    HttpExchange& target = *exchange;
    target.do_send(std::move(exchange));
}

}  // namespace orrery::net
