#include "heads/explorer/explorer_head.h"

#include <algorithm>
#include <string>

#include "base/encoding.h"

namespace orrery::explorer {
namespace {

constexpr std::string_view kRoot = "/_explorer";

/// The page loads nothing from elsewhere and has no inline scripts, style sheets or frames: a page
/// that holds an account key must not run foreign code. Style attributes are what the browser
/// itself writes when text is typed into an editable element.
constexpr std::string_view kContentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

constexpr std::string_view kNotBuilt =
    "<!doctype html><html lang=\"en\"><meta "
    "charset=\"utf-8\"><title>Orrery</title><body><h1>Orrery is running</h1>"
    "<p>This binary was built without the Data Explorer: node and npm were not there when it was "
    "configured. "
    "SDKs and tools connect as usual. The certificate authority of this server: "
    "<a href=\"/_explorer/emulator.pem\">emulator.pem</a>.</p></body></html>";

std::string_view path_of(std::string_view target) {
    return target.substr(0, target.find('?'));
}

std::string_view trimmed(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

/// Calls `visit` with each element of a comma-separated header.
template <typename Visit>
void for_each_element(std::string_view list, const Visit& visit) {
    while (!list.empty()) {
        const size_t comma = list.find(',');
        visit(trimmed(list.substr(0, comma)));
        list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    }
}

/// Whether the client takes this coding; an explicit weight of zero refuses it.
bool accepts(std::string_view accept_encoding, std::string_view coding) {
    bool accepted = false;
    for_each_element(accept_encoding, [&](std::string_view element) {
        const size_t semicolon = element.find(';');
        if (!equals_ignore_case(trimmed(element.substr(0, semicolon)), coding)) return;
        const auto weight = semicolon == std::string_view::npos
                                ? std::string_view()
                                : trimmed(element.substr(semicolon + 1));
        accepted = !(weight.starts_with("q=0") &&
                     weight.find_first_not_of("0.", 2) == std::string_view::npos);
    });
    return accepted;
}

/// Weak comparison, as If-None-Match wants it: proxies that recompress mark the tag as weak.
bool matches(std::string_view if_none_match, std::string_view etag) {
    bool found = false;
    for_each_element(if_none_match, [&](std::string_view element) {
        if (element.starts_with("W/")) element.remove_prefix(2);
        found = found || element == etag || element == "*";
    });
    return found;
}

void add_safety_headers(net::HttpResponse& response) {
    response.add_header("Content-Security-Policy", kContentSecurityPolicy);
    response.add_header("X-Content-Type-Options", "nosniff");
    response.add_header("Referrer-Policy", "no-referrer");
    response.add_header("Cross-Origin-Opener-Policy", "same-origin");
}

void answer_text(net::HttpResponse& response, int status, std::string_view type,
                 std::string_view body) {
    response.status = status;
    response.add_header("Content-Type", type);
    response.add_header("Cache-Control", "no-store");
    response.body = body;
}

void answer_asset(const Asset& asset, const net::HttpRequest& request,
                  net::HttpResponse& response) {
    response.add_header("ETag", asset.etag);
    response.add_header("Cache-Control",
                        asset.immutable ? "public, max-age=31536000, immutable" : "no-cache");
    response.add_header("Vary", "Accept-Encoding");
    if (matches(request.header("If-None-Match"), asset.etag)) {
        response.status = 304;
        return;
    }
    response.add_header("Content-Type", asset.type);
    const auto accept = request.header("Accept-Encoding");
    if (!asset.brotli.empty() && accepts(accept, "br")) {
        response.add_header("Content-Encoding", "br");
        response.body = asset.brotli;
    } else if (!asset.gzip.empty() && accepts(accept, "gzip")) {
        response.add_header("Content-Encoding", "gzip");
        response.body = asset.gzip;
    } else {
        response.body = asset.plain;
    }
}

}  // namespace

bool ExplorerHead::serves(std::string_view target) {
    const auto path = path_of(target);
    if (path == "/_explorer/emulator.pem") return false;
    return path == kRoot || (path.starts_with(kRoot) && path[kRoot.size()] == '/');
}

void ExplorerHead::handle(std::unique_ptr<net::HttpExchange> exchange) {
    answer(exchange->request, exchange->response);
    net::HttpExchange::send(std::move(exchange));
}

void ExplorerHead::answer(const net::HttpRequest& request, net::HttpResponse& response) const {
    add_safety_headers(response);
    if (request.method != "GET" && request.method != "HEAD") {
        response.add_header("Allow", "GET, HEAD");
        return answer_text(response, 405, "text/plain; charset=utf-8",
                           "Only GET and HEAD are possible here.\n");
    }
    auto path = path_of(request.target);
    path.remove_prefix(kRoot.size());
    if (path.empty()) {
        // The page names its files relative to the folder.
        response.add_header("Location", "/_explorer/");
        return answer_text(response, 308, "text/plain; charset=utf-8", "");
    }
    if (path == "/") path = "/index.html";
    const auto found = std::ranges::find(assets_, path, &Asset::path);
    if (found != assets_.end()) return answer_asset(*found, request, response);
    if (assets_.empty() && path == "/index.html")
        return answer_text(response, 200, "text/html; charset=utf-8", kNotBuilt);
    answer_text(response, 404, "text/plain; charset=utf-8", "There is nothing at this path.\n");
}

void ExplorerHead::refuse(int status, std::string_view why, net::HttpResponse& response) {
    answer_text(response, status, "text/plain; charset=utf-8", std::string(why) + "\n");
}

}  // namespace orrery::explorer
