#include "cli/endpoint.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "base/encoding.h"
#include "base/errors.h"
#include "base/system.h"

namespace orrery::cli {
namespace {

constexpr std::string_view kWellKnownKey =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

Error bad_endpoint(std::string_view text, std::string_view why) {
    return errors::bad_request(
        fmt::format("The endpoint '{}' {}. Write it as http://127.0.0.1:8081 or "
                    "https://name.documents.azure.com.",
                    text, why));
}

/// AccountEndpoint=…;AccountKey=…; into the flags of the same meaning.
Status read_connection_string(std::string_view text, ConnectionFlags& flags) {
    while (!text.empty()) {
        const size_t end = text.find(';');
        const std::string_view part = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (part.find_first_not_of(" \t\r\n") == std::string_view::npos) continue;
        // A key ends in '=' signs of its own.
        const size_t equals = part.find('=');
        const std::string_view name = part.substr(0, equals);
        const std::string_view value =
            equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
        if (equals_ignore_case(name, "AccountEndpoint")) {
            flags.endpoint = value;
        } else if (equals_ignore_case(name, "AccountKey")) {
            flags.key = value;
        } else if (equals_ignore_case(name, "DisableServerCertificateValidation")) {
            flags.insecure = flags.insecure || equals_ignore_case(value, "true");
        } else {
            return Status(errors::bad_request(fmt::format(
                "The connection string has a part '{}' that this command does not know. It takes "
                "AccountEndpoint=…;AccountKey=…; and DisableServerCertificateValidation=True.",
                name)));
        }
    }
    if (flags.endpoint.empty() || flags.key.empty())
        return Status(errors::bad_request(
            "The connection string lacks its AccountEndpoint or its AccountKey. It reads "
            "AccountEndpoint=https://…/;AccountKey=…;"));
    return {};
}

/// The certificate in a PEM file, or that of the authority which a server made in its data folder.
Result<std::string> authority_file(const std::string& given) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(given, ignored)) {
        if (!std::filesystem::exists(given, ignored))
            return errors::bad_request(fmt::format("--ca: there is no file '{}'.", given));
        return given;
    }
    const std::string inside = given + "/tls/ca.pem";
    if (!std::filesystem::exists(inside, ignored))
        return errors::bad_request(fmt::format(
            "--ca: '{}' is a folder without tls/ca.pem, so no server's data folder.", given));
    return inside;
}

}  // namespace

std::string Endpoint::authority() const {
    return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                               : fmt::format("[{}]:{}", host, port);
}

std::string Endpoint::text() const {
    return fmt::format("{}://{}/", tls ? "https" : "http", authority());
}

bool Endpoint::is_loopback() const {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
}

Result<Endpoint> parse_endpoint(std::string_view text) {
    Endpoint out;
    std::string_view rest = text;
    if (const size_t scheme = rest.find("://"); scheme != std::string_view::npos) {
        const std::string_view name = rest.substr(0, scheme);
        if (equals_ignore_case(name, "https"))
            out.tls = true;
        else if (!equals_ignore_case(name, "http"))
            return bad_endpoint(text, "has a scheme other than http and https");
        rest.remove_prefix(scheme + 3);
    }
    if (const size_t slash = rest.find('/'); slash != std::string_view::npos) {
        if (rest.size() > slash + 1)
            return bad_endpoint(text, "has a path, which accounts do not have");
        rest = rest.substr(0, slash);
    }
    out.port = out.tls ? 443 : 80;
    std::string_view port;
    if (rest.starts_with('[')) {
        const size_t close = rest.find(']');
        if (close == std::string_view::npos)
            return bad_endpoint(text, "opens a bracket and does not close it");
        out.host = rest.substr(1, close - 1);
        rest.remove_prefix(close + 1);
        if (!rest.empty() && !rest.starts_with(':'))
            return bad_endpoint(text, "has something after its address");
        if (!rest.empty()) port = rest.substr(1);
        if (rest == ":") return bad_endpoint(text, "has an empty port");
    } else {
        const size_t colon = rest.find(':');
        out.host = rest.substr(0, colon);
        if (colon != std::string_view::npos) {
            port = rest.substr(colon + 1);
            if (port.empty()) return bad_endpoint(text, "has an empty port");
        }
    }
    if (out.host.empty()) return bad_endpoint(text, "names no host");
    if (out.host.find_first_of(" \t\r\n@?#") != std::string::npos)
        return bad_endpoint(text, "has characters that a host name cannot have");
    if (!port.empty()) {
        const auto [end, code] = std::from_chars(port.data(), port.data() + port.size(), out.port);
        if (code != std::errc() || end != port.data() + port.size() || out.port == 0)
            return bad_endpoint(text, "has a port that is no number from 1 to 65535");
    }
    return out;
}

std::string process_environment(const char* name) {
    return environment_variable(name).value_or(std::string());
}

Result<ConnectionSettings> resolve_connection(const ConnectionFlags& given,
                                              Environment environment) {
    ConnectionFlags flags = given;
    if (!flags.connection_string.empty() && (!flags.endpoint.empty() || !flags.key.empty()))
        return errors::bad_request(
            "Give either --connection-string or --endpoint and --key: the connection string holds "
            "both.");
    if (flags.endpoint.empty() && flags.key.empty() && flags.connection_string.empty() &&
        environment("ORRERY_ENDPOINT").empty())
        flags.connection_string = environment("ORRERY_CONNECTION_STRING");
    if (!flags.connection_string.empty()) {
        const std::string text = std::move(flags.connection_string);
        TRY_STATUS(read_connection_string(text, flags));
    }
    if (flags.endpoint.empty()) flags.endpoint = environment("ORRERY_ENDPOINT");
    if (flags.key.empty()) flags.key = environment("ORRERY_KEY");
    if (flags.ca.empty()) flags.ca = environment("ORRERY_CA");
    if (flags.endpoint.empty()) {
        const std::string port = environment("ORRERY_PORT");
        flags.endpoint = "http://127.0.0.1:" + (port.empty() ? "8081" : port);
    }
    ConnectionSettings out;
    TRY(out.endpoint, parse_endpoint(flags.endpoint));
    if (flags.key.empty()) {
        if (!out.endpoint.is_loopback())
            return errors::bad_request(
                fmt::format("{} needs its account key: pass --key, --connection-string, or set "
                            "ORRERY_KEY. (The emulators' "
                            "well-known key is used for servers on this machine only.)",
                            out.endpoint.text()));
        flags.key = kWellKnownKey;
    }
    auto key = base64_decode(flags.key);
    if (!key.has_value())
        return errors::bad_request(
            "The key is not base64. Copy it whole, with the '=' signs at its end, and quote it in "
            "the shell.");
    out.key = std::move(*key);
    if (!flags.ca.empty()) {
        TRY(out.ca_file, authority_file(flags.ca));
    }
    out.insecure = flags.insecure;
    return out;
}

}  // namespace orrery::cli
